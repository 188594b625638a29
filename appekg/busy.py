"""The time that passed in beats within each interval, from what the rows say of beats that ended and of open ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def sort_keys(slot: Ints, thread: Ints, number: Ints) -> tuple[Ints, int]:
    """Return a number per row that orders rows by slot, thread, id, and what it grows by from slot to slot.

    Args:
        slot: Intervals, numbered so that what follows without a gap has the next number, shape (n,).
        thread: Shape (n,).
        number: Ids, shape (n,).
    """
    low = int(slot.min(initial=2**62))
    ids = int(number.max(initial=0)) + 1
    stride = (int(thread.max(initial=0)) + 1) * ids
    pair = thread
    if stride * (int(slot.max(initial=0)) - low + 2) < 2**62:
        pair = thread * ids + number
    else:  # numbers may be anything: take their places among those that occur instead
        _, place = np.unique(thread, return_inverse=True)
        found, id_place = np.unique(number, return_inverse=True)
        pairs, pair = np.unique(place * found.size + id_place, return_inverse=True)
        stride = max(pairs.size, 1)
    return (slot - low) * stride + pair, stride


def busy_ns(rows: NDArray[np.void], keys: Ints, stride: int, skip: int, length_ns: Ints) -> Ints:
    """Return the time that passed in beats of a row's thread and id within its interval, for rows[skip:], in ns.

    Args:
        rows: dtype ROW, shape (n,), sorted by their keys.
        keys: Of `sort_keys`, shape (n,), all different.
        stride: Likewise.
        skip: How many rows come first that only say what was open.
        length_ns: Length of the interval of each of the others, shape (n - skip,).
    """
    before = np.zeros(len(rows), dtype=np.int64)
    open_rows = np.flatnonzero(rows["open_ns"] > 0)
    wanted = keys[open_rows] + stride
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    there = keys[place] == wanted
    before[place[there]] = rows["open_ns"][open_rows[there]]
    rows, before = rows[skip:], before[skip:]
    # The oldest open beat has either ended since, or runs still. If neither can be, it was dropped (its thread ended,
    # recording was switched off): its time is in the intervals that it spanned, and has no place in this one.
    # (A little less, because the clock's rate may have been measured anew between the two.)
    least = before - before // 1000
    went_on = (rows["open_ns"] >= least) | (rows["max_ns"] >= least)
    passed = rows["sum_ns"].astype(np.float64) - rows["nested_ns"] + rows["open_ns"] - np.where(went_on, before, 0)
    # Where the interval before is lost, all the time of a beat that began in it would seem to have passed here.
    within: Ints = np.clip(passed, 0, length_ns).astype(np.int64)
    return within
