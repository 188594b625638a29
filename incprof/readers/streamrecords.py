"""The gmon records inside a stream's images: calls, and self time for intervals without usable samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from incprof.model import Arcs
from incprof.readers.collect import Collected
from incprof.readers.credit import filled_bins, share_out
from incprof.readers.functionspace import FunctionSpace
from incprof.readers.gmonrecords import RecordError, Records, parse
from incprof.readers.profilebuilder import NO_INTS, SelfTime

IntArray = npt.NDArray[np.int64]
Libs = Literal["caller", "separate", "drop"]


@dataclass(frozen=True)
class ImageRecords:
    """The records of one image. `library`: it holds library time charged to callers (kind 4)."""

    interval: int
    module: int
    library: bool
    records: Records


def parse_images(found: Collected) -> list[ImageRecords]:
    """Parse all record images of complete intervals; damaged ones are counted and left out."""
    result: list[ImageRecords] = []
    for number, interval in enumerate(found.intervals):
        for library, images in ((False, interval.own_time), (True, interval.library_time)):
            for module, payload in images:
                try:
                    records = parse(payload)
                except RecordError:
                    found.bad_images += 1
                    continue
                if module in found.modules:
                    result.append(ImageRecords(number, module, library, records))
    return result


def call_arcs(images: Sequence[ImageRecords], space: FunctionSpace) -> Arcs:
    """Calls by function number, one row per record; all shape (m,)."""
    images = [image for image in images if len(image.records.count)]
    if not images:
        return Arcs(NO_INTS, NO_INTS, NO_INTS, NO_INTS)
    lengths = [len(image.records.count) for image in images]
    interval = np.repeat(np.array([image.interval for image in images], dtype=np.int64), lengths)
    module = np.repeat(np.array([image.module for image in images], dtype=np.int64), lengths)
    count = np.concatenate([image.records.count for image in images])
    callee = space.resolve(module, np.concatenate([image.records.self_pc for image in images]))
    from_pc = np.concatenate([image.records.from_pc for image in images])
    # A return address may be the first one after its function: the call itself is surely inside.
    caller = space.resolve(module, from_pc - np.minimum(from_pc, np.uint64(1)))
    caller[from_pc == 0] = -1
    keep = count > 0
    return Arcs(interval[keep], caller[keep], callee[keep], count[keep])


def histogram_time(
    images: Sequence[ImageRecords], wanted: npt.NDArray[np.bool_], space: FunctionSpace, rate_hz: float, libs: Libs
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
        result.append(SelfTime(np.full(len(symbol), image.interval, dtype=np.int64), function, seconds))
    return result
