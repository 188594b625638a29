"""Decide whether a run is poor relative to the application's own history, metric by metric.

A metric is judged by its logarithm (disturbances multiply) against median and MAD of the past runs. Both are stable
until half of the past runs are poor, so poor runs need not be found and removed from the history: mean and standard
deviation would be shifted by them and hide the next one. The MAD times 1.4826 estimates the standard deviation of
normal values, but less efficiently: it is worth 0.37 times as many runs (Huber and Ronchetti, Robust Statistics, 2009,
5.1). With 5 past runs, 1 in 17 quiet runs exceeds 3.5 such deviations, the usual bound. So the deviation is judged by
Student's distribution with 0.37 n degrees of freedom, after division by sqrt(1 + pi / 2n), the uncertainty of the
median. tests/unit/test_beats_history.py verifies this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from incprof.analysis.compare.log_mean import adjusted
from incprof.analysis.heartbeats.summaries import BeatSummary

MIN_PAST = 5
ALARM = 0.01  # probability that a quiet run has a metric reported as poor
LEAST_SPREAD = 0.01  # no machine is more reproducible; and with zero spread any change would be poor
MAD_TO_SD = 1.4826
MAD_EFFICIENCY = 0.37
MORE_IS_POOR = {"mean": True, "rate": False}

Key = tuple[str | None, int]


@dataclass(frozen=True)
class Past:
    """A metric in the past runs.

    Attributes:
        runs: Number of past runs with it.
        median: Median, in the metric's unit.
        spread: 1.4826 MAD of the logarithms, about the relative deviation.
        low: Lowest value.
        high: Highest value.
    """

    runs: int
    median: float
    spread: float
    low: float
    high: float


@dataclass(frozen=True)
class Assessment:
    """A metric of a heartbeat compared with its past.

    Attributes:
        id: Id of the heartbeat in this run, or in the last one that had it.
        name: Name of the heartbeat.
        metric: `mean` (seconds) or `rate` (beats or pulses per second, including unrecorded ones).
        value: Value in this run; None if it has none.
        past: Past values; None if no past run has any.
        deviations: Number of spreads by which this run is worse than the median (negative: better).
        p_value: Probability that a quiet run is this bad or worse; None with too few past runs.
        p_adjusted: The same, adjusted for the number of metrics.
        better_runs: Number of past runs that were better.
        verdict: `poor`, `good` (as unusual, but better), `usual`, `few` (past runs with it), `missing` (every past run
            has this heartbeat), or `follows`: a poor rate while the durations of other heartbeats are poor, and this
            one's is not. A phase that takes longer leaves less time for all others.
    """

    id: int
    name: str | None
    metric: str
    value: float | None
    past: Past | None
    deviations: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    better_runs: int = 0
    verdict: str = "few"


def keys(beats: Sequence[tuple[int, str | None]]) -> list[Key]:
    """Return the keys that identify heartbeats across runs, for (id, name): the name, else the id.

    Several ids with one name are identified by their order.
    """
    seen: dict[str, int] = {}
    found: list[Key] = []
    for number, name in beats:
        if name is None:
            found.append((None, number))
        else:
            found.append((name, seen.get(name, 0)))
            seen[name] = seen.get(name, 0) + 1
    return found


def figures(beat: BeatSummary) -> dict[str, float]:
    """Return the metrics that are judged, as far as a heartbeat has them."""
    found = {"rate": beat.rate_hz * beat.rate_factor}
    if beat.mean_s is not None:
        found["mean"] = beat.mean_s
    return {metric: found[metric] for metric in MORE_IS_POOR if found.get(metric, 0) > 0}


def assess(
    now: Mapping[Key, tuple[int, Mapping[str, float]]],
    past: Sequence[Mapping[Key, tuple[int, Mapping[str, float]]]],
) -> list[Assessment]:
    """Assess each metric of a run.

    Args:
        now: For each heartbeat its id and its metrics, all above 0.
        past: The same for each past run.

    Returns:
        Assessments by id, and in the order of MORE_IS_POOR; missing heartbeats are last.
    """
    found = []
    for key, (number, own) in sorted(now.items(), key=lambda item: item[1][0]):
        for metric, value in own.items():
            before = [run[key][1][metric] for run in past if key in run and metric in run[key][1]]
            found.append(_assessment(Assessment(number, key[0], metric, value, None), value, before))
    asked = [at for at, assessment in enumerate(found) if assessment.p_value is not None]
    p_values = [p for assessment in found if (p := assessment.p_value) is not None]
    worse, better = adjusted(p_values), adjusted([1 - p for p in p_values])
    for at, bad, good in zip(asked, worse, better, strict=True):
        verdict = "poor" if bad <= ALARM else "good" if good <= ALARM else "usual"
        found[at] = replace(found[at], p_adjusted=bad, verdict=verdict)
    longer = {assessment.id for assessment in found if assessment.metric == "mean" and assessment.verdict == "poor"}
    for at, assessment in enumerate(found):
        if longer and assessment.verdict == "poor" and assessment.id not in longer:
            found[at] = replace(assessment, verdict="follows")
    return found + _missing(now, past)


def _assessment(empty: Assessment, value: float, before: Sequence[float]) -> Assessment:
    """Assess one metric, without adjusting for the others."""
    if not before:
        return empty
    logs = np.log(np.asarray(before))
    middle = float(np.median(logs))
    spread = MAD_TO_SD * float(np.median(np.abs(logs - middle)))
    summary = Past(len(before), float(np.exp(middle)), spread, min(before), max(before))
    sign = 1 if MORE_IS_POOR[empty.metric] else -1
    deviations = sign * (float(np.log(value)) - middle) / max(spread, LEAST_SPREAD)
    rank = sum(sign * other < sign * value for other in before)
    p = p_of(deviations, len(before)) if len(before) >= MIN_PAST else None
    return replace(empty, past=summary, deviations=deviations, p_value=p, better_runs=rank)


def p_of(deviations: float, n: int) -> float:
    """Return the probability that a quiet run is this many spreads or more above the median of n past runs."""
    return float(special.stdtr(MAD_EFFICIENCY * n, -deviations / np.sqrt(1 + np.pi / (2 * n))))


def _missing(
    now: Mapping[Key, object], past: Sequence[Mapping[Key, tuple[int, Mapping[str, float]]]]
) -> list[Assessment]:
    """Return the heartbeats that all past runs have, but this one has not."""
    if len(past) < MIN_PAST:
        return []
    always = [key for key in past[-1] if key not in now and all(key in run for run in past)]
    return [
        Assessment(past[-1][key][0], key[0], "rate", None, None, better_runs=len(past), verdict="missing")
        for key in sorted(always, key=lambda key: past[-1][key][0])
    ]
