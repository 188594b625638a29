"""Timelines of kernels, copies and waits, of which profilers of devices export the beginning and the end."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from incprof.errors import NoDataError
from incprof.readers.foreign.device_work import MEMSET, DeviceWork
from incprof.readers.foreign.timeline import KEPT, Frame, Imported, Paths, Timeline
from incprof.readers.stream.coded_records import LONGEST_NAME

TICK_S, NS = 1e-3, 1e-9
# Later times, and longer kernels, are damage.
MOST_NS, LONGEST_NS = 2**62, 86400 * 10**9
KERNEL, WAIT = -1, -2


class Span(NamedTuple):
    """An activity. Times are nanoseconds.

    Attributes:
        kind: KERNEL, WAIT, or the kind of a copy.
        name: of a kernel.
        device: number.
        stream: number of a stream or queue of the device.
        bytes: of a copy.
        node: of the launching path; -1: unknown.
        of_graph: whether a graph launched it.
    """

    start_ns: int
    end_ns: int
    kind: int
    name: str = ""
    device: int = 0
    stream: int = 0
    bytes: int = 0
    node: int = -1
    of_graph: bool = False


def is_valid(*times: object) -> bool:
    """Return whether these are the start and the end of an activity, and numbers."""
    start, end, *others = times
    if not isinstance(start, int) or not isinstance(end, int) or not all(isinstance(each, int) for each in others):
        return False
    return 0 <= start <= end < MOST_NS and end - start <= LONGEST_NS


def imported_spans(
    kind: str, path: str, spans: Sequence[Span], paths: Paths, work: DeviceWork, damaged: int, notes: Sequence[str]
) -> Imported:
    """Return a timeline in which each stream of a device is a thread, and each kernel a function.

    Args:
        kind: the input format.
        path: of the input, for messages.
        spans: in any order.
        paths: the launching paths.
        work: with what is known beside the spans, which are added.
        damaged: number of damaged rows.
        notes: for the user.

    Raises: NoDataError if there is no kernel.
    """
    if not any(each.kind == KERNEL for each in spans):
        raise NoDataError(f"{path}: no kernel in it")
    timeline = Timeline("kernels", paths, TICK_S, device=work)
    first, threads = min(each.start_ns for each in spans), dict[tuple[int, int], int]()
    for each in spans:
        start_s, length_s = (each.start_ns - first) * NS, (each.end_ns - each.start_ns) * NS
        if each.kind == WAIT:
            work.wait(start_s, length_s)
            continue
        if each.kind == KERNEL:
            work.kernel(
                each.name, each.device, each.stream, start_s, length_s, each.node, of_graph=each.of_graph
            )  # fmt: skip
            name = each.name[:LONGEST_NAME]
        else:
            work.copy(each.kind, each.device, each.stream, start_s, length_s, each.bytes, each.node)
            name = "[memset]" if each.kind == MEMSET else "[copy]"
        thread = threads.setdefault((each.device, each.stream), len(threads))
        end_s = (each.end_ns - first) * NS
        timeline.add([Frame("", name)], end_s, length_s, wall_s=length_s, thread=thread)
    out = list(notes)
    if damaged:
        out.append(f"{damaged} damaged rows left out")
    return Imported(kind, [timeline], out, damaged > 0)


# Launching paths of device work, from the calls of a run-time and the ranges that the program has marked.


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
        stack = [
            Frame("", f"[{name[:LONGEST_NAME]}]")
            for _, _, name in heapq.nsmallest(KEPT, now, key=lambda begun: begun[1])
        ]
        if stack:
            out[call.correlation] = paths.add([*stack, Frame(RUNTIME, call.name, shared=True)])[0]
    return out
