"""Heartbeat files: selection, and a summary of each heartbeat."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from appekg.errors import AppekgError, NewerFormatError, NoSuchRankError
from appekg.heartbeats import Heartbeats
from appekg.model import Beat
from appekg.reader import read
from incprof.analysis.heartbeats import summarise
from incprof.analysis.heartbeats.summaries import BeatRun, BeatSummary, Span, busiest, trace
from incprof.analysis.views.page_parts import BeatLanes
from incprof.errors import IncprofError, NoDataError, UsageError
from incprof.study.study import Study

if TYPE_CHECKING:
    from appekg.heartbeats import Heartbeats
    from appekg.model import Process
    from incprof.model import IntervalProfile


COUNTERS = ("dropped", "unmatched", "abandoned", "lost_intervals", "lost_rows")


@dataclass(frozen=True)
class Filters:
    """A selection of heartbeats; None selects all.

    Attributes:
        ranks: numbers.
        threads: numbers.
        ids: sets of numbers, and patterns for names.
        time_s: first and last second, None for an open end.
    """

    ranks: frozenset[int] | None = None
    threads: frozenset[int] | None = None
    ids: tuple[frozenset[int] | str, ...] | None = None
    time_s: tuple[float | None, float | None] | None = None


def load(path: str, filters: Filters) -> Heartbeats:
    """Read the selected heartbeats in a run directory (or one file).

    Raises:
        NoDataError: there are none.
        UsageError: no such rank, or no such id.
        IncprofError: the files have a newer format version.
    """
    since, until = filters.time_s or (None, None)
    try:
        beats = read(path, ranks=filters.ranks, threads=filters.threads, since_s=since, until_s=until)
    except NoSuchRankError as error:
        raise UsageError(str(error)) from error
    except NewerFormatError as error:
        raise IncprofError(str(error)) from error
    except AppekgError as error:
        raise NoDataError(str(error)) from error
    if not any(len(process.intervals) for process in beats.processes):
        when = " in that time" if filters.time_s else " yet"
        raise NoDataError(f"{path}: no complete interval{when}")
    return beats if filters.ids is None else selected(beats, filters.ids)


def later_run(path: str) -> str | None:
    """Return the directory of the last launch that found `path` in use and took `path.1`, `path.2`, ...; or None."""
    directory = Path(path)
    if not directory.is_dir():
        return None
    numbered = (
        (other.name.removeprefix(f"{directory.name}."), other)
        for other in directory.parent.glob(f"{escape(directory.name)}.*")
    )
    others = [(int(n), other) for n, other in numbered if n.isdecimal() and n.isascii() and _written_s(other)]
    last = max(others, default=None)
    return str(last[1]) if last and _written_s(last[1]) > _written_s(directory) else None


def _written_s(directory: Path) -> float:
    """Return the time of the last write of heartbeats to a directory, 0 if there are none."""
    return max((file.stat().st_mtime for file in directory.glob("rank-*.ekg")), default=0.0)


def selected(heartbeats: Heartbeats, parts: Iterable[frozenset[int] | str]) -> Heartbeats:
    """Keep the ids that are in a set, or whose names match a pattern.

    Raises:
        UsageError: a part of `parts` matches nothing.
    """
    ids: set[int] = set()
    for part in parts:
        matching = {number for number, beat in heartbeats.beats.items() if matches(beat, part)}
        if not matching:
            what = part if isinstance(part, str) else f"{min(part)}" + (f"-{max(part)}" if len(part) > 1 else "")
            raise UsageError(f"--id {what}: no such heartbeat in {heartbeats.directory}")
        ids |= matching
    rows = heartbeats.rows[np.isin(heartbeats.rows["id"], sorted(ids))]
    return replace(heartbeats, rows=rows, beats={number: heartbeats.beats[number] for number in sorted(ids)})


def matches(beat: Beat | BeatSummary, part: frozenset[int] | str) -> bool:
    """Return whether a part of --id selects a heartbeat."""
    if isinstance(part, frozenset):
        return beat.id in part
    return beat.name is not None and (beat.name == part or fnmatchcase(beat.name, part))


def summaries(heartbeats: Heartbeats) -> list[BeatSummary]:
    """Summarise each heartbeat, by id."""
    earliest = min((process.start_unix_s for process in heartbeats.processes), default=0.0)
    spans = [
        Span(p.rank, p.start_unix_s - earliest, p.intervals["start_ns"] / 1e9, p.intervals["end_ns"] / 1e9)
        for p in heartbeats.processes
    ]
    names = {beat.id: (beat.name, beat.rate_factor) for beat in heartbeats.beats.values()}
    interval_s = min((p.interval_s for p in heartbeats.processes), default=1.0)
    costs = [(p.cost.pair_ns, p.cost.skipped_ns) if p.cost is not None else None for p in heartbeats.processes]
    return summarise(heartbeats.rows, spans, names, interval_s=interval_s, costs=costs)


def run_of(heartbeats: Heartbeats) -> BeatRun:
    """Summarise the run as a whole."""
    some = [process for process in heartbeats.processes if len(process.intervals)]
    earliest = min((process.start_unix_s for process in heartbeats.processes), default=0.0)
    _, thread = np.unique(heartbeats.rows["thread"], return_inverse=True)
    begin = min(p.start_unix_s - earliest + float(p.intervals["start_ns"][0]) / 1e9 for p in some)
    end = max(p.start_unix_s - earliest + p.duration_s for p in some)
    return BeatRun(
        app=some[0].app,
        ranks=len({process.rank for process in heartbeats.processes}),
        processes=len(heartbeats.processes),
        threads=len(np.unique(heartbeats.rows["process"].astype(np.int64) * (len(thread) + 1) + thread)),
        intervals=max(len(process.intervals) for process in some),
        interval_s=min(process.interval_s for process in some),
        start_s=begin,
        duration_s=end - begin,
        clean=all(process.clean for process in heartbeats.processes),
        counters={
            name: sum(int(process.intervals[name].sum(dtype=np.float64)) for process in some) for name in COUNTERS
        },
    )


# Heartbeats of the recorded process, or of another run of its rank.


CLOCKS_AGREE_NS = 1_000_000_000


@dataclass(frozen=True)
class ProcessBeats:
    """The heartbeats of one process.

    Attributes:
        heartbeats: the heartbeats that were read.
        place: index of the process in found.processes.
    """

    heartbeats: Heartbeats
    place: int

    @property
    def process(self) -> Process:
        """The process."""
        return self.heartbeats.processes[self.place]

    def only_this_process(self) -> Heartbeats:
        """Leave out all other processes of the rank, which have other clocks."""
        rows = self.heartbeats.rows[self.heartbeats.rows["process"] == self.place].copy()
        rows["process"] = 0
        return replace(self.heartbeats, processes=(self.process,), rows=rows)


def load_beats(directory: str, profile: IntervalProfile) -> ProcessBeats:
    """Read the heartbeats of the recorded rank: those of the recorded process itself, else of the rank's first one.

    Raises:
        NoDataError: there are no heartbeats, or no complete interval.
        UsageError: that rank has none.
        IncprofError: the files have a newer format version.
    """
    heartbeats = load(directory, Filters(ranks=frozenset([profile.metadata.rank])))
    some = [place for place, process in enumerate(heartbeats.processes) if len(process.intervals)]
    same = [place for place in some if offset_s(profile, heartbeats.processes[place]) is not None]
    return ProcessBeats(heartbeats, (same or some)[0])


def offset_s(profile: IntervalProfile, process: Process) -> float | None:
    """Return the start of a process's heartbeats, in seconds since that of the recording; None for another process."""
    recorded, measured = profile.metadata.raw, process.metadata
    if any(recorded.get(key) is None or recorded.get(key) != measured.get(key) for key in ("host", "pid")):
        return None
    monotonic = _difference(recorded.get("start_mono_ns"), measured.get("start_mono_ns"))
    unix = _difference(recorded.get("start_unix_ns"), measured.get("start_unix_ns"))
    # Process ids are reused, also after a reboot: both clocks must agree.
    if monotonic is None or unix is None or abs(monotonic - unix) > CLOCKS_AGREE_NS:
        return None
    offset = monotonic / 1e9
    return offset if -1 < offset < float(profile.end_s[-1]) + 1 else None


def _difference(before: object, after: object) -> int | None:
    """Return the difference of two time stamps from files, which may hold any value."""
    return after - before if type(before) is int and type(after) is int else None


# The heartbeats of a directory, aligned to the time axis of a recording.


MOST = 12


def beat_lanes(study: Study, directory: str) -> tuple[BeatLanes, bool]:
    """Read the heartbeats of the recorded rank, and return whether a part of them was left out.

    Those of the recorded process itself keep their times; those of another run are shifted to the start of this one.

    Raises:
        NoDataError: there are none.
        UsageError: that rank has none.
    """
    process_beats = load_beats(directory, study.profile)
    study.listener.warn(process_beats.heartbeats.warnings)
    process = process_beats.process
    shown, left_out = busiest(summaries(process_beats.only_this_process()), MOST)
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
    return lanes, process_beats.heartbeats.damaged
