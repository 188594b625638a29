"""The scored part of a method's answer about a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from incprof.analysis.answer import find_phases, site_chooser, within_budget
from incprof.analysis.phase_result import Phase, Step, all_steps
from incprof.analysis.sites.rates import BeatCost
from incprof.analysis.thresholds import OPTIONS, Options
from incprof.errors import IncprofError
from incprof.model import IntArray, IntervalProfile
from truth.alternatives import ALTERNATIVES, described


@dataclass(frozen=True)
class Recurring:
    """A step reported as recurring.

    Attributes:
        function: its index.
        calls: counted calls by its driver in the phase.
        implied: calls implied by the reported period, in the time of its phase or of the step above it.
    """

    function: int
    calls: int
    implied: float


@dataclass(frozen=True)
class Answer:
    """The scored part of an answer.

    Attributes:
        k: number of phases.
        labels: (n,) per interval, -1 for none.
        sites: (function index, kind).
        steps: function indices, of all levels.
        recurring: the steps with a period.
    """

    k: int
    labels: IntArray
    sites: frozenset[tuple[int, str]]
    steps: frozenset[int]
    recurring: tuple[Recurring, ...] = ()


# Defaults of the command line.
COST, BUDGET_PCT = BeatCost(pair_ns=30.0, skipped_ns=3.0), 1.0

Method = Callable[[IntervalProfile], Answer]


def of_tool(profile: IntervalProfile, method: str, options: Options = OPTIONS) -> Answer:
    """Run incprof itself, as `incprof phases` does; an answer without a result has no phases."""
    try:
        chooser = site_chooser(profile, method, options)
        unpriced = find_phases(profile, method=method, options=options, chooser=chooser)
        result = within_budget(chooser, unpriced, COST, BUDGET_PCT, move=method == "robust")
    except IncprofError:
        return Answer(0, np.full(profile.n_intervals, -1), frozenset(), frozenset())
    sites = frozenset((site.index, site.kind) for phase in result.phases for site in phase.sites)
    steps = frozenset(step.index for phase in result.phases for step in all_steps(phase.steps))
    recurring = tuple(r for phase in result.phases for r in _recurring(phase, phase.steps, phase.seconds))
    return Answer(result.k, result.labels, sites, steps, recurring)


def _recurring(phase: Phase, steps: Sequence[Step], seconds: float) -> Iterator[Recurring]:
    """Iterate over the steps of a phase that have a period. seconds: the time of their caller."""
    for step in steps:
        if step.period_s and step.every and step.times:
            yield Recurring(step.index, step.calls, seconds * step.times / step.every / step.period_s)
        yield from _recurring(phase, step.steps, phase.seconds * step.share)


def of_alternative(profile: IntervalProfile, name: str) -> Answer:
    """Run one of the plain alternatives; sites and steps are chosen for its phases as `robust` would."""
    labels = ALTERNATIVES[name](profile)
    sites, steps = described(profile, labels)
    return Answer(len(np.unique(labels[labels >= 0])), labels, sites, steps)


METHODS: dict[str, Method] = {
    **{name: partial(of_tool, method=name) for name in ("paper", "robust")},
    **{name: partial(of_alternative, name=name) for name in ALTERNATIVES},
}
