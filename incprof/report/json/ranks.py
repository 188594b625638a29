"""Ranks as JSON: the keys that incprof.phases/1 adds for a run of several ranks (docs/use/phases.md)."""

from __future__ import annotations

from typing import Any

from incprof.analysis.ranks.all_ranks import worked_s
from incprof.analysis.ranks.ranks_result import PhaseBalance, RanksResult, Spread
from incprof.model.time_use import MPI
from incprof.report.words.run import rounded


def with_ranks(answer: dict[str, Any], found: RanksResult) -> dict[str, Any]:
    """Return the answer of one rank, extended by the results for all ranks."""
    over = {phase.id: _of_phase(phase) for phase in found.phases}
    phases = [phase | over[phase["id"]] for phase in answer["phases"]]
    present = {phase["id"] for phase in phases}
    return answer | {
        "phases": phases,
        "absent": [{"id": number, **phase} for number, phase in over.items() if number not in present],
        "found_in": [part.rank for part in found.parts],
        "per_rank": _per_rank(found),
        "stragglers": [
            {
                "rank": one.rank,
                "phase": one.phase,
                "seconds": rounded(one.seconds),
                "usual_s": rounded(one.usual_s),
                "excess": rounded(one.excess),
                "sigmas": rounded(one.sigmas),
                "why": [{"function": name, "more_s": rounded(more)} for name, more in one.why],
            }
            for one in found.stragglers
        ],
        "groups": [{"ranks": list(group.ranks), "typical": group.typical} for group in found.groups],
        "outliers": [
            {
                "rank": one.rank,
                "distance": rounded(one.distance),
                "unexplained": rounded(one.unexplained),
                "why": [{"function": d.function, "here": rounded(d.here), "there": rounded(d.there)} for d in one.why],
            }
            for one in found.outliers
        ],
        "late": [{"rank": rank, "seconds": rounded(seconds)} for rank, seconds in found.late],
        "clocks": [
            {
                "host": one.host,
                "ahead_s": rounded(one.late_s),
                "drift": rounded(one.drift * 1e6),
                "borders": one.borders,
                "before_s": rounded(one.before_s),
                "after_s": rounded(one.after_s),
            }
            for one in found.clocks
        ],
    }


def _of_phase(over: PhaseBalance) -> dict[str, Any]:
    """Return a phase over ranks."""
    return {
        "ranks": over.ranks,
        "imbalance": rounded(over.work.imbalance),
        "imbalance_error": rounded(over.error),
        "slowest": over.slowest,
        "work_s": _spread(over.work),
        "mpi_s": _spread(over.mpi),
        "wall_s": _spread(over.wall),
    }


def _spread(one: Spread) -> dict[str, Any]:
    return {
        "min": rounded(one.least),
        "median": rounded(one.median),
        "max": rounded(one.most),
        "mean": rounded(one.mean),
    }


def _per_rank(found: RanksResult) -> list[dict[str, Any]]:
    """Return each rank: its phases, its agreement with the others, and its work."""
    work = worked_s(found.spent)
    return [
        {
            "rank": own.rank,
            "labels": own.of_intervals(own.label).tolist(),
            "agreement": rounded(agreement),
            "host": own.host or None,
            "start_s": rounded(float(found.offset_s[place])),
            "wall_s": [rounded(seconds) for seconds in found.wall_s[place, :-1].tolist()],
            "work_s": [rounded(seconds) for seconds in work[place, :-1].tolist()],
            "mpi_s": [rounded(seconds) for seconds in found.spent[place, :-1, MPI].tolist()],
            "unexplained": rounded(own.unexplained),
            "damaged": own.damaged,
        }
        for place, (own, agreement) in enumerate(zip(found.labels, found.agreement, strict=True))
    ]
