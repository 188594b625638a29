"""Do the heartbeats tell the story that was recorded? docs/validate.md has the reasons for what is done here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.agreement.align import Span, by_clock, by_scale, by_warp, cut
from incprof.analysis.agreement.expect import expected_share
from incprof.analysis.agreement.match import match
from incprof.analysis.agreement.measures import balanced, confusion, kappa, phase_measures
from incprof.analysis.agreement.nearest_phase import (
    levels,
    loops_or_functions,
    name_moments,
    normalised,
    presence,
    profiles,
    weights,
)
from incprof.analysis.agreement.notes import notes
from incprof.analysis.agreement.results import (
    SILENT,
    UNSEEN,
    Agreement,
    Alignment,
    Beats,
    BoolArray,
    Matched,
    Pieces,
    Timeline,
)
from incprof.analysis.phases.results import PhaseResult
from incprof.errors import NoDataError
from incprof.model import FloatArray, IntArray, IntervalProfile
from incprof.names import parse

ALIGNMENTS = ("clock", "scale", "warp")


@dataclass(frozen=True)
class _Classes:
    """Phases with the same heartbeats are one class.

    of_phase: (k,) the class of each phase, -1 without heartbeats. first: (c,) the first phase of each class. own:
    (c, h) whether a heartbeat belongs to it.
    """

    of_phase: IntArray
    first: IntArray
    own: BoolArray


@dataclass(frozen=True)
class _Views:
    """The heartbeats that belong to phases, h of them, normalised.

    expected: in each recorded interval, (n, h). usual: in each class, (c, h). seen: in each interval of heartbeats,
    (m, h). importance: (h,). owner: (n,) class of each recorded interval, -1 for none.
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
        profile: the recorded process.
        result: its phases.
        beats: the heartbeats of one process.
        align: "clock" (the same process), "scale" or "warp".
        offset_s: with "clock", the start of the heartbeats in seconds since the start of the recording.

    Raises:
        NoDataError: no phase has a heartbeat, or the phases that have one take no time.
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
    """Put phases with the same heartbeats together; and the places of the heartbeats that belong to one."""
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
    """Normalise what is expected of the heartbeats, and what they did."""
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
    """Say of each piece what was recorded, and what the heartbeats of `named` (m,) say."""
    label = np.where(pieces.recorded >= 0, labels[pieces.recorded], -1)
    middle = pieces.end_s - pieces.seconds / 2
    aligned = (middle >= alignment.recorded_s[0]) & (middle <= alignment.recorded_s[-1])
    # Before the first and after the last heartbeat they are silent; an interval that is missing in between was lost.
    said = np.where(pieces.beats >= 0, named[pieces.beats], np.where(aligned, UNSEEN, SILENT))
    comparable = (label >= 0) & (classes.of_phase[label] >= 0)
    return Timeline(pieces.end_s, pieces.seconds, label, said, comparable & (said != UNSEEN))


def _share(table: FloatArray, classes: _Classes) -> float:
    """Return the share of the compared time in which both name phases of one class."""
    of_phase = classes.of_phase
    same = (of_phase[:, None] == of_phase[None, :]) & (of_phase >= 0)[:, None]
    total = float(table.sum())
    return min(float(table[:, :-1][same].sum()) / total, 1.0) if total > 0 else 0.0


def _nothing(result: PhaseResult, beats: Beats) -> str:
    """Return the line that says why nothing can be compared."""
    sites = [f"{parse(site.function.name).written}:{site.kind}" for phase in result.phases for site in phase.sites]
    have = [*(name or f"id {number}" for number, name in zip(beats.ids, beats.names, strict=True)), *beats.others]
    wanted, got = (", ".join(words[:4]) + ", ..." * (len(words) > 4) or "none" for words in (sites, have))
    return f"no heartbeat belongs to a phase: the sites are {wanted}; the heartbeats are {got}"
