"""The time spent in beats within each interval, from rows of finished and of open beats."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def sort_keys(slot: Ints, thread: Ints, number: Ints) -> tuple[Ints, int]:
    """Return a number per row that orders rows by slot, thread, id, and its increment from slot to slot.

    Args:
        slot: Intervals, numbered so that one that follows without a gap has the next number, shape (n,).
        thread: Shape (n,).
        number: Ids, shape (n,).
    """
    low = int(slot.min(initial=2**62))
    ids = int(number.max(initial=0)) + 1
    stride = (int(thread.max(initial=0)) + 1) * ids
    pair = thread
    if stride * (int(slot.max(initial=0)) - low + 2) < 2**62:
        pair = thread * ids + number
    else:  # numbers may be large: use their ranks among those that occur
        _, place = np.unique(thread, return_inverse=True)
        distinct, id_place = np.unique(number, return_inverse=True)
        pairs, pair = np.unique(place * distinct.size + id_place, return_inverse=True)
        stride = max(pairs.size, 1)
    return (slot - low) * stride + pair, stride


def busy_ns(rows: NDArray[np.void], keys: Ints, stride: int, skip: int, length_ns: Ints) -> Ints:
    """Return the time spent in beats of a row's thread and id within its interval, for rows[skip:], in ns.

    Args:
        rows: dtype ROW, shape (n,), sorted by their keys.
        keys: Of `sort_keys`, shape (n,), all different.
        stride: Of `sort_keys`.
        skip: Number of rows at the beginning that only record open beats.
        length_ns: Length of the interval of each of the other rows, shape (n - skip,).
    """
    before = np.zeros(len(rows), dtype=np.int64)
    open_rows = np.flatnonzero(rows["open_ns"] > 0)
    next_keys = keys[open_rows] + stride
    place = np.minimum(np.searchsorted(keys, next_keys), len(keys) - 1)
    exists = keys[place] == next_keys
    before[place[exists]] = rows["open_ns"][open_rows[exists]]
    rows, before = rows[skip:], before[skip:]
    # The oldest open beat has either ended since, or is still running. If both are impossible, it was dropped (its
    # thread ended, recording was switched off): its time belongs to the intervals that it spanned, and not to this one.
    # (Slightly less, because the clock's rate may have been measured again between the two.)
    least = before - before // 1000
    went_on = (rows["open_ns"] >= least) | (rows["max_ns"] >= least)
    passed = rows["sum_ns"].astype(np.float64) - rows["nested_ns"] + rows["open_ns"] - np.where(went_on, before, 0)
    # If the previous interval is lost, the whole time of a beat that began in it would be counted here.
    in_interval: Ints = np.clip(passed, 0, length_ns).astype(np.int64)
    return in_interval
