"""The text of a page about ranks before any script runs: similar ranks, phases over ranks, stragglers."""

from __future__ import annotations

from typing import Any

from incprof.analysis.ranks.ranks_result import PhaseBalance, RanksResult, Straggler
from incprof.analysis.views.page_parts import RankMap
from incprof.report.words.display_names import Names
from incprof.report.words.formatting import duration, percent
from incprof.report.words.ranks import agree_line, group_lines, late_lines, outlier_lines

# Rows of stragglers; all of them are in `phases --json`.
MOST = 24


def rank_words(found: RankMap, names: Names) -> dict[str, Any]:
    """Return the sentences and tables about all ranks."""
    result = found.found
    return {
        "number": len(result.ranks),
        "reference": found.reference,
        "unread": len(found.unread),
        "lines": [agree_line(result), *_alike(result), *outlier_lines(result), *late_lines(result)],
        "phases": [_phase(phase) for phase in result.phases],
        "mpi": any(phase.mpi.most > 0 for phase in result.phases),
        "stragglers": [_straggler(one, names) for one in result.stragglers[:MOST]],
        "more": max(len(result.stragglers) - MOST, 0),
    }


def _alike(found: RanksResult) -> list[str]:
    """Return the groups of similar ranks, unless all ranks are alike or none are."""
    return group_lines(found) if 1 < len(found.groups) < len(found.ranks) else []


def _phase(phase: PhaseBalance) -> dict[str, Any]:
    """Return the spread of a phase over ranks: its times, and their positions in percent of the longest."""
    work, mpi = phase.work, phase.mpi
    whole = max(work.most, 1e-9)
    return {
        "id": phase.id,
        "ranks": phase.ranks,
        "least": duration(work.least),
        "median": duration(work.median),
        "most": duration(work.most),
        "from": round(100 * work.least / whole, 2),
        "at": round(100 * work.median / whole, 2),
        "mean": round(100 * work.mean / whole, 2),
        "imbalance": "-" if work.imbalance is None else percent(work.imbalance),
        "mpi_median": duration(mpi.median),
        "mpi_most": duration(mpi.most),
        "slowest": phase.slowest if phase.ranks > 1 else None,
    }


def _straggler(one: Straggler, names: Names) -> dict[str, Any]:
    """Return a straggler, and the functions in which it works longer than its peers."""
    whole = max((seconds for _, seconds in one.why), default=0.0)
    return {
        "rank": one.rank,
        "phase": one.phase,
        "seconds": duration(one.seconds),
        "usual": duration(one.usual_s),
        "excess": percent(one.excess),
        "why": [
            (names(name), name, f"+{duration(seconds)}", round(100 * seconds / max(whole, 1e-9), 1))
            for name, seconds in one.why
        ],
    }
