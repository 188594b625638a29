"""The generated cases: a profile, the true label of each interval, and the truth about phases, sites and steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from incprof.model import IntArray, IntervalProfile
from truth.families import FAMILIES, NUMBERS
from truth.play import play
from truth.split import half_of, seed_of
from truth.story import Story, edges_of, interval_phases, true_labels
from truth.truths import Truth


@dataclass(frozen=True)
class Case:
    """A run with known phases. labels: (n,) index into truth.phases, -1 where an interval is no single phase."""

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
    story = FAMILIES[family](rng)
    edges = edges_of(story, rng)
    labels = true_labels(interval_phases(story, edges))
    recorded = play(story, edges, rng)
    lost = np.flatnonzero(rng.random(len(labels)) < story.missing)
    empty = np.flatnonzero(rng.random(len(labels)) < story.empty)
    profile = recorded.profile(story.interval_s, story.rate_hz, lost, empty, rng)
    labels[empty] = -1
    return Case(family, number, half_of(family, number), profile, np.delete(labels, lost), _with_inner(story))


def _with_inner(story: Story) -> Truth:
    """Return the truth of a story; what its steps call again and again in turn may be called steps as well."""
    phases = []
    for work, phase in zip(story.works, story.truth.phases, strict=True):
        inner = dict.fromkeys(name for piece in work.pieces for leaf in piece.leaves for name in leaf.below)
        phases.append(replace(phase, accepted_steps=tuple(dict.fromkeys((*phase.accepted_steps, *inner)))))
    return replace(story.truth, phases=tuple(phases))


def all_names(split: str | None = None) -> Iterator[tuple[str, int]]:
    """Go through family and number of all cases, or of those of one half."""
    for family in FAMILIES:
        for number in range(NUMBERS[family]):
            if split in (None, half_of(family, number)):
                yield family, number
