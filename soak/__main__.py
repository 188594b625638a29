"""python -m soak: draw cases until the time is up, and report the findings."""

from __future__ import annotations

import argparse
import importlib
import os
import random
import signal
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import FrameType

# One thread each: what a command takes is its own. Before numpy is imported.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from soak.budget import Budget  # noqa: E402
from soak.finding import Keeper  # noqa: E402

ROOT = Path(__file__).parent.parent
# Parts, each a module with `run`, and the share of the time that each gets.
PARTS = {
    "inputs": 0.36,
    "faults": 0.3,
    "kills": 0.1,
    "stacks": 0.05,
    "pythons": 0.05,
    "mpi": 0.05,
    "outside": 0.02,
    "openmp": 0.02,
    "jobs": 0.05,
}


def _stop_on_sigterm(budgets: Iterable[Budget]) -> None:
    """On SIGTERM, stop after the current case."""

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        for budget in budgets:
            budget.stop()

    signal.signal(signal.SIGTERM, stop)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the selected parts. Exit status 1 if there are findings."""
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=None, help="(default: drawn)")
    parser.add_argument("--cases", type=int, default=None, help="so many of each part, however long it takes")
    parser.add_argument("--only", default="", metavar="PART[/KIND[/NUMBER]]", help="a part, a kind of it, or one case")
    parser.add_argument("--scratch", type=Path, default=ROOT / "build" / "soak", help="(default: build/soak)")
    args = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(10**9) if args.seed is None else args.seed
    part, _, only = args.only.partition("/")
    if part and part not in PARTS:
        parser.error(f"no part {part!r}: there are {', '.join(PARTS)}")
    parts = {part: 1.0} if part else PARTS
    keeper = Keeper(args.scratch / "findings" / str(seed), f"python -m soak --seed {seed} --cases 1 --only {{case}}")
    print(f"seed {seed}", flush=True)
    budgets = {name: Budget(args.seconds * share / sum(parts.values()), args.cases) for name, share in parts.items()}
    _stop_on_sigterm(budgets.values())
    for name, budget in budgets.items():
        done = importlib.import_module(f"soak.{name}").run(seed, budget, args.scratch.absolute(), keeper, only)
        listed = ", ".join(f"{what} {count}" for what, count in sorted(done.items()))
        print(f"{name}: {budget.done} cases in {budget.elapsed_s():.0f} s: {listed}", flush=True)
    print("\n".join([f"{len(keeper.found)} findings", *keeper.lines()]))
    return 1 if keeper.found else 0


if __name__ == "__main__":
    sys.exit(main())
