"""The records of gmon.out: histograms and call arcs, in bulk."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

HISTOGRAM_TAG: Final = 0
ARC_TAG: Final = 1
BLOCK_TAG: Final = 2

# Number of records examined in one step: bounds the work on a file whose record kinds alternate.
LOOKAHEAD: Final = 1024

HISTOGRAM_HEAD = struct.Struct("<BQQII15sc")
ARC = np.dtype([("tag", "u1"), ("from_pc", "<u8"), ("self_pc", "<u8"), ("count", "<u4")])
BLOCK = np.dtype([("address", "<u8"), ("count", "<u4")])

ByteArray = npt.NDArray[np.uint8]
AddressArray = npt.NDArray[np.uint64]
IntArray = npt.NDArray[np.int64]


class RecordError(ValueError):
    """The bytes are not a sequence of gmon records; the message gives the reason."""


@dataclass(frozen=True)
class Histogram:
    """Same-shaped histogram records: `low`, `high` are (h,), `counts` (h, bins); a bin is (high-low)/bins wide."""

    low: AddressArray
    high: AddressArray
    counts: npt.NDArray[np.uint16]
    rate: int
    dimension: bytes


@dataclass(frozen=True)
class Records:
    """Contents of a gmon file or image. arcs: the records as stored, dtype ARC; all arc arrays have shape (a,)."""

    histograms: tuple[Histogram, ...]
    arcs: npt.NDArray[np.void]

    @property
    def from_pc(self) -> AddressArray:
        """Return, for each arc, the address of the call in the caller."""
        return self.arcs["from_pc"].astype(np.uint64)

    @property
    def self_pc(self) -> AddressArray:
        """Return, for each arc, the address in the called function."""
        return self.arcs["self_pc"].astype(np.uint64)

    @property
    def count(self) -> IntArray:
        """Return the number of calls of each arc."""
        return self.arcs["count"].astype(np.int64)


def parse(data: ByteArray) -> Records:
    """Parse records from bytes, shape (b,). Histograms are not copied (nor, usually, arcs); sizes are checked first.

    Raises: RecordError if the bytes are not a sequence of whole, known records.
    """
    histograms: list[Histogram] = []
    arcs: list[npt.NDArray[np.void]] = []
    position = 0
    while position < len(data):
        tag = int(data[position])
        if tag == HISTOGRAM_TAG:
            histogram, position = _histogram_run(data, position)
            histograms.append(histogram)
        elif tag == ARC_TAG:
            run, position = _arc_run(data, position)
            arcs.append(run)
        elif tag == BLOCK_TAG:
            position = _skip_blocks(data, position)
        else:
            raise RecordError(f"unknown record tag {tag}")
    return Records(tuple(histograms), join_arcs(arcs))


def join_arcs(tables: Sequence[npt.NDArray[np.void]]) -> npt.NDArray[np.void]:
    """Concatenate tables of arc records, dtype ARC. As bytes: numpy copies records field by field."""
    if len(tables) == 1:
        return tables[0]
    return np.concatenate([np.empty(0, np.uint8), *(table.view(np.uint8) for table in tables)]).view(ARC)


def _leading(same: npt.NDArray[np.bool_]) -> int:
    """Return the length of the run of True at the start."""
    return len(same) if same.all() else int(same.argmin())


def _histogram_run(data: ByteArray, position: int) -> tuple[Histogram, int]:
    """Return consecutive records of the same shape, and the position after them."""
    left = len(data) - position
    if left < HISTOGRAM_HEAD.size:
        raise RecordError("a histogram record is cut off")
    head = data[position : position + HISTOGRAM_HEAD.size].tobytes()
    _, low, high, bins, rate, dimension, _ = HISTOGRAM_HEAD.unpack(head)
    size = HISTOGRAM_HEAD.size + 2 * bins
    if size > left:
        raise RecordError(f"a histogram of {bins} bins does not fit into {left} bytes")
    if bins and high <= low:
        raise RecordError("a histogram covers no addresses")
    window = min(left // size, LOOKAHEAD) * size
    table = np.frombuffer(data[position : position + window], dtype=_histogram_dtype(bins))
    alike = (table["tag"] == HISTOGRAM_TAG) & (table["bins"] == bins) & (table["high"] > table["low"])
    alike &= (table["rate"] == rate) & (table["dimension"] == table["dimension"][0])
    n = max(_leading(alike), 1)
    table = table[:n]
    name = dimension.split(b"\0")[0]
    return Histogram(table["low"], table["high"], table["counts"], rate, name), position + n * size


@lru_cache(maxsize=64)
def _histogram_dtype(bins: int) -> np.dtype[np.void]:
    """Return the layout of a histogram record with `bins` bins."""
    head = [("tag", "u1"), ("low", "<u8"), ("high", "<u8"), ("bins", "<u4"), ("rate", "<u4"), ("dimension", "S16")]
    return np.dtype([*head, ("counts", "<u2", (bins,))])


def _arc_run(data: ByteArray, position: int) -> tuple[npt.NDArray[np.void], int]:
    """Return consecutive arc records, and the position after them."""
    left = len(data) - position
    if left < ARC.itemsize:
        raise RecordError("an arc record is cut off")
    window = min(left // ARC.itemsize, LOOKAHEAD) * ARC.itemsize
    table = np.frombuffer(data[position : position + window], dtype=ARC)
    n = _leading(table["tag"] == ARC_TAG)
    return table[:n], position + n * ARC.itemsize


def _skip_blocks(data: ByteArray, position: int) -> int:
    """Return the position after a basic-block record, whose contents are not used."""
    if len(data) - position < 5:
        raise RecordError("a basic-block record is cut off")
    count = int.from_bytes(data[position + 1 : position + 5].tobytes(), "little")
    end = position + 5 + count * BLOCK.itemsize
    if end > len(data):
        raise RecordError(f"{count} basic-block counts do not fit into the file")
    return end
