"""The reasons for a site, in sentences."""

from __future__ import annotations

from incprof.analysis.explain.site_reasons import CalleeEvidence, CallerEvidence, SiteEvidence
from incprof.analysis.phase_result import Phase
from incprof.analysis.thresholds import SiteOptions
from incprof.report.words.display_names import SHORT, Names
from incprof.report.words.formatting import count, percent

NAME_ROOM = 32
ORIGINS = {
    "run": [],
    "phase": ["chosen for this phase alone: the sites of the whole run hold less than half of it"],
    "apart": ["no other phase has it: its callers would be sites of other phases as well"],
    "waiting": ["the phase has no samples: it is called where the program waits"],
    "instead": ["instead of another site, which is not available or costs too much"],
    "self time": [],
}


def site_lines(why: SiteEvidence, options: SiteOptions, names: Names) -> list[str]:
    """Return the reasons for a site, a sentence each. options: the thresholds of the choice."""
    told = [_holds(why), *ORIGINS[why.origin], *_caller(why, names), *_callee(why, options, names)]
    return [*told, _kind(why), _runner_up(why, names)]


def no_site(phase: Phase, names: Names = SHORT) -> str:
    """Return why a phase has no site."""
    if phase.outside:
        return "its samples have no function of the program on their stacks, so none can be named"
    if phase.off_cpu:
        return "the program waits in it, with next to no CPU time"
    if not phase.functions:
        return "it has no samples, and no function of the program is entered in most of it"
    own = [top for top in phase.functions if top.function.is_code]
    if not own and all(top.function.name.startswith(("[no ", "[threads of ")) for top in phase.functions):
        return "threads of libraries have its time, without a function of the program on their stacks"
    largest = names(phase.functions[0].function, NAME_ROOM)
    return f"no function with enough of its time can have a heartbeat; most of it is in {largest}"


def _holds(why: SiteEvidence) -> str:
    """Return the site's share of the phase, and the phase's share of the site."""
    here = f"{percent(why.specific)} of its share in all phases is here"
    if why.at_least is None:
        return f"runs in {percent(why.share)} of the phase's intervals, and {here}"
    sure = (
        f" (at least {percent(why.at_least)}, given the number of samples)" if why.at_least < why.share - 0.05 else ""
    )
    return f"holds {percent(why.share)} of the phase{sure}, and {here}"


def _caller(why: SiteEvidence, names: Names) -> list[str]:
    """Return why the caller was not chosen."""
    if not why.from_paths:
        return ["not its caller: self time alone does not show which function that is"]
    if why.caller is None:
        return ["not its caller: nothing in the program calls it"]
    return [f"not its caller {names(why.caller.function, NAME_ROOM)}: {_why_not_caller(why, why.caller)}"]


def _why_not_caller(why: SiteEvidence, caller: CallerEvidence) -> str:
    """Return the evidence against the caller."""
    if caller.is_site:
        return "it is a site too, for its other work"
    if caller.why_not == "lasts on":
        mean = "its calls are not counted" if caller.call_s is None else f"a call of it lasts {_seconds(caller.call_s)}"
        return f"{mean}, and a function whose calls last longer than {_longest(why)} is a driver"
    if caller.why_not == "in other phases":
        return f"it holds {percent(caller.share)} of the phase, but also runs in those to distinguish it from"
    if caller.why_not == "too short" and caller.call_s is not None:
        return f"calls of {_seconds(caller.call_s)} are too short for a beat"
    return f"no heartbeat can go there, or it holds only {percent(caller.share)} of the phase"


def _callee(why: SiteEvidence, options: SiteOptions, names: Names) -> list[str]:
    """Return why no callee was chosen."""
    if not why.from_paths:
        return []
    if why.callee is None:
        return ["nothing below it: it calls no function of the program that takes time"]
    name = names(why.callee.function, NAME_ROOM)
    return [f"not {name}, which it calls: {_why_not_callee(why.callee, options)}"]


def _why_not_callee(callee: CalleeEvidence, options: SiteOptions) -> str:
    """Return the evidence against the callee."""
    holds = f"it holds {percent(callee.share)} of its time"
    if callee.why_not == "too short" and callee.call_s is not None:
        return f"{holds}, but calls of {_seconds(callee.call_s)} are too short for a beat"
    if callee.why_not == "unknown rate":
        return f"{holds}, but its calls are not counted, and may be too short for a beat"
    if callee.why_not == "lower":
        return f"{holds}, and of two possible sites, the higher one is taken"
    return f"{holds}; what is called holds less than {percent(options.half)} together"


def _kind(why: SiteEvidence) -> str:
    """Return why the site is a body or a loop."""
    mean = "" if why.call_s is None else f", {_seconds(why.call_s)} a call"
    if not why.from_paths or why.origin == "waiting":
        times = f"called in {why.called} of the {count(why.present, 'interval')} in which it runs"
        return f"body: {times}{mean}" if why.kind == "body" else f"loop: {times}: a call lasts longer than an interval"
    if why.kind == "loop" and why.call_s is None:
        return "loop: no call of it was counted or sampled at its start"
    if why.kind == "loop":
        return f"loop: {_calls(why)}{mean}, longer than {_longest(why)}"
    if not why.counted:
        return f"body: its calls are not counted; samples give an estimate of {_calls(why)}{mean} at most"
    return f"body: {_calls(why)}{mean}, not longer than {_longest(why)}"


def _longest(why: SiteEvidence) -> str:
    """Return the longest duration of a call for which its body is a site."""
    return "an interval" if why.longest_s is None else _seconds(why.longest_s)


def _calls(why: SiteEvidence) -> str:
    """Return the number of calls of a site in the run."""
    calls = round(why.calls)
    return "one call" if calls <= 1 else f"{calls} calls"


def _runner_up(why: SiteEvidence, names: Names) -> str:
    """Return the second best site."""
    if why.runner_up is None:
        return "runner-up: none"
    of = "of the phase" if why.from_paths else "of its intervals"
    next_one = why.runner_up
    return f"runner-up: {names(next_one.function, NAME_ROOM)} ({next_one.kind}), {percent(next_one.share)} {of}"


def _seconds(seconds: float) -> str:
    """Show a short duration with its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
