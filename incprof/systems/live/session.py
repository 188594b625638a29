"""State of `incprof top`: the run so far, its heartbeats, and the state of the job."""

from __future__ import annotations

import io
import os
import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from appekg.collect import Collector, Window
from appekg.errors import AppekgError
from appekg.file import File
from appekg.growing import Growing
from appekg.header import Header
from appekg.pieces import MARK
from incprof.analysis.heartbeats import row_factors, within_wall_s
from incprof.errors import NoDataError
from incprof.model import Metadata
from incprof.report.words.formatting import duration
from incprof.safe.inputs import open_input
from incprof.systems.live.top_text import BeatLine

if TYPE_CHECKING:
    from incprof.study.phase_options import Listener
    from incprof.systems.live.job_state import LiveView
    from incprof.systems.live.watch import Watch


# Greatest share of time for updating and drawing: with many ranks, updates are less frequent.
SHARE = 0.1
# Number of intervals without new data after which the job is reported as silent.
SILENT = 3.0
# Interval of searches for heartbeats, which may begin later than the recording.
SEARCH_EVERY_S = 5.0


class Session:
    """A watch and the job's heartbeats."""

    def __init__(self, watch: Watch, *, heartbeats: str | None, every_s: float, wait_s: float, listener: Listener):
        """Initialise the session.

        Args:
            watch: The recording to watch.
            heartbeats: Directory of the heartbeats; None for those that the job writes next to its recording.
            every_s: Least number of seconds between updates.
            wait_s: Greatest number of seconds to wait for a job that has not begun.
            listener: Receives warnings.
        """
        self.watch, self.wait_s = watch, wait_s
        self._heartbeats, self._every_s, self._listener = heartbeats, every_s, listener
        self.beats: list[BeatLine] = []
        self.view: LiveView | None = None
        self._beats = BeatsWatch(heartbeats, watch.rank) if heartbeats is not None else None
        self._began, self._last_search, self._warned = time.monotonic(), -SEARCH_EVERY_S, 0
        self.elapsed_s = 0.0

    def poll(self) -> None:
        """Read new data.

        Raises:
            NoDataError: there is no data, and the wait is over.
        """
        begin = time.monotonic()
        self.watch.poll()
        self.view = self.watch.view()
        if self.view is not None:
            self._poll_beats(self.view)
        elif begin - self._began >= self.wait_s:
            waited = f" in {self.wait_s:g} s" if self.wait_s else ""
            raise NoDataError(f"{self.watch.directory}: {self.watch.missing}{waited}: --wait S waits longer")
        self.elapsed_s = time.monotonic() - begin

    @property
    def pause_s(self) -> float:
        """Seconds to wait for the next update."""
        return max(self._every_s - self.elapsed_s, self.elapsed_s * (1 / SHARE - 1), 0.01)

    def _poll_beats(self, view: LiveView) -> None:
        """Read new heartbeats."""
        if self._beats is None and time.monotonic() - self._last_search >= SEARCH_EVERY_S:
            self._last_search = time.monotonic()
            folder = heartbeats_of_process(self.watch.directory, view.front.metadata)
            self._beats = BeatsWatch(folder, self.watch.rank) if folder is not None else None
        self.beats = self._beats.poll() if self._beats is not None else []

    def note(self) -> str:
        """Return the state of the job, empty if it runs."""
        if self.watch.ended:
            return "killed" if self.watch.killed else "ended"
        silent_s = self.watch.silent_s
        limit = SILENT * self.view.front.metadata.interval_s if self.view else 0.0
        return f"nothing new for {duration(round(silent_s))}" if silent_s > max(limit, 2.0) else ""

    def warn(self, *, last: bool = False) -> None:
        """Report new warnings. last: no more data will arrive."""
        self._listener.warn(self.watch.warnings[self._warned :])
        self._warned = len(self.watch.warnings)
        if last and self._heartbeats is not None and not self.beats:
            self._listener.warn([f"{self._heartbeats}: no heartbeats of a complete interval"])

    def hint(self) -> str:
        """Return what the user can do next."""
        how = "was killed" if self.watch.killed else "has ended"
        return f"the job {how}: incprof phases {self.watch.directory}"


# Heartbeat files that are still being written: each update reads what was appended since the previous one.


# Length of the recent time; the same as for functions.
NOW_NS = 10 * 10**9
# Bytes per read.
PIECE = 8 << 20
# Greatest number of directories and files searched for the heartbeats of a process, and the greatest difference between
# its start and theirs.
MOST_SEARCHED = 64
SAME_PROCESS_NS = 3600 * 10**9
EVERYTHING = Window(-np.inf, np.inf, lambda rows: np.ones(len(rows), dtype=np.bool_))


@dataclass
class _Tail:
    """The rest of a file after its header.

    Attributes:
        file: The file.
        position: Offset of the first unread byte.
        identity: Device and inode of the file.
        collector: Collects new rows and intervals.
        counts: Number of beats by heartbeat id.
        recent: End, length (both in ns) and rows of each interval of the last NOW_NS.
    """

    file: File
    position: int
    identity: tuple[int, int]
    collector: Collector = field(default_factory=lambda: Collector(0, Growing(), EVERYTHING))
    counts: dict[int, int] = field(default_factory=dict)
    recent: list[tuple[int, int, NDArray[np.void]]] = field(default_factory=list)

    def take(self, raw: io.BufferedReader) -> None:
        """Read the complete intervals after the last position."""
        raw.seek(self.position)
        remaining = b""
        while piece := raw.read(PIECE):
            remaining += piece
            end = _complete_end(remaining)
            if end:
                self.position += end
                self.file.read(io.BytesIO(remaining[:end]), self.collector)
                self._sort()
                remaining = remaining[end:]

    def _sort(self) -> None:
        """Add the new rows to the counts and the recent intervals."""
        rows, intervals = self.collector.drained()
        cuts = np.searchsorted(rows["interval"], np.arange(len(intervals) + 1)).tolist()
        for place, (low, high) in enumerate(pairwise(cuts)):
            own_rows, end = rows[low:high], int(intervals["end_ns"][place])
            self.recent.append((end, end - int(intervals["start_ns"][place]), own_rows))
            for number, many in zip(
                own_rows["id"].tolist(), (own_rows["count"] + own_rows["pulses"]).tolist(), strict=True
            ):
                self.counts[number] = self.counts.get(number, 0) + many
        last = self.recent[-1][0] if self.recent else 0
        self.recent = [entry for entry in self.recent if entry[0] > last - NOW_NS]


def _complete_end(data: bytes) -> int:
    """Return the end of the last complete interval, 0 if there is none."""
    before = len(data)
    while before > 0:
        mark = data.rfind(b"\n" + MARK, 0, before)
        end = data.find(b"\n", mark + 1) + 1 if mark >= 0 or data.startswith(MARK) else 0
        if end or mark < 0:
            return end
        before = mark
    return 0


class BeatsWatch:
    """Follows the heartbeat files of a directory, which need not exist yet. rank: only files of this rank."""

    def __init__(self, directory: str, rank: int | None):
        self.directory = directory
        self._rank = rank
        self._tails: dict[str, _Tail] = {}

    def poll(self) -> list[BeatLine]:
        """Read what was appended to each file; return the recent heartbeats, those that take most time first."""
        try:
            names = sorted(name for name in os.listdir(self.directory) if name.endswith(".ekg"))
        except OSError:
            return []
        for name in names:
            try:
                self._read_appended(Path(self.directory) / name)
            except (AppekgError, OSError):  # missing, incomplete, or no heartbeat file (yet)
                continue
        return self._lines()

    def _read_appended(self, path: Path) -> None:
        """Read what was appended to a file; a replaced file is read from its beginning."""
        status = os.stat(path)
        identity, tail = (status.st_dev, status.st_ino), self._tails.get(path.name)
        if tail is not None and tail.identity == identity and tail.position == status.st_size:
            return
        with open_input(path, within=self.directory) as raw:
            if tail is None or tail.identity != identity or status.st_size < tail.position:
                header = Header(path, raw)
                if not header.missing or len(header.columns) > 3:
                    self._tails[path.name] = tail = _Tail(File(header), raw.tell(), identity)
            if tail is not None and self._rank in (None, tail.file.header.rank):
                tail.take(raw)

    def _lines(self) -> list[BeatLine]:
        """Summarise the recent intervals."""
        tails = [tail for tail in self._tails.values() if tail.recent]
        beats = {number: beat for tail in tails for number, beat in tail.file.beats.items()}
        ids = sorted({number for tail in tails for number in tail.counts})
        lines = [_line(number, beats[number].name if number in beats else None, tails) for number in ids]
        return sorted(lines, key=lambda line: (-line.busy_pct, -line.rate_hz, line.id))


def _line(number: int, name: str | None, tails: list[_Tail]) -> BeatLine:
    """Summarise a heartbeat over the recent intervals of all files."""
    rate = busy = 0.0
    ended = sum_ns = still = 0
    for tail in tails:
        length = max(sum(length for _, length, _ in tail.recent), 1)
        parts = [rows[rows["id"] == number] for _, _, rows in tail.recent]
        rows = np.concatenate(parts)
        most = np.repeat([length / 1e9 for _, length, _ in tail.recent], [len(part) for part in parts])
        factor = row_factors(rows, 1)  # 1 for a file without factors
        rate += 1e9 * float(((rows["count"].astype(np.float64) + rows["pulses"]) * factor).sum()) / length
        passed_s, _ = within_wall_s(rows, factor, most)
        busy += 100.0 * 1e9 * float(passed_s.sum()) / length / len(tails)
        ended += int(rows["count"].sum())
        sum_ns += int(rows["sum_ns"].sum())
        last = tail.recent[-1][2]
        still += int(last["open"][last["id"] == number].sum())
    mean = sum_ns / ended / 1e9 if ended else None
    return BeatLine(number, name, rate, mean, busy, sum(tail.counts.get(number, 0) for tail in tails), still)


def heartbeats_of_process(directory: str, metadata: Metadata) -> str | None:
    """Return the directory of a recorded process' heartbeats: the run directory, or an ekg-* directory next to it."""
    parent = Path(directory).absolute().parent
    for folder in [Path(directory), *sorted(parent.glob("ekg-*"))[:MOST_SEARCHED]]:
        try:
            paths = sorted(path for path in folder.iterdir() if path.name.endswith(".ekg"))[:MOST_SEARCHED]
        except OSError:
            continue
        if any(_is_of(path, metadata.raw) for path in paths):
            return str(folder)
    return None


def _is_of(path: Path, recorded: dict[str, Any]) -> bool:
    """Return whether a heartbeat file belongs to the recorded process."""
    try:
        with open_input(path, within=path.parent) as raw:
            metadata = Header(path, raw).metadata
    except (AppekgError, OSError):
        return False
    same = all(recorded.get(key) is not None and recorded.get(key) == metadata.get(key) for key in ("host", "pid"))
    before, after = recorded.get("start_unix_ns"), metadata.get("start_unix_ns")
    # Process ids are reused: an old directory may contain the same one.
    return same and isinstance(before, int) and isinstance(after, int) and abs(after - before) < SAME_PROCESS_NS
