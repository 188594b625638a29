"""Sections that systems add to the answers of `phases` and `report`: the only module that names the systems."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from incprof.analysis.views.tracks import TimeBins
    from incprof.model.section import Amount, CardPart, Section
    from incprof.study import Study

    # Returns the sections of a system; given the time bins of a page, with lanes.
    OfSystem = Callable[[TimeBins | None], list[Section]]


def sections_of(study: Study, args: argparse.Namespace) -> list[OfSystem]:
    """Return the section functions of the systems selected by the arguments."""
    functions: list[OfSystem] = []
    if args.counters is not None:
        from incprof.systems.counters.sections import sections as counter_sections

        functions.append(counter_sections(study, args.counters))
    if getattr(args, "node", None) is not None:
        from incprof.systems.nodes.sections import sections

        of_node = sections(study, args.node)
        functions.append(lambda bins: of_node)
    return functions


def card_parts(study: Study, counters: str | None, bins: TimeBins | None) -> list[CardPart]:
    """Return the parts of the phases' cards for which something was recorded, in the order of their columns.

    counters: path of a file of counters.
    """
    from incprof.systems.counters.sections import cards
    from incprof.systems.gpu.sections import card as gpu_card
    from incprof.systems.heartbeats.sections import card as heartbeat_card
    from incprof.systems.io.sections import card as io_card
    from incprof.systems.memory.sections import card as memory_card
    from incprof.systems.waiting.sections import card as waiting_card

    parts: list[CardPart | None] = [
        waiting_card(study, bins),
        memory_card(study, bins),
        io_card(study, bins),
        gpu_card(study, bins),
        *cards(study, counters, bins),
        heartbeat_card(study, bins),
    ]
    return [part for part in parts if part is not None]


def cards_of(study: Study, args: argparse.Namespace) -> OfSystem:
    """Return the function of the section on the phases' cards."""
    from incprof.report.card_answer import card_section

    def of(bins: TimeBins | None) -> list[Section]:
        ranks = study.ranks if getattr(args, "all_ranks", True) else None
        return [card_section(study.phases(), card_parts(study, args.counters, bins), ranks)]

    return of


def amounts_of(study: Study) -> Mapping[str, Amount]:
    """Return the amounts on the cards of a run's phases, by metric."""
    from incprof.report.card_answer import time_part

    parts = [time_part(study.phases(confidence=False)), *card_parts(study, None, None)]
    return {amount.metric: amount for part in parts for amount in part.amounts}
