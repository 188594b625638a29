"""Periods: distances against other packages, profiles of 45 minutes, and what is found of their true periods."""

from __future__ import annotations

import functools
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from benchmarks.bed import Bed
from benchmarks.measure import Result
from benchmarks.periods_detection import TROUBLE, detection, found_of, random_series
from incprof.analysis.patterns import dtw, find_patterns
from incprof.analysis.patterns.synthetic import SHAPES, Truth, profile

PEERS = ("dtaidistance", "tslearn", "aeon")
HERTZ, MINUTES = 200, (1, 3, 5, 10, 15, 30, 45)
# Table III of the paper, 45 minutes.
PUBLISHED_S = {"HPCG": 168.84, "NEMO": 162.76, "OpenFOAM": 73.69}
SEEDS = (101, 102, 103)


def benchmarks(bed: Bed) -> Iterable[tuple[str, Callable[[], Result | list[Result]]]]:
    """Name and measurement of each."""
    yield "periods-distances", lambda: distances(bed)
    for name in SHAPES:
        yield f"periods-{name}", functools.partial(profiles, name)
    for trouble in TROUBLE:
        yield f"periods-detection-{trouble}", functools.partial(detection, trouble)
    yield "periods-random", random_series


def distances(bed: Bed) -> list[Result]:
    """All distances of 100 series of 220: ours and each peer's in turn, best of each process."""
    python = _peers(bed)
    series = np.random.default_rng(0).random((100, 220))
    path = bed.scratch / "series.npy"
    np.save(path, series)
    packed = dtw.pack(list(series))
    plain, squared = dtw.matrix(packed), dtw.matrix(packed, squared=True)
    ours: list[float] = []
    theirs: dict[str, list[float]] = {peer: [] for peer in PEERS}
    for _ in range(max(bed.pairs // 2, 3)):
        for peer in PEERS:
            ours.append(_best(packed))
            command = [python, Path(__file__).with_name("periods_peers.py"), peer, path]
            done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
            theirs[peer].append(float(done.stdout))
    same = {
        "dtaidistance": np.abs(np.load(f"{path}.dtaidistance.npy") / plain - 1).max(),
        "tslearn": np.abs(np.load(f"{path}.tslearn.npy") ** 2 / squared - 1).max(),
        "aeon": np.abs(np.load(f"{path}.aeon.npy") / squared - 1).max(),
    }
    mine = min(ours)
    fastest = min(PEERS, key=lambda peer: min(theirs[peer]))
    factor = min(theirs[fastest]) / mine
    each = ", ".join(f"{peer} {min(theirs[peer]):.2f} s" for peer in PEERS)
    what = "all DTW distances of 100 series of 220, against the fastest of dtaidistance, tslearn and aeon"
    reached = f"{factor:.1f}x faster ({fastest}): {1000 * mine:.0f} ms; {each}"
    worst = max(same.values())
    return [
        Result(what, "at least 5x faster", reached, factor >= 5),
        Result("the same, largest relative difference", "rounding", f"{worst:.1e}", bool(worst < 1e-9)),
    ]


def _peers(bed: Bed) -> Path:
    """The interpreter that has the peers: $INCPROF_PEERS, or a virtual environment in the scratch folder."""
    if given := os.environ.get("INCPROF_PEERS"):
        return Path(given)
    place = bed.scratch / "peers"
    python = place / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        subprocess.run([str(python), "-m", "pip", "-q", "install", *PEERS], check=True)
    return python


def _best(packed: dtw.Pack) -> float:
    times = []
    for _ in range(3):
        started = time.perf_counter()
        dtw.matrix(packed)
        times.append(time.perf_counter() - started)
    return min(times)


def profiles(name: str) -> list[Result]:
    """Time for 45 minutes at 5 ms, how it grows from one minute on, and what is found of the true periods."""
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
    seen = f"{100 * min(covered):.2f} % or more; {', '.join(summaries)}; true: {', '.join(shares)}"
    what = f"45 minutes at 5 ms shaped like {name} (paper: {PUBLISHED_S[name]} s)"
    period = f"the same, truly periodic time covered ({len(SEEDS)} profiles)"
    return [
        Result(what, "under 10 s", time_s, took[45] < 10),
        Result(period, "at least 95 %", seen, min(covered) >= 0.95),
        Result("the same, false periodic time", "at most 1 %", f"{100 * max(false):.2f} % or less", max(false) <= 0.01),
    ]


def _timed(truth: Truth) -> tuple[float, float]:
    """Elapsed and CPU seconds of a search."""
    elapsed, cpu = time.perf_counter(), time.process_time()
    find_patterns(truth.values)
    return time.perf_counter() - elapsed, time.process_time() - cpu
