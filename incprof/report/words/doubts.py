"""What limits how far an answer may be trusted, and what to do about it: the notes under the head of `phases`."""

from __future__ import annotations

from incprof.analysis.phases.interval import Proposal, proposed
from incprof.analysis.phases.results import Phase, PhaseResult, RunSummary
from incprof.analysis.phases.verdict import NAMELESS, nameless_part
from incprof.report.words.figures import duration, percent
from incprof.report.words.names import shorten

NAME_ROOM = 40
# Sites with less of their phase do not represent it.
LITTLE = 0.5
# All that a run-time compiles and gives no names.
MADE_AT_RUN_TIME = "[unknown in [jit]]"


def doubt_lines(run: RunSummary, result: PhaseResult) -> list[str]:
    """Return what limits the answer, a line each."""
    lines = []
    if (part := nameless_part(result)) >= NAMELESS:
        lines.append(
            f"{percent(part)} of the time is in code without symbols, where functions look the same: {_remedy(result)}"
        )
    if (found := proposed(run, result)) is not None:
        lines.append(_interval_line(run, found))
    if result.paths_estimated:
        lines.append("no call paths were recorded: a function's time is divided among its callers by numbers of calls")
    lines += [_little_line(phase) for phase in result.present if _little(phase)]
    return lines


def _remedy(result: PhaseResult) -> str:
    """Return what gives names to code without symbols: most of it is the program's, or made by its run-time."""
    nameless = [top for phase in result.phases for top in phase.functions if top.function.is_nameless]
    if nameless and max(nameless, key=lambda top: top.self_s).function.name == MADE_AT_RUN_TIME:
        return (
            "record again with the options by which java and node name what they compile (incprof help python-programs)"
        )
    return "build with symbols (no -s, no strip) and record again, or give the program with --exe"


def _interval_line(run: RunSummary, found: Proposal) -> str:
    """Say which interval suits the iterations of a run."""
    rate = "" if found.rate_hz is None else f" -r {found.rate_hz:g}"
    what = (
        "several of them fit into an interval" if found.interval_s > run.interval_s else "an interval is a part of one"
    )
    return (
        f"an iteration of {shorten(found.driver, NAME_ROOM)} takes {duration(found.period_s)}, intervals of "
        f"{run.interval_s:g} s cut through it: record with -i {found.interval_s:g}{rate}, so that {what}"
    )


def _little(phase: Phase) -> bool:
    """Tell whether the sites of a phase leave most of it."""
    return bool(phase.sites) and sum(site.phase_pct for site in phase.sites) < 100 * LITTLE


def _little_line(phase: Phase) -> str:
    """Return that sites do not represent their phase, and where the rest of its time is."""
    held = sum(site.phase_pct for site in phase.sites) / 100
    named = {site.function for site in phase.sites}
    rest = [top for top in phase.functions if top.function not in named][:3]
    where = ", ".join(f"{shorten(top.function.name, NAME_ROOM)} {percent(top.share)}" for top in rest)
    sites = "its site has" if len(phase.sites) == 1 else "its sites have"
    return f"no function represents phase {phase.id} ({sites} {percent(held)} of it)" + (
        f"; most of its own time is in {where}" if where else ""
    )
