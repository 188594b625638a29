"""Whether a real MPI program has the same phases and sites, whichever of its ranks is shown.

usage: python benchmarks/ranks_real.py [--ranks 64] [--interval 1] [-- PROGRAM ARGS]

Without a program, one that is compiled here: two stages, and the last rank has twice as much to do in the first. Open
MPI's mpirun and mpicc are needed; more ranks than processors are started.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from incprof.study import Study

PROGRAM = Path(__file__).parent.parent / "tests" / "integration" / "lifecycle_fixtures" / "balance.c"
MPIRUN = ("mpirun", "--oversubscribe", "--allow-run-as-root", "--mca", "mpi_yield_when_idle", "1")


def record(command: list[str], ranks: int, interval: float, directory: Path) -> None:
    """Record so many ranks of a program.

    Raises: CalledProcessError when it fails.
    """
    tool = [sys.executable, "-m", "incprof", "record", "-i", f"{interval:g}", "-r", "250", "-o", str(directory), "--"]
    subprocess.run([*MPIRUN, "-n", str(ranks), *tool, *command], check=True, stdout=subprocess.DEVNULL)


def answers(directory: Path) -> set[object]:
    """What is answered about each rank: number of phases, and their sites."""
    first, found = Study(directory), set[object]()
    assert first.ranks is not None
    for rank in first.ranks.ranks:
        result = first.of_rank(rank).result
        found.add(
            (result.k, tuple((p.id, s.function.name, s.kind, s.heartbeat) for p in result.phases for s in p.sites))
        )
    return found


def main() -> None:
    """Record, and look at every rank."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--interval", type=float, default=1.0)
    parser.add_argument("program", nargs="*")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        command = args.program
        if not command:
            command = [f"{scratch}/balance"]
            subprocess.run(["mpicc", "-O2", "-g", "-pg", str(PROGRAM), "-o", command[0]], check=True)
        run = Path(scratch) / "run"
        record(command, args.ranks, args.interval, run)
        found = Study(run).ranks
        assert found is not None
        told = answers(run)
        print(f"{len(found.ranks)} ranks, {len(told)} different answers")
        for answer in told:
            print(answer)
        agree = [value for value in found.agreement if value is not None]
        print(f"agreement {min(agree, default=0.0):.2f} or more")
        for one in found.stragglers:
            print(f"rank {one.rank} works {one.seconds:.3g} s in phase {one.phase}, its peers {one.usual_s:.3g} s")


if __name__ == "__main__":
    main()
