"""Why a site was chosen, in sentences."""

from __future__ import annotations

from incprof.analysis.options.sites import SiteOptions
from incprof.analysis.sites.evidence import CalleeEvidence, CallerEvidence, SiteEvidence
from incprof.report.words.figures import count, percent
from incprof.report.words.names import shorten

NAME_ROOM = 32
# Nearly all of a site's time: what holds it could as well be the site.
NEARLY_ALL = 0.9


def site_lines(why: SiteEvidence, options: SiteOptions) -> list[str]:
    """Say why a site was chosen, a sentence each. options: the thresholds by which it was."""
    return [_holds(why, options), *_caller(why, options), *_callee(why, options), _kind(why), _runner_up(why)]


def _holds(why: SiteEvidence, options: SiteOptions) -> str:
    """Say how much of the phase the site has, and of it the phase."""
    where = (
        f"holds {percent(why.share)} of the phase"
        if why.from_paths
        else f"runs in {percent(why.share)} of the phase's intervals"
    )
    if why.specific >= options.specific:
        return f"{where}, and {percent(why.specific)} of its share in all phases is here"
    return f"{where}, the best there is: only {percent(why.specific)} of its share in all phases is here"


def _caller(why: SiteEvidence, options: SiteOptions) -> list[str]:
    """Say why not its caller."""
    if not why.from_paths:
        return ["not its caller: self time alone does not tell who that is"]
    if why.caller is None:
        return ["not its caller: nothing in the program calls it"]
    return [f"not its caller {shorten(why.caller.function, NAME_ROOM)}: {_why_not_caller(why.caller, options)}"]


def _why_not_caller(caller: CallerEvidence, options: SiteOptions) -> str:
    """Say what speaks against the caller."""
    if caller.specific < options.specific:
        where = "all phases" if caller.phases == caller.of_phases else f"{caller.phases} of {caller.of_phases} phases"
        return f"it is in {where}, and only {percent(caller.specific)} of its share is here"
    if caller.is_site:
        return "it is a site too, for what it does besides"
    if not caller.short:
        return f"it lives on through the phase, and what it calls holds {percent(caller.sites_share)} of the phase"
    return f"no heartbeat can go there, or it holds only {percent(caller.share)} of the phase"


def _callee(why: SiteEvidence, options: SiteOptions) -> list[str]:
    """Say why not what it calls."""
    if not why.from_paths:
        return []
    if why.callee is None:
        return ["nothing below it: it calls no function of the program that takes time"]
    return [
        f"not {shorten(why.callee.function, NAME_ROOM)}, which it calls: {_why_not_callee(why, why.callee, options)}"
    ]


def _why_not_callee(why: SiteEvidence, callee: CalleeEvidence, options: SiteOptions) -> str:
    """Say what speaks against the callee."""
    holds = f"it holds {percent(callee.share)} of its time"
    if callee.specific < options.specific:
        return f"only {percent(callee.specific)} of its share in all phases is here"
    if why.kind == "loop" and callee.call_s is not None and callee.call_s < options.shortest_s:
        return f"calls of {_seconds(callee.call_s)} are too short for a beat"
    if why.kind == "body" and callee.share >= NEARLY_ALL:
        return f"{holds}, but the higher of two tells the phase as well"
    if why.kind == "body" or callee.share < options.instead_of_driver:
        return f"{holds}, not all of it"
    return holds


def _kind(why: SiteEvidence) -> str:
    """Say why it is a body or a loop."""
    times = f"called in {why.called} of the {count(why.present, 'interval')} in which it runs"
    if why.kind == "body" and not why.called:
        return "body: nobody counts its calls (inlined), but samples in it and outside of it alternate"
    mean = "" if why.call_s is None else f", {_seconds(why.call_s)} a call"
    return f"body: {times}{mean}" if why.kind == "body" else f"loop: {times}: a call lasts longer than an interval"


def _runner_up(why: SiteEvidence) -> str:
    """Say what would be next."""
    if why.runner_up is None:
        return "runner-up: none"
    of = "of the phase" if why.from_paths else "of its intervals"
    next_one = why.runner_up
    return f"runner-up: {shorten(next_one.function, NAME_ROOM)} ({next_one.kind}), {percent(next_one.share)} {of}"


def _seconds(seconds: float) -> str:
    """Show a short duration with its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
