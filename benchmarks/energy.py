"""How often a gate on energy fails for runs of one program, and whether it does for one that works longer.

usage: python benchmarks/energy.py [PAIRS [SECONDS]]

Records examples/phases.c in pairs, in turn, with the counters of the machine beside each. Where no sensor tells of
power, it is simulated: 40 W, and 30 W for each processor that is busy, which the files then say.
"""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
INCPROF = (sys.executable, "-m", "incprof")
BASE_W, CPU_W = 40.0, 30.0
LONGER = 1.3


def record(program: Path, scale: float, name: str) -> tuple[str, str]:
    """Record a run, and the machine beside it."""
    directory, counters = program.with_name(name), program.with_name(f"{name}.csv")
    own = (*INCPROF, "record", "-i", "0.1", "-o", str(directory), "--", str(program), f"{scale:g}")
    sampled = (*INCPROF, "sample", "--system", "-i", "0.1", "-o", str(counters), "--", *own)
    subprocess.run(sampled, check=True, capture_output=True)
    if "-watts" not in counters.read_text():
        simulate(counters)
    return str(directory), str(counters)


def simulate(path: Path) -> None:
    """Add power by the formula to a file without."""
    lines = path.read_text().splitlines()
    head = next(at for at, line in enumerate(lines) if line.startswith("time_s"))
    cpu = lines[head].split(",").index("cpu")
    for at in range(head, len(lines)):
        if at == head:
            lines[at] += ",simulated-node-watts"
        elif not lines[at].startswith("#"):
            lines[at] += f",{BASE_W + CPU_W * float(lines[at].split(',')[cpu]):.3f}"
    said = f"# simulated: {BASE_W:g} + {CPU_W:g} * cpu W"
    begun = next(at for at, line in enumerate(lines) if re.match("# begun", line))
    path.write_text("\n".join([*lines[: begun + 1], said, *lines[begun + 1 :]]) + "\n")


def judged(a: tuple[str, str], b: tuple[str, str], *more: str) -> tuple[bool, float, list[float] | None, str]:
    """Return whether the gate fails, the change of energy and its interval in percent, and what was said of others."""
    words = (*INCPROF, "diff", a[0], b[0], "--counters", a[1], "--counters-b", b[1], "--json", *more)
    found = subprocess.run((*words, "--fail-on", "energy>5%"), capture_output=True, text=True, check=False)
    if found.returncode not in (0, 3):
        sys.exit(found.stderr)
    energy = json.loads(found.stdout)["run"]["energy"]
    others = re.findall(r"(\d+) % of the node's busy", found.stderr)
    return found.returncode == 3, energy["change_pct"], energy["interval_pct"], "/".join(others)


def main() -> None:
    """Measure and print."""
    pairs, seconds = (int(word) for word in [*sys.argv[1:], "6", "4"][:2])
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "phases")
        subprocess.run(["gcc", "-O2", "-g", "-pg", HERE.parent / "examples/phases.c", "-o", program], check=True)
        runs = [
            [record(program, s * seconds / 10, f"{n}{i}") for n, s in (("a", 1.0), ("b", LONGER))] for i in range(pairs)
        ]
        print("runs        energy>5%   change and interval          others' part of busy processors, %")
        for (first, _), (other, _) in itertools.pairwise(runs):
            show("equal", judged(first, other))
        for same, longer in runs:
            show(f"{LONGER:g} x work", judged(same, longer))


def show(what: str, found: tuple[bool, float, list[float] | None, str]) -> None:
    """Print a line."""
    fails, change, interval, others = found
    within = "-" if interval is None else f"{interval[0]:+.1f} to {interval[1]:+.1f} %"
    print(f"{what:<12}{'fails' if fails else 'passes':<12}{change:+.1f} % ({within})".ljust(53), others or "-")


if __name__ == "__main__":
    main()
