"""What importing a text of perf takes: CPU time and memory by its size.

usage: python benchmarks/importing.py [--mib 64 256]
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from pathlib import Path

DEPTH, STACKS, FUNCTIONS = 20, 3000, 200


def write(path: Path, mib: int) -> int:
    """Write so much of what perf script prints, of four threads at 1000 samples a second; the number of samples."""
    chance = random.Random(1)
    stacks = [[chance.randrange(FUNCTIONS) for _ in range(DEPTH)] for _ in range(STACKS)]
    samples = 0
    with path.open("w") as out:
        while out.tell() < mib << 20:
            out.write(f"app 4711/{4711 + samples % 4} [001] {100 + samples / 4000:.6f}:    1000000 task-clock:u: \n")
            for function in stacks[chance.randrange(STACKS)]:
                out.write(f"\t    {chance.randrange(2**46):12x} f{function}+0x1f (/home/me/app)\n")
            out.write("\n")
            samples += 1
    return samples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=int, nargs="+", default=[64, 256])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for mib in args.mib:
            text = Path(scratch) / f"{mib}.txt"
            samples = write(text, mib)
            pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-m", "incprof", "import", str(text), "-o", f"{scratch}/run-{mib}"],
                os.environ,
            )
            _, status, used = os.wait4(pid, 0)
            assert os.waitstatus_to_exitcode(status) == 0
            cpu = used.ru_utime + used.ru_stime
            print(f"{mib} MiB, {samples} samples: {cpu:.1f} s of CPU time, at most {used.ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
