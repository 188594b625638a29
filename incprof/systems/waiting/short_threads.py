"""Threads that live less than an interval, as in a server with a thread for each request, count as one thread.

Each alone has next to no time, and few of them have a sample of what they wait for, which stands for the others.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from incprof.systems.waiting.read import Waits

MAIN_THREAD = 0
# A thread that has more of the run than this lives long, however short the run.
MOST = 0.5


def with_short_threads_joined(waits: Waits, interval_s: float) -> Waits:
    """Return the waits with the first number of all short threads for each of them, if there are several.

    Args:
        waits: of the process.
        interval_s: length of a recorded interval.
    """
    if not len(waits.thread):
        return waits
    size = int(max(waits.thread.max(), waits.holder.max())) + 1
    wall_s = np.bincount(waits.thread, weights=waits.end_s - waits.begin_s, minlength=size)
    run_s = float(waits.end_s.max() - waits.begin_s.min())
    is_short = wall_s < min(interval_s, MOST * run_s)
    is_short[MAIN_THREAD] = False
    short = np.flatnonzero(is_short)
    if len(short) < 2:
        return waits
    number = np.where(is_short, short[0], np.arange(size))
    holder = np.where(waits.holder >= 0, number[waits.holder], -1)
    return replace(waits, thread=number[waits.thread], holder=holder, short=tuple(short.tolist()))
