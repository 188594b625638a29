"""Trace events of Kineto, PyTorch's profiler: operators, kernels of devices, marks, Python's functions."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from incprof.readers.foreign.device_work import (
    BETWEEN_DEVICES,
    FROM_DEVICE,
    MEMSET,
    OTHER_COPY,
    TO_DEVICE,
    WITHIN_DEVICE,
    WITHIN_HOST,
    DeviceWork,
    call_of,
)
from incprof.readers.foreign.frames import frame_of
from incprof.readers.foreign.timeline import Frame, Timeline
from incprof.symbols.function_space import is_shared_source

OPERATOR, RUNTIME, DEVICE, MARK, PYTHON, LEFT_OUT = range(6)
# By category; older versions capitalise some. Left out: slices that span the whole trace, the profiler's own work, and
# copies of marks on a device; waits in what `incprof export` writes.
KINDS = {
    "cpu_op": OPERATOR, "operator": OPERATOR,
    "cuda_runtime": RUNTIME, "cuda_driver": RUNTIME, "runtime": RUNTIME, "xpu_runtime": RUNTIME, "hip_runtime": RUNTIME,
    "kernel": DEVICE, "gpu_memcpy": DEVICE, "gpu_memset": DEVICE, "memcpy": DEVICE, "memset": DEVICE,
    "user_annotation": MARK, "python_function": PYTHON,
    "trace": LEFT_OUT, "overhead": LEFT_OUT, "gpu_user_annotation": LEFT_OUT, "gpu_wait": LEFT_OUT,
}  # fmt: skip
TORCH, CUDA = "[torch]", "[cuda]"
# `model.py(12): forward`; a file in a directory of packages is shown without that directory.
FUNCTION = re.compile(r"(.+)\((\d{1,9})\): (.+)")
STEP = re.compile(r"ProfilerStep#\d+")
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
PACKAGES = frozenset({*sys.stdlib_module_names, "torch", "torchvision", "torchaudio", "numpy"})


def kind_of(event: Mapping[str, Any]) -> int | None:
    """Return the kind of an event; None if it is not Kineto's."""
    kind = KINDS.get(str(event.get("cat")).lower())
    return None if kind == DEVICE and not isinstance(event.get("args"), dict) else kind


def stream_of(event: Mapping[str, Any]) -> tuple[int, int]:
    """Return the device, and the stream of it, that a kernel or a copy ran on."""
    return int(event["args"].get("device", event["pid"])), int(event["args"].get("stream", event["tid"]))


def slice_frame(name: str, kind: int | None, device: int) -> Frame | None:
    """Return the frame of a slice of the given kind; None if it is not a function."""
    if STEP.fullmatch(name):  # a mark, which versions without Kineto write without a category
        return Frame("", "[ProfilerStep]")
    if kind == OPERATOR:
        return Frame(TORCH, name)
    if kind == RUNTIME:
        return Frame(CUDA, name, shared=True)
    if kind == DEVICE:
        return Frame("", f"[GPU {device}] {name}")
    if kind == MARK:
        return Frame("", f"[{name}]")
    if kind == PYTHON:
        return _python(name)
    return frame_of(name)


def below_python(frames: Sequence[Frame]) -> list[Frame]:
    """Return frames with operators as library functions, which they are if the program's own functions are known."""
    return [frame._replace(shared=True) if frame.module == TORCH else frame for frame in frames]


def _python(name: str) -> Frame | None:
    match = FUNCTION.fullmatch(name)
    if match is None:  # built-in functions, and modules of a model
        return Frame(TORCH, ADDRESS.sub("", name), shared=True)
    file, line = match[1], int(match[2])
    frame = frame_of(match[3], file, line, line)
    if frame and not is_shared_source(file) and file.partition("/")[0].removesuffix(".py") in PACKAGES:
        return frame._replace(module="[python]", shared=True)
    return frame


# Device work with what launched it, for the cards of phases.


US = 1e-6
LONGEST_S = 86400.0
# Directions in the names of copies: "Memcpy HtoD (Pageable -> Device)".
DIRECTIONS = {
    "HtoD": TO_DEVICE, "DtoH": FROM_DEVICE, "DtoD": WITHIN_DEVICE, "HtoH": WITHIN_HOST, "PtoP": BETWEEN_DEVICES,
}  # fmt: skip
FORWARD_TO_BACKWARD = "fwdbwd"
Track = tuple[Any, Any]


class _Work(NamedTuple):
    name: str
    copy: int | None
    device: int
    stream: int
    start_s: float
    length_s: float
    bytes: int
    correlation: int


class DeviceEvents:
    """Collects the work of devices, the calls that launch it, and waits."""

    def __init__(self) -> None:
        self._work: list[_Work] = []
        self._calls: dict[int, tuple[Track, float, str]] = {}
        self._waits: list[tuple[float, float]] = []
        self._names: dict[int, str] = {}
        self._flows: dict[Any, dict[str, Track]] = {}

    def take_flow(self, event: Mapping[str, Any], track: Track) -> None:
        """Take an end of an arrow from an operator to the one that computes its gradient."""
        if event.get("cat") == FORWARD_TO_BACKWARD:
            self._flows.setdefault(event["id"], {})[str(event["ph"])] = track

    def _forward(self) -> dict[Track, Track]:
        """Return the threads of autograd, and for each the one whose operators it differentiates."""
        pairs = Counter((ends["f"], ends["s"]) for ends in self._flows.values() if ends.keys() == {"s", "f"})
        return {back: ahead for (back, ahead), _ in reversed(pairs.most_common()) if back != ahead}

    def take_properties(self, value: Any) -> None:
        """Take the names of devices."""
        self._names = {int(each["id"]): str(each["name"]) for each in value if "name" in each}

    def take(self, event: Mapping[str, Any], kind: int | None, track: Track) -> None:
        """Take an event, if it is one of a device, or a call of a run-time.

        Raises: one of HOSTILE if it is damaged.
        """
        if kind not in (DEVICE, RUNTIME):
            return
        start_s, length_s = float(event["ts"]) * US, float(event.get("dur", 0)) * US
        if not 0 <= length_s <= LONGEST_S:
            raise ValueError("a time makes no sense")
        name, args = str(event.get("name", "")), event.get("args")
        correlation = int(args.get("correlation", 0)) if isinstance(args, dict) else 0
        if kind == RUNTIME:
            # The run-time's call contains the driver's of the same number.
            self._calls.setdefault(correlation, (track, start_s, name))
            if call_of(name).waits:
                self._waits.append((start_s, length_s))
            return
        assert isinstance(args, dict)
        category, amount = str(event.get("cat")).lower(), int(args.get("bytes", 0))
        copy = None
        if "mem" in category:
            direction = next((number for word, number in DIRECTIONS.items() if word in name), OTHER_COPY)
            copy = MEMSET if "memset" in category else direction
        self._work.append(_Work(name, copy, *stream_of(event), start_s, length_s, amount, correlation))

    def work(self, timeline: Timeline, numbers: Mapping[Track, int]) -> DeviceWork:
        """Return what was collected, with the launching paths.

        timeline: with the slices of all threads that launch. numbers: of threads in the timeline.
        """
        out = DeviceWork()
        out.devices = self._names
        calls = {number: call_of(name) for number, (_, _, name) in self._calls.items()}
        if self._calls:
            out.launches = sum(call.launches for call in calls.values())
            out.graph_launches = sum(call.launches_graph for call in calls.values())
        nodes = self._nodes(timeline, numbers)
        for each in self._work:
            node, place = nodes.get(each.correlation, -1), (each.device, each.stream, each.start_s, each.length_s)
            if each.copy is None:
                of_graph = each.correlation in calls and calls[each.correlation].launches_graph
                out.kernel(each.name, *place, node, of_graph=of_graph)
            else:
                out.copy(each.copy, *place, each.bytes, node)
        for wait in self._waits:
            out.wait(*wait)
        return out

    def _nodes(self, timeline: Timeline, numbers: Mapping[Track, int]) -> dict[int, int]:
        """Return the path of each call. Calls of autograd's threads are in what the program does meanwhile."""
        starts = [(track, start_s, number) for number, (track, start_s, _) in self._calls.items()]
        out, forward = _nodes_at(timeline, numbers, starts), self._forward()
        above = _nodes_at(
            timeline,
            numbers,
            [(forward[track], start_s, number) for track, start_s, number in starts if track in forward],
        )
        return out | {number: timeline.paths.joined(node, out.get(number, 0)) for number, node in above.items()}


def _nodes_at(
    timeline: Timeline, numbers: Mapping[Track, int], starts: Sequence[tuple[Track, float, int]]
) -> dict[int, int]:
    """Return the paths of threads at some times, by the number given with each."""
    time, _, wall, thread, node, _ = timeline.columns()
    out = dict[int, int]()
    by_thread = dict[int, list[tuple[float, int]]]()
    for track, start_s, number in starts:
        if track in numbers:
            by_thread.setdefault(numbers[track], []).append((start_s, number))
    for on, own_starts in by_thread.items():
        own = thread == on
        begin, end, nodes = (time - wall)[own], time[own], node[own]
        order = np.argsort(begin, kind="stable")
        # Times are rounded to parts of a microsecond.
        at = np.searchsorted(begin[order], np.array([start for start, _ in own_starts]) + US / 2, side="right") - 1
        for place, (start_s, number) in zip(at.tolist(), own_starts, strict=True):
            if place >= 0 and start_s <= end[order[place]]:
                out[number] = int(nodes[order[place]])
    return out
