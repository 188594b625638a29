"""Delays: time in which a thread is ready to run, without a processor. m spans of time between samples."""

from __future__ import annotations

import numpy as np

from incprof.model import IntArray


def delays_in_place(
    begin: IntArray, length: IntArray, thread: IntArray, waited: IntArray, delayed: IntArray
) -> tuple[IntArray, IntArray]:
    """Return time of waiting and of delay by span, (m,) each, together no longer than the span.

    The kernel counts a delay when it ends. What is longer than its span began in the thread's spans before it, and
    was taken for waiting there.

    Args:
        begin: (m,) of the spans, ascending for each thread; integers, as all of these.
        length: (m,) of the spans.
        thread: (m,) each, ascending.
        waited: (m,) time off the processors.
        delayed: (m,) time ready to run, without a processor.
    """
    waited, delayed = waited.copy(), delayed.copy()
    follows = np.zeros(len(begin), dtype=np.bool_)
    follows[1:] = (thread[1:] == thread[:-1]) & (begin[1:] - begin[:-1] - length[:-1] <= 1)
    for last in np.flatnonzero(waited + delayed > length)[::-1].tolist():
        at, early = last, 0
        while at == last or (early > 0 and follows[at + 1]):
            total, room = int(delayed[at]) + early, int(waited[at] + delayed[at])
            delayed[at] = min(total, int(length[at]), room)
            waited[at] = min(room, int(length[at])) - delayed[at]
            early = total - int(delayed[at])
            at -= 1
    return waited, delayed
