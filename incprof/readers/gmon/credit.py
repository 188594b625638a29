"""Assign histogram bins to functions: a bin that overlaps several is divided by overlap, as gprof does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incprof.readers.gmon.records import Histogram
from incprof.symbols.table import NOWHERE, SymbolTable

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Functions are aligned to 64 bytes at most.
MAX_PADDING = 63


@dataclass(frozen=True)
class Bins:
    """Non-empty bins, all shape (b,): link-time addresses low and high, ticks, seconds per tick."""

    low: FloatArray
    high: FloatArray
    ticks: FloatArray
    tick_s: FloatArray


def filled_bins(histograms: Sequence[Histogram], rate_hz: float) -> Bins:
    """Return the non-empty bins of histograms. Records without a rate of their own use `rate_hz`."""
    columns: list[tuple[FloatArray, ...]] = [(np.empty(0),) * 4]
    for histogram in histograms:
        record, index = np.nonzero(histogram.counts)
        low = histogram.low[record].astype(np.float64)
        width = (histogram.high[record].astype(np.float64) - low) / max(histogram.counts.shape[1], 1)
        tick = np.full(len(record), 1.0 / (histogram.rate or rate_hz))
        ticks = histogram.counts[record, index].astype(np.float64)
        columns.append((low + index * width, low + (index + 1) * width, ticks, tick))
    return Bins(*(np.concatenate(parts) for parts in zip(*columns, strict=True)))


def share_out(bins: Bins, table: SymbolTable) -> tuple[IntArray, FloatArray]:
    """Return symbols and the seconds of each, shape (x,); symbols repeat. NOWHERE gets bins without a function."""
    start, end = table.start.astype(np.float64), _with_padding(table)
    first = np.searchsorted(end, bins.low, side="right")
    last = np.searchsorted(start, bins.high, side="left")
    met = np.maximum(last - first, 0)
    bin_index = np.repeat(np.arange(len(met)), met)
    within = np.arange(len(bin_index)) - np.repeat(np.cumsum(met) - met, met)
    piece = first[bin_index] + within
    overlap = np.minimum(end[piece], bins.high[bin_index]) - np.maximum(start[piece], bins.low[bin_index])
    total = np.bincount(bin_index, weights=overlap, minlength=len(met))
    seconds = bins.ticks * bins.tick_s
    given = seconds[bin_index] * overlap / total[bin_index]
    lost = met == 0
    symbols = np.concatenate([table.owner[piece], np.full(np.count_nonzero(lost), NOWHERE, dtype=np.int64)])
    return symbols, np.concatenate([given, seconds[lost]])


def _with_padding(table: SymbolTable) -> FloatArray:
    """Return where each range ends, with the padding up to the next one, shape (r,): no other code can run there."""
    end = table.end.astype(np.float64)
    following = np.append(table.start[1:].astype(np.float64), np.inf)
    return np.where(following - end <= MAX_PADDING, following, end)
