"""The cards of all phases: a row, sentences and a JSON object for each phase, from the parts of the systems."""

from __future__ import annotations

from collections.abc import Sequence

from incprof.analysis.phase_result import Phase, PhaseResult
from incprof.model.card import Amount, CardPart
from incprof.model.section import Column, Section, Table
from incprof.model.time_use import SPENT
from incprof.report.render.json import json_value, rounded

NAME = "cards"


def card_section(result: PhaseResult, parts: Sequence[CardPart]) -> Section:
    """Return a section with a row for each phase; the columns of the last parts are dropped first."""
    every = [time_part(result), *parts]
    table = Table(
        (
            Column("Phase", lambda phase: phase, "phase", key="id"),
            Column("Time", lambda phase: _phase(result, phase).seconds, "duration", key="seconds"),
            *(column for part in every for column in part.columns),
        ),
        [phase.id for phase in result.present],
        key=NAME,
    )
    lanes = tuple(lane for part in every for lane in part.lanes)
    notes = tuple(note for part in every for note in part.notes)
    return Section(NAME, "What each phase uses and waits for", (table,), lanes, notes)


def cards_json(result: PhaseResult, parts: Sequence[CardPart]) -> dict[int, dict[str, object]]:
    """Return the card of each phase, by its number."""
    return {
        phase.id: {
            part.key: json_value(part.values[phase.id])
            for part in [time_part(result), *parts]
            if phase.id in part.values
        }
        for phase in result.present
    }


def time_part(result: PhaseResult) -> CardPart:
    """Return the CPU time of each phase."""
    cpu_s = {phase.id: _cpu_s(phase) for phase in result.present if phase.spent}
    return CardPart(
        "cpu_s",
        {phase: rounded(seconds) for phase, seconds in cpu_s.items()},
        (Column("CPU", cpu_s.get, "duration", key="cpu_s"),) if cpu_s else (),
        amounts=(Amount("cpu", "CPU time", "s", cpu_s),),
    )


def _cpu_s(phase: Phase) -> float:
    """Return the CPU seconds of a phase, of all threads."""
    return sum(phase.spent.get(kind, 0.0) for kind in SPENT)


def _phase(result: PhaseResult, number: int) -> Phase:
    """Return a phase by its number."""
    return next(phase for phase in result.present if phase.id == number)
