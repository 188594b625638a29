"""The reasons for phases and sites, in sentences (docs/use/phases.md): `incprof phases --explain`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from incprof.analysis.explain import Explanation
from incprof.analysis.phase_result import PhaseResult
from incprof.analysis.ranks.ranks_result import RanksResult
from incprof.analysis.thresholds import Options
from incprof.report.text.folding import folded
from incprof.report.words.explanation import phase_lines, run_lines, told_of
from incprof.report.words.formatting import count
from incprof.report.words.phase_changes import NAME_ROOM
from incprof.report.words.phase_names import names_of
from incprof.report.words.ranks import found_in
from incprof.report.words.site_evidence import no_site, site_lines
from incprof.report.words.stages import stage_lines


def write_explanation(
    result: PhaseResult, why: Explanation, out: TextIO, *, width: int = 100, ranks: RanksResult | None = None
) -> None:
    """Write the reasons for the phases of the run, then for each phase and its sites.

    Args:
        result: the phases, in the profile that they were found in.
        why: the reasons.
        out: output stream.
        width: columns.
        ranks: all ranks, if there are several.
    """
    names = names_of(result, told_of(why))
    where = [] if ranks is None else [f"{found_in(ranks)}; intervals are numbered there"]
    head = f"Why {count(result.k, 'phase')} (method {result.method})"
    _write(out, head, [*where, *run_lines(result, why.run, names), *_scores(result)], width)
    if result.stages is not None:
        out.write("\nParts of the run\n")
        out.writelines(f"  {line}\n" for line in stage_lines(result.stages, names))
    for phase, evidence, sites in zip(result.phases, why.phases, why.sites, strict=True):
        _write(out, f"Why phase {phase.id}", phase_lines(result, phase, evidence, names), width)
        if not phase.sites and not phase.off_cpu:
            _write(out, "  No site", [no_site(phase, names)], width, indent="    ")
        for site, known in zip(phase.sites, sites, strict=True):
            name = f"{names(site.function, NAME_ROOM)} ({site.kind})"
            _write(out, f"  Site {name}", site_lines(known, result.options.sites, names), width, indent="    ")
    _write(out, "Thresholds (--set NAME=VALUE changes one)", _thresholds(result.options), width)


def _scores(result: PhaseResult) -> list[str]:
    """Return inertia and silhouette of every k of the paper's method; the chosen k is marked."""
    if result.method != "paper":
        return []
    cells = []
    for score in result.scores:
        mark = "*" if score.k == result.k_clusters else ""
        silhouette = "-" if score.silhouette is None else f"{score.silhouette:.2f}"
        cells.append(f"{score.k}{mark}:{score.inertia:.3g}/{silhouette}")
    return ["k: inertia/silhouette  " + "  ".join(cells)]


def _thresholds(options: Options) -> list[str]:
    """Return the thresholds group by group; changed ones are followed by their defaults."""
    rooms: dict[str, list[str]] = {}
    for room, one in options.listed():
        usual = "" if one.value == one.default else f" (usually {one.default:g})"
        rooms.setdefault(room, []).append(f"{room}.{one.name}={one.value:g}{usual}")
    return [", ".join(told) for told in rooms.values()]


def _write(out: TextIO, head: str, lines: Sequence[str], width: int, indent: str = "  ") -> None:
    """Write a head and sentences, which are wrapped where they are too long."""
    out.write(("\n" if not head.startswith(" ") else "") + head + "\n")
    for line in lines:
        out.write("\n".join(folded(line, width, indent, indent + "  ")) + "\n")
