"""Notes on what could not be compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from incprof.analysis.heartbeats.phase_beats import Matched
from incprof.analysis.phase_result import PhaseResult
from incprof.model import IntArray
from incprof.systems.heartbeats.agreement.validation import UNSEEN, Beats, Timeline

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
        yield "one phase has heartbeats of its own: that they agree says little"


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
