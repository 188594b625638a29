"""The gmon records inside a stream's images: calls, and self time for intervals without usable samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from incprof.model import Arcs
from incprof.readers.calls import NO_ARCS
from incprof.readers.gmon.credit import filled_bins, share_out
from incprof.readers.gmon.records import RecordError, Records, join_arcs, parse
from incprof.readers.profile_builder import SelfTime
from incprof.readers.stream.collect import Collected
from incprof.readers.stream.images import LIBRARY_TIME, SAMPLES
from incprof.readers.symbols.function_space import FunctionSpace
from incprof.readers.symbols.tail_calls import TailCalls

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
Libs = Literal["named", "caller", "separate", "drop"]

# What is decoded at once takes some 30 times as much memory.
CHUNK_BYTES, CHUNK_INTERVALS = 4 << 20, 4096


@dataclass(frozen=True)
class Chunk:
    """Intervals first to end - 1, and where their images lie (PLACE, shape (m,))."""

    first: int
    end: int
    places: npt.NDArray[np.void]


@dataclass(frozen=True)
class ImageRecords:
    """The records of one image. `library`: it holds library time charged to callers (kind 4)."""

    interval: int
    module: int
    library: bool
    records: Records


def chunks(found: Collected) -> Iterator[Chunk]:
    """The complete intervals in runs of about CHUNK_BYTES: what is large exists for one of them at a time."""
    places, n = found.places, found.n_intervals
    size = np.bincount(places["interval"], weights=places["length"], minlength=n)
    first, total = 0, 0.0
    for interval, length in enumerate([*size.tolist(), CHUNK_BYTES + 1.0]):
        if interval > first and (total + length > CHUNK_BYTES or interval - first == CHUNK_INTERVALS):
            low, high = np.searchsorted(places["interval"], [first, interval])
            yield Chunk(first, interval, places[low:high])
            first, total = interval, 0.0
        total += length


def parse_images(found: Collected, chunk: Chunk) -> list[ImageRecords]:
    """Parse the record images of a chunk; damaged ones are counted and left out."""
    result: list[ImageRecords] = []
    places = chunk.places[chunk.places["kind"] != SAMPLES]
    for interval, kind, module, offset, length in places.tolist():
        try:
            records = parse(found.source.array_at(offset, length))
        except RecordError:
            found.bad_images += 1
            continue
        if module in found.modules:
            result.append(ImageRecords(interval, module, kind == LIBRARY_TIME, records))
    return result


def call_arcs(
    images: Sequence[ImageRecords], space: FunctionSpace, *, callers: bool = True, tail_calls: TailCalls | None = None
) -> Arcs:
    """Calls by function number, one row per record; all shape (m,). Without `callers`, they are all -1.

    tail_calls: finds who called by a jump, so that another function has been taken for the caller.
    """
    parts: list[Arcs] = []
    for module in sorted({image.module for image in images}):
        mine = [image for image in images if image.module == module and len(image.records.arcs)]
        records = Records((), join_arcs([image.records.arcs for image in mine]))
        lengths = [len(image.records.arcs) for image in mine]
        interval = np.repeat(np.array([image.interval for image in mine], dtype=np.int32), lengths)
        caller = np.full(len(interval), -1, dtype=np.int32)
        if callers:
            from_pc = records.from_pc
            # A return address may be the first one after its function: the call itself is surely inside.
            inside = space.of_addresses(module, from_pc - np.minimum(from_pc, np.uint64(1)))
            caller = np.where(from_pc == 0, caller, inside)
        callee = space.of_addresses(module, records.self_pc)
        if callers and tail_calls:
            caller = tail_calls.callers(module, records.from_pc, caller, callee)
        parts.append(Arcs(interval, caller, callee, records.count))
    columns = ("interval", "caller", "callee", "count")
    return Arcs(*(np.concatenate([getattr(part, name) for part in [NO_ARCS, *parts]]) for name in columns))


def histogram_time(
    images: Sequence[ImageRecords], wanted: BoolArray, space: FunctionSpace, rate_hz: float, libs: Libs
) -> list[SelfTime]:
    """Seconds from the histograms of the wanted intervals, shape (n,)."""
    result: list[SelfTime] = []
    for image in images:
        if not wanted[image.interval] or (image.library and libs == "drop"):
            continue
        bins = filled_bins(image.records.histograms, rate_hz)
        if not len(bins.ticks):
            continue
        symbol, seconds = share_out(bins, space.table(image.module))
        function = space.of_symbols(image.module, symbol)
        if image.library and libs == "separate":
            # Histograms do not say which library it was.
            function = space.library(np.full(len(symbol), -1, dtype=np.int64))
        result.append(SelfTime(np.full(len(symbol), image.interval, dtype=np.int32), function, seconds))
    return result
