"""Periods found under noise, drift and stretching, and false periods of random series."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.signal import lfilter

from benchmarks.measure import Result
from incprof.systems.periods.pattern_result import Patterns
from incprof.systems.periods.phase_ta import find_patterns
from tests.unit.made_series import SHAPES, Part, Truth, profile, stretch

SAMPLES, SEEDS = 60_000, 10
PARTS: dict[str, tuple[Part, ...]] = {
    **SHAPES,
    "nearly equal": (Part(200, 0.3, 12), Part(206, 0.3, 12), Part(212, 0.3, 12)),
    "short": (Part(12, 0.7, 40),),
}
# Noise and drift as shares of the range of values, jitter of the length of an instance: samples inserted and removed.
TROUBLE: dict[str, dict[str, float]] = {
    "as Table II": {},
    "without noise": {"noise": 0.0},
    "noise 6 %": {"noise": 0.06},
    "noise 10 %": {"noise": 0.1},
    "drift 100 %": {"drift": 1.0},
    "jitter 2 %": {"jitter": 0.02},
    "jitter 3 %": {"jitter": 0.03},
    "noise 6 %, jitter 2 %, drift 50 %": {"noise": 0.06, "jitter": 0.02, "drift": 0.5},
}


def detection(name: str) -> list[Result]:
    """Sum up the samples of all shapes and seeds under one disturbance."""
    found: list[tuple[float, float, float, float]] = []
    for seed in range(SEEDS):
        for parts in PARTS.values():
            truth = profile(SAMPLES, parts, 1000 + seed, **TROUBLE[name])
            found.append(found_of(truth, find_patterns(truth.values)))
    covered, periodic, false, rest = np.array(found).T
    share, wrong = covered.sum() / periodic.sum(), false.sum() / rest.sum()
    what = f"{len(found)} profiles of {', '.join(PARTS)}; {name}: truly periodic time covered"
    covered_text = f"{100 * share:.2f} %; least of a profile {100 * (covered / periodic).min():.1f} %"
    false_text = f"{100 * wrong:.2f} %, {100 * false.sum() / (periodic + rest).sum():.2f} % of all time"
    false_text += f"; most of a profile {100 * (false / rest).max():.1f} %"
    return [
        Result(what, "at least 95 %", covered_text, bool(share >= 0.95)),
        Result("the same, other time that is called periodic", "at most 1 %", false_text, bool(wrong <= 0.01)),
    ]


def found_of(truth: Truth, found: Patterns) -> tuple[float, float, float, float]:
    """Return the truly periodic samples that lie in an instance, all of them, other samples that do, all of them."""
    inside = truth.periodic() > 0
    got = np.zeros(len(inside), dtype=bool)
    for pattern in found.patterns:
        for start, end in pattern.instances.tolist():
            got[start:end] = True
    return float((got & inside).sum()), float(inside.sum()), float((got & ~inside).sum()), float((~inside).sum())


def random_series() -> list[Result]:
    """Measure random series of six kinds, and counts of few values, of five."""
    noise, counts = [], []
    for seed in range(60):
        for samples in (300, 500, 1500, 3000):
            draw = np.random.default_rng(seed)
            white = draw.standard_normal(samples)
            noise += [white, stretch(samples, draw), draw.exponential(size=samples) ** 3]
            noise += [lfilter([1], [1, -memory], white) for memory in (0.5, 0.9, 0.98)]
            counts += [draw.poisson(0.3, samples), draw.poisson(1.5, samples), draw.binomial(3, 0.9, samples)]
            counts.append(draw.geometric(0.5, samples))
            counts.append(np.concatenate([draw.poisson(mean, samples // 4) for mean in (1, 3, 0.5, 2)]))
    claimed, accidents = _claimed(noise), _claimed(counts)
    share = 100 * accidents / len(counts)
    return [
        Result("random series that are given a pattern (white, smooth, plateaus, heavy tails)", "none",
               f"{claimed} of {len(noise)}", claimed == 0),
        Result("random counts of few values that are given a pattern (Poisson, binomial, geometric, in stretches)",
               "-", f"{share:.1f} % ({accidents} of {len(counts)})", None),
    ]  # fmt: skip


def _claimed(series: Sequence[np.ndarray]) -> int:
    return sum(bool(find_patterns(each.astype(float)).patterns) for each in series)
