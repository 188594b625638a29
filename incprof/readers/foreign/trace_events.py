"""Trace events, of Chrome and of others that use its format: slices, samples and V8's profiles, by thread."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from incprof.errors import NoDataError
from incprof.model.calltree import outermost
from incprof.readers.foreign.foreign_files import HOSTILE, JsonStream, document, understood, unpacked
from incprof.readers.foreign.frames import frame_of, qualified
from incprof.readers.foreign.kineto import (
    DEVICE,
    LEFT_OUT,
    PYTHON,
    DeviceEvents,
    below_python,
    kind_of,
    slice_frame,
    stream_of,
)
from incprof.readers.foreign.speedscope import ALL, EVENT_S, NO_NAME, Slices
from incprof.readers.foreign.timeline import LEAST_S, MOST_S, Frame, Imported, Paths, Timeline, usual_distance

US = 1e-6
# Slices that `incprof export` writes beside those of threads.
PHASES = "phases"
EVENTS, SAMPLES = "traceEvents", "samples"
NAMELESS = Frame("", "[unknown]")
# A process and one of its threads.
Track = tuple[Any, Any]


@dataclass
class _Profile:
    """A profile of V8, as far as its chunks have been read."""

    track: Track
    start_us: float
    nodes: list[dict[str, Any]] = field(default_factory=list)
    samples: list[Any] = field(default_factory=list)
    deltas: list[Any] = field(default_factory=list)


class _Reader:
    """Collects events. damaged: number of malformed ones."""

    def __init__(self) -> None:
        self.names: dict[Any, str] = {}
        self.about: dict[str, Any] = {}
        self.frames: list[Frame] = []
        self.slices: defaultdict[Track, Slices] = defaultdict(Slices)
        self.profiles: dict[tuple[Any, Any], _Profile] = {}
        self.samples: defaultdict[Track, list[tuple[float, str, str]]] = defaultdict(list)
        self.stack_frames: dict[str, Any] = {}
        self.streams: defaultdict[tuple[int, int], Slices] = defaultdict(Slices)
        self.devices = DeviceEvents()
        self.damaged = 0
        self.kinds: set[int | None] = set()
        self._numbers: dict[tuple[str, int | None, int], int] = {}
        self._kinds: dict[str, Callable[[dict[str, Any], Track], None]] = {
            "X": self._slice, "B": self._begin, "E": self._end, "P": self._sample, "M": self._name,
            "s": self.devices.take_flow, "f": self.devices.take_flow,
        }  # fmt: skip

    def take(self, name: str, value: Any) -> None:
        """Take a member of the document, or an element of its lists."""
        try:
            if name in ("", EVENTS):
                kind = self._kinds.get(value.get("ph"))
                if kind and value.get("cat") != PHASES:
                    kind(value, (value.get("pid", 0), value.get("tid", 0)))
            elif name == SAMPLES:
                self._sample(value, (value.get("pid", 0), value.get("tid", 0)))
            elif name == "stackFrames":
                self.stack_frames = dict(value)
            elif name == "otherData":
                self.about = dict(value)
            elif name == "deviceProperties":
                self.devices.take_properties(value)
        except HOSTILE:
            self.damaged += 1

    def _frame(self, name: str, kind: int | None = None, device: int = 0) -> int:
        key = (name, kind, device)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.frames)
            self.frames.append(slice_frame(*key) or NAMELESS)
        return number

    def _slice(self, event: dict[str, Any], track: Track) -> None:
        kind, name, device = kind_of(event), str(event.get("name", "")), 0
        slices = self.slices
        if kind == LEFT_OUT:
            return
        self.devices.take(event, kind, track)
        if kind == DEVICE:
            slices, track = self.streams, stream_of(event)
            device = track[0]
        self.kinds.add(kind)
        used = float(event["tdur"]) * US if "tdur" in event else ALL
        duration = float(event.get("dur", 0)) * US
        slices[track].add(float(event["ts"]) * US, duration, used, self._frame(name, kind, device))

    def _begin(self, event: dict[str, Any], track: Track) -> None:
        self.slices[track].edge(float(event["ts"]) * US, True, self._frame(str(event.get("name", ""))))

    def _end(self, event: dict[str, Any], track: Track) -> None:
        frame = self._frame(str(event["name"])) if event.get("name") else NO_NAME
        self.slices[track].edge(float(event["ts"]) * US, False, frame)

    def _name(self, event: dict[str, Any], track: Track) -> None:
        if event.get("name") == "process_name":
            self.names[track[0]] = str(event["args"]["name"])

    def _sample(self, event: dict[str, Any], track: Track) -> None:
        if event.get("name") == "Profile":
            start = float(event["args"]["data"]["startTime"])
            self.profiles[track[0], event.get("id")] = _Profile(track, start)
        elif event.get("name") == "ProfileChunk":
            profile, data = self.profiles[track[0], event.get("id")], event["args"]["data"]
            chunk = data.get("cpuProfile") or {}
            samples, deltas = chunk.get("samples") or [], data.get("timeDeltas") or []
            if len(samples) != len(deltas):
                raise ValueError("times of other samples")
            profile.nodes += chunk.get("nodes") or []
            profile.samples += samples
            profile.deltas += deltas
        else:
            time, stack = float(event["ts"]) * US, event.get("sf")
            self.samples[track].append((time, "" if stack is None else str(stack), str(event.get("name", ""))))

    def stack(self, number: str, name: str) -> list[Frame]:
        """Return the frames of a sample, outermost first; if it has none, one with the sample's name."""
        if not number:
            return [frame] if (frame := frame_of(name)) else []
        frames, visited = list[Frame](), set[str]()
        while number in self.stack_frames and number not in visited:
            visited.add(number)
            entry = self.stack_frames[number]
            if frame := frame_of(str(entry["name"])):
                frames.append(frame)
            number = str(entry.get("parent", ""))
        return frames[::-1]


def read_trace_events(path: str) -> Imported:
    """Read a timeline for each process in a file, the one with the most time first.

    Raises: NoDataError if it cannot be read, or has neither slices nor samples.
    """
    reader = _Reader()
    with unpacked(path) as file:
        stream = JsonStream(file, (EVENTS, SAMPLES))
        for name, value in stream:
            reader.take(name, value)
    if PYTHON in reader.kinds:
        reader.frames = below_python(reader.frames)
    timelines = sorted(
        (each for each in _timelines(reader) if len(each)),
        key=lambda each: (-float(each.columns()[1].sum()), each.pid or 0),
    )
    notes, damaged = _add_streams(reader, timelines), reader.damaged > 0 or stream.cut
    if not timelines:
        raise NoDataError(f"{path}: neither slices nor samples in it: events of kind X, B, E and P have times")
    if reader.about.get("app"):
        timelines.sort(key=lambda each: each.pid or 0)
    if reader.damaged:
        notes.append(f"{path}: {reader.damaged} events are damaged and were left out")
    if stream.cut:
        notes.append(f"{path}: cut off or damaged before the last event: the events up to there are imported")
    return Imported("trace-events", timelines, notes, damaged)


def _timelines(reader: _Reader) -> Iterator[Timeline]:
    """Yield a timeline for each process."""
    profiles = {profile.track: profile for profile in reader.profiles.values() if profile.samples}
    threads: defaultdict[Any, list[tuple[int, Track]]] = defaultdict(list)
    for thread, track in enumerate(_tracks(reader)):
        threads[track[0]].append((thread, track))
    paths, rate = Paths(), reader.about.get("rate_hz")
    for pid, tracks in threads.items():
        name = str(reader.about.get("app") or reader.names.get(pid) or "app")
        timeline = Timeline(name, paths, EVENT_S, pid if isinstance(pid, int) else None)
        ticks = []
        for thread, track in tracks:
            if track in profiles:  # it is more detailed than the slices around it
                ticks.append(_add_profile(reader, timeline, profiles[track], thread))
            elif track in reader.slices:
                reader.slices[track].place(timeline, reader.frames, thread)
            if track in reader.samples:
                ticks.append(_add_samples(reader, timeline, reader.samples[track], thread))
        if isinstance(rate, int | float) and 1 <= rate <= 1e5:
            timeline.tick_s = 1 / rate
        elif ticks:
            timeline.tick_s = min(ticks)
        yield timeline


def _tracks(reader: _Reader) -> list[Track]:
    """Return the threads in the order of their numbers."""
    profiles = {profile.track for profile in reader.profiles.values() if profile.samples}
    return sorted({*reader.slices, *reader.samples, *profiles}, key=repr)


def _add_streams(reader: _Reader, timelines: list[Timeline]) -> list[str]:
    """Add the activity of devices to the process with the most time, each stream as a thread; return notes on it."""
    if not reader.streams:
        return []
    if not timelines:
        timelines.append(Timeline("app", Paths(), EVENT_S))
    for number, stream in enumerate(sorted(reader.streams)):
        reader.streams[stream].place(timelines[0], reader.frames, len(reader.slices) + number)
    numbers = {track: number for number, track in enumerate(_tracks(reader))}
    timelines[0].device = reader.devices.work(timelines[0], numbers)
    return [f"functions called [GPU ...] ran on devices, {len(reader.streams)} streams: their time is not CPU time"]


def _add_profile(reader: _Reader, timeline: Timeline, profile: _Profile, thread: int) -> float:
    document = {"nodes": profile.nodes, "samples": profile.samples}
    try:
        return add_profile(timeline, document, times_of(profile.deltas, profile.start_us), thread)
    except HOSTILE:
        reader.damaged += 1
        return EVENT_S


def _add_samples(reader: _Reader, timeline: Timeline, samples: list[tuple[float, str, str]], thread: int) -> float:
    """Add samples of a thread, each for the typical time between two of them; return that time."""
    times = np.array([time for time, _, _ in samples])
    tick = usual_distance(times, np.zeros(len(times), dtype=np.int64), EVENT_S)
    for time, stack, name in samples:
        try:
            timeline.add(reader.stack(stack, name), time, tick, thread=thread)
        except HOSTILE:
            reader.damaged += 1
    return tick


# V8's .cpuprofile: `node --cpu-prof`, Chrome's and Deno's; also in the pieces that a trace contains.


DEFAULT_S = 1e-3
# V8's own frames: idle, native code, and its garbage collector.
ROOT, IDLE, PROGRAM, COLLECTOR = "(root)", "(idle)", "(program)", "(garbage collector)"
FILE = "file://"


def read_cpuprofile(path: str) -> Imported:
    """Read a file as a timeline.

    Raises: NoDataError if it is not such a profile.
    """
    return understood(path, "CPU profile of V8", lambda: _imported(document(path), path))


def _imported(document: dict[str, Any], path: str) -> Imported:
    if "head" in document:
        document = {**document, "nodes": _flat(document["head"])}
    timeline = Timeline("", Paths(), DEFAULT_S)
    timeline.tick_s = add_profile(timeline, document, _times(document), 0)
    timeline.app = script_of(timeline.paths)
    if not len(timeline):
        raise NoDataError(f"{path}: it contains no sample of running code")
    return Imported("cpuprofile", [timeline])


def add_profile(timeline: Timeline, document: dict[str, Any], times: Sequence[float], thread: int) -> float:
    """Add the samples of a profile, taken at the given times, seconds; return the distance of as many regular ones.

    Each sample stands for the time since the one before it. The time before the first is unknown. Samples at irregular
    times show as little as fewer regular ones: half of the time lies in distances of at least this length.
    """
    nodes = {node["id"]: node for node in document["nodes"]}
    above = {child: node["id"] for node in document["nodes"] for child in node.get("children") or ()}
    above |= {node["id"]: node["parent"] for node in document["nodes"] if "parent" in node}
    stacks = {number: _stack(number, nodes, above) for number in nodes}
    # V8 may record several threads.
    samples = sorted(zip(times, document["samples"], strict=True), key=lambda sample: sample[0])
    tick = usual_distance(np.array([time for time, _ in samples]), np.zeros(len(samples), dtype=np.int64), DEFAULT_S)
    before, lengths = samples[0][0] - tick if samples else 0.0, list[float]()
    for time, number in samples:
        if nodes[number]["callFrame"]["functionName"] != IDLE and time > before:
            lengths.append(time - before)
            timeline.add(stacks[number], time, time - before, wall_s=time - before, thread=thread)
        before = time
    ascending = np.sort(lengths)
    total = np.cumsum(ascending)
    half = float(ascending[np.searchsorted(total, total[-1] / 2)]) if lengths else tick
    return float(np.clip(half, LEAST_S, MOST_S))


def times_of(deltas: Sequence[Any], start: float) -> list[float]:
    """Return the times of samples, seconds: each so many microseconds after the one before, the first after `start`."""
    return (np.cumsum([start, *map(float, deltas)])[1:] * US).tolist()  # type: ignore[no-any-return]


def _times(document: dict[str, Any]) -> list[float]:
    """Return the times of samples, seconds. Without recorded times, samples are spread evenly."""
    if "timeDeltas" in document:
        return times_of(document["timeDeltas"], 0.0)
    if "timestamps" in document:
        return [(float(time) - float(document["timestamps"][0])) * US for time in document["timestamps"]]
    duration, many = float(document["endTime"]) - float(document["startTime"]), len(document["samples"])
    # Older profiles give their start and end in seconds.
    return np.linspace(0.0, duration * (1.0 if duration < many else US), many + 1)[1:].tolist()  # type: ignore[no-any-return]


def _flat(head: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the nodes of a tree, as V8 wrote it up to 2015: each node contains its children and its function."""
    nodes, pending = list[dict[str, Any]](), [head]
    while pending:
        node = pending.pop()
        pending += node["children"]
        nodes.append({"id": node["id"], "callFrame": node, "children": [child["id"] for child in node["children"]]})
    return nodes


def _stack(number: Any, nodes: dict[Any, Any], above: dict[Any, Any]) -> tuple[Frame, ...]:
    """Return the frames of a node, outermost first."""
    frames: list[Frame] = []
    depth = 0
    while number is not None:
        frame = _frame(nodes[number]["callFrame"])
        if frame:
            frames.append(frame)
        number = above.get(number)
        if (depth := depth + 1) > len(nodes):
            raise ValueError("a cycle in its call tree")
    return tuple(reversed(frames))


def _frame(called: dict[str, Any]) -> Frame | None:
    name, url, line = (
        qualified(str(called["functionName"])),
        str(called.get("url") or ""),
        int(called.get("lineNumber", -1)) + 1,
    )
    if name in (ROOT, IDLE, PROGRAM):
        return None
    if name == COLLECTOR:
        return Frame("[v8]", name, shared=True)
    file = url.removeprefix(FILE)
    own = f"{file}:{line}:{called.get('columnNumber', 0)}"
    if not name:  # the outermost code of a file is unnamed too
        name = f"(anonymous {PurePosixPath(file).name}:{line})"
    # Code generated at run time has a script in place of a file.
    shared = url.startswith("node:") or not (file or int(called.get("scriptId") or 0))
    return Frame("[v8]" if shared else "", name, file, max(line, 0), own, max(line, 0), shared)


def script_of(paths: Paths) -> str:
    """Return the file in which most paths begin."""
    top = outermost(np.frombuffer(paths.parent, dtype=np.int64))[1:]
    count = Counter(file for node in top.tolist() if (file := paths.frames[paths.frame[node]].file))
    return PurePosixPath(max(sorted(count), key=lambda file: count[file])).name if count else "app"
