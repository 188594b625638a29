"""Measure how well heartbeats agree with the recorded phases. docs/use/validate.md explains the method."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from incprof.analysis.heartbeats import Matched, match
from incprof.analysis.phase_result import PhaseResult
from incprof.errors import NoDataError
from incprof.model import PROFILER, FloatArray, IntArray, IntervalProfile
from incprof.model.calltree import CallTree
from incprof.model.names import parse
from incprof.systems.heartbeats.agreement_align import (
    Span,
    by_clock,
    by_scale,
    by_warp,
    cut,
    levels,
    loops_or_functions,
    name_moments,
    normalised,
    presence,
    profiles,
    weights,
)
from incprof.systems.heartbeats.validation import (
    SILENT,
    UNSEEN,
    Agreement,
    Alignment,
    Beats,
    BoolArray,
    PhaseAgreement,
    Pieces,
    Timeline,
)


def expected_share(profile: IntervalProfile, groups: Sequence[Sequence[int]]) -> FloatArray:
    """Return for each interval the mean number of threads inside a group of functions: shape (n, g).

    With call paths callees count: a beat continues while its function calls others. Without (gmon directories), only
    self time is available.

    Args:
        profile: Profile of n intervals.
        groups: Columns of the profile, one group for each heartbeat.
    """
    length = np.maximum(profile.end_s - profile.start_s, 1e-9)
    if not len(profile.samples.node):
        inside = [np.asarray(profile.self_s[:, list(group)].sum(axis=1)).ravel() for group in groups]
        return np.stack([*inside], axis=1) / length[:, None] if inside else np.zeros((len(length), 0))
    chains = profile.tree
    use = profile.samples.kind != PROFILER
    row = profile.interval_of_samples()[use]
    chain = chains.of_node[profile.samples.node[use]]
    seconds = profile.samples.weight[use] / profile.metadata.rate_hz
    below = _below(chains, groups)
    result = np.zeros((len(length), len(groups)))
    for column in range(len(groups)):
        hit = below[chain, column]
        result[:, column] = np.bincount(row[hit], weights=seconds[hit], minlength=len(length)) / length
    return result


def _below(chains: CallTree, groups: Sequence[Sequence[int]]) -> BoolArray:
    """Return which call paths contain a function of a group: shape (q, g)."""
    found = np.stack([np.isin(chains.function, list(group)) for group in groups], axis=1)
    above = chains.parent
    found[0] = False
    while above.any():  # doubles the number of levels each time
        found |= found[above]
        above = above[above]
    return found


@dataclass(frozen=True)
class _Classes:
    """Classes of phases: those with the same heartbeats are one class.

    Attributes:
        of_phase: (k,) class of each phase, -1 without heartbeats.
        first: (c,) first phase of each class.
        own: (c, h) whether a heartbeat belongs to the class.
    """

    of_phase: IntArray
    first: IntArray
    own: BoolArray


@dataclass(frozen=True)
class _Views:
    """The normalised levels of the h heartbeats that belong to phases.

    Attributes:
        expected: (n, h) in each recorded interval.
        usual: (c, h) in each class.
        seen: (m, h) in each interval of heartbeats.
        importance: (h,) weight of each heartbeat.
        owner: (n,) class of each recorded interval, -1 for none.
    """

    expected: FloatArray
    usual: FloatArray
    seen: FloatArray
    importance: FloatArray
    owner: IntArray


def agree(
    profile: IntervalProfile, result: PhaseResult, beats: Beats, *, align: str, offset_s: float = 0.0
) -> Agreement:
    """Compare a recorded run's phases with heartbeats, of the same process or of another run of the program.

    Args:
        profile: The recorded process.
        result: Its phases.
        beats: The heartbeats of one process.
        align: "clock" (the same process), "scale" or "warp".
        offset_s: For "clock": start of the heartbeats, in seconds since the start of the recording.

    Raises:
        NoDataError: no phase has a heartbeat, or the phases with heartbeats take no time.
    """
    matched = match(result.phases, beats.ids, beats.names)
    classes, used = _classes(matched)
    if not len(used):
        raise NoDataError(_nothing(result, beats))
    views = _views(profile, result, beats, matched, classes, used)
    named = name_moments(views.seen, views.usual, classes.own, views.importance)
    named = np.where(named >= 0, classes.first[named], SILENT)
    spans = Span(profile.start_s, profile.end_s, views.expected), Span(beats.start_s, beats.end_s, views.seen)
    if align == "clock":
        alignment = by_clock(offset_s, float(profile.end_s[-1]), float(beats.end_s[-1]))
    else:
        alignment = by_scale(*spans) if align == "scale" else by_warp(*spans, views.owner, views.importance)
    pieces = _pieces(profile, beats, alignment)
    timeline = _timeline(pieces, alignment, result.labels, named, classes)
    seconds = float(timeline.seconds[timeline.compared].sum())
    if seconds <= 0:
        raise NoDataError("there is no time in which both runs can be compared: the phases with heartbeats take none")
    table = confusion(timeline, len(result.phases))
    unwarped = None
    if align == "warp":
        plain = by_scale(*spans)
        other = _timeline(_pieces(profile, beats, plain), plain, result.labels, named, classes)
        unwarped = _share(confusion(other, len(result.phases)), classes)
    return Agreement(
        agreement=_share(table, classes),
        kappa=kappa(table, classes.of_phase),
        balanced=balanced(table, classes.of_phase),
        unwarped=unwarped,
        compared_s=seconds,
        total_s=float((profile.end_s - profile.start_s).sum()),
        confusion=table,
        phases=phase_measures(result, beats, matched, pieces, table, classes.of_phase),
        alignment=alignment,
        timeline=timeline,
        notes=notes(result, beats, matched, classes.of_phase, timeline),
    )


def _classes(matched: Matched) -> tuple[_Classes, IntArray]:
    """Return the classes of phases with the same heartbeats, and the positions of the heartbeats in any class."""
    used = np.array(sorted({place for own in matched.of_phase for place in own}), dtype=np.int64)
    known: dict[tuple[int, ...], int] = {}
    of_phase = np.full(len(matched.of_phase), -1, dtype=np.int64)
    first: list[int] = []
    for phase, own in enumerate(matched.of_phase):
        if own and own not in known:
            known[own] = len(first)
            first.append(phase)
        of_phase[phase] = known.get(own, -1)
    table = [np.isin(used, own) for own in known]
    own_table = np.stack(table) if table else np.zeros((0, 0), dtype=np.bool_)
    return _Classes(of_phase, np.array(first, dtype=np.int64), own_table), used


def _views(
    profile: IntervalProfile, result: PhaseResult, beats: Beats, matched: Matched, classes: _Classes, used: IntArray
) -> _Views:
    """Normalise the expected and the observed levels of the heartbeats."""
    length = profile.end_s - profile.start_s
    seen = normalised(levels(beats)[:, used], beats.length_s)
    owner = np.where(result.labels >= 0, classes.of_phase[result.labels], -1)
    shares = expected_share(profile, [matched.functions[place] for place in used.tolist()])
    own = np.where((owner >= 0)[:, None], classes.own[owner], False)
    whole, part = normalised(shares, length), normalised(shares * own, length)
    own_only = loops_or_functions(
        *(presence(p, w) for p, w in ((whole, length), (part, length), (seen, beats.length_s)))
    )
    expected = np.where(own_only & np.array(matched.loops)[used], part, whole)
    usual = profiles(expected, length, owner, len(classes.first))
    return _Views(expected, usual, seen, weights(seen, beats.length_s), owner)


def _pieces(profile: IntervalProfile, beats: Beats, alignment: Alignment) -> Pieces:
    """Cut the recorded run at the edges of both runs' intervals."""
    return cut(alignment, (profile.start_s, profile.end_s), (beats.start_s, beats.end_s))


def _timeline(pieces: Pieces, alignment: Alignment, labels: IntArray, named: IntArray, classes: _Classes) -> Timeline:
    """Return the recorded phase of each piece, and the one indicated by the heartbeats; named: (m,) by interval."""
    label = np.where(pieces.recorded >= 0, labels[pieces.recorded], -1)
    middle = pieces.end_s - pieces.seconds / 2
    aligned = (middle >= alignment.recorded_s[0]) & (middle <= alignment.recorded_s[-1])
    # Before the first and after the last heartbeat they are silent; a missing interval in between was lost.
    said = np.where(pieces.beats >= 0, named[pieces.beats], np.where(aligned, UNSEEN, SILENT))
    comparable = (label >= 0) & (classes.of_phase[label] >= 0)
    return Timeline(pieces.end_s, pieces.seconds, label, said, comparable & (said != UNSEEN))


def _share(table: FloatArray, classes: _Classes) -> float:
    """Return the share of the compared time in which both indicate phases of one class."""
    of_phase = classes.of_phase
    same = (of_phase[:, None] == of_phase[None, :]) & (of_phase >= 0)[:, None]
    total = float(table.sum())
    return min(float(table[:, :-1][same].sum()) / total, 1.0) if total > 0 else 0.0


def _nothing(result: PhaseResult, beats: Beats) -> str:
    """Return the error message that explains why nothing can be compared."""
    sites = [f"{parse(site.function.name).written}:{site.kind}" for phase in result.phases for site in phase.sites]
    have = [*(name or f"id {number}" for number, name in zip(beats.ids, beats.names, strict=True)), *beats.others]
    wanted, got = (", ".join(words[:4]) + ", ..." * (len(words) > 4) or "none" for words in (sites, have))
    return f"no heartbeat belongs to a phase: the sites are {wanted}; the heartbeats are {got}"


# Measures of a comparison: confusion, agreement by chance, and statistics of each phase's heartbeats.


def confusion(timeline: Timeline, phases: int) -> FloatArray:
    """Return seconds by recorded phase and by the phase indicated by heartbeats, (k, k + 1); last column: SILENT."""
    table = np.zeros((phases, phases + 1))
    use = timeline.compared
    column = np.where(timeline.named[use] == SILENT, phases, timeline.named[use])
    np.add.at(table, (timeline.label[use], column), timeline.seconds[use])
    return table


def by_class(table: FloatArray, classes: IntArray) -> FloatArray:
    """Sum phases of one class, (c, c + 1); phases without a class (-1) are not compared."""
    count = int(classes.max(initial=-1)) + 1
    small = np.zeros((count, count + 1))
    for phase, number in enumerate(classes.tolist()):
        if number >= 0:
            np.add.at(small[number], np.append(np.where(classes >= 0, classes, count), count), table[phase])
    return small


def kappa(table: FloatArray, classes: IntArray) -> float | None:
    """Return Cohen's kappa; None if only one phase (class) was recorded.

    Args:
        table: Result of `confusion`.
        classes: (k,) class of each phase.
    """
    small = by_class(table, classes)
    total = small.sum()
    recorded, named = small.sum(axis=1) / total, small.sum(axis=0)[:-1] / total
    if (recorded > 0).sum() < 2:
        return None
    chance = float((recorded * named).sum())
    reached = float(np.trace(small[:, :-1]) / total)
    return (reached - chance) / (1 - chance)


def balanced(table: FloatArray, classes: IntArray) -> float:
    """Return the mean recall of the recorded phases (classes): the share of their time that is correctly indicated."""
    small = by_class(table, classes)
    seconds = small.sum(axis=1)
    some = seconds > 0
    return float((np.diag(small[:, :-1])[some] / seconds[some]).mean())


def phase_measures(
    result: PhaseResult, beats: Beats, matched: Matched, pieces: Pieces, table: FloatArray, classes: IntArray
) -> tuple[PhaseAgreement, ...]:
    """Measure each phase by its heartbeats; table: result of `confusion`; classes: (k,) as for `kappa`."""
    label = np.where(pieces.recorded >= 0, result.labels[pieces.recorded], -1)
    owners = _owners(matched, len(beats.ids))
    parts = _parts(beats, pieces, label, len(result.phases))
    found = []
    for place, phase in enumerate(result.phases):
        own = list(matched.of_phase[place])
        mine = (label == place) & (pieces.beats >= 0)
        row = table[place]
        alike = np.flatnonzero(classes == classes[place]) if classes[place] >= 0 else np.array([place])
        spill_beats, spill_busy = (
            _spill(values[own] @ parts, owners[own]) for values in (beats.executed, beats.busy_s)
        )
        took = float(pieces.beat_seconds[mine].sum())
        within = parts[:, place]
        ended = float((beats.recorded[own] @ within).sum())
        found.append(
            PhaseAgreement(
                id=phase.id,
                seconds=phase.seconds,
                heartbeats=tuple(beats.ids[h] for h in own),
                missing=matched.missing[place],
                same_as=result.phases[int(alike[0])].id,
                recall=float(row[:-1][alike].sum() / row.sum()) if row.sum() > 0 else None,
                coverage=_mean(beats.present[own].max(axis=0).astype(np.float64), pieces, mine) if own else None,
                busy=_mean(_most_busy(beats, own), pieces, mine) if own else None,
                spill_beats=spill_beats,
                spill_busy=spill_busy,
                rate_hz=float((beats.executed[own] @ within).sum()) / took if own and took > 0 else None,
                mean_s=float((beats.sum_s[own] @ within).sum()) / ended if ended > 0 else None,
            )
        )
    return tuple(found)


def _owners(matched: Matched, heartbeats: int) -> FloatArray:
    """Return which heartbeat belongs to which phase: 1 or 0, (h, k)."""
    table = np.zeros((heartbeats, len(matched.of_phase)))
    for phase, own in enumerate(matched.of_phase):
        table[list(own), phase] = 1.0
    return table


def _parts(beats: Beats, pieces: Pieces, label: IntArray, phases: int) -> FloatArray:
    """Return the share of each interval of heartbeats that lies in each phase, (m, k)."""
    parts = np.zeros((len(beats.end_s), phases))
    use = (pieces.beats >= 0) & (label >= 0)
    where = pieces.beats[use]
    length = np.maximum(beats.length_s[where], 1e-9)
    np.add.at(parts, (where, label[use]), pieces.beat_seconds[use] / length)
    return parts


def _spill(amount: FloatArray, owners: FloatArray) -> float | None:
    """Return the share of heartbeats' activity, (h, k), in phases they do not belong to; transitions do not count."""
    total = float(amount.sum())
    return min(max(float((amount * (1 - owners)).sum()) / total, 0.0), 1.0) if total > 0 else None


def _most_busy(beats: Beats, own: list[int]) -> FloatArray:
    """Return the share of each interval in beats of the busiest of some heartbeats, (m,)."""
    share = beats.busy_s[own].max(axis=0, initial=0.0) / np.maximum(beats.length_s, 1e-9)
    within: FloatArray = np.minimum(share, 1.0)
    return within


def _mean(values: FloatArray, pieces: Pieces, mine: IntArray) -> float | None:
    """Return the mean over some pieces (p,) of values by interval of heartbeats (m,)."""
    seconds = pieces.seconds[mine]
    return float(np.average(values[pieces.beats[mine]], weights=seconds)) if seconds.sum() > 0 else None


# Notes on what could not be compared.


MOST = 5


def notes(
    result: PhaseResult, beats: Beats, matched: Matched, classes: IntArray, timeline: Timeline
) -> tuple[str, ...]:
    """Return notes to be shown with the measures, a line each; classes: (k,) of phases, -1 without heartbeats."""
    return (*_phases(result, matched, classes), *_heartbeats(beats, matched), *_time(timeline))


def _phases(result: PhaseResult, matched: Matched, classes: IntArray) -> Iterator[str]:
    for place, phase in enumerate(result.phases):
        if classes[place] < 0:
            yield f"phase {phase.id} ({phase.app_pct:.1f} % of the run) is not compared: {_why(result, matched, place)}"
        elif matched.missing[place]:
            yield f"phase {phase.id}: no heartbeat for {_listed(matched.missing[place])}"
    for number in range(int(classes.max(initial=-1)) + 1):
        alike = [result.phases[place].id for place in np.flatnonzero(classes == number).tolist()]
        if len(alike) > 1:
            yield f"phases {_listed(map(str, alike))} have the same heartbeats: they count as one"
    if len({number for number in classes.tolist() if number >= 0}) == 1:
        yield "only one phase has heartbeats of its own: agreement means little"


def _why(result: PhaseResult, matched: Matched, place: int) -> str:
    if result.phases[place].off_cpu and not result.phases[place].outside:
        return "the program waits in it, and it has no site"
    if not result.phases[place].sites:
        return "it has no site"
    return f"no heartbeat for {_listed(matched.missing[place])}"


def _heartbeats(beats: Beats, matched: Matched) -> Iterator[str]:
    if beats.others:
        yield f"heartbeats of no phase: {_listed(beats.others)}"
    idle = [place for own in matched.of_phase for place in own if not beats.present[place].any()]
    if idle:
        silent = (beats.names[place] or f"id {beats.ids[place]}" for place in sorted(set(idle)))
        yield f"heartbeats that never beat: {_listed(silent)}"


def _time(timeline: Timeline) -> Iterator[str]:
    total = float(timeline.seconds.sum())
    for share, what in (
        (timeline.label < 0, "of the run are between phases, and not compared"),
        (
            (timeline.label >= 0) & (timeline.named == UNSEEN),
            "of the run have no heartbeats recorded, and are not compared",
        ),
    ):
        part = 100 * float(timeline.seconds[share].sum()) / max(total, 1e-9)
        if part >= 0.05:
            yield f"{part:.1f} % {what}"


def _listed(words: Iterable[str]) -> str:
    """Return a list of the first few words."""
    found = list(words)
    return ", ".join(found[:MOST]) + (f" and {len(found) - MOST} more" if len(found) > MOST else "")
