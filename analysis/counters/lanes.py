"""Counters over time, for a figure below the phases. r rows, b bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.counters.events import Events
from incprof.analysis.counters.figures import FIGURES, with_power
from incprof.model import FloatArray
from incprof.model.series import CounterSeries

# Order from top to bottom; the first MOST that are available are shown.
SHOWN = (
    "power_w", "ipc", "misses_per_1000", "memory_bytes_s", "branch_misses_per_1000", "cpu", "system_share",
    "context_switches_s", "page_faults_s", "read_bytes_s", "write_bytes_s", "rss_bytes",
)  # fmt: skip
MOST = 8


@dataclass(frozen=True)
class CounterLane:
    """A figure over time.

    Attributes:
        name: in figures.py.
        values: (b,), NaN where nothing was counted.
    """

    name: str
    values: FloatArray


def lanes_of(series: CounterSeries, offset_s: float, start_s: FloatArray, end_s: FloatArray) -> tuple[CounterLane, ...]:
    """Return the figures that are not zero throughout.

    Args:
        series: r rows.
        offset_s: start of sampling, seconds after the start of the recording.
        start_s: (b,) of the bins.
        end_s: (b,) of the bins.
    """
    middle = (series.start_s + series.end_s) / 2 + offset_s
    place = np.searchsorted(end_s, middle, side="right")
    inside = (place < len(end_s)) & (middle >= start_s[0])
    order = np.flatnonzero(inside)
    bounds = np.searchsorted(place[order], np.arange(len(end_s) + 1))
    row_s = series.end_s - series.start_s
    found: dict[str, FloatArray] = {name: np.full(len(end_s), np.nan) for name in SHOWN}
    names, values = with_power(series)
    whole = Events(names, values, row_s)
    there = [name for name in SHOWN if FIGURES[name](whole) is not None]
    for one, (low, high) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
        rows = order[low:high]
        if len(rows):
            events = Events(names, values[rows], row_s[rows])
            for name in there:
                value = FIGURES[name](events)
                found[name][one] = np.nan if value is None else value
    wide = _carried if len(order) < len(end_s) else np.asarray
    return tuple(CounterLane(name, wide(found[name])) for name in there if np.nansum(found[name]) > 0)[:MOST]


def _carried(values: FloatArray) -> FloatArray:
    """Fill each bin between others with the value before it: rows are longer than bins."""
    known = np.isfinite(values)
    if not known.any():
        return values
    first, last = int(np.argmax(known)), len(values) - 1 - int(np.argmax(known[::-1]))
    before = np.maximum.accumulate(np.where(known, np.arange(len(values)), 0))
    out = values.copy()
    out[first : last + 1] = values[before[first : last + 1]]
    return out
