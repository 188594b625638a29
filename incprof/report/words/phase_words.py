"""User-facing text about phases: the evidence for them, their set-up stages, doubts and verdicts."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace

from incprof.analysis.explain import Explanation, PhaseEvidence, RunEvidence
from incprof.analysis.phase_result import NAMELESS, Phase, PhaseResult, nameless_part, verdict
from incprof.analysis.phases.clustering import Boundary, KScore, ShortSegment, Stage
from incprof.model.time_use import SPENT
from incprof.report.words.display_names import Names, names_of, shorten
from incprof.report.words.formatting import count, duration, percent

RULE_NAMES = {"elbow": "elbow", "silhouette": "silhouette", "calinski_harabasz": "Calinski-Harabasz"}
# A run that alternates between phases has a change point each time.
MOST_BORDERS = 12


def run_lines(result: PhaseResult, why: RunEvidence, names: Names) -> list[str]:
    """Return the reasons for the number of phases, a sentence each."""
    lines = [_choice(result, why)]
    lines += boundary_lines(result, MOST_BORDERS)
    lines += level_lines(result, names)
    if why.less and (why.one is None or why.less.k != 1):
        lines.append(f"k = {why.less.k} would leave {_unexplained(why.less, result)}")
    if why.one and result.k_clusters > 1:
        lines.append(f"k = 1 would leave {_unexplained(why.one, result)}")
    if why.more:
        lines.append(f"k = {why.more.k} would leave {_unexplained(why.more, result)}")
    votes = [f"{RULE_NAMES.get(rule, rule)} {k if k is not None else '-'}" for rule, k in result.votes.items()]
    if votes:
        lines.append(f"votes for k: {', '.join(votes)}")
    if why.chosen and why.chosen.stability is not None and result.k_clusters > 1:
        lines.append(f"ten seeded starts of k-means agree by {why.chosen.stability:.2f} (1 is always)")
    if result.k_again is not None:
        lines.append(f"k is the same in {percent(result.k_again)} of the runs resampled from this one")
    limits = result.options.phases
    limit = f"less than {percent(limits.least)} of the run, and never {percent(limits.episode)} of it at once"
    lines += [f"too short for a phase ({limit}): {line}" for line in short_lines(result, MOST_BORDERS)]
    left_out = why.left_out
    if without := left_out.idle + left_out.borders + left_out.strays:
        lines.append(
            f"{count(without, 'interval')} without a phase: {left_out.borders} at change points, "
            f"{left_out.strays} like no phase, {left_out.idle} with nearly no samples"
        )
    return lines


def functions_in_evidence(why: Explanation) -> list[str]:
    """Return the functions in the evidence besides the result's own."""
    functions = [difference.function for phase in why.phases for difference in phase.differences]
    for site in (site for sites in why.sites for site in sites):
        functions += [one.function for one in (site.caller, site.callee, site.runner_up) if one is not None]
    return [*functions, *(refused.function for refused in why.refused if refused is not None)]


def level_lines(result: PhaseResult, names: Names) -> list[str]:
    """Return the merge of each --level, from the two closest phases to all of them, and what distinguishes these."""
    lines: list[str] = []
    before: Sequence[tuple[int, ...]] = [(phase.id,) for phase in result.phases]
    for level in result.levels:
        merged = next(group for group in level.phases if group not in before)
        parts = " and ".join("+".join(map(str, group)) for group in before if set(group) <= set(merged))
        what = f"{parts} as well" if lines else f"the two closest phases ({parts})"
        name = "time outside of the program" if level.function is None else names(level.function, CHANGE_ROOM)
        lines.append(f"to merge {what}: --level {level.k} ({name} differs by {percent(level.difference)} of the time)")
        before = level.phases
    return lines


def _choice(result: PhaseResult, why: RunEvidence) -> str:
    """Return the rule that chose k."""
    k, score = result.k_clusters, why.chosen
    what = f"k = {k} {'group' if result.method == 'robust' else 'cluster'}{'' if k == 1 else 's'}"
    if result.rule == "user":
        return f"{what}: asked for; leaves {_unexplained(score, result)}" if score else f"{what}: asked for"
    if result.rule == "elbow":
        return f"{what}: at the elbow of the inertia curve; leaves {_unexplained(score, result)}" if score else what
    if k == 1:
        return f"{what}: no change point that is beyond doubt, abrupt, and between parts large enough for a phase"
    return (
        f"{what}, of samples in time: between every two of them, the share of some frame differs by "
        f"{percent(result.options.phases.named)} of the time or more, beyond doubt"
    )


def _unexplained(score: KScore | None, result: PhaseResult) -> str:
    """Return what a number of clusters leaves unexplained."""
    if score is None:
        return "nothing that is known"
    if result.method != "robust" or score.misfits is None:
        silhouette = "" if score.silhouette is None else f", silhouette {score.silhouette:.2f}"
        return f"inertia {score.inertia:.3g}{silhouette}"
    times = "no scatter" if not score.noise_ratio else f"{score.noise_ratio:.2g} times the scatter of counting"
    return f"{times}, {count(score.misfits, 'interval')} beyond it"


def phase_lines(result: PhaseResult, phase: Phase, why: PhaseEvidence, names: Names) -> list[str]:
    """Describe a phase, a sentence each."""
    lines = []
    if phase.outside:
        lines.append("the samples of these intervals have no function of the program on their stacks")
    elif phase.off_cpu:
        lines.append("the program waits: these intervals have nearly no samples")
    elif phase.confidence is not None:
        lines.append(
            f"confidence {phase.confidence:.2f}: the part of it that stays together in runs resampled from its episodes"
        )
    if why.nearest is None:
        lines.append("there is no other phase to confuse it with")
    else:
        gap = "infinite" if why.gap is None else f"{why.gap:.1f}"
        list_of_differences = "; ".join(
            f"{names(d.function, CHANGE_ROOM)} {percent(d.here)} here and {percent(d.there)} there"
            for d in why.differences
        )
        lines.append(f"nearest is phase {why.nearest}, gap {gap}: {list_of_differences or 'many small differences'}")
    distance = "" if why.odd_times is None else f", {why.odd_times:.1f} times as far from the middle as usual"
    lines.append(f"most typical is {_interval(result, why.typical)}; least {_interval(result, why.odd)}{distance}")
    return lines


def _interval(result: PhaseResult, number: int) -> str:
    """Name an interval by its number and its time."""
    return f"interval {number} (from {begin_of(result, number)})"


# The changes from one phase to the next, in sentences (docs/use/phases.md).


CHANGE_ROOM = 32
# Change points between phases that have the same sites, in the short text: lines at most.
MOST_BETWEEN_SAME = 4


def boundary_lines(result: PhaseResult, most: int) -> list[str]:
    """Describe the changes at change points, that many at most: the first between each two phases has priority."""
    names = names_of(result)
    occurrences: dict[tuple[int, int], int] = {}
    for boundary in result.borders:
        pair = boundary.before, boundary.after
        occurrences[pair] = occurrences.get(pair, 0) + 1
    first: dict[tuple[int, int], Boundary] = {}
    for boundary in result.borders:
        first.setdefault((boundary.before, boundary.after), boundary)
    lines = []
    for pair, boundary in list(first.items())[:most]:
        name = "time outside of the program" if boundary.function is None else names(boundary.function, CHANGE_ROOM)
        more = f", {occurrences[pair]} times" if occurrences[pair] > 1 else ""
        lines.append(
            f"phase {boundary.before} to {boundary.after} at {begin_of(result, boundary.interval)}{more}: {name} from "
            f"{percent(boundary.share_before)} to {percent(boundary.share_after)}"
        )
    if len(first) > most:
        lines.append(f"and changes between {len(first) - most} more pairs of phases")
    return lines


def same_sites_lines(result: PhaseResult) -> list[str]:
    """Describe the change points between phases that have the same sites, which the table cannot distinguish."""
    sites = {phase.id: {(site.index, site.kind) for site in phase.sites} for phase in result.phases}
    boundaries = [one for one in result.borders if sites[one.before] and sites[one.before] == sites[one.after]]
    return boundary_lines(replace(result, borders=tuple(boundaries)), MOST_BETWEEN_SAME)


def begin_of(result: PhaseResult, number: int) -> str:
    """Return the start of an interval."""
    return duration(float(result.end_s[number - 1]) if number else 0.0)


# Behaviours too short for a phase, in words.


NAME_ROOM = 40


def short_lines(result: PhaseResult, most: int) -> list[str]:
    """Describe the behaviours too short for a phase, a line each: that many of the longest, in order of time."""
    longest = sorted(result.short, key=lambda one: -one.intervals)[:most]
    names = names_of(result)
    lines = [_line(result, one, names) for one in result.short if one in longest]
    if len(result.short) > most:
        lines.append(f"and {len(result.short) - most} more")
    return lines


def times_of(result: PhaseResult, short: ShortSegment) -> list[tuple[float, float]]:
    """Return start and end of each occurrence, in seconds."""
    return [
        (float(result.end_s[first - 1]) if first else 0.0, float(result.end_s[end - 1])) for first, end in short.spans
    ]


def name_of(short: ShortSegment, names: Names, room: int = NAME_ROOM) -> str:
    """Return the name of its main function, shortened to `room` columns."""
    return "time outside of the program" if short.function is None else names(short.function, room)


def _line(result: PhaseResult, short: ShortSegment, names: Names) -> str:
    """Return its function, times, and share of the run."""
    times = times_of(result, short)
    begin, end = times[0]
    part = sum(until - since for since, until in times) / max(float(result.end_s[-1]), 1e-9)
    again = f", {count(len(short.spans), 'time')}" if len(short.spans) > 1 else ""
    return (
        f"{name_of(short, names)} ({percent(short.share)} of it) from {duration(begin)} to {duration(end)}{again}, "
        f"{percent(part)} of the run"
    )


# The hierarchy of a run, a line per part.


# Below this depth, names of steps are more informative.
DEEPEST = 6


def all_stages(stage: Stage) -> Iterator[Stage]:
    """Iterate over a part and all parts nested in it."""
    yield stage
    for below in stage.stages:
        yield from all_stages(below)


def stage_lines(stage: Stage, names: Names, depth: int = 0) -> Iterator[str]:
    """Iterate over a part and its children: name, share of the run, times, episodes, and its phase."""
    name = names(stage.function, NAME_ROOM) if stage.function is not None else "(several)"
    times = f", {count(stage.episodes, 'time')}" if stage.episodes > 1 else ""
    phase = "" if stage.phase is None else f": phase {stage.phase}"
    yield (
        f"{'  ' * depth}{name} {percent(round(stage.app_pct / 100, 6))}, from {duration(stage.start_s)} to "
        f"{duration(stage.end_s)}{times}{phase}"
    )
    if depth < DEEPEST:
        for below in stage.stages:
            yield from stage_lines(below, names, depth + 1)


# Limits on the reliability of an answer, and remedies: the notes below the head of `phases`.


# Sites with a smaller share of their phase do not represent it.
LITTLE = 0.5
# The name of all code that a run-time compiles without naming it.
MADE_AT_RUN_TIME = "[unknown in [jit]]"

# The name of all methods that a JVM has not compiled.
INTERPRETED = "<interpreted Java>"


def caveat_lines(result: PhaseResult) -> list[str]:
    """Return the limits of the answer, a line each."""
    lines = []
    if (part := nameless_part(result)) >= NAMELESS:
        lines.append(
            f"{percent(part)} of the time is in code without symbols, where functions look the same: {_remedy(result)}"
        )
    if any(site.function.name == INTERPRETED for phase in result.present for site in phase.sites):
        lines.append(
            f"{INTERPRETED} stands for all methods that the JVM has not compiled, and no heartbeat can go there: a "
            "Java flight recording names them (incprof help import)"
        )
    if result.paths_estimated:
        lines.append("no call paths were recorded: a function's time is divided among its callers by numbers of calls")
    if spinning := [phase for phase in result.present if phase.mostly == "openmp"]:
        shares = ((phase.id, phase.spent["openmp"] / sum(phase.spent[kind] for kind in SPENT)) for phase in spinning)
        parts = [f"{percent(share)} of phase {number}" for number, share in shares]
        lines.append(f"the OpenMP run-time has {', '.join(parts)}: sites and steps have shares of the rest of the time")
    lines += [_little_line(phase) for phase in result.present if _little(phase)]
    return lines


def _remedy(result: PhaseResult) -> str:
    """Return how to get names for unresolved code: most of it is the program's, or generated by its run-time."""
    nameless = [top for phase in result.phases for top in phase.functions if top.function.is_nameless]
    if nameless and max(nameless, key=lambda top: top.self_s).function.name == MADE_AT_RUN_TIME:
        return (
            "record again with the options by which java and node name what they compile (incprof help python-programs)"
        )
    return "build with symbols (no -s, no strip) and record again, or give the program with --exe"


def _little(phase: Phase) -> bool:
    """Return whether the sites of a phase do not cover most of it; not of one that its own words explain."""
    explained = phase.off_cpu or phase.outside or not phase.functions
    return not explained and sum(site.phase_pct for site in phase.sites) < 100 * LITTLE


def _little_line(phase: Phase) -> str:
    """Report that sites do not represent their phase, and where the rest of its time is."""
    covered = sum(site.phase_pct for site in phase.sites) / 100
    named = {site.function for site in phase.sites}
    others = [top for top in phase.functions if top.function not in named][:3]
    where = ", ".join(f"{shorten(top.function.name, NAME_ROOM)} {percent(top.share)}" for top in others)
    sites = "its site has" if len(phase.sites) == 1 else "its sites have"
    of_it = f" ({sites} {percent(covered)} of it)" if phase.sites else ""
    return f"no function represents phase {phase.id}{of_it}" + (
        f"; most of its own time is in {where}" if where else ""
    )


# The number of phases of a run, in words, and what to try if it has only one.


def verdict_line(result: PhaseResult) -> str:
    """Return the number of phases, and the share of the run in none of them."""
    parts = [one_phase(result) or count(result.k, "phase")]
    if result.short:
        parts.append(f"{count(len(result.short), 'part')} too short for one")
    return ", ".join(parts)


def one_phase(result: PhaseResult) -> str | None:
    """Explain an answer of one phase; None where there are several, or the user asked for one."""
    match verdict(result):
        case "steady":
            return "one steady phase"
        case "no_distinct_phases":
            k = max(result.votes.get("silhouette") or 0, 2)
            return f"one phase, which varies a lot but forms no clear groups (try --k {k})"
        case "too_few_intervals":
            return "one phase: too few samples to tell whether there are more"
        case "nameless":
            return "one phase, of code without symbols"
        case _:
            return None


# Next steps for a recorded run: sentences, and the commands to type.


def next_steps(result: PhaseResult, directory: str, source: str | None) -> list[tuple[str, str]]:
    """Return the next steps, each with its command."""
    steps = []
    where, at = shlex.quote(directory), shlex.quote(source or ".")
    sites = {site.heartbeat for phase in result.phases for site in phase.sites}
    if sites:
        steps.append(
            (
                f"Make a patch that adds {count(len(sites), 'heartbeat')} to the source",
                f"incprof instrument {where} --source {at} --patch beats.patch",
            )
        )
    steps.append(("See why these are the phases and sites", f"incprof phases {where} --explain"))
    steps.append(("Compare with the run of another version, recorded into NEW", f"incprof diff {where} NEW"))
    return steps
