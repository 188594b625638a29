"""The reasons for a site, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from incprof.analysis.explain.site_reasons import CalleeEvidence, CallerEvidence, RefusedSite, SiteEvidence
from incprof.analysis.phase_result import Phase, Step
from incprof.analysis.thresholds import SiteOptions
from incprof.model import IntArray
from incprof.model.time_use import SPENT, WORK, Spent
from incprof.report.words.display_names import SHORT, Names
from incprof.report.words.formatting import calls_words, count, percent, seconds

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
    lines = [_coverage(why), *ORIGINS[why.origin], *_caller(why, names), *_callee(why, options, names)]
    return [*lines, _kind(why), _runner_up(why, names)]


def refused_line(refused: RefusedSite, names: Names) -> str:
    """Return why a function with much of a phase's time is not one of its sites."""
    held = f"{names(refused.function, NAME_ROOM)} holds {percent(refused.share)} of the phase"
    if refused.call_s is None:
        return f"{held}, but its calls are not counted, and may be too short for a beat (-pg counts them)"
    return f"{held}, but calls of {seconds(refused.call_s)} are too short for a beat"


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


def _coverage(why: SiteEvidence) -> str:
    """Return the site's share of the phase, and the phase's share of the site."""
    share_here = f"{percent(why.specific)} of its share in all phases is here"
    if why.at_least is None:
        return f"runs in {percent(why.share)} of the phase's intervals, and {share_here}"
    sure = (
        f" (at least {percent(why.at_least)}, given the number of samples)" if why.at_least < why.share - 0.05 else ""
    )
    return f"holds {percent(why.share)} of the phase{sure}, and {share_here}"


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
        mean = "its calls are not counted" if caller.call_s is None else f"a call of it lasts {seconds(caller.call_s)}"
        return f"{mean}, and a function whose calls last longer than {_longest(why)} is a driver"
    if caller.why_not == "in other phases":
        return f"it holds {percent(caller.share)} of the phase, but also runs in those to distinguish it from"
    if caller.why_not == "too short" and caller.call_s is not None:
        return f"calls of {seconds(caller.call_s)} are too short for a beat"
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
    share = f"it holds {percent(callee.share)} of its time"
    if callee.why_not == "too short" and callee.call_s is not None:
        return f"{share}, but calls of {seconds(callee.call_s)} are too short for a beat"
    if callee.why_not == "unknown rate":
        return f"{share}, but its calls are not counted, and may be too short for a beat"
    if callee.why_not == "lower":
        return f"{share}, and of two possible sites, the higher one is taken"
    return f"{share}; what is called holds less than {percent(options.half)} together"


def _kind(why: SiteEvidence) -> str:
    """Return why the site is a body or a loop."""
    mean = "" if why.call_s is None else f", {seconds(why.call_s)} a call"
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
    return "an interval" if why.longest_s is None else seconds(why.longest_s)


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


# The frequency of a step, in words.


# The mean number of calls is a whole number if it is this close to one.
WHOLE = 0.02


def how_often(step: Step) -> str:
    """Return ", in one of 8", ", 2 times", or nothing if a step runs once in each iteration, or call above it."""
    if step.per_call is not None:
        return _often(step.per_call)
    if step.period_s is None:
        return f", {calls_words(step.calls, step.estimated)}" if step.calls else ""
    if step.every is not None and step.times is not None:
        return _often(step.times / step.every)
    return _often(step.per_iteration) if step.per_iteration else ""


def _often(calls: float) -> str:
    """Return a mean number of calls in words."""
    times, inverse = (calls, False) if calls >= 1 else (1 / max(calls, 1e-9), True)
    rounded = max(round(times), 1)
    about = "" if abs(times - rounded) <= WHOLE * min(times, 1) else "about "
    if rounded == 1 and not about:
        return ""
    if inverse and about and times < 2:
        return f", in {100 * calls:.0f} %"
    number = f"{rounded}" if not about or times >= 10 else f"{times:.1f}"
    return f", in {about}one of {number}" if inverse else f", {about}{number} times"


# The part of an iteration's wall time outside of its steps, and where it is spent.


# A smaller part of an iteration gets no line: sampling is not more exact.
WORTH = 0.1


def remainder(steps: Sequence[Step], names: Names = SHORT) -> str | None:
    """Describe the rest of an iteration if steps do not add up to it.

    steps: of one driver, without nested ones. A thread is off the CPU while it waits, reads or writes, or while another
    thread has the CPU. Its CPU time outside of the steps is the driver's own, or that of smaller steps, or of libraries
    that wait, read or write.
    """
    timed = [step for step in steps if step.period_s]
    if not timed or timed[0].cpu is None or not timed[0].period_s:
        return None
    period, on = timed[0].period_s, timed[0].cpu * timed[0].period_s
    inside = min(sum(step.mean_s * calls_per_iteration(step) for step in timed), on)
    parts = _off_cpu_time(period - on, timed[0], names) if period - on >= WORTH * period else []
    if on - inside >= WORTH * period:
        parts += _on_cpu_time(on - inside, timed[0], WORTH * period, bool(parts))
    return f"{seconds(inside)} of CPU time in steps, " + ", ".join(parts) if parts else None


def _off_cpu_time(off_s: float, step: Step, names: Names) -> list[str]:
    """Report how long the loop is off the CPU, and which functions that may wait were sampled in it."""
    waits = step.rest.waits if step.rest is not None else ()
    waits_seen = f" (it calls {', '.join(names(function) for function in waits)})" if waits else ""
    return [f"{seconds(off_s)} off the CPU{waits_seen}"]


def _on_cpu_time(rest_s: float, step: Step, least_s: float, has_off_cpu: bool) -> list[str]:
    """Describe the loop's CPU time outside of its steps. has_off_cpu: time off the CPU is reported as well."""
    seconds_by_kind = step.rest.spent if step.rest is not None else {}
    large = {kind: seconds_by_kind[kind] for kind in SPENT[1:] if seconds_by_kind.get(kind, 0.0) >= least_s}
    out = [f"{seconds(value)} {WORDS[kind]}" for kind, value in large.items()]
    remaining_s = rest_s - sum(large.values())
    if remaining_s >= least_s:
        out.append(f"{seconds(remaining_s)} {'on it' if has_off_cpu or out else 'of it'} elsewhere")
    return out


def calls_per_iteration(step: Step) -> float:
    """Return the mean number of calls of a step per iteration."""
    if step.every is not None and step.times is not None:
        return step.times / step.every
    return step.per_iteration or 1.0


# How intervals and phases spend their time, in words, and as signs below a ribbon.


WORDS: dict[Spent, str] = {
    "work": "work",
    "mpi": "in MPI",
    "openmp": "in the OpenMP run-time",
    "device": "waiting for the device",
    "io": "input and output",
    "waiting": "waiting",
}
# Signs that differ from the numbers of phases below 10. Work has none: it is the normal case.
SIGNS: dict[Spent, str] = {"work": " ", "mpi": "m", "openmp": "o", "io": "i", "waiting": "w", "device": "d"}
# Smaller shares are not reported.
LEAST = 0.05


def sign_of(kind: int) -> str:
    """Return the sign of an interval's main kind of time, by its index in SPENT."""
    return SIGNS[SPENT[kind]]


def kinds_present(main_kind: IntArray | None) -> list[tuple[Spent, str]]:
    """Return the main kinds of time other than work of some intervals, (n,), with their descriptions."""
    present = sorted(set(() if main_kind is None else main_kind.tolist()) - {WORK})
    return [(SPENT[kind], WORDS[SPENT[kind]]) for kind in present]


def legend(main_kind: IntArray | None) -> str | None:
    """Explain the signs of some intervals, (n,); None where all of them work, or nothing is known."""
    return ", ".join(f"{SIGNS[kind]}: {words}" for kind, words in kinds_present(main_kind)) or None


def kind_shares(phase: Phase) -> list[str]:
    """Return the shares of a phase's CPU time that are not work, largest first: "97 % in MPI"; or that it waits."""
    seconds = {kind: phase.spent.get(kind, 0.0) for kind in SPENT}
    total = sum(seconds.values())
    if phase.mostly == "waiting" and not 2 * seconds["waiting"] > total:
        return ["waiting, next to no CPU time"]
    others = sorted((kind for kind in SPENT[1:] if seconds[kind] > LEAST * total), key=lambda kind: -seconds[kind])
    return [f"{percent(seconds[kind] / total)} {WORDS[kind]}" for kind in others]
