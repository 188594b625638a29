"""The reasons for phases, in sentences (docs/use/phases.md)."""

from __future__ import annotations

from collections.abc import Sequence

from incprof.analysis.explain import Explanation, PhaseEvidence, RunEvidence
from incprof.analysis.phase_result import Phase, PhaseResult
from incprof.analysis.phases.clustering import KScore
from incprof.report.words.display_names import Names
from incprof.report.words.formatting import count, percent
from incprof.report.words.phase_changes import NAME_ROOM, begin_of, border_lines
from incprof.report.words.short import short_lines

RULE_NAMES = {"elbow": "elbow", "silhouette": "silhouette", "calinski_harabasz": "Calinski-Harabasz"}
# A run that alternates between phases has a change point each time.
MOST_BORDERS = 12


def run_lines(result: PhaseResult, why: RunEvidence, names: Names) -> list[str]:
    """Return the reasons for the number of phases, a sentence each."""
    lines = [_choice(result, why)]
    lines += border_lines(result, MOST_BORDERS)
    lines += level_lines(result, names)
    if why.less and (why.one is None or why.less.k != 1):
        lines.append(f"k = {why.less.k} would leave {_left(why.less, result)}")
    if why.one and result.k_clusters > 1:
        lines.append(f"k = 1 would leave {_left(why.one, result)}")
    if why.more:
        lines.append(f"k = {why.more.k} would leave {_left(why.more, result)}")
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
    left = why.left_out
    if without := left.idle + left.borders + left.strays:
        lines.append(
            f"{count(without, 'interval')} without a phase: {left.borders} at change points, "
            f"{left.strays} like no phase, {left.idle} with nearly no samples"
        )
    return lines


def told_of(why: Explanation) -> list[str]:
    """Return the functions in the evidence besides the result's own."""
    found = [difference.function for phase in why.phases for difference in phase.differences]
    for site in (site for sites in why.sites for site in sites):
        found += [one.function for one in (site.caller, site.callee, site.runner_up) if one is not None]
    return found


def level_lines(result: PhaseResult, names: Names) -> list[str]:
    """Return the merge of each --level, from the two closest phases to all of them, and what distinguishes these."""
    lines: list[str] = []
    before: Sequence[tuple[int, ...]] = [(phase.id,) for phase in result.phases]
    for level in result.levels:
        merged = next(group for group in level.phases if group not in before)
        parts = " and ".join("+".join(map(str, group)) for group in before if set(group) <= set(merged))
        what = f"{parts} as well" if lines else f"the two closest phases ({parts})"
        name = "time outside of the program" if level.function is None else names(level.function, NAME_ROOM)
        lines.append(f"to merge {what}: --level {level.k} ({name} differs by {percent(level.difference)} of the time)")
        before = level.phases
    return lines


def _choice(result: PhaseResult, why: RunEvidence) -> str:
    """Return the rule that chose k."""
    k, chosen = result.k_clusters, why.chosen
    what = f"k = {k} {'group' if result.method == 'robust' else 'cluster'}{'' if k == 1 else 's'}"
    if result.rule == "user":
        return f"{what}: asked for; leaves {_left(chosen, result)}" if chosen else f"{what}: asked for"
    if result.rule == "elbow":
        return f"{what}: at the elbow of the inertia curve; leaves {_left(chosen, result)}" if chosen else what
    if k == 1:
        return f"{what}: no change point that is beyond doubt, abrupt, and between parts large enough for a phase"
    return (
        f"{what}, of samples in time: between every two of them, the share of some frame differs by "
        f"{percent(result.options.phases.named)} of the time or more, beyond doubt"
    )


def _left(score: KScore | None, result: PhaseResult) -> str:
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
        apart = "; ".join(
            f"{names(d.function, NAME_ROOM)} {percent(d.here)} here and {percent(d.there)} there"
            for d in why.differences
        )
        lines.append(f"nearest is phase {why.nearest}, gap {gap}: {apart or 'many small differences'}")
    far = "" if why.odd_times is None else f", {why.odd_times:.1f} times as far from the middle as usual"
    lines.append(f"most typical is {_interval(result, why.typical)}; least {_interval(result, why.odd)}{far}")
    return lines


def _interval(result: PhaseResult, number: int) -> str:
    """Name an interval by its number and its time."""
    return f"interval {number} (from {begin_of(result, number)})"
