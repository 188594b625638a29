"""Decode the images of kind 11 of a stream (docs/reference/formats.md). r rows, c counts, e events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from incprof.model import FloatArray, IntArray
from incprof.readers.stream.coded_records import MOST, decode_rows, names_of, records_of
from incprof.readers.stream.interval_images import IO, IntervalImage, interval_images

# Values of a record of totals, in their order.
READ, WRITTEN, READS, WRITES, FROM_STORAGE, TO_STORAGE, CANCELLED = range(7)
VALUES = 7
PROCESS, CHILDREN, REFUSED, BUFFERED, NAMES, COUNTS, PATHS = range(1, 8)
WITH_CHILDREN = 1
# Numbers of a count and of an event.
COUNT, EVENT = 7, 7

# Operations, in the order of the format.
OPERATIONS = (
    "read", "write", "stream read", "stream write", "receive", "send",
    "open", "close", "seek", "sync", "stat", "directory", "change", "map", "flush",
    "MPI-IO",
)  # fmt: skip
OF_READING, OF_WRITING = (0, 2), (1, 3)
RECEIVE, SEND, SYNC, MPI_IO = 4, 5, 9, 15
# From here on, calls move no data.
METADATA = 6
NO_FILE, OTHER_FILES, FIRST_NAME = range(3)

NS, US, MILLI = 1e-9, 1e-6, 1e-3
# Files have smaller numbers.
MOST_FILES = 1 << 20


@dataclass(frozen=True)
class Totals:
    """What a process has read and written, as the kernel counted it.

    Attributes:
        start_s: (r,) seconds since the start of the run.
        end_s: (r,) likewise.
        values: (r, VALUES) bytes and calls in each row.
        children: (VALUES,) of child processes that the process has waited for, not part of `values`.
        with_children: whether `values` contains those of children, because they could not be separated.
        buffered: bytes and calls of `values`, in the last row, that libc was to write after the recording's end.
        refusal: errno of the kernel, which did not give the totals; None if it did.
        damaged: number of images that could not be decoded.
    """

    start_s: FloatArray
    end_s: FloatArray
    values: FloatArray
    children: FloatArray
    with_children: bool = False
    buffered: tuple[int, int] = (0, 0)
    refusal: int | None = None
    damaged: int = 0


@dataclass(frozen=True)
class Calls:
    """Calls that a process has made to read and write, by the library that wraps them.

    Attributes:
        names: of files, by number.
        start_s: (c,) of the interval of each count, seconds since the start of the run.
        end_s: (c,) likewise.
        file: (c,) number of the file; of MPI-IO, of the function's name.
        operation: (c,) index of OPERATIONS.
        values: (c, 5) calls, bytes, estimated seconds, failed calls, transfers below 4 KiB.
        event_s: (e,) times of sampled calls, seconds since the start of the run.
        event_file: (e,) number of the file.
        event_operation: (e,) index of OPERATIONS.
        node: (e,) of the call path, as recorded; 0 for none.
        weight: (e,) number of calls that it stands for.
        event_bytes: (e,) of the call itself.
        event_duration_s: (e,) likewise, seconds.
    """

    names: dict[int, str]
    start_s: FloatArray
    end_s: FloatArray
    file: IntArray
    operation: IntArray
    values: FloatArray
    event_s: FloatArray
    event_file: IntArray
    event_operation: IntArray
    node: IntArray
    weight: FloatArray
    event_bytes: FloatArray
    event_duration_s: FloatArray


CALLS, BYTES, SECONDS, FAILED, SMALL = range(5)


@dataclass(frozen=True)
class Recorded:
    """All that a stream has on input and output. calls: None if it was not recorded with --io."""

    totals: Totals | None
    calls: Calls | None


def read_io(path: str) -> Recorded:
    """Return what one process's stream has on input and output.

    Raises: NoDataError if it is not a stream or cannot be read.
    """
    return decoded(interval_images(path, IO))


def decoded(images: Iterable[IntervalImage]) -> Recorded:
    """Decode images, in file order. A record that is damaged is left out, and counted."""
    recorded, damaged = _Records({kind: [] for kind in range(PROCESS, PATHS + 1)}), 0
    for image in images:
        try:
            records = list(records_of(image.payload))
            for text in (text for kind, text in records if kind == NAMES):
                names_of(text)
        except ValueError:
            damaged += 1
            continue
        for kind, text in records:
            if kind in recorded.texts:
                recorded.texts[kind].append((image, text))
    calls = _calls(recorded)
    totals = _totals(recorded)
    damaged += recorded.damaged
    return Recorded(None if totals is None else replace(totals, damaged=damaged), calls)


@dataclass
class _Records:
    """The contents of all records by type, with their images. damaged: number of those that make no sense."""

    texts: dict[int, list[tuple[IntervalImage, bytes]]]
    damaged: int = 0

    def numbers(self, kind: int) -> list[tuple[IntervalImage, IntArray]]:
        """Return the numbers of each record of a type."""
        payloads = [np.frombuffer(text, dtype=np.uint8) for _, text in self.texts[kind]]
        values, lengths, good = decode_rows(payloads)
        ends = np.cumsum(lengths)
        out = []
        for (image, _), low, high, is_valid in zip(self.texts[kind], ends - lengths, ends, good, strict=True):
            numbers = values[low:high]
            if is_valid and not (numbers > MOST).any():
                out.append((image, numbers.astype(np.int64)))
            else:
                self.damaged += 1
        return out

    def rows(self, kind: int, columns: int, head: int = 0) -> tuple[list[IntervalImage], list[IntArray], IntArray]:
        """Return the rows of each record of a type (m, columns): their images, heads, and rows in one table.

        A record with a part of a row is damaged. heads: (m, head).
        """
        images, heads, tables = list[IntervalImage](), list[IntArray](), [np.zeros((0, columns), dtype=np.int64)]
        for image, numbers in self.numbers(kind):
            if len(numbers) < head or (len(numbers) - head) % columns:
                self.damaged += 1
                continue
            table = numbers[head:].reshape(-1, columns)
            images += [image] * len(table)
            heads += [numbers[:head]] * len(table)
            tables.append(table)
        return images, heads, np.concatenate(tables)


def _totals(records: _Records) -> Totals | None:
    """Return the totals; None if there are none.

    Written are totals since the start, so that a lost interval costs a time, and no bytes.
    """
    ends, rows, with_children = list[float](), [np.zeros(VALUES, dtype=np.int64)], False
    for image, numbers in records.numbers(PROCESS):
        if len(numbers) < VALUES:
            records.damaged += 1
            continue
        # They never decrease; one that does is damaged.
        total, end_s = np.maximum(rows[-1], numbers[:VALUES]), _end_s(image, numbers)
        if ends and end_s <= ends[-1]:
            rows[-1] = total
        else:
            rows.append(total)
            ends.append(end_s)
        with_children |= bool(numbers[VALUES : VALUES + 1].sum() & WITH_CHILDREN)
    refusals = [int(numbers[0]) for _, numbers in records.numbers(REFUSED) if len(numbers)]
    if not ends and not refusals:
        return None
    children = [numbers[:VALUES] for _, numbers in records.numbers(CHILDREN) if len(numbers) >= VALUES]
    buffered = [(int(numbers[0]), int(numbers[1])) for _, numbers in records.numbers(BUFFERED) if len(numbers) >= 2]
    edges = np.array(ends, dtype=np.float64)
    values = np.diff(np.array(rows, dtype=np.float64), axis=0)
    if len(values) and buffered:
        values[-1, [WRITTEN, WRITES]] += buffered[-1]
    return Totals(
        start_s=np.concatenate([[0.0], edges[:-1]]) if len(edges) else edges,
        end_s=edges,
        values=values,
        children=children[-1].astype(np.float64) if children else np.zeros(VALUES),
        with_children=with_children,
        buffered=buffered[-1] if buffered else (0, 0),
        refusal=None if ends else refusals[-1],
    )


def _end_s(image: IntervalImage, numbers: IntArray) -> float:
    """Return when the totals were read: a time inside of the interval, or its end where none was written."""
    at_ns = int(numbers[VALUES + 1]) * 1000 if len(numbers) > VALUES + 1 else image.end_ns
    return min(max(at_ns, image.start_ns), image.end_ns) * NS


def _calls(records: _Records) -> Calls | None:
    """Return what the library counted; None if there is nothing."""
    images, _, counts = records.rows(COUNTS, COUNT)
    if not len(counts):
        return None
    _, since, events = records.rows(PATHS, EVENT, head=1)
    is_valid_count = (counts[:, 0] < MOST_FILES) & (counts[:, 1] < len(OPERATIONS))
    start_s, end_s = (np.array([each[at] for each in images], dtype=np.float64)[is_valid_count] * NS for at in (1, 2))
    counts = counts[is_valid_count]
    begun_us = np.array(since, dtype=np.int64).reshape(-1)
    is_valid_event = (events[:, 1] < MOST_FILES) & (events[:, 2] < len(OPERATIONS))
    event_s = (events[:, 0] + begun_us).astype(np.float64)[is_valid_event] * US
    events = events[is_valid_event]
    return Calls(
        # As the system's bytes.
        names={
            number: name.decode("utf-8", "surrogateescape")
            for _, text in records.texts[NAMES]
            for number, name in names_of(text).items()
        },
        start_s=start_s,
        end_s=end_s,
        file=counts[:, 0],
        operation=counts[:, 1],
        values=counts[:, 2:] * np.array([1.0, 1.0, NS, 1.0, 1.0]),
        event_s=event_s,
        event_file=events[:, 1],
        event_operation=events[:, 2],
        node=events[:, 3],
        weight=events[:, 4].astype(np.float64) * MILLI,
        event_bytes=events[:, 5].astype(np.float64),
        event_duration_s=events[:, 6].astype(np.float64) * NS,
    )
