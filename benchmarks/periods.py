"""Periods: profiles of 45 minutes, and how many of their true periods are found."""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable, Iterable

import numpy as np

from benchmarks.bed import Bed
from benchmarks.measure import Result
from benchmarks.periods_detection import TROUBLE, detection, found_of, random_series
from incprof.systems.periods.phase_ta import find_patterns
from tests.unit.made_series import SHAPES, Truth, profile

HERTZ, MINUTES = 200, (1, 3, 5, 10, 15, 30, 45)
# Table III of the paper, 45 minutes.
PUBLISHED_S = {"HPCG": 168.84, "NEMO": 162.76, "OpenFOAM": 73.69}
SEEDS = (101, 102, 103)


def benchmarks(bed: Bed) -> Iterable[tuple[str, Callable[[], Result | list[Result]]]]:
    """Yield name and measurement of each benchmark."""
    for name in SHAPES:
        yield f"periods-{name}", functools.partial(profiles, name)
    for trouble in TROUBLE:
        yield f"periods-detection-{trouble}", functools.partial(detection, trouble)
    yield "periods-random", random_series


def profiles(name: str) -> list[Result]:
    """Measure the time for 45 minutes at 5 ms, its growth from one minute on, and the found true periods."""
    took: dict[int, float] = {}
    cpu: dict[int, float] = {}
    for minutes in MINUTES:
        truth = profile(minutes * 60 * HERTZ, SHAPES[name], SEEDS[0])
        runs = [_timed(truth) for _ in range(3)]
        took[minutes], cpu[minutes] = (statistics.median(times) for times in zip(*runs, strict=True))
    exponent = float(np.polyfit(np.log(MINUTES), np.log([cpu[minutes] for minutes in MINUTES]), 1)[0])
    late = float(np.log(cpu[45] / cpu[15]) / np.log(3))
    table = ", ".join(f"{minutes} min {cpu[minutes]:.2f}" for minutes in MINUTES)
    covered, false, summaries, shares = [], [], [], []
    for seed in SEEDS:
        truth = profile(45 * 60 * HERTZ, SHAPES[name], seed)
        found = find_patterns(truth.values)
        got, periodic, wrong, rest = found_of(truth, found)
        covered.append(got / periodic)
        false.append(wrong / rest)
        summaries.append(f"{found.summary} {100 * found.coverage:.2f} %")
        shares.append(f"{100 * truth.periodic().mean():.2f} %")
    time_s = f"{took[45]:.2f} s; CPU time: {table} s; exponent of growth {exponent:.2f}, from 15 min on {late:.2f}"
    covered_text = f"{100 * min(covered):.2f} % or more; {', '.join(summaries)}; true: {', '.join(shares)}"
    what = f"45 minutes at 5 ms shaped like {name} (paper: {PUBLISHED_S[name]} s)"
    period = f"the same, truly periodic time covered ({len(SEEDS)} profiles)"
    return [
        Result(what, "under 10 s", time_s, took[45] < 10),
        Result(period, "at least 95 %", covered_text, min(covered) >= 0.95),
        Result("the same, false periodic time", "at most 1 %", f"{100 * max(false):.2f} % or less", max(false) <= 0.01),
    ]


def _timed(truth: Truth) -> tuple[float, float]:
    """Return elapsed and CPU seconds of a search."""
    elapsed, cpu = time.perf_counter(), time.process_time()
    find_patterns(truth.values)
    return time.perf_counter() - elapsed, time.process_time() - cpu
