"""Sites for people: a line of numbers and the lines of source for each, then the refused sites."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from incprof.analysis.explain import Explanation
from incprof.analysis.phase_result import PhaseResult, RunSummary
from incprof.analysis.ranks.ranks_result import RanksResult
from incprof.analysis.thresholds import Options
from incprof.analysis.views.site_rows import ExcerptLine, SiteRow, SitesAnswer
from incprof.report.words.display_names import Names, names_of
from incprof.report.words.formatting import count, folded, rate
from incprof.report.words.phase_words import CHANGE_ROOM, functions_in_evidence, phase_lines, run_lines, stage_lines
from incprof.report.words.ranks import found_in
from incprof.report.words.site_evidence import no_site, refused_line, site_lines
from incprof.safe.printable import printable

BASES = {
    "counted": "{} beats/s",
    "estimated": "about {} beats/s",
    "at most": "at most {} beats/s",
    "at least": "at least {} beats/s",
}


def write_text(run: RunSummary, answer: SitesAnswer, out: TextIO, *, width: int = 100) -> None:
    """Write the answer as plain text, at most `width` columns wide except for reasons."""
    width = max(width, 40)
    out.write(f"{printable(run.app)}, rank {run.rank}: {count(answer.k, 'phase')}, {count(len(answer.sites), 'site')}")
    skipped = f"{answer.skipped_ns:.2g}" if answer.skipped_ns < 100 else f"{answer.skipped_ns:.0f}"
    out.write(f"; a beat costs {answer.pair_ns:.3g} ns, a skipped one {skipped} ns\n")
    names = Names([*map(_called, answer.sites), *(row.function for row in answer.refused)])
    for row in answer.sites:
        _site(row, names, out, width)
    for refused in answer.refused:
        _refused(refused, names, out, width)
    for phase in answer.unserved:
        out.write(f"\nPhase {phase}: no site is available\n")


def _called(row: SiteRow) -> str:
    """Return the name of a site's heartbeat, without the kind."""
    return row.name.removesuffix(f":{row.kind}")


def _site(row: SiteRow, names: Names, out: TextIO, width: int) -> None:
    """Write one site: its function, its beat rate, and its place."""
    head = f"\nheartbeat {row.heartbeat}  {_phases(row.phases)}  {row.kind:4}  "
    out.write(head + names(_called(row), max(width - len(head), 24)))
    out.write(f"  {_where(row.file, row.line)}\n")
    out.write(f"      {_figures(row)}\n")
    if row.note:
        out.write(f"      {printable(row.note)}\n")
    digits = len(str(max((line.number for line in row.excerpt), default=0)))
    for line in row.excerpt:
        _line(line, out, digits, width)


def _figures(row: SiteRow) -> str:
    """Return the numbers of a site, in one line."""
    parts = [f"{row.phase_pct:.1f} % of the phase"] if row.phase_pct > 0 else []
    if row.share is not None:
        parts.append(f"{100 * row.share:.0f} % of the function's time in the loop")
    if row.beats_hz is None:
        return ", ".join([*parts, "beats/s unknown"])
    parts.append(BASES[row.basis].format(rate(row.beats_hz)))
    if row.rate_factor != 1:
        parts.append(f"1 in {row.rate_factor} recorded")
    parts.append("overhead unknown" if row.overhead_pct is None else f"overhead {row.overhead_pct:.2g} %")
    return ", ".join(parts)


def _line(line: ExcerptLine, out: TextIO, digits: int, width: int) -> None:
    """Write a line of source."""
    if line.gap:
        out.write(f"      {'':{digits}}   ...\n")
    text = f"    {'>' if line.marked else ' '} {line.number:{digits}} | {line.text}".rstrip()
    out.write(text if len(text) <= width else text[: width - 3] + "...")
    out.write("\n")


def _refused(row: SiteRow, names: Names, out: TextIO, width: int) -> None:
    """Write a site that has no place, and the reason."""
    name = names(row.function, max(width - 30, 24))
    out.write(f"\nrefused  {_phases(row.phases)}  {row.kind:4}  {name}\n         {printable(row.reason or '')}\n")


def _phases(phases: tuple[int, ...]) -> str:
    """Return the phases of a site."""
    if not phases:
        return "no phase"
    return f"phase{'s' * (len(phases) > 1)} {','.join(map(str, phases))}"


def _where(file: str | None, line: int | None) -> str:
    """Return file:line."""
    return "(no line numbers)" if file is None else f"{printable(file)}:{line}"


# The reasons for phases and sites, in sentences (docs/use/phases.md): `incprof phases --explain`.


def write_explanation(
    result: PhaseResult, why: Explanation, out: TextIO, *, width: int = 100, ranks: RanksResult | None = None
) -> None:
    """Write the reasons for the phases of the run, then for each phase and its sites.

    result: the phases, in the profile that they were found in. ranks: all ranks, if there are several.
    """
    names = names_of(result, functions_in_evidence(why))
    where = [] if ranks is None else [f"{found_in(ranks)}; intervals are numbered there"]
    head = f"Why {count(result.k, 'phase')} (method {result.method})"
    _write(out, head, [*where, *run_lines(result, why.run, names), *_scores(result)], width)
    if result.stages is not None:
        out.write("\nParts of the run\n")
        out.writelines(f"  {line}\n" for line in stage_lines(result.stages, names))
    for phase, evidence, sites, refused in zip(result.phases, why.phases, why.sites, why.refused, strict=True):
        _write(out, f"Why phase {phase.id}", phase_lines(result, phase, evidence, names), width)
        if not phase.sites and not phase.off_cpu:
            _write(out, "  No site", [no_site(phase, names)], width, indent="    ")
        for site, known in zip(phase.sites, sites, strict=True):
            name = f"{names(site.function, CHANGE_ROOM)} ({site.kind})"
            _write(out, f"  Site {name}", site_lines(known, result.options.sites, names), width, indent="    ")
        if refused is not None:
            _write(out, "  No site", [refused_line(refused, names)], width, indent="    ")
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
    return [", ".join(values) for values in rooms.values()]


def _write(out: TextIO, head: str, lines: Sequence[str], width: int, indent: str = "  ") -> None:
    """Write a head and sentences, which are wrapped where they are too long."""
    out.write(("\n" if not head.startswith(" ") else "") + head + "\n")
    for line in lines:
        out.write("\n".join(folded(line, width, indent, indent + "  ")) + "\n")
