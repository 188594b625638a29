"""Whether a run is poor against the application's own past, figure by figure.

A figure is judged by its logarithm (disturbances multiply) against median and MAD of the past. Both stay where they
are until half of the past is poor, so runs that were poor need not be found and removed before the past can be a
standard: mean and standard deviation would be drawn towards them and hide the next one. The MAD times 1.4826 is the
standard deviation of normal values, but an uncertain one: it is worth 0.37 times as many runs (its efficiency, Huber
and Ronchetti, Robust Statistics, 2009, 5.1). With 5 past runs, 1 in 17 quiet runs is 3.5 such deviations off, the usual
bound. So the deviation is judged by Student's distribution with 0.37 n degrees of freedom, after division by
sqrt(1 + pi / 2n), the uncertainty of the median. tests/unit/test_beats_history.py holds it to that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from incprof.analysis.beats.noise import adjusted
from incprof.analysis.beats.results import BeatSummary

MIN_PAST = 5
ALARM = 0.01  # chance that a quiet run has a figure that is called poor
LEAST_SPREAD = 0.01  # no machine repeats itself better than that; and what never varied would make anything poor
MAD_TO_SD = 1.4826
MAD_EFFICIENCY = 0.37
MORE_IS_POOR = {"mean": True, "rate": False}

Key = tuple[str | None, int]


@dataclass(frozen=True)
class Past:
    """A figure in the past runs: how many have it, median, spread (1.4826 MAD, in shares of 1), lowest, highest."""

    runs: int
    median: float
    spread: float
    low: float
    high: float


@dataclass(frozen=True)
class Assessment:
    """A figure of a heartbeat against its past.

    Attributes:
        id: Of the heartbeat; in this run, or in the last one that had it.
        name: Of the heartbeat.
        metric: `mean` (seconds) or `rate` (beats or pulses per second, those that were not recorded included).
        value: In this run; None if it has none.
        past: None if no past run has it.
        deviations: How many spreads this run is worse than the median (better, if negative).
        p_value: Chance that a quiet run is this bad or worse; None if there are too few past runs.
        p_adjusted: The same, in view of the number of figures.
        better_runs: Past runs that were better.
        verdict: `poor`, `good` (as unusual, but better), `usual`, `few` (past runs with it), `missing` (every past run
            has this heartbeat), or `follows`: a poor rate where the durations of other heartbeats are poor, and not
            this one's. A phase that takes longer leaves less time for all others.
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
    """Return what a heartbeat is known by from run to run, for (id, name): its name, else its id.

    The second of several ids with one name is known by that it is the second.
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
    """Return the figures that are judged, those that a heartbeat has."""
    found = {"rate": beat.rate_hz * beat.rate_factor}
    if beat.mean_s is not None:
        found["mean"] = beat.mean_s
    return {metric: found[metric] for metric in MORE_IS_POOR if found.get(metric, 0) > 0}


def assess(
    now: Mapping[Key, tuple[int, Mapping[str, float]]],
    past: Sequence[Mapping[Key, tuple[int, Mapping[str, float]]]],
) -> list[Assessment]:
    """Judge each figure of a run.

    Args:
        now: For each heartbeat its id and its figures, all above 0.
        past: The same of each past run.

    Returns:
        By id, and in the order of MORE_IS_POOR; heartbeats that are missing last.
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
    """Judge one figure, as if it were the only one."""
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
    """Return the chance that a quiet run is so many spreads or more above the median of n past runs."""
    return float(special.stdtr(MAD_EFFICIENCY * n, -deviations / np.sqrt(1 + np.pi / (2 * n))))


def _missing(
    now: Mapping[Key, object], past: Sequence[Mapping[Key, tuple[int, Mapping[str, float]]]]
) -> list[Assessment]:
    """Return the heartbeats that all past runs have, and this one has not."""
    if len(past) < MIN_PAST:
        return []
    always = [key for key in past[-1] if key not in now and all(key in run for run in past)]
    return [
        Assessment(past[-1][key][0], key[0], "rate", None, None, better_runs=len(past), verdict="missing")
        for key in sorted(always, key=lambda key: past[-1][key][0])
    ]
