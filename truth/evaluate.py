"""Run a method on a run, and score its answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from incprof.analysis.segment_sums import ticks_of
from incprof.model import IntArray, IntervalProfile
from incprof.model.names import parse
from truth.answers import METHODS, Answer, Method
from truth.scores import LabelScores, k_is_right, score_labels
from truth.scores.sites import NOTHING, Matches, SiteScores, call_graph, score_periods, score_sites, score_steps
from truth.truths import Truth


@dataclass(frozen=True)
class Outcome:
    """The scores of a method on a run.

    Of a run without phases only the number of phases is scored: an answer of one phase has to name some site.

    Attributes:
        run: name of the run.
        family: its family.
        split: its half.
        method: name of the method.
        truth: the truth about the run.
        k: number of phases.
        labels: None where the true labels are unknown.
        sites: scores of the sites.
        steps: counts of steps, of all levels.
        ticks: samples per interval.
        periods: counts of the reported periods of steps with a known number of calls.
    """

    run: str
    family: str
    split: str
    method: str
    truth: Truth
    k: int
    labels: LabelScores | None
    sites: SiteScores
    steps: Matches
    ticks: float
    periods: Matches = NOTHING

    @property
    def k_right(self) -> bool:
        """Return whether the number of phases is right."""
        return k_is_right(self.k, self.truth.k)


def evaluate(
    run: str,
    family: str,
    split: str,
    profile: IntervalProfile,
    labels: IntArray | None,
    truth: Truth,
    method: str,
    ask: Method | None = None,
) -> Outcome:
    """Run one method (a key of METHODS, or its name and `ask`) on a profile with known truth; labels: (n,) or None."""
    answer = (ask or METHODS[method])(profile)
    if not truth.distinct:
        labels, answer = None, replace(answer, sites=frozenset(), steps=frozenset(), recurring=())
    sites, steps = _scored(profile, truth, answer)
    steps = steps if truth.steps_known else NOTHING
    scores = None if labels is None else score_labels(labels, answer.labels, ticks_of(profile))
    ticks = float(np.median(profile.counters.samples)) if profile.n_intervals else 0.0
    periods = score_periods(_periods(profile, truth, answer))
    return Outcome(run, family, split, method, truth, answer.k, scores, sites, steps, ticks, periods)


def _scored(profile: IntervalProfile, truth: Truth, answer: Answer) -> tuple[SiteScores, Matches]:
    """Score sites and steps under the names of the truth."""
    places = [site.places for phase in truth.phases for site in phase.sites]
    accepted = frozenset(place for phase in truth.phases for place in phase.accepted)
    true_names = {name for group in (*places, accepted) for name, _ in group}
    true_steps = {step for phase in truth.phases for step in phase.steps}
    also = {step for phase in truth.phases for step in phase.accepted_steps}
    names_of_truth = frozenset(true_names | true_steps | also)
    names = [as_in_truth(function.name, names_of_truth) for function in profile.functions]
    sites_found = {(names[index], kind) for index, kind in answer.sites}
    sites = score_sites(places, sites_found, call_graph(profile, names), accepted)
    # A site is relevant, whether or not it alternates with others.
    also |= {name for group in places for name, _ in group}
    steps = score_steps(true_steps, {names[i] for i in answer.steps}, {name for name, _ in sites_found}, also)
    return sites, steps


def _periods(profile: IntervalProfile, truth: Truth, answer: Answer) -> Iterator[tuple[float, float]]:
    """Return the calls implied by each period of a step known to recur, and the actual calls.

    These are the steps with a count or a period in the truth. The change points of the answer are not those of the
    truth, so the actual calls in a phase are those counted by the collector.
    """
    timed_steps = frozenset(step for phase in truth.phases for step in phase.timed)
    for one in answer.recurring:
        if as_in_truth(profile.functions[one.function].name, timed_steps) in timed_steps:
            yield one.implied, one.calls


def as_in_truth(name: str, true_names: frozenset[str]) -> str:
    """Return the name of a function in a truth: as in the source, perhaps without outer namespaces or the module.

    Of inlined functions, debug data may lack the namespaces: a name that ends a single one of the truth is that one.
    """
    written = "::".join(parse(name).components) or name
    if written in true_names:
        return written
    if written.endswith("_") and written[:-1].islower():
        written = written[:-1]  # a Fortran procedure outside of modules
    parts = written.split("::")
    inner = ("::".join(parts[at:]) for at in range(len(parts)))
    outer = [name for name in true_names if name.endswith(f"::{written}")]
    return next((name for name in inner if name in true_names), outer[0] if len(outer) == 1 else written)
