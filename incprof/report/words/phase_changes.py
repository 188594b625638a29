"""The changes from one phase to the next, in sentences (docs/use/phases.md)."""

from __future__ import annotations

from dataclasses import replace

from incprof.analysis.phase_result import PhaseResult
from incprof.analysis.phases.clustering import Border
from incprof.report.words.formatting import duration, percent
from incprof.report.words.phase_names import names_of

NAME_ROOM = 32
# Change points between phases that have the same sites, in the short text: lines at most.
MOST_BETWEEN_SAME = 4


def border_lines(result: PhaseResult, most: int) -> list[str]:
    """Describe the changes at change points, that many at most: the first between each two phases has priority."""
    names = names_of(result)
    seen: dict[tuple[int, int], int] = {}
    for border in result.borders:
        pair = border.before, border.after
        seen[pair] = seen.get(pair, 0) + 1
    first: dict[tuple[int, int], Border] = {}
    for border in result.borders:
        first.setdefault((border.before, border.after), border)
    lines = []
    for pair, border in list(first.items())[:most]:
        name = "time outside of the program" if border.function is None else names(border.function, NAME_ROOM)
        more = f", {seen[pair]} times" if seen[pair] > 1 else ""
        lines.append(
            f"phase {border.before} to {border.after} at {begin_of(result, border.interval)}{more}: {name} from "
            f"{percent(border.share_before)} to {percent(border.share_after)}"
        )
    if len(first) > most:
        lines.append(f"and changes between {len(first) - most} more pairs of phases")
    return lines


def same_sites_lines(result: PhaseResult) -> list[str]:
    """Describe the change points between phases that have the same sites, which the table cannot distinguish."""
    sites = {phase.id: {(site.index, site.kind) for site in phase.sites} for phase in result.phases}
    borders = [one for one in result.borders if sites[one.before] and sites[one.before] == sites[one.after]]
    return border_lines(replace(result, borders=tuple(borders)), MOST_BETWEEN_SAME)


def begin_of(result: PhaseResult, number: int) -> str:
    """Return the start of an interval."""
    return duration(float(result.end_s[number - 1]) if number else 0.0)
