"""The traces of a run directory, read as streams, and signature files."""

from __future__ import annotations

import re
import struct
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from glob import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from incprof.errors import IncprofError, NoDataError
from incprof.model import FloatArray
from incprof.readers.run import TRACE
from incprof.readers.stream.stream_files import Source
from incprof.safe.inputs import read_input
from incprof.safe.printable import parse_json
from incprof.systems.mpi.event_lanes import BadRecordError, Columns, Lane
from incprof.systems.mpi.trace_types import (
    Call,
    Grammar,
    MpiEvent,
    Program,
    SignatureFile,
    SignaturePhase,
    TraceEnd,
    TraceMetadata,
)

MOST_LANES = 1 << 16


def find_traces(directory: str) -> list[str]:
    """Return the paths of the traces in a run directory, by rank.

    Raises: NoDataError if there is no directory, or no trace in it.
    """
    root = Path(directory)
    if not root.is_dir():
        what = "is a file: give the directory that holds it" if root.exists() else "no such directory"
        raise NoDataError(f"{root}: {what}")
    matches = [(match, str(entry)) for entry in root.iterdir() if (match := TRACE.fullmatch(entry.name))]
    if not matches:
        # The directory of a recording that began before the launcher is another launch's.
        beside = [path.parent for path in root.parent.glob(f"{escape(root.absolute().name)}.[0-9]*/rank-*.mpi")]
        other = f"{max(beside)} has one" if beside else f"record one with incprof trace -o {root} -- PROGRAM"
        raise NoDataError(f"{root}: no MPI trace in it: {other}")
    return [path for _, path in sorted(matches, key=lambda each: [int(part or 0) for part in each[0].groups()])]


class Trace:
    """One process's trace. `end` and `counts` are complete when its events have been read. A context manager.

    keep_counts: `counts` holds those before each event, not only their sums.

    Raises (the constructor): NoDataError if it cannot be read or is not a trace; IncprofError for a later version.
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
        """Yield all events, those of a thread in the order of time; threads are interleaved by their blocks.

        A lane ends at a damaged place: its later records depend on earlier ones.
        """
        numbers, calls = dict[Call, int](), list[Call]()

        def number_of(call: Call) -> int:
            if call not in numbers:
                numbers[call] = len(calls)
                calls.append(call)
            return numbers[call]

        for one in self.columns(number_of):
            times = (one.start_ns.tolist(), one.end_ns.tolist(), one.work_ns.tolist())
            for call, start_ns, end_ns, work_ns in zip(one.call.tolist(), *times, strict=True):
                yield MpiEvent(one.lane, one.thread, calls[call], start_ns, end_ns, work_ns)

    def columns(self, number_of: Callable[[Call], int]) -> Iterator[Columns]:
        """Yield the same as arrays. number_of: returns the number of a call."""
        self.end = end = TraceEnd()
        self.counts = CountRows(len(self.metadata.counters), kept=self._keep_counts)
        lanes: dict[int, Lane | None] = {}
        hole = False
        for block in walk(self._source, end):
            if block.after_hole:
                lanes, hole = dict.fromkeys(lanes), True
            if block.kind == EVENTS and block.lane < MOST_LANES:
                # A lane that first appears after a hole may have begun in it.
                if block.lane not in lanes:
                    lanes[block.lane] = None if hole else Lane(block.lane, number_of)
                lane = lanes[block.lane]
                if lane is not None:
                    yield from self._noted(lane, block.payload, lanes)
            elif block.kind == COUNTS and block.lane < MOST_LANES:
                self.counts.take(block.lane, block.payload)
            elif block.kind == END:
                _note_end(end, block.payload)

    def _noted(self, lane: Lane, payload: bytes, lanes: dict[int, Lane | None]) -> Iterator[Columns]:
        """Yield the events of a block. A lane with invalid bytes is abandoned."""
        events, lost = lane.events, lane.lost
        try:
            yield from lane.columns(payload)
        except BadRecordError:
            self.end.damaged += 1
            lanes[lane.number] = None
        self.end.events += lane.events - events
        self.end.lost += lane.lost - lost
        self.end.end_ns = max(self.end.end_ns, lane.latest_ns)


def _note_end(end: TraceEnd, payload: bytes) -> None:
    try:
        values = parse_json(payload)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        end.damaged += 1
        return
    end.how = _text(values.get("ended")) or "exit"
    end.end_ns = max(end.end_ns, min(_number(values.get("end_ns")), 1 << 62))
    end.lost = max(end.lost, min(_number(values.get("lost")), 1 << 62))
    end.uncounted, end.shared = (min(_number(values.get(key)), 1 << 62) for key in ("uncounted", "shared"))


def _metadata(source: Source) -> TraceMetadata:
    """Return the metadata, the first block."""
    where = source.path
    if not source.size:
        raise NoDataError(f"{where}: empty file: the program was killed when it began, or the disk was full")
    head = source.bytes_at(0, HEADER.size)
    if head.startswith(MAGIC) and len(head) > 4 and head[4] > VERSION:
        raise IncprofError(f"{where}: format version {head[4]} is newer than this incprof's ({VERSION}): update it")
    first = next(walk(source, TraceEnd()), None)
    try:
        raw: Any = parse_json(first.payload) if first is not None and first.kind == METADATA else None
    except ValueError:
        raw = None
    if not isinstance(raw, dict) or raw.get("format") != "incprof-trace":
        what = "its start is damaged" if head.startswith(MAGIC) else "not an MPI trace of incprof"
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
    """Return the names of counters; none if they are invalid."""
    names = tuple(map(_text, value)) if isinstance(value, list) and len(value) <= MOST_COUNTERS else ()
    return names if all(names) else ()


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


MAGIC = b"MPI\n"
HEADER = struct.Struct("<4sBBHIII")
VERSION = 1
METADATA, EVENTS, END = 1, 2, 3
# The payload is smaller than a ring of the writer, or its metadata.
LONGEST = 64 << 20


class Block(NamedTuple):
    """A block with its payload. `after_hole`: a part before it is unreadable."""

    kind: int
    lane: int
    payload: bytes
    after_hole: bool


def walk(source: Source, end: TraceEnd) -> Iterator[Block]:
    """Yield blocks in file order, one in memory at a time. Damage is skipped up to the next block and counted."""
    position, hole = 0, False
    while position < source.size:
        block, length = _block_at(source, position)
        if block is not None:
            yield block._replace(after_hole=hole)
            position, hole = position + length, False
            continue
        following = source.find(MAGIC, position + 1, source.size)
        if following < 0:
            end.torn = True
            return
        if not hole:
            end.damaged += 1
        position, hole = following, True


def _block_at(source: Source, position: int) -> tuple[Block | None, int]:
    """Return the block that begins here and its length with the header; None if it is incomplete."""
    head = source.bytes_at(position, HEADER.size)
    if len(head) < HEADER.size or not head.startswith(MAGIC):
        return None, 0
    _, version, kind, _, lane, length, checksum = HEADER.unpack(head)
    if version != VERSION or length > LONGEST or position + HEADER.size + length > source.size:
        return None, 0
    payload = source.bytes_at(position + HEADER.size, length)
    if zlib.crc32(head[4:12]) ^ zlib.crc32(payload) != checksum:
        return None, 0
    return Block(kind, lane, payload, after_hole=False), HEADER.size + length


# Kind of block.
COUNTS = 4
# A count is 16 bits: below 2^(EXACT + 1) the number itself, else EXACT bits after a leading one, and a power of two.
EXACT = 10
NOT_COUNTED = 0xFFFF
MOST_COUNTERS = 16


def counts_of(codes: np.ndarray) -> FloatArray:
    """Decode counts; NaN where nothing was counted. codes: any shape, of 16 bits."""
    power = np.maximum(codes.astype(np.int64) >> EXACT, 1) - 1
    counts = np.ldexp((codes.astype(np.int64) - (power << EXACT)).astype(np.float64), power)
    decoded: FloatArray = np.where(codes == NOT_COUNTED, np.nan, counts)
    return decoded


class CountRows:
    """The rows of a trace, by lane.

    Args:
        counters: Number of counts in a row.
        kept: Whether rows are kept; otherwise only their sums, so that memory holds one block.
    """

    def __init__(self, counters: int, *, kept: bool) -> None:
        self._counters, self._kept = counters, kept
        # Sums over all rows, (counters,).
        self.total: FloatArray = np.zeros(counters)
        self._lanes: defaultdict[int, list[tuple[int, np.ndarray]]] = defaultdict(list)

    def take(self, lane: int, payload: bytes) -> None:
        """Add the rows of a block; an incomplete row is ignored."""
        if self._counters and len(payload) >= 8:
            rows = (len(payload) - 8) // (2 * self._counters)
            codes = np.frombuffer(payload, "<u2", rows * self._counters, 8).reshape(rows, self._counters)
            self.total += np.nansum(counts_of(codes), axis=0)
            if self._kept:
                self._lanes[lane].append((int.from_bytes(payload[:8], "little"), codes))

    def of(self, lane: int, events: int) -> FloatArray:
        """Return the counts before each event of a lane, (events, counters); NaN where unknown."""
        out = np.full((events, self._counters), np.nan)
        for first, codes in self._lanes[lane]:
            if first < events:
                out[first : first + len(codes)] = counts_of(codes[: events - first])
        return out


# A signature file, written by `incprof signature -o` (docs/use/signature.md).


SCHEMA = "incprof.signature/1"
MOST_BYTES = 1 << 28
METHODS = ("robust", "paper", "global")


def read_signature(path: str) -> SignatureFile:
    """Read a signature.

    Raises:
        NoDataError: it cannot be read, is not a signature, lacks data for a prediction, or holds impossible values.
    """
    try:
        raw = parse_json(read_input(path, MOST_BYTES))
    except OSError as error:
        raise NoDataError(f"{path}: {error.strerror}") from None
    except ValueError:
        raise NoDataError(f"{path}: not a signature: write one with incprof signature DIR -o {path}") from None
    if not isinstance(raw, dict) or raw.get("schema") != SCHEMA:
        raise NoDataError(f"{path}: not a signature of {SCHEMA}: write one with incprof signature DIR -o {path}")
    if raw.get("method") not in METHODS or "kinds" not in raw:
        raise NoDataError(f"{path}: no signature that can be run: write one with incprof signature DIR -o {path}")
    try:
        signature = _signature(path, raw)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise NoDataError(f"{path}: damaged or edited: write it again with incprof signature DIR -o {path}") from None
    return signature


def _signature(path: str, raw: dict[str, Any]) -> SignatureFile:
    grammar = _grammar(raw["loops"], len(raw["kinds"])) if raw["method"] == "robust" else None
    return SignatureFile(
        path=path,
        app=str(raw["app"]),
        method=str(raw["method"]),
        ranks=_checked_integer(raw["ranks"], 1),
        rank=_checked_integer(raw["rank"]),
        warm_up=_checked_integer(raw["options"]["warm_up"]),
        aet_s=_amount(raw["aet_s"]),
        coverage=_amount(raw["coverage"]),
        until=None if raw["until"] is None else _checked_integer(raw["until"], 1),
        until_calls=_ends(raw.get("until_calls"), raw["ranks"]),
        events=_checked_integer(raw["events"]),
        until_events=_checked_integer(raw["until_events"]),
        outside_after_s=max(_amount(raw["outside_after_s"]), 0.0),
        needed_events=_checked_integer(raw["needed_events"]),
        kinds=tuple((str(kind["function"]).removeprefix("MPI_"), str(kind["key"])) for kind in raw["kinds"]),
        kind_bytes=tuple(None if kind["bytes"] is None else _amount(kind["bytes"]) for kind in raw["kinds"]),
        grammar=grammar,
        program=_program(raw["program"]),
        phases=tuple(_phase(phase, grammar) for phase in raw["phases"]),
    )


def _program(raw: dict[str, Any]) -> Program:
    return Program(
        arguments=tuple(map(str, raw["arguments"])),
        files={int(place): str(digest) for place, digest in raw["files"].items()},
        modules={str(name): str(build_id) for name, build_id in raw["modules"].items()},
    )


def _ends(raw: Any, ranks: int) -> tuple[tuple[str, int, int], ...] | None:
    """Return the calls after which ranks end. Raises: ValueError: their ranks are not those of the run."""
    if raw is None:
        return None
    ends = tuple(
        (_function(name), _checked_integer(calls, 1), _checked_integer(count, 1)) for name, calls, count in raw
    )
    if sum(count for _, _, count in ends) != ranks:
        raise ValueError
    return ends


def _function(name: Any) -> str:
    """Return an MPI function without its prefix. Raises: ValueError: it is not one."""
    if not isinstance(name, str) or not re.fullmatch(r"MPI_\w{1,60}", name, re.ASCII):
        raise ValueError
    return name.removeprefix("MPI_")


def _grammar(raw: dict[str, Any], kinds: int) -> Grammar:
    """Return the grammar of loops. Raises: ValueError: a loop contains a later one, or a step has unequal lengths."""
    contents = [tuple(_checked_integer(item) for item in content) for content in raw["contents"]]
    steps = [tuple(_checked_integer(number) for number in step) for step in raw["steps"]]
    if any(not content or max(content) >= kinds + number for number, content in enumerate(contents)):
        raise ValueError
    if any(len({len(contents[number]) for number in step}) != 1 for step in steps):
        raise ValueError
    return Grammar(kinds, tuple(contents), tuple(steps))


def _phase(raw: dict[str, Any], grammar: Grammar | None) -> SignaturePhase:
    by_place = grammar is None
    times = tuple(_amount(one) for one in raw["time_s"])
    weight = _checked_integer(raw["weight"], 1)
    if not times or len(times) > weight or any(one < 0 for one in times):
        raise ValueError
    at = tuple((_checked_integer(first), _checked_integer(end, first)) for first, end in raw["at"]) if by_place else ()
    if by_place and len(at) != len(times):
        raise ValueError
    loop = None if grammar is None else _checked_integer(raw["loop"])
    if grammar is not None and raw["loop"] >= len(grammar.contents):
        raise ValueError
    return SignaturePhase(
        id=_checked_integer(raw["id"]),
        loop=loop,
        whole=bool(raw["whole"]),
        weight=weight,
        awaited=bool(raw["awaited"]),
        mean_s=_amount(raw["mean_s"]),
        seconds=_amount(raw["seconds"]),
        time_s=times,
        at=at,
        file=raw["file"] if isinstance(raw["file"], str) else None,
        line=raw["line"] if isinstance(raw["line"], int) else None,
    )


def _checked_integer(value: Any, least: int = 0) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError
    return value


def _amount(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not -1e15 < value < 1e15:
        raise ValueError
    return float(value)
