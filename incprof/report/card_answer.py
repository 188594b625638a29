"""The cards of all phases: a row, sentences and a JSON object for each phase, from the parts of the systems."""

from __future__ import annotations

from collections.abc import Sequence

from incprof.analysis.phase_result import Phase, PhaseResult
from incprof.analysis.ranks.ranks_result import RanksResult
from incprof.model.section import Amount, CardPart, Column, Section, Table
from incprof.model.time_use import SPENT
from incprof.report.render.json import json_value, rounded

NAME = "cards"


def card_section(result: PhaseResult, parts: Sequence[CardPart], ranks: RanksResult | None = None) -> Section:
    """Return a section with a row for each phase. ranks: all ranks, if there are several."""
    every = _with_core(result, parts, ranks)
    table = Table(
        (
            Column("Phase", lambda phase: phase, "phase", key="id"),
            Column("Time", lambda phase: _phase(result, phase).seconds, "duration", key="seconds"),
            # Those of CSV alone come last, where columns are added (docs/reference/stability.md).
            *sorted((column for part in every for column in part.columns), key=lambda column: column.head is None),
        ),
        [phase.id for phase in result.present],
        key=NAME,
    )
    lanes = tuple(lane for part in every for lane in part.lanes)
    notes = tuple(note for part in every for note in part.notes)
    return Section(NAME, "What each phase uses and waits for", (table,), lanes, notes)


def cards_json(
    result: PhaseResult, parts: Sequence[CardPart], ranks: RanksResult | None = None
) -> dict[int, dict[str, object]]:
    """Return the card of each phase, by its number. ranks: all ranks, if there are several."""
    every = _with_core(result, parts, ranks)
    return {
        phase.id: {part.key: json_value(part.values[phase.id]) for part in every if phase.id in part.values}
        for phase in result.present
    }


def _with_core(result: PhaseResult, parts: Sequence[CardPart], ranks: RanksResult | None) -> list[CardPart]:
    """Return the parts that every recording has, and those of the systems."""
    return [time_part(result), *([] if ranks is None else [_rank_part(ranks)]), *parts]


def _rank_part(ranks: RanksResult) -> CardPart:
    """Return how well the ranks share each phase, by the efficiencies of the POP project.

    Load balance is the mean work over the largest, communication efficiency the largest work over the wall time; their
    product is the parallel efficiency. Work is time on the CPU that is not waiting, nor in MPI.
    """
    values: dict[int, dict[str, object]] = {}
    for phase in ranks.phases:
        if phase.ranks > 1 and phase.work.mean > 0 and phase.wall.mean > 0:
            values[phase.id] = {
                "ranks": phase.ranks,
                "parallel_efficiency": phase.work.mean / phase.wall.mean,
                "load_balance": phase.work.mean / phase.work.most,
                "communication_efficiency": phase.work.most / phase.wall.mean,
                "mpi_s": phase.mpi.mean,
                "slowest": phase.slowest,
            }
    columns = (
        Column(
            "Parallel", lambda phase: values.get(phase, {}).get("parallel_efficiency"), "%", key="parallel_efficiency"
        ),
        Column("Balance", lambda phase: values.get(phase, {}).get("load_balance"), "%", drop=5, key="load_balance"),
    )
    return CardPart("mpi", values, columns if values else ())


def time_part(result: PhaseResult) -> CardPart:
    """Return the CPU time of each phase."""
    cpu_s = {phase.id: sum(phase.spent.get(kind, 0.0) for kind in SPENT) for phase in result.present if phase.spent}
    return CardPart(
        "cpu_s",
        {phase: rounded(seconds) for phase, seconds in cpu_s.items()},
        (Column("CPU", cpu_s.get, "duration", key="cpu_s"),) if cpu_s else (),
        amounts=(Amount("cpu", "CPU time", "s", cpu_s),),
    )


def _phase(result: PhaseResult, number: int) -> Phase:
    """Return a phase by its number."""
    return next(phase for phase in result.present if phase.id == number)
