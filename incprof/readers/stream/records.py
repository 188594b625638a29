"""The gmon records inside a stream's images: calls, and self time for intervals without usable samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from incprof.readers.gmon.credit import filled_bins, share_out
from incprof.readers.gmon.records import RecordError, Records, parse
from incprof.readers.profile_builder import SelfTime
from incprof.readers.stream.collect import Collected
from incprof.readers.stream.images import LIBRARY_TIME, SAMPLES
from incprof.symbols.function_space import FunctionSpace

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


def chunks(found: Collected) -> Iterator[Chunk]:
    """Split the complete intervals into runs of about CHUNK_BYTES, which bounds the memory for large tables."""
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
    return [image for image in parsed(found, chunk.places[chunk.places["kind"] != SAMPLES]) if image]


def parsed(found: Collected, places: npt.NDArray[np.void]) -> list[ImageRecords | None]:
    """Parse record images, one for each place; None for damaged ones, which are counted, and those without a module."""
    result: list[ImageRecords | None] = []
    for interval, kind, module, offset, length in places.tolist():
        try:
            records = parse(found.source.array_at(offset, length))
        except RecordError:
            found.bad_images += 1
            result.append(None)
            continue
        known = module in found.modules
        result.append(ImageRecords(interval, module, kind == LIBRARY_TIME, records) if known else None)
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
