"""The output of `simpleperf report-sample --protobuf`: Android's perf, with symbols looked up on the device."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from incprof.errors import NoDataError
from incprof.readers.foreign import foreign_files
from incprof.readers.foreign.foreign_files import file_contents, understood
from incprof.readers.foreign.frames import is_shared
from incprof.readers.foreign.timeline import Frame, Imported, Paths, Timeline, usual_distance

# Magic and version; then records, each after its size; the last size is 0.
HEAD, SIZE = struct.Struct("<10sH"), struct.Struct("<I")
MAGIC = b"SIMPLEPERF"
SAMPLE, LOST, FILE, THREAD, META = 1, 2, 3, 4, 5
NS, DEFAULT_S = 1e-9, 1e-3
# Events that count nanoseconds.
CLOCKS = ("cpu-clock", "task-clock")


@dataclass
class _Sample:
    """A sample. chain: (file, symbol) of each frame, innermost first."""

    time_s: float = 0.0
    thread: int = 0
    event: int = 0
    count: int = 0
    chain: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class _Recorded:
    """The contents of a file. files: path and symbols; threads: process and name."""

    samples: list[_Sample] = field(default_factory=list)
    files: dict[int, tuple[str, list[str]]] = field(default_factory=dict)
    threads: dict[int, tuple[int, str]] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    app: str = ""
    lost: int = 0


def read_simpleperf(path: str) -> Imported:
    """Read a timeline for each process, the one with the most samples first.

    Raises: NoDataError if it is not such a file, or has no samples.
    """
    return understood(
        path, "file of simpleperf report-sample --protobuf", lambda: _imported(_read(file_contents(path)), path)
    )


def _imported(recorded: _Recorded, path: str) -> Imported:
    if not recorded.samples:
        raise NoDataError(f"{path}: no sample in it")
    counts = np.bincount([sample.event for sample in recorded.samples])
    time_event = int(np.argmax(counts))
    samples = [sample for sample in recorded.samples if sample.event == time_event]
    event = recorded.events[time_event] if time_event < len(recorded.events) else ""
    times = np.array([sample.time_s for sample in samples])
    usual = usual_distance(times, np.array([sample.thread for sample in samples]), DEFAULT_S)
    is_clock = event.partition(":")[0] in CLOCKS
    paths, timelines = Paths(), dict[int, Timeline]()
    for sample in samples:
        pid, _ = recorded.threads.get(sample.thread, (sample.thread, ""))
        if pid not in timelines:
            name = recorded.app or recorded.threads.get(pid, (pid, "app"))[1]
            timelines[pid] = Timeline(name, paths, usual, pid)
        stack = [_frame(recorded, *place, timelines[pid].app) for place in reversed(sample.chain)]
        cpu_s = sample.count * NS if is_clock else usual
        timelines[pid].add(stack, sample.time_s, cpu_s, thread=sample.thread)
    sorted_timelines = sorted(timelines.values(), key=lambda each: (-len(each), each.pid or 0))
    notes = []
    if recorded.lost:
        sorted_timelines[0].lost.append((float(times[-1]), recorded.lost))
        notes.append(f"{path}: simpleperf lost {recorded.lost} samples")
    if left_out := len(recorded.samples) - len(samples):
        notes.append(f"{left_out} samples of other events are left out: {event or 'the most frequent'} represents time")
    return Imported("simpleperf", sorted_timelines, notes)


def _frame(recorded: _Recorded, file: int, symbol: int, program: str) -> Frame:
    path, symbols = recorded.files.get(file, ("", []))
    name = symbols[symbol] if 0 <= symbol < len(symbols) else ""
    own = path.rpartition("/")[2] == program
    return Frame("" if own else path, name, shared=is_shared(path) or path.startswith(("/system/", "/apex/")))


def _read(data: bytes) -> _Recorded:
    """Parse the records of a file."""
    recorded = _Recorded()
    for record in _records(data):
        for kind, value in foreign_files.fields(record):
            body = foreign_files.message(value)
            if kind == SAMPLE:
                recorded.samples.append(_sample(body))
            elif kind == LOST:
                recorded.lost = _numbers(body).get(2, 0)
            elif kind == FILE:
                texts = _texts(body)
                recorded.files[_numbers(body).get(1, 0)] = (texts[2][0] if texts[2] else "", texts[3])
            elif kind == THREAD:
                numbers, names = _numbers(body), _texts(body)[3]
                recorded.threads[numbers.get(1, 0)] = (numbers.get(2, 0), names[0] if names else "")
            elif kind == META:
                texts = _texts(body)
                recorded.events, recorded.app = texts[1], texts[2][0] if texts[2] else ""
    return recorded


def _records(data: bytes) -> Iterator[memoryview]:
    if HEAD.unpack_from(data.ljust(HEAD.size, b"\0")) != (MAGIC, 1):
        raise ValueError("another magic or version")
    at, view = HEAD.size, memoryview(data)
    while True:
        if at + SIZE.size > len(data):
            raise ValueError("no end")
        (size,) = SIZE.unpack_from(data, at)
        at += SIZE.size
        if not size:
            return
        if size > len(data) - at:
            raise ValueError("a record that extends beyond the file")
        yield view[at : at + size]
        at += size


def _sample(body: memoryview) -> _Sample:
    sample = _Sample()
    for kind, value in foreign_files.fields(body):
        if kind == 1:
            sample.time_s = foreign_files.number(value) * NS
        elif kind == 2:
            sample.thread = foreign_files.number(value)
        elif kind == 3:
            place = _numbers(foreign_files.message(value))
            sample.chain.append((place.get(2, 0), foreign_files.signed(place.get(3, 0))))
        elif kind == 4:
            sample.count = foreign_files.number(value)
        elif kind == 5:
            sample.event = min(foreign_files.number(value), 1 << 10)
    return sample


def _numbers(body: memoryview) -> dict[int, int]:
    return {kind: value for kind, value in foreign_files.fields(body) if isinstance(value, int)}


def _texts(body: memoryview) -> defaultdict[int, list[str]]:
    """Return the texts of a message by their fields."""
    texts = defaultdict[int, list[str]](list)
    for kind, value in foreign_files.fields(body):
        if not isinstance(value, int):
            texts[kind].append(bytes(value).decode("utf-8", "replace"))
    return texts
