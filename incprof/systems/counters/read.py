"""Counters of a run: sampled beside it, or in the recording itself (kind 12 of its stream).

The recording has a row for each interval, or for parts of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from incprof.model import FloatArray
from incprof.model.series import CounterSeries, Power
from incprof.readers.stream.interval_images import COUNTERS, IntervalImage, interval_images
from incprof.study.run_counters import SampledCounters
from incprof.systems.counters.analyse import CountersByPhase, counters_by_phase
from incprof.systems.counters.figures import COUNTS, ENERGY, NUMBERS, PEAK, RESIDENT, SHARES

# Name of the column of power.
RAPL = "rapl-watts"
RAPL_NOTE = "energy is that of the node's processors and their memory (RAPL), with all that runs there"


def read_by_phase(sampled: SampledCounters) -> CountersByPhase:
    """Return the counters of a file by the phases of the run during which they were sampled."""
    return counters_by_phase(
        sampled.series, sampled.study.profile, sampled.study.phases(), offset_s=sampled.offset_s,
        by_clock=sampled.by_clock, path=sampled.path,
    )  # fmt: skip


class RecordedCounters(NamedTuple):
    """Counters of a process. r rows.

    Attributes:
        series: its rows are parts of intervals.
        resident_b: (r,) resident memory at the end of each row, bytes; NaN: unknown.
        peak_b: (r,) the largest resident memory during the row, as far as known, bytes; NaN: unknown.
    """

    series: CounterSeries
    resident_b: FloatArray
    peak_b: FloatArray


def recorded_counters(path: str) -> RecordedCounters | None:
    """Return the counters in a process's stream; None if there are none.

    Raises: NoDataError if it is not a stream or cannot be read.
    """
    rows = [row for image in interval_images(path, COUNTERS) for row in _rows(image)]
    if not rows:
        return None
    table = np.array([row.values for row in rows])
    start_s = np.array([row.start_ns for row in rows]) / 1e9
    end_s = np.array([row.end_ns for row in rows]) / 1e9
    columns = {name: sum(table[:, at] for at in numbers) for name, numbers in COUNTS.items()}
    row_ns = (end_s - start_s) * 1e9
    columns |= {name: sum(table[:, at] for at in numbers) / row_ns for name, numbers in SHARES.items()}
    columns["rss-bytes"] = table[:, RESIDENT]
    measured = {name: np.asarray(values) for name, values in columns.items() if np.isfinite(values).any()}
    if not measured:
        return None
    watts = table[:, ENERGY] * 1e-6 / (end_s - start_s)
    power = Power(RAPL, watts, (RAPL,), notes=(RAPL_NOTE,)) if np.isfinite(watts).any() else None
    series = CounterSeries(tuple(measured), np.column_stack([*measured.values()]), start_s, end_s, power=power)
    return RecordedCounters(series, table[:, RESIDENT], _peaks(table[:, RESIDENT], table[:, PEAK]))


def _peaks(resident_b: FloatArray, peak_b: FloatArray) -> FloatArray:
    """Return the largest resident memory of each row: the run's peak where that grew, else that of its ends."""
    before = np.concatenate([resident_b[:1], resident_b[:-1]])
    grew = np.diff(peak_b, prepend=0.0) > 0
    ends: FloatArray = np.fmax(before, resident_b)
    return np.where(grew, np.fmax(peak_b, ends), ends)


class Row(NamedTuple):
    """Counters of a part of an interval; NaN in `values`, (NUMBERS,): not in it."""

    start_ns: int
    end_ns: int
    values: FloatArray


def _rows(image: IntervalImage) -> Iterator[Row]:
    """Yield the rows of an image, as far as they are whole and inside of the interval. The last one ends with it."""
    numbers, at, start_ns = _varints(image.payload), 0, image.start_ns
    while at + 2 <= len(numbers):
        counted = [number for number in range(64) if numbers[at + 1] >> number & 1]
        values = numbers[at + 2 : at + 2 + len(counted)]
        end_ns = start_ns + 1000 * numbers[at]
        at += 2 + len(counted)
        if at >= len(numbers):
            end_ns = image.end_ns
        if len(values) < len(counted) or not start_ns <= end_ns <= image.end_ns:
            return
        out = np.full(NUMBERS, np.nan)
        for number, value in zip(counted, values, strict=True):
            if number < NUMBERS:
                out[number] = value
        if end_ns > start_ns:
            yield Row(start_ns, end_ns, out)
        start_ns = end_ns


def _varints(payload: bytes) -> list[int]:
    """Return the numbers of a payload, up to the first invalid one."""
    numbers, value, shift = list[int](), 0, 0
    for byte in payload:
        value |= (byte & 127) << shift
        shift += 7
        if shift > 70:
            break
        if byte < 128:
            numbers.append(value)
            value = shift = 0
    return numbers
