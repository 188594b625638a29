"""The gmon records inside a stream's images: calls, and self time for intervals without usable samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from incprof.model import Arcs, distinct, positions
from incprof.readers.gmon_directory import (
    ARC,
    ARC_TAG,
    HISTOGRAM_HEAD,
    HISTOGRAM_TAG,
    RecordError,
    Records,
    filled_bins,
    join_arcs,
    parse,
    share_out,
)
from incprof.readers.profile_builder import NO_ARCS, SelfTime
from incprof.readers.stream.collect import Collected
from incprof.readers.stream.stream_files import LIBRARY_TIME, SAMPLES
from incprof.symbols.function_space import FunctionSpace
from incprof.symbols.tail_calls import TailCalls

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
Libs = Literal["named", "caller", "separate", "drop"]

# Bytes decoded at once; decoding takes some 30 times as much memory.
CHUNK_BYTES, CHUNK_INTERVALS = 512 << 10, 4096


@dataclass(frozen=True)
class Chunk:
    """Intervals first to end - 1, and the places of their images (PLACE, shape (m,))."""

    first: int
    end: int
    places: npt.NDArray[np.void]


@dataclass(frozen=True)
class ImageRecords:
    """The records of one image. `library`: it contains library time charged to callers (kind 4)."""

    interval: int
    module: int
    library: bool
    records: Records


def chunks(collected: Collected) -> Iterator[Chunk]:
    """Split the complete intervals into runs of about CHUNK_BYTES, which bounds the memory for large tables."""
    places, n = collected.places, collected.n_intervals
    size = np.bincount(places["interval"], weights=places["length"], minlength=n)
    first, total = 0, 0.0
    for interval, length in enumerate([*size.tolist(), CHUNK_BYTES + 1.0]):
        if interval > first and (total + length > CHUNK_BYTES or interval - first == CHUNK_INTERVALS):
            low, high = np.searchsorted(places["interval"], [first, interval])
            yield Chunk(first, interval, places[low:high])
            first, total = interval, 0.0
        total += length


def parse_images(collected: Collected, chunk: Chunk) -> list[ImageRecords]:
    """Parse the record images of a chunk; damaged ones are counted and left out."""
    return [image for image in parsed(collected, chunk.places[chunk.places["kind"] != SAMPLES]) if image]


def parsed(collected: Collected, places: npt.NDArray[np.void]) -> list[ImageRecords | None]:
    """Parse record images, one for each place; None for damaged ones, which are counted, and those without a module."""
    result: list[ImageRecords | None] = []
    for interval, kind, module, offset, length in places.tolist():
        try:
            records = parse(collected.source.array_at(offset, length))
        except RecordError:
            collected.bad_images += 1
            result.append(None)
            continue
        has_module = module in collected.modules
        result.append(ImageRecords(interval, module, kind == LIBRARY_TIME, records) if has_module else None)
    return result


def histogram_time(images: Sequence[ImageRecords], space: FunctionSpace, rate_hz: float, libs: Libs) -> list[SelfTime]:
    """Return seconds from the histograms of images."""
    result: list[SelfTime] = []
    for image in images:
        if image.library and libs == "drop":
            continue
        bins = filled_bins(image.records.histograms, rate_hz)
        if not len(bins.ticks):
            continue
        symbol, seconds = share_out(bins, space.table(image.module))
        function = space.of_symbols(image.module, symbol)
        if image.library and libs == "separate":
            # Histograms do not identify the library.
            function = space.library(np.full(len(symbol), -1, dtype=np.int64))
        result.append(SelfTime(np.full(len(symbol), image.interval, dtype=np.int32), function, seconds))
    return result


# Read the call arcs of many images at once, and the other records of selected images.


# Gaps between the images of a chunk up to this size are read with them.
WIDEST = 3 * CHUNK_BYTES
# Images with more histograms are parsed one by one.
MOST_HISTOGRAMS = 64
HEAD = np.dtype([("tag", "u1"), ("low", "<u8"), ("high", "<u8"), ("bins", "<u4")])
ROW = np.dtype((np.void, ARC.itemsize))


@dataclass(frozen=True)
class ArcRows:
    """Arcs of a chunk, module by module as recorded: interval, module (a,), and the records, dtype ARC, (a,)."""

    interval: npt.NDArray[np.int32]
    module: IntArray
    arcs: npt.NDArray[np.void]


def read_records(collected: Collected, chunk: Chunk, selected: BoolArray) -> tuple[ArcRows, list[ImageRecords]]:
    """Read the arcs of a chunk, and all records of the images of wanted intervals, (n,).

    Most images are histograms followed by arcs, and are read all at once: parsing each separately takes ten times as
    long. The others are parsed; damaged ones are counted and left out.
    """
    places = chunk.places[chunk.places["kind"] != SAMPLES]
    plain, row, arcs = _plain(collected, places)
    one_by_one = np.flatnonzero(~plain | selected[places["interval"]])
    images = dict(zip(one_by_one.tolist(), parsed(collected, places[one_by_one]), strict=True))
    more = {i: image.records.arcs for i, image in images.items() if image and not plain[i]}
    if more:
        row = np.concatenate([row, np.repeat(list(more), [len(table) for table in more.values()])])
        order = np.argsort(row, kind="stable")
        row, arcs = row[order], join_arcs([arcs, *more.values()]).view(ROW)[order].view(ARC)
    rows = ArcRows(places["interval"][row].astype(np.int32), places["module"][row], arcs)
    return rows, [image for image in images.values() if image and selected[image.interval]]


def call_arcs(
    rows: ArcRows, space: FunctionSpace, *, callers: bool = True, tail_calls: TailCalls | None = None
) -> Arcs:
    """Return calls by function number, one row per record; all shape (m,). Without `callers`, they are all -1.

    tail_calls: finds callers that left by a jump, for which another function was recorded as the caller.
    """
    parts: list[Arcs] = []
    for module in distinct(rows.module).tolist():
        if not space.has_module(module):
            continue
        selected = rows.module == module
        arcs = rows.arcs if selected.all() else rows.arcs.view(ROW)[selected].view(ARC)
        records = Records((), arcs)
        interval = rows.interval[selected]
        caller = np.full(len(interval), -1, dtype=np.int32)
        if callers:
            from_pc = records.from_pc
            # A return address may be the first one after its function; the call itself is always inside.
            inside = space.of_addresses(module, from_pc - np.minimum(from_pc, np.uint64(1)))
            caller = np.where(from_pc == 0, caller, inside)
        callee = space.of_addresses(module, records.self_pc)
        if callers and tail_calls:
            caller = tail_calls.callers(module, records.from_pc, caller, callee)
        parts.append(Arcs(interval, caller, callee, records.count))
    columns = ("interval", "caller", "callee", "count")
    return Arcs(*(np.concatenate([getattr(part, name) for part in [NO_ARCS, *parts]]) for name in columns))


def _plain(collected: Collected, places: npt.NDArray[np.void]) -> tuple[BoolArray, IntArray, npt.NDArray[np.void]]:
    """Return which images are whole histograms, then whole arcs, (m,); their arcs, and the image of each, (a,)."""
    plain = np.zeros(len(places), dtype=np.bool_)
    if not len(places):
        return plain, np.empty(0, dtype=np.int64), np.empty(0, dtype=ARC)
    low, ends = int(places["offset"].min()), places["offset"] + places["length"]
    if int(ends.max()) - low > WIDEST:
        return plain, np.empty(0, dtype=np.int64), np.empty(0, dtype=ARC)
    data = collected.source.array_at(low, int(ends.max()) - low)
    at, end = _end_of_histograms(data, places["offset"] - low, ends - low), ends - low
    plain = (at <= end) & ((end - at) % ARC.itemsize == 0)
    count = np.where(plain, (end - at) // ARC.itemsize, 0)
    row = np.repeat(np.arange(len(places)), count)
    position = positions(count)
    arcs = _anywhere(data, ROW)[at[row] + position * ARC.itemsize].view(ARC)
    plain[row[arcs["tag"] != ARC_TAG]] = False
    keep = plain[row]
    return plain, row[keep], arcs if keep.all() else arcs.view(ROW)[keep].view(ARC)


def _end_of_histograms(data: npt.NDArray[np.uint8], start: IntArray, end: IntArray) -> IntArray:
    """Return where the leading histograms of images end, (m,): after the image if one does not fit, or is damaged."""
    at, heads = start.copy(), _anywhere(data, HEAD)
    pending = np.arange(len(at))
    for _ in range(MOST_HISTOGRAMS):
        pending = pending[at[pending] + HISTOGRAM_HEAD.size <= end[pending]]
        pending = pending[data[at[pending]] == HISTOGRAM_TAG]
        if not len(pending):
            break
        head = heads[at[pending]]
        at[pending] += HISTOGRAM_HEAD.size + 2 * head["bins"].astype(np.int64)
        damaged = pending[(head["bins"] > 0) & (head["high"] <= head["low"])]
        at[damaged] = end[damaged] + 1
    return at


def _anywhere(data: npt.NDArray[np.uint8], dtype: np.dtype[np.void]) -> npt.NDArray[np.void]:
    """Return the records that begin at each byte, as far as they fit: no copy."""
    size = max(len(data) - dtype.itemsize + 1, 0)
    return np.ndarray((size,), dtype, data.data, strides=(1,)) if size else np.empty(0, dtype)
