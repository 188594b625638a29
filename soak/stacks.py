"""Deep stacks at every rate: a program with a deep stack ends as it does without recording."""

from __future__ import annotations

import collections
import itertools
from pathlib import Path
from random import Random

from soak.budget import Budget
from soak.faults import bench_of, try_fault
from soak.faults_draw import Fault
from soak.finding import Keeper

DEPTHS = (10, 100, 1000, 5000, 20000, 65000, 200000, 500000)
RATES = (100, 250, 1000, 5000, 10000)
CLOCKS = ("cpu", "perf")


def run(seed: int, budget: Budget, scratch: Path, keeper: Keeper, only: str = "") -> collections.Counter[str]:
    """Run random combinations of depth, rate, clock and build. only: the number of one."""
    del scratch
    done = collections.Counter[str]()
    with bench_of() as bench:
        builds = [build for build in bench.builds if build.counted]
        grid = list(itertools.product(DEPTHS, RATES, CLOCKS, builds))
        Random(f"{seed}/stacks").shuffle(grid)
        for number, _ in budget.drawn("stacks", seed, only):
            depth, rate, clock, build = grid[number % len(grid)]
            settings = {"INCPROF_RATE": str(rate), "INCPROF_CLOCK": clock, "INCPROF_INTERVAL": "0.05"}
            overhead = {"INCPROF_OVERHEAD": "100"} if number % 2 else {}
            fault = Fault((f"verydeep:{depth}",), build, tuple((settings | overhead).items()))
            for wrong in try_fault(bench, fault).wrong:
                keeper.keep(f"stacks/{number}", wrong, {}, depth=depth, rate=rate, clock=clock, build=build.name)
            done[f"at {rate} Hz"] += 1
    return done
