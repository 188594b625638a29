"""Sites for people: a line of numbers and the lines of source for each, then the refused sites."""

from __future__ import annotations

from typing import TextIO

from incprof.analysis.phase_result import RunSummary
from incprof.analysis.views.site_rows import ExcerptLine, RefusedRow, SiteRow, SitesAnswer
from incprof.report.words.display_names import Names
from incprof.report.words.formatting import printable

BASES = {
    "counted": "{} beats/s",
    "estimated": "about {} beats/s",
    "at most": "at most {} beats/s",
    "at least": "at least {} beats/s",
}


def write_text(run: RunSummary, answer: SitesAnswer, out: TextIO, *, width: int = 100) -> None:
    """Write the answer as plain text, at most `width` columns wide except for reasons."""
    width = max(width, 40)
    out.write(
        f"{printable(run.app)}, rank {run.rank}: {_count(answer.k, 'phase')}, {_count(len(answer.sites), 'site')}"
    )
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
    parts.append(BASES[row.basis].format(_rate(row.beats_hz)))
    if row.rate_factor != 1:
        parts.append(f"1 in {row.rate_factor} recorded")
    parts.append("overhead unknown" if row.overhead_pct is None else f"overhead {row.overhead_pct:.2g} %")
    return ", ".join(parts)


def _rate(value: float) -> str:
    """Return beats per second with three digits, large numbers without decimals."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _line(line: ExcerptLine, out: TextIO, digits: int, width: int) -> None:
    """Write a line of source."""
    if line.gap:
        out.write(f"      {'':{digits}}   ...\n")
    text = f"    {'>' if line.marked else ' '} {line.number:{digits}} | {line.text}".rstrip()
    out.write(text if len(text) <= width else text[: width - 3] + "...")
    out.write("\n")


def _refused(row: RefusedRow, names: Names, out: TextIO, width: int) -> None:
    """Write a site that has no place, and the reason."""
    name = names(row.function, max(width - 30, 24))
    out.write(f"\nrefused  {_phases(row.phases)}  {row.kind:4}  {name}\n         {printable(row.reason)}\n")


def _phases(phases: tuple[int, ...]) -> str:
    """Return the phases of a site."""
    if not phases:
        return "no phase"
    return f"phase{'s' * (len(phases) > 1)} {','.join(map(str, phases))}"


def _where(file: str | None, line: int | None) -> str:
    """Return file:line."""
    return "(no line numbers)" if file is None else f"{printable(file)}:{line}"


def _count(number: int, word: str) -> str:
    """Return a number and its word."""
    return f"{number} {word}" + "s" * (number != 1)
