"""Launching paths of device work, from the calls of a run-time and the ranges that the program has marked."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import NamedTuple

from incprof.readers.foreign.encoding import LONGEST_NAME
from incprof.readers.foreign.timeline import KEPT, Frame, Paths

RUNTIME = "[cuda]"


class Call(NamedTuple):
    """A call of a function of CUDA or HIP.

    Attributes:
        start_ns: its beginning.
        thread: any number.
        name: of the function.
        correlation: number of the device work that it launches.
    """

    start_ns: int
    thread: int
    name: str
    correlation: int


class Range(NamedTuple):
    """A range that the program has marked, of NVTX for example."""

    start_ns: int
    end_ns: int
    thread: int
    name: str


def nodes_of(calls: Iterable[Call], ranges: Iterable[Range], paths: Paths) -> dict[int, int]:
    """Return the path of each call by its correlation: the ranges around it on its thread, outermost first.

    A call outside of all ranges has no path.
    """
    of_thread = dict[int, list[Range]]()
    for each in sorted(ranges, key=lambda one: (one.start_ns, -one.end_ns)):
        of_thread.setdefault(each.thread, []).append(each)
    # Those that have begun, by their end, and the place of the next one.
    begun, place, out = dict[int, list[tuple[int, int, str]]](), dict[int, int](), dict[int, int]()
    for call in sorted(calls):
        own, at = of_thread.get(call.thread, []), place.get(call.thread, 0)
        now = begun.setdefault(call.thread, [])
        while at < len(own) and own[at].start_ns <= call.start_ns:
            heapq.heappush(now, (own[at].end_ns, at, own[at].name))
            at += 1
        place[call.thread] = at
        while now and now[0][0] < call.start_ns:
            heapq.heappop(now)
        stack = [Frame("", f"[{name[:LONGEST_NAME]}]") for _, _, name in heapq.nsmallest(KEPT, now, key=_order)]
        if stack:
            out[call.correlation] = paths.add([*stack, Frame(RUNTIME, call.name, shared=True)])[0]
    return out


def _order(begun: tuple[int, int, str]) -> int:
    return begun[1]
