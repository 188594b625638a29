"""Read a run's heartbeats: a directory of .ekg files, or one of them (docs/reference/formats.md)."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from appekg.collect import Collector, Window
from appekg.errors import AppekgError, NewerFormatError, NoSuchRankError
from appekg.file import File
from appekg.growing import Growing
from appekg.header import Header
from appekg.heartbeats import Heartbeats
from appekg.model import Beat, Process
from appekg.opening import open_file


def read(
    path: str | os.PathLike[str],
    *,
    ranks: Iterable[int] | None = None,
    threads: Iterable[int] | None = None,
    ids: Iterable[int] | None = None,
    since_s: float | None = None,
    until_s: float | None = None,
) -> Heartbeats:
    """Read heartbeats. The files of a run in progress can be read too, as far as they are written.

    Damaged intervals are left out: `damaged` is set and a line in `warnings` names them. A run that did not end cleanly
    is not damaged.

    Args:
        path: Run directory, or one file.
        ranks: Only these ranks.
        threads: Only rows of threads with these numbers.
        ids: Only rows of these ids.
        since_s: Only intervals that end later than this, in seconds since the earliest start of a process.
        until_s: Only intervals that start earlier than this.

    Raises:
        AppekgError: the file does not exist, or nothing in the directory is a heartbeat file.
        NewerFormatError: a file's format is newer than this reader.
        NoSuchRankError: none of the requested ranks exists.
    """
    root = Path(path)
    reading = _Reading(keep=_row_filter(threads, ids), ranks=None if ranks is None else frozenset(ranks))
    for file in _files(root):
        reading.within = None if file == root else root
        reading.open(file, alone=file == root)
    reading.check(root)
    rows = reading.read_all(-np.inf if since_s is None else since_s, np.inf if until_s is None else until_s)
    beats = reading.known_beats(rows)
    _estimate_executions(rows, beats)
    return Heartbeats(
        directory=root,
        processes=tuple(reading.processes),
        rows=rows,
        beats=beats,
        damaged=reading.damaged,
        warnings=tuple(reading.warnings),
    )


@dataclass
class _Reading:
    """State of reading files into a Heartbeats."""

    keep: Callable[[NDArray[np.void]], NDArray[np.bool_]]
    ranks: frozenset[int] | None
    headers: list[tuple[Header, int]] = field(default_factory=list)  # and the positions at which the intervals begin
    within: Path | None = None  # the run directory, if one is read
    processes: list[Process] = field(default_factory=list)
    beats: dict[int, Beat] = field(default_factory=dict)
    others: set[int] = field(default_factory=set)  # ranks that were not requested
    warnings: list[str] = field(default_factory=list)
    damaged: bool = False

    def open(self, path: Path, *, alone: bool) -> None:
        """Read the header of a file; an unusable one is left out, unless it was given as the path."""
        try:
            with open_file(path, within=self.within) as raw:
                header = Header(path, raw)
                begin = raw.tell()
        except (AppekgError, OSError) as error:
            problem = error if isinstance(error, AppekgError) else AppekgError(f"{path}: {error.strerror or error}")
            if alone or isinstance(problem, NewerFormatError):
                raise problem from None
            self.warnings.append(f"{problem}; left out")
            self.damaged = self.damaged or not _is_empty(path)
            return
        if self.ranks is None or header.rank in self.ranks:
            self.headers.append((header, begin))
        else:
            self.others.add(header.rank)

    def check(self, path: Path) -> None:
        """Raise AppekgError if there is nothing to read."""
        if self.headers:
            return
        if self.others:
            raise NoSuchRankError(f"{path}: no such rank; there are {_listed(sorted(self.others))}")
        first = f": {self.warnings[0]}" if self.warnings else ""
        raise AppekgError(f"{path}: no heartbeats here (a run directory has files rank-NNNNN.ekg){first}")

    def read_all(self, since_s: float, until_s: float) -> NDArray[np.void]:
        """Read the intervals of all files, and return the rows."""
        self.headers.sort(key=lambda entry: (entry[0].rank, len(entry[0].path.name), entry[0].path.name))
        starts = [header.metadata["start_unix_ns"] for header, _ in self.headers]
        into = Growing()
        for header, begin in self.headers:
            later_s = (header.metadata["start_unix_ns"] - min(starts)) / 1e9
            window = Window(1e9 * (since_s - later_s), 1e9 * (until_s - later_s), self.keep)
            self._read_one(header, begin, Collector(len(self.processes), into, window))
        unclean = [process.path.name for process in self.processes if not process.clean]
        if unclean:
            what = unclean[0] if len(unclean) == 1 else f"{unclean[0]} and {len(unclean) - 1} more"
            self.warnings.append(f"{what}: no end, the run was killed or is still going on")
        return into.rows()

    def _read_one(self, header: Header, begin: int, collector: Collector) -> None:
        """Read the intervals of a file."""
        file = File(header)
        try:
            with open_file(header.path, within=self.within) as raw:
                raw.seek(begin)
                self.processes.append(file.read(raw, collector))
        except OSError as error:  # it existed a moment ago
            self.warnings.append(f"{header.path}: {error.strerror or error}; left out")
            self.damaged = True
            return
        self.warnings += file.problems + file.notices
        self.damaged = self.damaged or bool(file.problems)
        for number, beat in file.beats.items():
            first = self.beats.setdefault(number, beat)
            if first != beat:
                self.warnings.append(
                    f"{header.path}: id {number} is {beat.name!r}, 1 in {beat.rate_factor} recorded, and elsewhere "
                    f"{first.name!r}, 1 in {first.rate_factor}: the latter is used"
                )

    def known_beats(self, rows: NDArray[np.void]) -> dict[int, Beat]:
        """Return name and rate factor of each id, by id; every id that has rows has an entry."""
        unnamed = (Beat(number, None, 1) for number in np.unique(rows["id"]).tolist())
        every = {beat.id: beat for beat in unnamed} | self.beats
        return dict(sorted(every.items()))


def _estimate_executions(rows: NDArray[np.void], beats: dict[int, Beat]) -> None:
    """Estimate the executions of rows whose file lacks them; they are at least the recorded beats."""
    recorded = np.minimum(rows["count"].astype(np.float64) + rows["pulses"], 2.0**62)
    unknown = np.flatnonzero(rows["executions"] < recorded)
    ids, place = np.unique(rows["id"][unknown], return_inverse=True)
    factors = np.array([beats[number].rate_factor for number in ids.tolist()], dtype=np.float64)
    rows["executions"][unknown] = np.minimum(recorded[unknown] * factors[place], 2.0**62).astype(np.int64)


def _files(path: Path) -> list[Path]:
    """Return the files to read.

    Raises:
        AppekgError: there is none.
    """
    try:
        if not path.is_dir():
            path.stat()
            return [path]
        return sorted(entry for entry in path.iterdir() if entry.name.endswith(".ekg"))
    except (OSError, ValueError) as error:
        raise AppekgError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def _is_empty(path: Path) -> bool:
    """Return whether a file holds nothing (yet)."""
    try:
        status = path.stat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and not status.st_size


def _row_filter(
    threads: Iterable[int] | None, ids: Iterable[int] | None
) -> Callable[[NDArray[np.void]], NDArray[np.bool_]]:
    """Return a function that selects rows of the threads and ids."""
    selections = {
        name: np.array(sorted(set(values)), dtype=np.int64)
        for name, values in (("thread", threads), ("id", ids))
        if values is not None
    }

    def keep(rows: NDArray[np.void]) -> NDArray[np.bool_]:
        mask = np.ones(len(rows), dtype=np.bool_)
        for name, values in selections.items():
            mask &= np.isin(rows[name], values)
        return mask

    return keep


def _listed(ranks: list[int]) -> str:
    """Format ranks for people: all of a few, the first and the last of many."""
    return ", ".join(map(str, ranks)) if len(ranks) <= 8 else f"{len(ranks)} from {ranks[0]} to {ranks[-1]}"
