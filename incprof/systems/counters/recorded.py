"""Counters that the recording itself holds, kind 12 of its stream: a row for each interval."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incprof.model import FloatArray
from incprof.model.series import CounterSeries
from incprof.readers.stream.interval_images import COUNTERS, interval_images

# Numbers of the format.
MINOR, MAJOR, VOLUNTARY, INVOLUNTARY, USER_NS, SYSTEM_NS, RESIDENT, PEAK, TASK_CLOCK, MIGRATIONS = range(1, 11)
CYCLES, INSTRUCTIONS, CACHE_REFERENCES, CACHE_MISSES, BRANCH_MISSES, NUMBERS = range(11, 17)
COUNTS = {
    "minor-faults": (MINOR,),
    "major-faults": (MAJOR,),
    "context-switches": (VOLUNTARY, INVOLUNTARY),
    "cpu-migrations": (MIGRATIONS,),
    "cycles": (CYCLES,),
    "instructions": (INSTRUCTIONS,),
    "cache-references": (CACHE_REFERENCES,),
    "cache-misses": (CACHE_MISSES,),
    "branch-misses": (BRANCH_MISSES,),
}
# Processors busy, by the time that was counted.
SHARES = {"cpu": (USER_NS, SYSTEM_NS), "user": (USER_NS,), "system": (SYSTEM_NS,)}


class RecordedCounters(NamedTuple):
    """Counters of a process. r rows.

    Attributes:
        series: its rows are intervals.
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
    images = [image for image in interval_images(path, COUNTERS) if image.end_ns > image.start_ns]
    if not images:
        return None
    table = np.array([_values(image.payload) for image in images])
    start_s = np.array([image.start_ns for image in images]) / 1e9
    end_s = np.array([image.end_ns for image in images]) / 1e9
    columns = {name: sum(table[:, at] for at in numbers) for name, numbers in COUNTS.items()}
    row_ns = (end_s - start_s) * 1e9
    columns |= {name: sum(table[:, at] for at in numbers) / row_ns for name, numbers in SHARES.items()}
    columns["rss-bytes"] = table[:, RESIDENT]
    known = {name: np.asarray(values) for name, values in columns.items() if np.isfinite(values).any()}
    if not known:
        return None
    series = CounterSeries(tuple(known), np.column_stack([*known.values()]), start_s, end_s)
    return RecordedCounters(series, table[:, RESIDENT], _peaks(table[:, RESIDENT], table[:, PEAK]))


def _peaks(resident_b: FloatArray, peak_b: FloatArray) -> FloatArray:
    """Return the largest resident memory of each row: the run's peak where that grew, else that of its ends."""
    before = np.concatenate([resident_b[:1], resident_b[:-1]])
    grew = np.diff(peak_b, prepend=0.0) > 0
    ends: FloatArray = np.fmax(before, resident_b)
    return np.where(grew, np.fmax(peak_b, ends), ends)


def _values(payload: bytes) -> FloatArray:
    """Return the counters of an image by their numbers, (NUMBERS,); NaN: not in it. A torn rest is left out."""
    out = np.full(NUMBERS, np.nan)
    numbers, value, shift = list[int](), 0, 0
    for byte in payload:
        value |= (byte & 127) << shift
        shift += 7
        if shift > 70:
            break
        if byte < 128:
            numbers.append(value)
            value = shift = 0
    for number, count in zip(numbers[::2], numbers[1::2], strict=False):
        if number < NUMBERS:
            out[number] = count
    return out
