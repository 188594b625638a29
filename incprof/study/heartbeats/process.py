"""Heartbeats of the recorded process, or of another run of its rank."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from incprof.study.heartbeats.read import Filters, load

if TYPE_CHECKING:
    from appekg.heartbeats import Heartbeats
    from appekg.model import Process
    from incprof.model import IntervalProfile

CLOCKS_AGREE_NS = 1_000_000_000


@dataclass(frozen=True)
class ProcessBeats:
    """The heartbeats of one process.

    Attributes:
        found: the heartbeats that were read.
        place: index of the process in found.processes.
    """

    found: Heartbeats
    place: int

    @property
    def process(self) -> Process:
        """The process."""
        return self.found.processes[self.place]

    def alone(self) -> Heartbeats:
        """Leave out all other processes of the rank, which have other clocks."""
        rows = self.found.rows[self.found.rows["process"] == self.place].copy()
        rows["process"] = 0
        return replace(self.found, processes=(self.process,), rows=rows)


def load_beats(directory: str, profile: IntervalProfile) -> ProcessBeats:
    """Read the heartbeats of the recorded rank: those of the recorded process itself, else of the rank's first one.

    Raises:
        NoDataError: there are no heartbeats, or no complete interval.
        UsageError: that rank has none.
        IncprofError: the files have a newer format version.
    """
    found = load(directory, Filters(ranks=frozenset([profile.metadata.rank])))
    some = [place for place, process in enumerate(found.processes) if len(process.intervals)]
    same = [place for place in some if offset_s(profile, found.processes[place]) is not None]
    return ProcessBeats(found, (same or some)[0])


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
