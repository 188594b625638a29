"""One heartbeat file: its intervals in order, its ids, and the parts left out."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from appekg.blocks import Block, Piece
from appekg.collect import Collector
from appekg.header import Header
from appekg.model import INTERVAL, Beat, Process
from appekg.pieces import pieces
from appekg.records import IntervalLine, beat_of, unsigned

NAMED = 3  # problems of a file reported individually
LOST_INTERVALS = (INTERVAL.names or ()).index("lost_intervals")

Taken = list[tuple[int, Block, IntervalLine]]


class File:
    """Reads the rest of a file after its header.

    Attributes:
        beats: Name and rate factor of each id.
        problems: The parts left out, a line each.
        notices: Other remarks, a line each.
    """

    def __init__(self, header: Header):
        self.header = header
        self.beats: dict[int, Beat] = {}
        self.problems: list[str] = []
        self.notices: list[str] = []
        self._from_damaged: dict[int, Beat] = {}  # from damaged intervals: used if nothing better exists
        self._tids: dict[int, int] = {}
        self._slot, self._number, self._end_ns = 0, -1, 0  # of the last complete interval
        self._dropped = 0  # problems since then
        self._clean = False

    def read(self, raw: BinaryIO, collector: Collector) -> Process:
        """Read the intervals into the collector."""
        try:
            for data in pieces(raw):
                if data is None:
                    self._problem("an oversized line or interval was left out")
                else:
                    self._piece(Piece(data, self.header.columns), collector)
        except OSError as error:
            self._problem(f"what comes {self._position()} was left out: {error.strerror or error}")
        self.beats = self._from_damaged | self.beats
        if len(self.problems) > NAMED:
            self.problems[NAMED:] = [f"{self.header.path}: {len(self.problems) - NAMED} more problems like these"]
        intervals = collector.intervals()
        if self.header.missing and len(intervals):
            self._remark(f"has no columns {', '.join(self.header.missing)}: they are taken as 0")
        header = self.header
        return Process(header.path, header.rank, header.metadata, intervals, self._tids, self._clean)

    def _position(self) -> str:
        """Return the current position in the file."""
        return f"after interval {self._number}" if self._number >= 0 else "at the beginning"

    def _problem(self, line: str) -> None:
        """Record that a part was left out."""
        self._dropped += 1
        self.problems.append(f"{self.header.path}: {line}")

    def _remark(self, line: str) -> None:
        """Record a remark; nothing was left out."""
        self.notices.append(f"{self.header.path}: {line}")

    def _piece(self, piece: Piece, collector: Collector) -> None:
        """Read the complete intervals of a piece."""
        taken: Taken = []
        for block in piece.blocks():
            self._notes(block)
            if block.is_remainder:
                if block.low < block.high or any(fields is None for _, fields in block.notes):
                    self._problem(f"what comes {self._position()} was left out: it is torn")
            elif block.info is None:
                self._problem(f"an interval {self._position()} was left out: {block.problem}")
            elif self._follows(block, block.info):
                taken.append((self._slot, block, block.info))
        twice = _collect(piece, taken, collector)
        for at in sorted(twice):
            self._problem(f"interval {taken[at][2].number} was left out: two rows have the same thread and id")
        if twice:
            _collect(piece, [entry for at, entry in enumerate(taken) if at not in twice], collector)

    def _follows(self, block: Block, info: IntervalLine) -> bool:
        """Return whether an interval is complete and later than the previous one; record the problem if not."""
        number, start_ns, end_ns = info.number, int(info.fields[1]), int(info.fields[2])
        problem = block.problem
        if problem is None and (number <= self._number or start_ns < self._end_ns):
            problem = f"it begins before the end of interval {self._number}"
        if problem is not None:
            self._problem(f"interval {number} was left out: {problem}")
            return False
        if block.skipped:
            self._problem(f"what lies {self._position()} and before interval {number} was left out: it is damaged")
        gap = number != self._number + 1
        if gap and not info.fields[LOST_INTERVALS] and not self._dropped:
            self._problem(f"intervals {self._number + 1} to {number - 1} are missing")
        self._slot += 1 + gap
        self._number, self._end_ns, self._dropped, self._clean = number, end_ns, 0, False
        return True

    def _notes(self, block: Block) -> None:
        """Read the other marked lines of a block."""
        sure = not block.is_remainder and block.problem is None and not block.skipped
        for word, fields in block.notes:
            if fields is None:
                continue
            beat = beat_of(fields) if word == "beat" else None
            if beat is not None:
                self._name(beat, self.beats if sure else self._from_damaged)
            elif word == "thread":
                thread, tid = unsigned(fields.get("thread")), unsigned(fields.get("tid"))
                if thread is not None and tid is not None:
                    self._tids[thread] = tid
            elif word == "end":
                self._clean = True

    def _name(self, beat: Beat, beats: dict[int, Beat]) -> None:
        """Store a `#beat` line: the last one of an id counts."""
        previous = beats.get(beat.id)
        if previous is not None and previous.rate_factor != beat.rate_factor:
            change = f"from {previous.rate_factor} to {beat.rate_factor}"
            known_of_each = "executions" in self.header.columns
            used = "" if known_of_each else ": the last one is used for the whole run"
            self._remark(f"the rate factor of id {beat.id} changed {change}{used}")
        beats[beat.id] = beat


def _collect(piece: Piece, taken: Taken, collector: Collector) -> set[int]:
    """Collect the rows of the intervals; return the indices of those with two rows of a thread and id."""
    lows = np.array([block.low for _, block, _ in taken], dtype=np.int64)
    counts = np.array([block.high - block.low for _, block, _ in taken], dtype=np.int64)
    at = np.repeat(lows - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))
    slots = np.array([slot for slot, _, _ in taken], dtype=np.int64)
    return collector.take(
        piece.rows[at], counts, slots, np.array([info.fields for _, _, info in taken], dtype=INTERVAL)
    )
