"""The traces of a run directory, read as streams: memory holds a block and what the calls look like."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from incprof.errors import IncprofError, NoDataError
from incprof.jsontext import parse_json
from incprof.model.mpi import MpiEvent, TraceEnd, TraceMetadata
from incprof.readers.stream.window import Source
from incprof.readers.trace import blocks
from incprof.readers.trace.counts import COUNTS, MOST_COUNTERS, CountRows
from incprof.readers.trace.lanes import Lane
from incprof.readers.trace.numbers import BadRecordError

TRACE = re.compile(r"rank-(\d{1,9})(?:\.(\d{1,9})(?:-(\d{1,9}))?)?\.mpi")
MOST_LANES = 1 << 16
SomeLane = TypeVar("SomeLane", bound=Lane)
Got = TypeVar("Got")


def find_traces(directory: str) -> list[str]:
    """Paths of the traces in a run directory, by rank.

    Raises: NoDataError when there is no directory, or none in it.
    """
    root = Path(directory)
    if not root.is_dir():
        what = "is a file: give the directory that holds it" if root.exists() else "no such directory"
        raise NoDataError(f"{root}: {what}")
    found = [(match, str(entry)) for entry in root.iterdir() if (match := TRACE.fullmatch(entry.name))]
    if not found:
        raise NoDataError(f"{root}: no MPI trace in it: record one with incprof trace -o {root} -- PROGRAM")
    return [path for _, path in sorted(found, key=lambda each: [int(part or 0) for part in each[0].groups()])]


class Trace:
    """One process's trace. `end` and `counts` are complete when its events have been read. A context manager.

    keep_counts: `counts` has those before each event, not only their sums.

    Raises (the constructor): NoDataError when it cannot be read or is no trace; IncprofError for one of a later
    version.
    """

    def __init__(self, path: str, *, keep_counts: bool = False):
        self.path, self._keep_counts = path, keep_counts
        self.end = TraceEnd()
        self.counts = CountRows(0, kept=False)
        self._source = Source(path)
        try:
            self.metadata = _metadata(self._source)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._source.__exit__(None, None, None)

    def events(self) -> Iterator[MpiEvent]:
        """All events, those of a thread in the order of time; threads as their blocks come.

        A lane with a damaged place ends there: what follows is told by what was before.
        """
        return self.decoded(Lane, Lane.decode)

    def decoded(
        self, make: Callable[[int], SomeLane], decode: Callable[[SomeLane, bytes], Iterator[Got]]
    ) -> Iterator[Got]:
        """The same by other decoders. make: a lane, of its number; decode: what a payload of it holds."""
        self.end = end = TraceEnd()
        self.counts = CountRows(len(self.metadata.counters), kept=self._keep_counts)
        lanes: dict[int, SomeLane | None] = {}
        hole = False
        for block in blocks.walk(self._source, end):
            if block.after_hole:
                lanes, hole = dict.fromkeys(lanes), True
            if block.kind == blocks.EVENTS and block.lane < MOST_LANES:
                # One that is met first behind a hole may have begun in it.
                if block.lane not in lanes:
                    lanes[block.lane] = None if hole else make(block.lane)
                lane = lanes[block.lane]
                if lane is not None:
                    yield from self._noted(lane, decode(lane, block.payload), lanes)
            elif block.kind == COUNTS and block.lane < MOST_LANES:
                self.counts.take(block.lane, block.payload)
            elif block.kind == blocks.END:
                _note_end(end, block.payload)

    def _noted(self, lane: SomeLane, found: Iterator[Got], lanes: dict[int, SomeLane | None]) -> Iterator[Got]:
        """What a block holds. A lane whose bytes make no sense is given up."""
        events, lost = lane.events, lane.lost
        try:
            yield from found
        except BadRecordError:
            self.end.damaged += 1
            lanes[lane.number] = None
        self.end.events += lane.events - events
        self.end.lost += lane.lost - lost
        self.end.end_ns = max(self.end.end_ns, lane.latest_ns)


def open_trace(path: str, *, keep_counts: bool = False) -> Trace:
    """Open the trace of a process. keep_counts: with what was counted before each event.

    Raises: NoDataError, IncprofError.
    """
    return Trace(path, keep_counts=keep_counts)


def _note_end(end: TraceEnd, payload: bytes) -> None:
    try:
        said = parse_json(payload)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        end.damaged += 1
        return
    end.how = _text(said.get("ended")) or "exit"
    end.end_ns = max(end.end_ns, min(_number(said.get("end_ns")), 1 << 62))
    end.lost = max(end.lost, min(_number(said.get("lost")), 1 << 62))
    end.uncounted, end.shared = (min(_number(said.get(key)), 1 << 62) for key in ("uncounted", "shared"))


def _metadata(source: Source) -> TraceMetadata:
    """The metadata, which comes first."""
    where = source.path
    if not source.size:
        raise NoDataError(f"{where}: empty file: the program was killed when it began, or the disk was full")
    head = source.bytes_at(0, blocks.HEADER.size)
    if head.startswith(blocks.MAGIC) and len(head) > 4 and head[4] > blocks.VERSION:
        raise IncprofError(
            f"{where}: format version {head[4]} is newer than this incprof's ({blocks.VERSION}): update it"
        )
    first = next(blocks.walk(source, TraceEnd()), None)
    try:
        raw: Any = parse_json(first.payload) if first is not None and first.kind == blocks.METADATA else None
    except ValueError:
        raw = None
    if not isinstance(raw, dict) or raw.get("format") != "incprof-trace":
        what = "its start is damaged" if head.startswith(blocks.MAGIC) else "not an MPI trace of incprof"
        raise NoDataError(f"{where}: {what}: record the program again with incprof trace")
    return TraceMetadata(
        app=_text(raw.get("app")) or "app",
        rank=_number(raw.get("rank")),
        ranks=_number(raw.get("ranks")) or None,
        pid=_number(raw.get("pid")) or None,
        host=_text(raw.get("host")),
        mpi=_text(raw.get("mpi")) or "MPI",
        start_unix_ns=_number(raw.get("start_unix_ns")),
        counters=_counters(raw.get("counters")),
        counters_missing=_text(raw.get("counters_missing")),
        raw=raw,
    )


def _counters(value: object) -> tuple[str, ...]:
    """Return the names of counters; none where they make no sense."""
    names = tuple(map(_text, value)) if isinstance(value, list) and len(value) <= MOST_COUNTERS else ()
    return names if all(names) else ()


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
