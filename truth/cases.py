"""The generated cases: a profile, the true label of each interval, and the truth about phases, sites and steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from incprof.model import IntArray, IntervalProfile
from truth.families import FAMILIES, NUMBERS
from truth.families_overlap import OVERLAP
from truth.play import play
from truth.split import half_of, half_of_name, seed_of
from truth.story import Scenario, edges_of, true_phases
from truth.truths import Truth

# Cases of each family of truth/families_overlap.py.
OVERLAP_NUMBER = 6


@dataclass(frozen=True)
class Case:
    """A run with known phases.

    Attributes:
        family: name of its family.
        number: its number in the family.
        split: its half.
        profile: its profile.
        labels: (n,) index into truth.phases, -1 where an interval is not of a single phase.
        truth: the truth about the run.
    """

    family: str
    number: int
    split: str
    profile: IntervalProfile
    labels: IntArray
    truth: Truth

    @property
    def name(self) -> str:
        """Return the name of the case."""
        return f"{self.family}/{self.number}"


def make_case(family: str, number: int) -> Case:
    """Draw a case; the same name and number give the same bytes."""
    rng = np.random.default_rng(seed_of(family, number))
    scenario = (OVERLAP.get(family) or FAMILIES[family])(rng)
    edges = edges_of(scenario, rng)
    labels = true_phases(scenario, edges)
    recorded = play(scenario, edges, rng)
    lost = np.flatnonzero(rng.random(len(labels)) < scenario.missing)
    empty = np.flatnonzero(rng.random(len(labels)) < scenario.empty)
    profile = recorded.profile(scenario.interval_s, scenario.rate_hz, lost, empty, rng)
    labels[empty] = -1
    return Case(family, number, split_of(family, number), profile, np.delete(labels, lost), _with_inner(scenario))


def split_of(family: str, number: int) -> str:
    """Return the half of a case: families of similar runs are held out as a whole, cases of others by number."""
    return half_of_name(family) if family in OVERLAP else half_of(family, number)


def _with_inner(scenario: Scenario) -> Truth:
    """Return the truth of a story; repeated calls inside its steps are accepted as steps as well."""
    leaves = (leaf for work in scenario.works for piece in work.pieces for leaf in piece.leaves)
    inner = tuple(dict.fromkeys(name for leaf in leaves for name in leaf.below))
    phases = [replace(phase, accepted_steps=(*phase.accepted_steps, *inner)) for phase in scenario.truth.phases]
    return replace(scenario.truth, phases=tuple(phases))


def all_names(split: str | None = None) -> Iterator[tuple[str, int]]:
    """Iterate over family and number of all cases, or of those of one half."""
    for family in (*FAMILIES, *OVERLAP):
        for number in range(NUMBERS.get(family, OVERLAP_NUMBER)):
            if split in (None, split_of(family, number)):
                yield family, number
