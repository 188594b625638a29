"""One cumulative gmon.out from a recorded process, for stock gprof."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from incprof.errors import NoDataError
from incprof.model import Process
from incprof.model.names import begins_inside, region_of, without_marks
from incprof.readers.gmon_directory import ARC, ARC_TAG, HISTOGRAM_HEAD, HISTOGRAM_TAG
from incprof.readers.stream.collect import collect
from incprof.readers.stream.records import ImageRecords, Libs, chunks, parse_images
from incprof.readers.stream.stream_files import HEADER, MAGIC, Source
from incprof.symbols.function_table import SymbolTable

AddressArray = npt.NDArray[np.uint64]
IntArray = npt.NDArray[np.int64]
# Columns of keys, each shape (m,), and their values (m,).
Totals = tuple[tuple[AddressArray, ...], IntArray]

BIN_BYTES, BLOCK_BINS = 4, 16
BLOCK_BYTES = BIN_BYTES * BLOCK_BINS
MAX_BIN, MAX_ARC = 2**16 - 1, 2**32 - 1


@dataclass(frozen=True)
class GmonTotals:
    """Sums over a run, of the program itself. Addresses ascend.

    Attributes:
        bin_address: (b,) 4-byte bins with samples.
        ticks: (b,) ticks of each bin.
        from_pc: (a,) call addresses.
        self_pc: (a,) addresses in the called functions.
        count: (a,) calls.
    """

    bin_address: AddressArray
    ticks: IntArray
    from_pc: AddressArray
    self_pc: AddressArray
    count: IntArray
    rate_hz: int


def stream_totals(process: Process, *, libs: Libs = "caller") -> GmonTotals:
    """Add up the complete intervals of a stream: module 0, with library time at its callers if `libs` is "caller".

    Raises: NoDataError if the process was not recorded as a stream, or contains nothing complete.
    """
    if process.series:
        raise NoDataError(f"{process.path}: these files are gmon.out files already: give the last one to gprof")
    arcs: list[Totals] = []
    bins: list[Totals] = []
    with Source(process.path) as source:
        collected = collect(source)
        for chunk in chunks(collected):
            images = [
                i
                for i in parse_images(collected, chunk)
                if i.module == 0 and (libs in ("named", "caller") or not i.library)
            ]
            if images:
                arcs.append(added_up([((i.records.from_pc, i.records.self_pc), i.records.count) for i in images]))
                bins.append(_bin_totals(images))
    if not arcs and (kind := collected.metadata.raw.get("imported")):
        raise NoDataError(
            f"{process.path}: imported from {kind}, which has no addresses: take another format than gprof"
        )
    if not arcs:
        raise NoDataError(f"{process.path}: no complete interval: there is nothing to export")
    rate = min(max(round(collected.metadata.rate_hz), 1), 2**31)
    (from_pc, self_pc), count = added_up(arcs)
    (address,), ticks = added_up(bins)
    return GmonTotals(address, ticks, from_pc, self_pc, count, rate)


def write_gmon(totals: GmonTotals, file: BinaryIO) -> None:
    """Write a gmon.out that stock gprof reads.

    Counts that exceed a field are written as repeated records, which gprof adds up. gprof requires a histogram and an
    arc, so missing ones are replaced by empty ones.
    """
    file.write(MAGIC + bytes(HEADER.size - len(MAGIC)))
    histograms = list(_histograms(totals))
    if not histograms:
        anywhere = int(totals.self_pc[0]) // BLOCK_BYTES * BLOCK_BYTES if len(totals.self_pc) else 0
        histograms = [_histogram(anywhere, np.zeros(BLOCK_BINS, dtype=np.int64), totals.rate_hz)]
    file.write(b"".join(histograms))
    file.write(_arcs(totals) or struct.pack("<BQQI", ARC_TAG, 0, 0, 0))


def added_up(parts: list[Totals]) -> Totals:
    """Add up the values of several tables by their keys: one row per key, ascending."""
    keys = [np.concatenate(columns) for columns in zip(*(keys for keys, _ in parts), strict=True)]
    values = np.concatenate([values for _, values in parts])
    order = np.lexsort(keys[::-1])
    keys = [column[order] for column in keys]
    new = np.zeros(len(order), dtype=bool)
    new[:1] = True
    for column in keys:
        new[1:] |= column[1:] != column[:-1]
    head = np.flatnonzero(new)
    return tuple(column[head] for column in keys), np.add.reduceat(values[order], head) if len(head) else values


def _bin_totals(images: list[ImageRecords]) -> Totals:
    """Return ticks by the address of the 4-byte bin in which a histogram's bin begins."""
    address, ticks = [np.empty(0, dtype=np.uint64)], [np.empty(0, dtype=np.int64)]
    for image in images:
        for histogram in image.records.histograms:
            record, index = np.nonzero(histogram.counts)
            low = histogram.low[record]
            width = (histogram.high[record] - low) / max(histogram.counts.shape[1], 1)
            address.append(low + (index * width).astype(np.uint64))
            ticks.append(histogram.counts[record, index].astype(np.int64))
    grid = np.concatenate(address) // np.uint64(BIN_BYTES) * np.uint64(BIN_BYTES)
    return added_up([((grid,), np.concatenate(ticks))])


def _histograms(totals: GmonTotals) -> Iterator[bytes]:
    """Yield records of 16 bins aligned to 64 bytes: gprof refuses overlapping records of different shape."""
    block, where = np.unique(totals.bin_address // np.uint64(BLOCK_BYTES), return_inverse=True)
    table = np.zeros((len(block), BLOCK_BINS), dtype=np.int64)
    table[where, (totals.bin_address % BLOCK_BYTES // BIN_BYTES).astype(np.int64)] = totals.ticks
    for number, counts in zip(block.tolist(), table, strict=True):
        remaining = counts
        while remaining.any():
            yield _histogram(number * BLOCK_BYTES, np.minimum(remaining, MAX_BIN), totals.rate_hz)
            remaining = np.maximum(remaining - MAX_BIN, 0)


def _histogram(low: int, counts: IntArray, rate: int) -> bytes:
    head = HISTOGRAM_HEAD.pack(HISTOGRAM_TAG, low, low + BLOCK_BYTES, len(counts), rate, b"seconds", b"s")
    return head + counts.astype("<u2").tobytes()


def _arcs(totals: GmonTotals) -> bytes:
    """Return arc records; a count above 32 bits becomes several."""
    repeats = np.maximum((totals.count + MAX_ARC - 1) // MAX_ARC, 1)
    table = np.zeros(int(repeats.sum()), dtype=ARC)
    last = np.cumsum(repeats) - 1
    table["tag"] = ARC_TAG
    table["from_pc"] = np.repeat(totals.from_pc, repeats)
    table["self_pc"] = np.repeat(totals.self_pc, repeats)
    table["count"] = MAX_ARC
    table["count"][last] = totals.count - (repeats - 1) * MAX_ARC
    return table.tobytes()


# Attribute parts and clones of functions to their originals, for readers that do not support them.
#
# Compilers create separate functions for parallel regions, cold code and constant arguments: `relax._omp_fn.0`. Stock
# gprof drops their symbols, and charges their code to the preceding, unrelated function. n symbols.


# Marks that gprof accepts as part of a name: of clones by the earliest compilers, of nested functions.
KEPT = re.compile(r"(\.clone\.\d+|\.\d+)*")


def at_originals(
    totals: GmonTotals, table: SymbolTable, callers: Callable[[int], Iterable[int]] | None = None
) -> GmonTotals:
    """Return the same run, with parts and clones of functions attributed to their original, if gprof recognises it.

    Time and calls from there become the original's, and so do calls of a clone. Calls of a part are dropped: its own
    function calls it, which is not a call in the source. If the original was inlined everywhere, its parts belong to
    the functions that it was inlined into.
    table: symbols of the program. callers: addresses of the functions that call the code at an address, nearest first.
    """
    names = [table.name(i) for i in range(len(table))]
    places: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        if _is_known(name):
            places.setdefault(name, []).append(i)
    original, part = np.arange(len(names) + 1), np.zeros(len(names) + 1, dtype=bool)
    original[-1] = -1
    for i, name in enumerate(names):
        same = () if _is_known(name) else next((places[o] for o in _originals(name) if o in places), ())
        if same:
            original[i] = min(same, key=lambda other: abs(other - i))
            part[i] = begins_inside(name)
        elif callers is not None and not _is_known(name):
            above = table.find(np.array(list(callers(int(table.address[i]))), dtype=np.uint64))
            holder = next((int(other) for other in above if other >= 0 and _is_known(names[other])), None)
            original[i], part[i] = (i, False) if holder is None else (holder, True)
    if not np.any(original[:-1] != np.arange(len(names))):
        return totals

    def moved(address: AddressArray) -> AddressArray:
        """Map addresses in a part or clone to the first whole bin of the original."""
        owner = table.find(address)
        to = original[owner]
        first = (table.address[to] + np.uint64(BIN_BYTES - 1)) // np.uint64(BIN_BYTES) * np.uint64(BIN_BYTES)
        return np.where((owner >= 0) & (to != owner), first, address)

    (bins,), ticks = added_up([((moved(totals.bin_address),), totals.ticks)])
    counts = ~part[table.find(totals.self_pc)]
    ends = moved(totals.from_pc[counts]), moved(totals.self_pc[counts])
    (from_pc, self_pc), count = added_up([(ends, totals.count[counts])])
    return replace(totals, bin_address=bins, ticks=ticks, from_pc=from_pc, self_pc=self_pc, count=count)


def _is_known(name: str) -> bool:
    """Return whether gprof accepts this name as a function's."""
    bare, dot, marks = name.partition(".")
    return bool(bare) and KEPT.fullmatch(dot + marks) is not None


def _originals(name: str) -> Iterator[str]:
    """Yield the functions that this may be a part or clone of, the likeliest first."""
    starter = region_of(name)
    if starter is not None:
        yield starter
        name = starter
    while "." in name.lstrip("."):
        name = name[: name.rindex(".")]
        yield name
    yield without_marks(name)
