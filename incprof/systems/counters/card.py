"""Counters on the cards of phases: figures, what bounds each phase, energy."""

from __future__ import annotations

from incprof.model.card import CardPart
from incprof.model.section import Column
from incprof.study.power import SampledCounters
from incprof.study.study import Study
from incprof.systems.counters.read import read_by_phase
from incprof.systems.counters.sections import BOUND

# Figures that have a place of their own on a card.
ENERGY = "energy_j"


def cards(study: Study, path: str) -> list[CardPart]:
    """Return the parts on the counters in a file: figures and, where power was sampled, energy.

    Lanes are those of the file's section.
    """
    found = read_by_phase(SampledCounters(study, path))
    figures = {phase.id: dict(phase.figures) for phase in found.phases}
    bounds = {phase.id: BOUND[phase.bound.by] for phase in found.phases if phase.bound is not None}
    metrics = {
        phase: {name: value for name, value in each.items() if name != ENERGY}
        | ({"bound_by": bounds[phase]} if phase in bounds else {})
        for phase, each in figures.items()
    }
    energy = {phase: each[ENERGY] for phase, each in figures.items() if ENERGY in each}
    parts = [CardPart("metrics", metrics, (Column("Bound by", bounds.get, "", drop=2, key="bound_by"),))]
    if energy:
        parts.append(CardPart(ENERGY, energy, (Column("Energy", energy.get, "J", drop=1, key=ENERGY),)))
    return parts
