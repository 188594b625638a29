"""Outcomes of many runs combined: the scores of each method over a half, or over a family."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from truth.evaluate import Outcome
from truth.scores.sites import NOTHING, Matches


@dataclass(frozen=True)
class Spread:
    """A median and its quartiles; None without measurements."""

    low: float
    median: float
    high: float


@dataclass(frozen=True)
class Summary:
    """Scores of a method over some runs.

    Attributes:
        runs: number of runs.
        k_right: share of all runs with the right number of phases.
        one_phase: the same of runs of one phase; None where there are none.
        noise: the same of runs without phases; None where there are none.
        ari: adjusted Rand index.
        ami: adjusted mutual information.
        v_measure: V-measure.
        boundary_f1: F1 of the changes of phase.
        boundary_mean: mean of that.
        transitions: mean score of the transitions.
        coverage: mean share of assigned intervals.
        samples_right: mean share of the samples in their true phase.
        samples_worst: least of these shares.
        functions: counts of sites without the kind, over all runs.
        places: counts of sites with the kind, over all runs.
        near: share of the true sites with a found function at most one call away.
        hops: mean over the true sites with a known distance.
        steps: counts of steps over all runs.
        periods: counts of periods over all runs.
    """

    runs: int
    k_right: float
    one_phase: float | None
    noise: float | None
    ari: Spread | None
    ami: Spread | None
    v_measure: Spread | None
    boundary_f1: Spread | None
    boundary_mean: float | None
    transitions: float | None
    coverage: float | None
    samples_right: float | None
    samples_worst: float | None
    functions: Matches
    places: Matches
    near: float | None
    hops: float | None
    steps: Matches
    periods: Matches


def summarise(outcomes: Sequence[Outcome]) -> Summary:
    """Combine outcomes of one method."""
    labels = [outcome.labels for outcome in outcomes if outcome.labels is not None]
    hops = [hop for outcome in outcomes for hop in outcome.sites.hops]
    reachable = [hop for hop in hops if hop is not None]
    return Summary(
        runs=len(outcomes),
        k_right=_mean(outcome.k_right for outcome in outcomes) or 0.0,
        one_phase=_mean(o.k_right for o in outcomes if o.truth.k == (1,)),
        noise=_mean(o.k_right for o in outcomes if not o.truth.distinct),
        ari=spread(score.ari for score in labels),
        ami=spread(score.ami for score in labels),
        v_measure=spread(score.v_measure for score in labels),
        boundary_f1=spread(score.boundary_f1 for score in labels),
        boundary_mean=_mean(score.boundary_f1 for score in labels),
        transitions=_mean(score.transitions for score in labels if score.transitions is not None),
        coverage=_mean(score.coverage for score in labels),
        samples_right=_mean(score.samples_right for score in labels),
        samples_worst=min((score.samples_right for score in labels), default=None),
        functions=reduce(add, (outcome.sites.functions for outcome in outcomes), NOTHING),
        places=reduce(add, (outcome.sites.places for outcome in outcomes), NOTHING),
        near=sum(outcome.sites.near for outcome in outcomes) / len(hops) if hops else None,
        hops=sum(reachable) / len(reachable) if reachable else None,
        steps=reduce(add, (outcome.steps for outcome in outcomes), NOTHING),
        periods=reduce(add, (outcome.periods for outcome in outcomes), NOTHING),
    )


def spread(values: Iterable[float]) -> Spread | None:
    """Return median and quartiles."""
    all_values = np.array(list(values))
    return Spread(*np.quantile(all_values, [0.25, 0.5, 0.75]).tolist()) if len(all_values) else None


def _mean(values: Iterable[float]) -> float | None:
    """Return the mean, None of nothing."""
    all_values = list(values)
    return float(np.mean(all_values)) if all_values else None
