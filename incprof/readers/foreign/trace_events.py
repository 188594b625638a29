"""Trace events, of Chrome and of others that use its format: slices, samples and V8's profiles, by thread."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from incprof.errors import NoDataError
from incprof.readers.foreign import kineto
from incprof.readers.foreign.cpuprofile import add_profile, times_of
from incprof.readers.foreign.distances import usual_distance
from incprof.readers.foreign.files import HOSTILE, unpacked
from incprof.readers.foreign.interpreted import frame_of
from incprof.readers.foreign.json_stream import JsonStream
from incprof.readers.foreign.slices import ALL, EVENT_S, UNNAMED, Slices
from incprof.readers.foreign.timeline import Frame, Imported, Paths, Timeline

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
        self.damaged = 0
        self.kinds: set[int | None] = set()
        self._numbers: dict[tuple[str, int | None, int], int] = {}
        self._kinds: dict[str, Callable[[dict[str, Any], Track], None]] = {
            "X": self._slice, "B": self._begin, "E": self._end, "P": self._sample, "M": self._name,
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
        except HOSTILE:
            self.damaged += 1

    def _frame(self, name: str, kind: int | None = None, device: int = 0) -> int:
        key = (name, kind, device)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.frames)
            self.frames.append(kineto.slice_frame(*key) or NAMELESS)
        return number

    def _slice(self, event: dict[str, Any], track: Track) -> None:
        kind, name, device = kineto.kind_of(event), str(event.get("name", "")), 0
        slices = self.slices
        if kind == kineto.LEFT_OUT:
            return
        if kind == kineto.DEVICE:
            slices, track = self.streams, kineto.stream_of(event)
            device = track[0]
        self.kinds.add(kind)
        used = float(event["tdur"]) * US if "tdur" in event else ALL
        lasts = float(event.get("dur", 0)) * US
        slices[track].add(float(event["ts"]) * US, lasts, used, self._frame(name, kind, device))

    def _begin(self, event: dict[str, Any], track: Track) -> None:
        self.slices[track].edge(float(event["ts"]) * US, True, self._frame(str(event.get("name", ""))))

    def _end(self, event: dict[str, Any], track: Track) -> None:
        frame = self._frame(str(event["name"])) if event.get("name") else UNNAMED
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
        found, seen = list[Frame](), set[str]()
        while number in self.stack_frames and number not in seen:
            seen.add(number)
            known = self.stack_frames[number]
            if frame := frame_of(str(known["name"])):
                found.append(frame)
            number = str(known.get("parent", ""))
        return found[::-1]


def read_trace_events(path: str) -> Imported:
    """Read a timeline for each process in a file, the one with the most time first.

    Raises: NoDataError if it cannot be read, or has neither slices nor samples.
    """
    reader = _Reader()
    with unpacked(path) as file:
        stream = JsonStream(file, (EVENTS, SAMPLES))
        for name, value in stream:
            reader.take(name, value)
    if kineto.PYTHON in reader.kinds:
        reader.frames = kineto.below_python(reader.frames)
    timelines = sorted((each for each in _timelines(reader) if len(each)), key=_most_time)
    notes, damaged = _add_streams(reader, timelines), reader.damaged > 0 or stream.cut
    if not timelines:
        raise NoDataError(f"{path}: neither slices nor samples in it: events of kind X, B, E and P have times")
    if reader.about.get("app"):
        timelines.sort(key=lambda each: each.pid or 0)
    if reader.damaged:
        notes.append(f"{path}: {reader.damaged} events are damaged and were left out")
    if stream.cut:
        notes.append(f"{path}: it ends, or is damaged, before the last event: what was read until there is imported")
    return Imported("trace-events", timelines, notes, damaged)


def _timelines(reader: _Reader) -> Iterator[Timeline]:
    """Yield a timeline for each process."""
    profiles = {profile.track: profile for profile in reader.profiles.values() if profile.samples}
    threads: defaultdict[Any, list[tuple[int, Track]]] = defaultdict(list)
    for thread, track in enumerate(sorted({*reader.slices, *reader.samples, *profiles}, key=repr)):
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


def _add_streams(reader: _Reader, timelines: list[Timeline]) -> list[str]:
    """Add the activity of devices to the process with the most time, each stream as a thread; return notes on it."""
    if not reader.streams:
        return []
    if not timelines:
        timelines.append(Timeline("app", Paths(), EVENT_S))
    for number, stream in enumerate(sorted(reader.streams)):
        reader.streams[stream].place(timelines[0], reader.frames, len(reader.slices) + number)
    return [f"functions called [GPU ...] ran on devices, {len(reader.streams)} streams: their time is no CPU time"]


def _add_profile(reader: _Reader, timeline: Timeline, profile: _Profile, thread: int) -> float:
    found = {"nodes": profile.nodes, "samples": profile.samples}
    try:
        return add_profile(timeline, found, times_of(profile.deltas, profile.start_us), thread)
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


def _most_time(timeline: Timeline) -> tuple[float, int]:
    return -float(timeline.columns()[1].sum()), timeline.pid or 0
