"""The heartbeats of a directory, aligned to the time axis of a recording."""

from __future__ import annotations

from incprof.analysis.heartbeats.summaries import busiest, trace
from incprof.analysis.views.page_parts import BeatLanes
from incprof.study.heartbeats.process import load_beats, offset_s
from incprof.study.heartbeats.read import summaries
from incprof.study.study import Study

MOST = 12


def beat_lanes(study: Study, directory: str) -> tuple[BeatLanes, bool]:
    """Read the heartbeats of the recorded rank, and return whether a part of them was left out.

    Those of the recorded process itself keep their times; those of another run are shifted to the start of this one.

    Raises:
        NoDataError: there are none.
        UsageError: that rank has none.
    """
    process_beats = load_beats(directory, study.profile)
    study.listener.warn(process_beats.found.warnings)
    process = process_beats.process
    shown, left_out = busiest(summaries(process_beats.alone()), MOST)
    shown.sort(key=lambda beat: beat.id)
    offset = offset_s(study.profile, process)
    lanes = BeatLanes(
        directory=directory,
        beats=tuple(shown),
        traces=tuple(trace(beat, process.interval_s, executions=True) for beat in shown),
        interval_s=process.interval_s,
        same=offset is not None,
        offset_s=offset or 0.0,
        left_out=left_out,
    )
    return lanes, process_beats.found.damaged
