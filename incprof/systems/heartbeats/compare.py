"""Compare the heartbeats of two runs: changes, and whether they exceed the noise within the runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from incprof.analysis.compare.log_mean import Change, LogMean, adjusted, change, log_mean
from incprof.analysis.heartbeats.summaries import BeatRun, BeatSummary
from incprof.systems.heartbeats.pairs import Pair

METRICS = ("mean", "min", "max", "std", "p95", "count", "rate", "busy")
LEVEL = 0.95
FALSE_SHARE = 0.05  # false discoveries among the heartbeats reported as slower or faster


@dataclass(frozen=True)
class Delta:
    """A metric in both runs; None in a run without it. Seconds, beats, Hz, or percent of wall time."""

    a: float | None
    b: float | None

    @property
    def change(self) -> float | None:
        """Difference, in the metric's own unit; None unless both runs have it."""
        return None if self.a is None or self.b is None else self.b - self.a

    @property
    def pct(self) -> float | None:
        """Difference in percent of A; infinite if A is 0 and B is not; None unless both runs have it."""
        if self.a is None or self.b is None:
            return None
        if self.a == 0:
            return math.inf if self.b > 0 else 0.0
        return 100 * (self.b - self.a) / self.a


@dataclass(frozen=True)
class BeatDiff:
    """A heartbeat in both runs.

    Attributes:
        pair: The heartbeat in A and in B.
        deltas: For each of METRICS. Count and rate include unrecorded beats (times the rate factor); they count pulses
            if a heartbeat has nothing else.
        ci: Interval of the factor by which the mean changed, at LEVEL, and its p-value; None if not available.
        p_adjusted: The p-value, adjusted for the number of heartbeats compared.
        intervals: Number of intervals with a mean, in A and in B.
        verdict: `slower` or `faster` (significant), `noise` (not significant), `unsure` (too few intervals), `gone`
            (not in B), `new` (not in A), or `-` without a mean in both.
    """

    pair: Pair
    deltas: dict[str, Delta]
    ci: Change | None
    p_adjusted: float | None
    intervals: tuple[int, int]
    verdict: str


def figures(beat: BeatSummary | None) -> dict[str, float | None]:
    """Return the METRICS of a heartbeat."""
    if beat is None or not present(beat):
        return {metric: 0.0 if metric in ("count", "rate", "busy") else None for metric in METRICS}
    return {
        "mean": beat.mean_s,
        "min": beat.min_s,
        "max": beat.max_s,
        "std": beat.std_s if beat.count > 1 else None,
        "p95": beat.p95_s,
        "count": float(beat.count or beat.pulses) * beat.rate_factor,
        "rate": beat.rate_hz * beat.rate_factor,
        "busy": beat.busy_pct,
    }


def present(beat: BeatSummary | None) -> bool:
    """Return whether a heartbeat has occurred, or is in progress; one that only has a name has not."""
    return beat is not None and bool(beat.count or beat.pulses or beat.open)


def compare(pairs: Sequence[Pair]) -> list[BeatDiff]:
    """Compare each heartbeat of B with that of A; those that occurred in neither run are omitted."""
    diffs = [_diff(pair) for pair in pairs if present(pair.a) or present(pair.b)]
    asked = [at for at, diff in enumerate(diffs) if diff.ci is not None]
    p_values = [diff.ci.p_value for diff in diffs if diff.ci is not None]
    for at, p in zip(asked, adjusted(p_values), strict=True):
        diff = diffs[at]
        longer = (diff.deltas["mean"].change or 0.0) > 0
        verdict = "noise" if p > FALSE_SHARE else "slower" if longer else "faster"
        diffs[at] = replace(diff, p_adjusted=p, verdict=verdict)
    return diffs


def _diff(pair: Pair) -> BeatDiff:
    """Compare a single heartbeat, without adjusting for the others."""
    a, b = figures(pair.a), figures(pair.b)
    deltas = {metric: Delta(a[metric], b[metric]) for metric in METRICS}
    (one, n), (other, m) = _mean_of(pair.a), _mean_of(pair.b)
    ci = None if one is None or other is None else change(one, other, LEVEL)
    if not present(pair.b):
        verdict = "gone"
    elif not present(pair.a):
        verdict = "new"
    else:
        verdict = "-" if deltas["mean"].change is None else "unsure"
    return BeatDiff(pair, deltas, ci, None, (n, m), verdict)


def _mean_of(beat: BeatSummary | None) -> tuple[LogMean | None, int]:
    """Return the mean of a heartbeat with its uncertainty, and the number of intervals with a mean."""
    if beat is None:
        return None, 0
    some = beat.series.counts > 0
    return log_mean(beat.series.counts[some].astype(np.float64), beat.series.sums_s[some]), int(some.sum())


def differences(a: BeatRun, b: BeatRun) -> list[str]:
    """Return differences between the runs as a whole, a line each: they may explain why their heartbeats differ."""
    lines = []
    if a.app != b.app:
        lines.append(f"A is a run of {a.app!r}, B of {b.app!r}")
    for what, one, other in (("ranks", a.ranks, b.ranks), ("threads", a.threads, b.threads)):
        if one != other:
            lines.append(f"A has {one} {what}, B has {other}")
    if not math.isclose(a.interval_s, b.interval_s):
        lines.append(f"intervals are {a.interval_s:g} s in A, {b.interval_s:g} s in B: p95 is of means over them")
    return lines
