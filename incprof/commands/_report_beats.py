"""The heartbeats of a directory, laid on the time axis of a recording."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from incprof.commands._agreement import load_beats, offset_s
from incprof.commands._beats import summaries
from incprof.commands._common import warn

if TYPE_CHECKING:
    from appekg.model import Heartbeats
    from incprof.model import IntervalProfile
    from incprof.report.page.parts import BeatLanes

MOST = 12


def beat_lanes(directory: str, profile: IntervalProfile) -> tuple[BeatLanes, bool]:
    """Read the heartbeats of the recorded rank, and say whether a part of them was left out.

    Those of the recorded process itself lie where they were in time; those of another run begin where this one does.

    Raises:
        NoDataError: there are none.
        UsageError: that rank has none.
    """
    from incprof.analysis.beats.traces import foremost, trace
    from incprof.report.page.parts import BeatLanes

    beaten = load_beats(directory, profile)
    warn(beaten.found.warnings)
    process = beaten.process
    shown, left_out = foremost(summaries(_alone(beaten.found, beaten.place)), MOST)
    shown.sort(key=lambda beat: beat.id)
    offset = offset_s(profile, process)
    lanes = BeatLanes(
        directory=directory,
        beats=tuple(shown),
        traces=tuple(trace(beat, process.interval_s) for beat in shown),
        interval_s=process.interval_s,
        same=offset is not None,
        offset_s=offset or 0.0,
        left_out=left_out,
    )
    return lanes, beaten.found.damaged


def _alone(found: Heartbeats, place: int) -> Heartbeats:
    """Leave out all processes but one: others of the rank have other clocks."""
    rows = found.rows[found.rows["process"] == place].copy()
    rows["process"] = 0
    return replace(found, processes=(found.processes[place],), rows=rows)
