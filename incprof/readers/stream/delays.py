"""Delays: time in which a thread is ready to run, without a processor. m spans of time between samples."""

from __future__ import annotations

import numpy as np

from incprof.model import BoolArray, FloatArray, IntArray

# Most nanoseconds of a counter.
MOST_NS = 2**62
# A process has one thread if all of its threads lived for this part of the time at most.
ALONE = 1.01


def delays_in_place(
    length: IntArray, follows: BoolArray, waited: IntArray, delayed: IntArray
) -> tuple[IntArray, IntArray]:
    """Return time of waiting and of delay by span, (m,) each, together no longer than the span.

    The kernel counts a delay when it ends. What is longer than its span began in the thread's spans before it, and
    was taken for waiting there.

    Args:
        length: (m,) of the spans, of one thread after the other, in order of time; integers, as all of these.
        follows: (m,) whether the span begins where the one before it ends, of the same thread.
        waited: (m,) time off the processors.
        delayed: (m,) time ready to run, without a processor.
    """
    waited, delayed = waited.copy(), delayed.copy()
    for last in np.flatnonzero(waited + delayed > length)[::-1].tolist():
        at, early = last, 0
        while at == last or (early > 0 and follows[at + 1]):
            total, room = int(delayed[at]) + early, int(waited[at] + delayed[at])
            delayed[at] = min(total, int(length[at]), room)
            waited[at] = min(room, int(length[at])) - delayed[at]
            early = total - int(delayed[at])
            at -= 1
    return waited, delayed


def delays_of_intervals(counters: FloatArray) -> IntArray:
    """Return nanoseconds of delay of the first thread, (n,), in the intervals in which they were.

    The only thread of a process has no delay while that uses a processor.

    Args:
        counters: (n, 18) as in docs/reference/formats.md, kind 2.
    """
    start, end, cpu, threads, delayed = np.minimum(counters[:, [0, 1, 2, 3, 17]], MOST_NS).astype(np.int64).T
    follows = np.append(False, start[1:] - end[:-1] <= 1)[: len(start)]
    length = np.maximum(end - start, 0)
    length = np.where((threads > 0) & (threads <= ALONE * length), np.maximum(length - cpu, 0), length)
    return delays_in_place(length, follows, np.maximum(length - delayed, 0), delayed)[1]
