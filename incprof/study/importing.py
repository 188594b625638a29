"""Convert profiles of other tools to a run directory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from incprof.errors import IncprofError, UsageError
from incprof.readers.foreign import formats
from incprof.readers.foreign.timeline import Imported, Ticks, TooLittleError
from incprof.readers.foreign.write import copy_gmon, write_timeline
from incprof.safe.atomic import temporary_prefix

DEFAULT_INTERVAL_S = 1.0
GMON = "gmon-dir"


@dataclass(frozen=True)
class Made:
    """The directory that was written.

    Attributes:
        kind: the format of the profile.
        app: the program.
        processes: their number.
        intervals: their number.
        rate_hz: samples per second of CPU time.
        notes: remarks on the profile, a line each.
        damaged: whether a part could not be read.
    """

    kind: str
    app: str
    processes: int
    intervals: int
    rate_hz: float
    notes: tuple[str, ...] = ()
    damaged: bool = False


def import_profiles(
    inputs: Sequence[str], out: str, *, kind: str | None = None, interval_s: float | None = None,
    rate_hz: float | None = None, exe: str | None = None,
) -> Made:  # fmt: skip
    """Write a new run directory from the recordings of other tools.

    Args:
        inputs: files of the profile.
        out: the new directory.
        kind: a format, detected from the content unless given.
        interval_s: length of an interval, seconds; of a series, the time covered by each of its files.
        rate_hz: samples per second of CPU time, instead of the profile's own.
        exe: the program.

    Raises: UsageError when `out` exists, or the format cannot be detected; NoDataError when the input holds nothing
        usable; IncprofError when `out` cannot be written.
    """
    target = Path(os.path.abspath(out))
    if os.path.lexists(target):
        raise UsageError(f"{out} exists: give the name of a new directory")
    kind = kind or formats.guess(inputs)
    found = None if kind == GMON else formats.read(inputs, kind, formats.Wanted(interval_s, rate_hz, exe))
    try:
        with tempfile.TemporaryDirectory(
            dir=target.parent, prefix=temporary_prefix(target), ignore_cleanup_errors=True
        ) as temporary:
            directory = Path(temporary) / "made"
            directory.mkdir()
            if found is None:
                app, intervals, rate = copy_gmon(inputs, directory, exe, interval_s or DEFAULT_INTERVAL_S)
                made = Made(kind, app, 1, intervals, rate)
            else:
                made = _write(found, directory, interval_s or DEFAULT_INTERVAL_S, 1 / rate_hz if rate_hz else None)
            directory.rename(target)
    except OSError as error:
        raise IncprofError(f"{error.filename or out}: {error.strerror}: {out} was not made") from error
    return made


def _write(found: Imported, directory: Path, interval_s: float, tick_s: float | None) -> Made:
    """Write the processes: those of the program become ranks, others are stored with rank 0."""
    app, notes = found.timelines[0].app, list(found.notes)
    written: list[Ticks] = []
    ranks = 0
    for number, timeline in enumerate(found.timelines):
        own = timeline.app == app
        rank, beside = (ranks, "") if own else (0, f".{timeline.pid or number}")
        name = f"rank-{rank:05}{beside}.gmon"
        try:
            ticks = write_timeline(
                timeline, directory, name, kind=found.kind, interval_s=interval_s, rank=rank, tick_s=tick_s
            )
        except TooLittleError:
            if not written and number == len(found.timelines) - 1:
                raise
            continue
        ranks += own
        written.append(ticks)
    if without := len(found.timelines) - len(written):
        notes.append(f"{without} processes have less than half a sample's time, and are left out")
    if all(len(ticks.end_s) == 1 for ticks in written):
        series = found.timelines[0].edges_s is not None
        notes.append(
            f"one interval has no phases: {'give a file for each' if series else 'give a shorter one with -i'}"
        )
    shown, first = app.rpartition("/")[2] or app, written[0]
    return Made(found.kind, shown, len(written), len(first.end_s), 1 / first.tick_s, tuple(notes), found.damaged)
