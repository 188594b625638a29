"""Profiles that say when each function began and ended, as samples: a stretch between two such events is one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from incprof.readers.foreign.timeline import Frame, Timeline

# A tick where nothing else says what one would be: finer than that no interval needs it, seconds.
EVENT_S, LEAST_S, MOST_S = 1e-3, 1e-4, 0.1
# begin, end, stack (outermost first)
Stretch = tuple[float, float, tuple[Frame, ...]]


def stretches(events: Iterable[tuple[float, bool, Frame]]) -> Iterator[Stretch]:
    """Between events, (time, whether it begins, frame) in order of time: what was on the stack.

    An end closes the innermost one of that name, and what is inside it; without any it says nothing.
    """
    stack: list[Frame] = []
    before = 0.0
    for time, begins, frame in events:
        if stack and time > before:
            yield before, time, tuple(stack)
        before = time
        if begins:
            stack.append(frame)
        elif frame in stack:
            del stack[len(stack) - 1 - stack[::-1].index(frame) :]


def add_stretches(timeline: Timeline, found: Iterable[Stretch], thread: int) -> None:
    """Add stretches of a thread as samples."""
    for begin, end, stack in found:
        timeline.add(stack, end, end - begin, wall_s=end - begin, thread=thread)


def common_tick(seconds: Sequence[float]) -> float:
    """What all of some times are multiples of, if that is long enough to be a sample; else the usual one of them."""
    whole = [round(each * 1e6) for each in seconds if each > 0]
    together = math.gcd(*whole) * 1e-6 if whole else 0.0
    if together >= LEAST_S:
        return min(together, MOST_S)
    usual = sorted(seconds)[len(seconds) // 2] if seconds else 0.0
    return min(max(usual, EVENT_S), MOST_S)
