"""Compare the heartbeats of two runs: pairs, changes, and whether they exceed the noise within the runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from incprof.analysis.compare import TIMES, Condition, change_pct, exceeds, parse, selected, selects
from incprof.analysis.compare.match_names import Pair, pair_beats
from incprof.analysis.compare.noise import Change, Estimate, adjusted, change, series_mean, verdict
from incprof.analysis.heartbeats.summaries import BeatRun, BeatSummary
from incprof.errors import UsageError
from incprof.study.heartbeat_files import Filters, load, matches, run_of, summaries

BeatPair = Pair[BeatSummary]
UNITS: dict[str, dict[str, float]] = {
    **dict.fromkeys(("mean", "min", "max", "std", "p95"), TIMES),
    "count": {"": 1.0},
    "rate": {"/s": 1.0, "Hz": 1.0},
    "busy": {"": 1.0, "points": 1.0},
}
METRICS = tuple(UNITS)


def condition_of(text: str) -> Condition:
    """Parse a condition.

    Raises:
        UsageError: the text is no condition.
    """
    return parse(text, UNITS, "HEARTBEAT", "mean>10%")


def is_meant(selector: str, diff: BeatDiff) -> bool:
    """Return whether a selector means a heartbeat: its id, its name, or a pattern of its name."""
    beats = [beat for beat in (diff.pair.a, diff.pair.b) if beat is not None]
    by_id = any(str(beat.id) == selector for beat in beats)
    return by_id or selects(selector, {beat.name for beat in beats if beat.name is not None})


def is_broken(condition: Condition, diff: BeatDiff) -> bool:
    """Return whether a heartbeat fails the condition; it does too if it vanished, or B lacks the metric."""
    delta = diff.deltas[condition.metric]
    if diff.verdict == "gone":
        return True
    if diff.verdict == "new" or delta.a is None:
        return False  # there is no baseline
    return delta.b is None or exceeds(condition, delta.a, delta.b)


def broken(conditions: Sequence[Condition], diffs: Sequence[BeatDiff]) -> list[tuple[Condition, BeatDiff]]:
    """Return each failed condition, with the heartbeat that fails it.

    Raises:
        UsageError: a condition applies to a heartbeat that neither run has.
    """
    return [
        (condition, diff)
        for condition in conditions
        for diff in selected(condition, diffs, is_meant, "heartbeat")
        if is_broken(condition, diff)
    ]


@dataclass(frozen=True)
class BeatsCompared:
    """Result of a comparison.

    Attributes:
        runs: Directory and facts of each run.
        notes: Differences between the runs as a whole.
        diffs: Changes of each heartbeat.
        failed: Failed conditions, each with the heartbeat that fails it.
        warnings: Warnings from reading.
        damaged: Whether a damaged part of a run was skipped.
    """

    runs: tuple[tuple[str, BeatRun], tuple[str, BeatRun]]
    notes: list[str]
    diffs: list[BeatDiff]
    failed: list[tuple[Condition, BeatDiff]]
    warnings: tuple[str, ...]
    damaged: bool


def compare_beats(a: str, b: str, wanted: Filters, conditions: Sequence[str]) -> BeatsCompared:
    """Read both runs, compare them, and check the conditions.

    Raises:
        UsageError: a condition is invalid, or an id matches nothing in either run.
        NoDataError: one of the runs has nothing to compare.
    """
    parsed = [condition_of(text) for text in conditions]
    whole = replace(wanted, ids=None)  # a heartbeat may be in one run only
    found = load(a, whole), load(b, whole)
    warnings = tuple(f"{letter}: {line}" for letter, run in zip("AB", found, strict=True) for line in run.warnings)
    pairs = pair_beats(summaries(found[0]), summaries(found[1]))
    diffs = compare(pairs if wanted.ids is None else _selected(pairs, wanted.ids, f"{a} or {b}"))
    runs = (a, run_of(found[0])), (b, run_of(found[1]))
    notes = differences(runs[0][1], runs[1][1])
    return BeatsCompared(runs, notes, diffs, broken(parsed, diffs), warnings, found[0].damaged or found[1].damaged)


def _selected(
    pairs: list[Pair[BeatSummary]], ids: Sequence[frozenset[int] | str], where: str
) -> list[Pair[BeatSummary]]:
    """Select the pairs that match ids in either run.

    Raises:
        UsageError: an id matches nothing.
    """
    kept: set[int] = set()
    for part in ids:
        mine = {
            at
            for at, pair in enumerate(pairs)
            if any(beat is not None and matches(beat, part) for beat in (pair.a, pair.b))
        }
        if not mine:
            what = part if isinstance(part, str) else ",".join(map(str, sorted(part)[:3]))
            raise UsageError(f"--id {what}: no such heartbeat in {where}")
        kept |= mine
    return [pairs[at] for at in sorted(kept)]


# Compare the heartbeats of two runs: changes, and whether they exceed the noise within the runs.


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
        return None if self.a is None or self.b is None else change_pct(self.a, self.b)


@dataclass(frozen=True)
class BeatDiff:
    """A heartbeat in both runs.

    Attributes:
        pair: The heartbeat in A and in B.
        deltas: For each of METRICS. Count and rate include unrecorded beats (times the rate factor); they count pulses
            if a heartbeat has nothing else.
        ci: Interval of the factor by which the mean changed, and its p-value; None if not available.
        p_adjusted: The p-value, adjusted for the number of heartbeats compared.
        intervals: Number of intervals with a mean, in A and in B.
        verdict: `slower` or `faster` (significant), `noise` (not significant), `unsure` (too few intervals), `gone`
            (not in B), `new` (not in A), or `-` without a mean in both.
    """

    pair: BeatPair
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


def compare(pairs: Sequence[BeatPair]) -> list[BeatDiff]:
    """Compare each heartbeat of B with that of A; those that occurred in neither run are omitted."""
    diffs = [_diff(pair) for pair in pairs if present(pair.a) or present(pair.b)]
    p_values = adjusted([None if diff.ci is None else diff.ci.p_value for diff in diffs])
    return [
        diff
        if p is None
        else replace(diff, p_adjusted=p, verdict=verdict(p, diff.deltas["mean"].change or 0.0, "noise"))
        for diff, p in zip(diffs, p_values, strict=True)
    ]


def _diff(pair: BeatPair) -> BeatDiff:
    """Compare a single heartbeat, without adjusting for the others."""
    a, b = figures(pair.a), figures(pair.b)
    deltas = {metric: Delta(a[metric], b[metric]) for metric in METRICS}
    (one, n), (other, m) = _mean_of(pair.a), _mean_of(pair.b)
    ci = None if one is None or other is None else change(one, other)
    if not present(pair.b):
        known = "gone"
    elif not present(pair.a):
        known = "new"
    else:
        known = "-" if deltas["mean"].change is None else "unsure"
    return BeatDiff(pair, deltas, ci, None, (n, m), known)


def _mean_of(beat: BeatSummary | None) -> tuple[Estimate | None, int]:
    """Return the mean of a heartbeat with its uncertainty, and the number of intervals with a mean."""
    if beat is None:
        return None, 0
    some = beat.series.counts > 0
    return series_mean(beat.series.counts[some].astype(np.float64), beat.series.sums_s[some]), int(some.sum())


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
