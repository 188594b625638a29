"""Heartbeat files that are still being written: each look reads what was appended since the one before."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appekg.collect import Collector, Window
from appekg.errors import AppekgError
from appekg.file import File
from appekg.growing import Growing
from appekg.header import Header
from appekg.pieces import MARK
from incprof.analysis.beats import row_factors, within_wall_s
from incprof.inputs import open_input
from incprof.model import Metadata
from incprof.report.words.top import BeatLine

# What counts as now; the same as for functions.
NOW_NS = 10 * 10**9
# Read at once.
PIECE = 8 << 20
# So many directories and files are looked into for the heartbeats of a process; they begin soon after the recording.
MOST_BESIDE = 64
SAME_PROCESS_NS = 3600 * 10**9
EVERYTHING = Window(-np.inf, np.inf, lambda rows: np.ones(len(rows), dtype=np.bool_))


@dataclass
class _Tail:
    """What follows the header of a file. recent: end of each interval of the last NOW_NS, its length, and its rows."""

    file: File
    position: int
    identity: tuple[int, int]
    collector: Collector = field(default_factory=lambda: Collector(0, Growing(), EVERYTHING))
    counts: dict[int, int] = field(default_factory=dict)
    recent: list[tuple[int, int, NDArray[np.void]]] = field(default_factory=list)

    def take(self, raw: io.BufferedReader) -> None:
        """Take the whole intervals behind the last position."""
        raw.seek(self.position)
        rest = b""
        while piece := raw.read(PIECE):
            rest += piece
            end = _whole(rest)
            if end:
                self.position += end
                self.file.read(io.BytesIO(rest[:end]), self.collector)
                self._sort()
                rest = rest[end:]

    def _sort(self) -> None:
        """Put the new rows where they belong."""
        rows, intervals = self.collector.drained()
        cuts = np.searchsorted(rows["interval"], np.arange(len(intervals) + 1)).tolist()
        for place, (low, high) in enumerate(pairwise(cuts)):
            mine, end = rows[low:high], int(intervals["end_ns"][place])
            self.recent.append((end, end - int(intervals["start_ns"][place]), mine))
            for number, many in zip(mine["id"].tolist(), (mine["count"] + mine["pulses"]).tolist(), strict=True):
                self.counts[number] = self.counts.get(number, 0) + many
        last = self.recent[-1][0] if self.recent else 0
        self.recent = [entry for entry in self.recent if entry[0] > last - NOW_NS]


def _whole(data: bytes) -> int:
    """Return where the last interval ends that is whole, 0 if there is none."""
    before = len(data)
    while before > 0:
        mark = data.rfind(b"\n" + MARK, 0, before)
        end = data.find(b"\n", mark + 1) + 1 if mark >= 0 or data.startswith(MARK) else 0
        if end or mark < 0:
            return end
        before = mark
    return 0


class BeatsWatch:
    """Follows the heartbeat files of a directory, which need not exist yet. rank: only those of this one."""

    def __init__(self, directory: str, rank: int | None):
        self.directory = directory
        self._rank = rank
        self._tails: dict[str, _Tail] = {}

    def look(self) -> list[BeatLine]:
        """Take what was appended to each file, and return the heartbeats lately, those that take most time first."""
        try:
            names = sorted(name for name in os.listdir(self.directory) if name.endswith(".ekg"))
        except OSError:
            return []
        for name in names:
            try:
                self._look_at(Path(self.directory) / name)
            except (AppekgError, OSError):  # not there, not whole, or no heartbeat file (yet)
                continue
        return self._lines()

    def _look_at(self, path: Path) -> None:
        """Take what was appended to a file; one that was replaced is read from its beginning."""
        found = os.stat(path)
        identity, tail = (found.st_dev, found.st_ino), self._tails.get(path.name)
        if tail is not None and tail.identity == identity and tail.position == found.st_size:
            return
        with open_input(path, within=self.directory) as raw:
            if tail is None or tail.identity != identity or found.st_size < tail.position:
                header = Header(path, raw)
                if not header.missing or len(header.columns) > 3:
                    self._tails[path.name] = tail = _Tail(File(header), raw.tell(), identity)
            if tail is not None and self._rank in (None, tail.file.header.rank):
                tail.take(raw)

    def _lines(self) -> list[BeatLine]:
        """Sum up what is known."""
        tails = [tail for tail in self._tails.values() if tail.recent]
        beats = {number: beat for tail in tails for number, beat in tail.file.beats.items()}
        ids = sorted({number for tail in tails for number in tail.counts})
        lines = [_line(number, beats[number].name if number in beats else None, tails) for number in ids]
        return sorted(lines, key=lambda line: (-line.busy_pct, -line.rate_hz, line.id))


def _line(number: int, name: str | None, tails: list[_Tail]) -> BeatLine:
    """Sum up a heartbeat over the last seconds of all files."""
    rate = busy = 0.0
    ended = sum_ns = still = 0
    for tail in tails:
        length = max(sum(length for _, length, _ in tail.recent), 1)
        parts = [rows[rows["id"] == number] for _, _, rows in tail.recent]
        rows = np.concatenate(parts)
        most = np.repeat([length / 1e9 for _, length, _ in tail.recent], [len(part) for part in parts])
        factor = row_factors(rows, 1)  # a file that does not say has as many as were recorded
        rate += 1e9 * float(((rows["count"].astype(np.float64) + rows["pulses"]) * factor).sum()) / length
        passed_s, _ = within_wall_s(rows, factor, most)
        busy += 100.0 * 1e9 * float(passed_s.sum()) / length / len(tails)
        ended += int(rows["count"].sum())
        sum_ns += int(rows["sum_ns"].sum())
        last = tail.recent[-1][2]
        still += int(last["open"][last["id"] == number].sum())
    mean = sum_ns / ended / 1e9 if ended else None
    return BeatLine(number, name, rate, mean, busy, sum(tail.counts.get(number, 0) for tail in tails), still)


def found_beside(directory: str, metadata: Metadata) -> str | None:
    """Return the directory of the heartbeats of a recorded process: the run's own, or one of those beside it."""
    parent = Path(directory).absolute().parent
    for folder in [Path(directory), *sorted(parent.glob("ekg-*"))[:MOST_BESIDE]]:
        try:
            paths = sorted(path for path in folder.iterdir() if path.name.endswith(".ekg"))[:MOST_BESIDE]
        except OSError:
            continue
        if any(_is_of(path, metadata.raw) for path in paths):
            return str(folder)
    return None


def _is_of(path: Path, recorded: dict[str, Any]) -> bool:
    """Say whether a heartbeat file is of the recorded process."""
    try:
        with open_input(path, within=path.parent) as raw:
            found = Header(path, raw).metadata
    except (AppekgError, OSError):
        return False
    same = all(recorded.get(key) is not None and recorded.get(key) == found.get(key) for key in ("host", "pid"))
    before, after = recorded.get("start_unix_ns"), found.get("start_unix_ns")
    # Process ids come again: an old directory may hold the same one.
    return same and isinstance(before, int) and isinstance(after, int) and abs(after - before) < SAME_PROCESS_NS
