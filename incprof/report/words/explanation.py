"""Why these phases, in sentences (docs/phases.md)."""

from __future__ import annotations

from incprof.analysis.explain import PhaseEvidence, RunEvidence
from incprof.analysis.phases.results import Joined, KScore, Phase, PhaseResult
from incprof.report.words.figures import count, duration, percent
from incprof.report.words.names import shorten

NAME_ROOM = 32
RULE_NAMES = {
    "elbow": "elbow",
    "noise_floor": "noise floor",
    "silhouette": "silhouette",
    "calinski_harabasz": "Calinski-Harabasz",
}
RULES = {
    "no gap": "there is no gap between them",
    "same sites": "they have the same sites",
    "same calls": "they call the same functions in the same proportions",
    "interrupts": "the first only ever interrupts the second",
    "not distinct": "nothing separates the phases that they would be",
}


def run_lines(result: PhaseResult, why: RunEvidence) -> list[str]:
    """Say why the run has so many phases, a sentence each."""
    lines = [_choice(result, why)]
    if why.less and (why.one is None or why.less.k != 1):
        lines.append(f"k = {why.less.k} would leave {_left(why.less, result)}")
    if why.one and result.k_clusters > 1:
        first = ", tried first," if result.method == "robust" else ""
        lines.append(f"k = 1{first} would leave {_left(why.one, result)}")
    if why.more:
        lines.append(f"k = {why.more.k} would leave {_left(why.more, result)}")
    votes = [f"{RULE_NAMES.get(rule, rule)} {k if k is not None else '-'}" for rule, k in result.votes.items()]
    if votes:
        lines.append(f"votes for k: {', '.join(votes)}")
    if why.chosen and result.k_clusters > 1:
        again = "" if result.k_again is None else f"; k is the same in {percent(result.k_again)} of the refits"
        lines.append(f"ten seeded starts of k-means agree by {why.chosen.stability:.2f} (1 is always){again}")
    lines += [_join(joined, result.options.phases.no_gap) for joined in why.joined]
    left = why.left_out
    if left.idle + left.borders + left.strays:
        lines.append(
            f"{count(left.idle + left.borders + left.strays, 'interval')} without a phase: {left.borders} at borders, "
            f"{left.strays} like no phase, {left.idle} with nearly no samples"
        )
    return lines


def _choice(result: PhaseResult, why: RunEvidence) -> str:
    """Say which rule chose k."""
    k, chosen = result.k_clusters, why.chosen
    what = f"k = {k} cluster" if k == 1 else f"k = {k} clusters"
    if result.rule == "user":
        return f"{what}: asked for; leaves {_left(chosen, result)}" if chosen else f"{what}: asked for"
    if result.rule == "elbow":
        return f"{what}: at the elbow of the inertia curve; leaves {_left(chosen, result)}" if chosen else what
    if result.rule == "silhouette":
        score = (
            f"no k separates the intervals well enough ({result.options.phases.silhouette:g})"
            if k == 1
            else "the best silhouette"
        )
        value = f", {chosen.silhouette:.2f}" if chosen and chosen.silhouette is not None else ""
        return f"{what}: {score}{value}, as no k leaves only what counting samples explains"
    return (
        f"{what}: the fewest that leave no more scatter than counting samples explains: {_left(chosen, result)} "
        f"(limits {why.most_noise:g} and {why.most_misfits})"
        if chosen
        else what
    )


def _left(score: KScore | None, result: PhaseResult) -> str:
    """Say what a number of clusters leaves unexplained."""
    if score is None:
        return "nothing that is known"
    if result.method != "robust" or score.misfits is None:
        silhouette = "" if score.silhouette is None else f", silhouette {score.silhouette:.2f}"
        return f"inertia {score.inertia:.3g}{silhouette}"
    times = "no scatter" if not score.noise_ratio else f"{score.noise_ratio:.2g} times that scatter"
    return f"{times}, {count(score.misfits, 'interval')} beyond it"


def _join(joined: Joined, no_gap: float) -> str:
    """Say why two groups of clusters are one phase. no_gap: the least gap that is one."""
    gap = "infinite" if joined.gap is None else f"{joined.gap:.1f}"
    groups = [" + ".join(map(str, group)) for group in (joined.one, joined.other)]
    return (
        f"clusters {groups[0]} and {groups[1]} are both phase {joined.phase}: {RULES[joined.rule]} (gap {gap}, none is "
        f"below {no_gap:g}; {percent(joined.overlap)} of their time is in the same functions)"
    )


def phase_lines(result: PhaseResult, phase: Phase, why: PhaseEvidence) -> list[str]:
    """Say what a phase is like, a sentence each."""
    lines = []
    if phase.off_cpu:
        lines.append("the program waits: these intervals have nearly no samples")
    elif phase.confidence is not None:
        lines.append(
            f"confidence {phase.confidence:.2f}: so much of it stays together when samples and clusters are drawn again"
        )
    if why.nearest is None:
        lines.append("there is no other phase to be taken for")
    else:
        gap = "infinite" if why.gap is None else f"{why.gap:.1f}"
        apart = "; ".join(
            f"{shorten(d.function, NAME_ROOM)} {percent(d.here)} here and {percent(d.there)} there"
            for d in why.differences
        )
        lines.append(f"nearest is phase {why.nearest}, gap {gap}: {apart or 'many small differences'}")
    far = "" if why.odd_times is None else f", {why.odd_times:.1f} times as far from the middle as usual"
    lines.append(f"most typical is {_interval(result, why.typical)}; least {_interval(result, why.odd)}{far}")
    return lines


def _interval(result: PhaseResult, number: int) -> str:
    """Name an interval by its number and its time."""
    start = float(result.end_s[number - 1]) if number else 0.0
    return f"interval {number} (from {duration(start)})"
