"""The output of `perf script`, read a line at a time: profiles of some gigabytes are common.

    app 4711/4712 [001]  8123.456789:    4000000 task-clock:u:
            55d0c0de11f0 solve+0x20 (/home/me/app)
      solver.c:42
            7f3a2b1c0000 [unknown] (/usr/lib/libm.so.6)

The user selects the fields: all but the time may be missing.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from incprof.errors import NoDataError
from incprof.model import FloatArray, IntArray
from incprof.model.calltree import outermost
from incprof.readers.foreign.frames import is_shared
from incprof.readers.foreign.timeline import Frame, Imported, Paths, Timeline
from incprof.symbols.function_table import compiled, however_compiled

# The head of a sample ends with its time, the number of events that it stands for, and the event's name.
TIME = re.compile(r"\s(\d{1,12}\.\d{3,9}):(?:\s|$)")
EVENT = re.compile(r"\s*(?:(\d{1,19})\s+)?(\S+?):(?:\s+(.*))?$")
FRAME = re.compile(r"[0-9a-f]{1,16}\s+(\S.*)")
LINE = re.compile(r"(\S.*):(\d{1,9})")
NUMBERS = re.compile(r"(?:\d{1,10}/)?\d{1,10}")
# Records that `--show-mmap-events` and the like print between samples; some report the number of lost samples.
RECORD = re.compile(r":\s+PERF_RECORD_\w+\b(?:.*? lost (\d{1,18})\b)?")
HEXADECIMAL = tuple("0123456789abcdef")
OFFSET = re.compile(r"\+0x[0-9a-f]+$")
KERNEL, KERNEL_MODULES = ("[kernel", "[guest.kernel"), (".ko", ".ko.xz", ".ko.zst")
DELETED = " (deleted)"
# Map files name the code that a run-time compiled; and the module of that code, as in our own recordings.
MAP, MADE = re.compile(r"(?:^|/)perf-\d+\.map$"), "[jit]"
# Events that count time, and processor clocks; the first one present is used as time.
CLOCKS, CYCLES = ("cpu-clock", "task-clock"), ("cycles", "cpu-cycles", "ref-cycles")
# Lines of a stack.
DEEPEST = 4096
# Number of stacks whose path is cached.
MOST_KNOWN = 100_000
# Distance of samples in seconds, if a file does not contain it: perf's own default is 4000 a second.
DEFAULT_S, LEAST_S, MOST_S = 1 / 4000, 1e-5, 1.0


@dataclass
class _Process:
    """Samples of a process: the event of each, and the number of events that it stands for (0: unknown)."""

    comm: str
    timeline: Timeline
    event: array[int] = field(default_factory=lambda: array("q"))
    period: array[int] = field(default_factory=lambda: array("Q"))


@dataclass
class _Head:
    """The head of a sample, and the lines below it: its frames, innermost first, and their source lines."""

    comm: str
    pid: int
    tid: int
    time_s: float
    event: str
    period: int
    below: list[str]

    def take(self, line: str) -> None:
        """Add a line below the head."""
        if len(self.below) < DEEPEST:
            self.below.append(line.strip())


class _Reader:
    """Collects samples.

    Attributes:
        damaged: lines that cannot be parsed at the place of a sample.
        unread: lines before the frames of a sample, by its event. For tracepoints they may be the recorded fields.
        lost: when samples were lost, and how many.
        frames: frames outside any sample, as below a head without a time.
    """

    def __init__(self) -> None:
        self.paths = Paths()
        self.processes: dict[int, _Process] = {}
        self.events: dict[str, int] = {}
        self.damaged = self.frames = 0
        self.unread: Counter[str] = Counter()
        self.lost: list[tuple[float, int]] = []
        self._place_of: dict[tuple[str, ...], tuple[int, str]] = {}

    def take(self, head: _Head) -> None:
        """Add a sample."""
        process = self.processes.get(head.pid)
        if process is None:
            process = self.processes[head.pid] = _Process(head.comm, Timeline("", self.paths, DEFAULT_S, head.pid))
        process.comm = head.comm
        process.timeline.add_at(*self._place(head), head.time_s, 0.0, thread=head.tid)
        process.event.append(self.events.setdefault(head.event, len(self.events)))
        process.period.append(min(head.period, 2**63))

    def _place(self, head: _Head) -> tuple[int, str]:
        """Return the path of a sample. Most equal an earlier one, except for the addresses."""
        stack = (head.comm, *(line.partition(" ")[2] if line[:1] in HEXADECIMAL else line for line in head.below))
        place = self._place_of.get(stack)
        if place is None:
            if len(self._place_of) >= MOST_KNOWN:
                self._place_of.clear()
            place = self._place_of[stack] = self.paths.add(self._frames(head))
        return place

    def _frames(self, head: _Head) -> list[Frame]:
        """Return the frames of a sample, outermost first.

        Left out is code that belongs to the function around it: linkage stubs, the kernel, and unresolved addresses.
        Inlined functions belong to the module of the function around them.
        """
        parsed: list[Frame] = []
        for line in head.below:
            if match := FRAME.fullmatch(line):
                parsed.append(_frame(match[1]))
            elif parsed and (match := LINE.fullmatch(line)):
                if match[1] != "??" and int(match[2]):
                    parsed[-1] = parsed[-1]._replace(file=match[1], line=int(match[2]))
            else:
                self.unread[head.event] += not parsed
        module, frames = head.comm, list[Frame]()
        for frame in reversed(parsed):
            if frame.module != "inlined":
                module = frame.module or module
            nowhere = not frame.name and not frame.module
            stub = frame.name.endswith("@plt") or module.startswith(KERNEL) or module.endswith(KERNEL_MODULES)
            if not nowhere and not stub:
                is_made = MAP.search(module) is not None
                frames.append(
                    _with_name_properties(frame) if is_made else frame._replace(module=module, shared=is_shared(module))
                )
        return frames


def read_perf_script(lines: Iterable[str], where: str) -> Imported:
    """Read the text of `perf script` as timelines of its processes, the one with the most samples first.

    Raises: NoDataError if it contains no sample.
    """
    reader = _Reader()
    for head in _samples(lines, reader):
        reader.take(head)
    if not reader.processes and reader.frames:
        raise NoDataError(f"{where}: its samples have no times: print them with perf script -F +time")
    if not reader.processes:
        raise NoDataError(f"{where}: no sample in it: give what perf script prints, with the field time")
    event, notes = _time_event(reader)
    if lost := sum(count for _, count in reader.lost):
        notes.append(f"{where}: perf lost {lost} samples")
    damaged = reader.damaged + reader.unread[list(reader.events)[event]]
    if damaged:
        notes.append(f"{where}: {damaged} lines belong to no sample and were left out")
    timelines = [timeline for process in _in_order(reader, event) if (timeline := _timeline(process, reader, event))]
    if not timelines:
        raise NoDataError(f"{where}: no sample in it has a location: record with perf record -g")
    timelines[0].lost = reader.lost
    return Imported("perf-script", timelines, notes, damaged > 0)


def _samples(lines: Iterable[str], reader: _Reader) -> Iterator[_Head]:
    """Yield the samples of a text."""
    head: _Head | None = None
    between = False  # inside the lines of a record that is not a sample
    for line in lines:
        # Nearly all lines are frames.
        if head is not None and line.startswith("\t"):
            head.take(line)
            continue
        if line.startswith("#"):
            continue
        record = RECORD.search(line)
        next_head = None if record else _head(line.rstrip("\n"))
        if next_head or record or not line.strip():
            if head is not None:
                yield head
            head, between = next_head, record is not None
            if record and record[1]:
                reader.lost.append((_time(line), int(record[1])))
        elif head is not None and line[:1].isspace():
            head.take(line)
        elif not (between and line[:1].isspace()):
            reader.damaged += 1
            reader.frames += FRAME.fullmatch(line.strip()) is not None
    if head is not None:
        yield head


def _time(line: str) -> float:
    """Return the time of a record, 0 if it has none."""
    match = TIME.search(line)
    return float(match[1]) if match else 0.0


def _head(line: str) -> _Head | None:
    """Parse the head of a sample, with the one frame that may follow on its line."""
    if (time := TIME.search(line)) is None:
        return None
    words = line[: time.start()].split()
    while len(words) > 1 and not NUMBERS.fullmatch(words[-1]):
        words.pop()  # [cpu], and flags
    event_match = EVENT.match(line, time.end(1) + 1)
    if event_match is None or len(words) < 2:
        return None
    pid, _, tid = words[-1].rpartition("/")
    text = (event_match[3] or "").strip()
    below = [text] if FRAME.fullmatch(text) else []
    comm = " ".join(words[:-1])
    return _Head(comm, int(pid or tid), int(tid), float(time[1]), event_match[2], int(event_match[1] or 0), below)


def _frame(text: str) -> Frame:
    """Parse the part of a frame after its address: `solve+0x20 (/home/me/app)`."""
    name, module = text, ""
    if text.endswith(")"):
        body = text[:-1].removesuffix(DELETED)
        at = max(body.rfind(" (/"), body.rfind(" ([")) if "/" in body or "[" in body else -1
        at = at if at >= 0 else body.rfind(" (")
        name, module = (body[:at], body[at + 2 :]) if at >= 0 else (text, "")
    name = OFFSET.sub("", name.strip())
    return Frame("" if module == "[unknown]" else module, "" if name == "[unknown]" else name)


def _with_name_properties(frame: Frame) -> Frame:
    """Return the frame of a function that a run-time compiled, with the properties encoded in its name."""
    name, file, line, shared = compiled(frame.name)
    return Frame(MADE, name, file, line, however_compiled(frame.name), line, shared)


def _time_event(reader: _Reader) -> tuple[int, list[str]]:
    """Choose the event that stands for time. Return it, and notes on it and the others."""
    count = np.zeros(len(reader.events), dtype=np.int64)
    for process in reader.processes.values():
        count += np.bincount(np.frombuffer(process.event, dtype=np.int64), minlength=len(count))
    names = list(reader.events)
    rank = {kind: place for place, kind in enumerate((*CLOCKS, *CYCLES))}
    best = min(range(len(names)), key=lambda i: (rank.get(_kind(names[i]), len(rank)), -count[i], i))
    notes = []
    if others := int(count.sum() - count[best]):
        more = ", ".join(name for i, name in enumerate(names) if i != best)
        notes.append(f"{others} samples of {more} are left out: {names[best]} represents time")
    if _kind(names[best]) not in (*CLOCKS, *CYCLES):
        notes.append(f"times are as many {names[best]} as were counted, in proportion")
    return best, notes


def _kind(event: str) -> str:
    """Return the event without its unit and modifiers: `cycles` for `cpu_core/cycles/ppp`."""
    parts = event.strip(":").split(":")[0].split("/")
    return parts[1] if len(parts) > 1 and parts[1] else parts[0]


def _in_order(reader: _Reader, event: int) -> list[_Process]:
    """Return the processes of the program with the most samples, in order of their ids; then the others."""
    many = {pid: process.event.count(event) for pid, process in reader.processes.items()}
    first = reader.processes[max(many, key=lambda pid: (many[pid], -pid))].comm
    return [reader.processes[pid] for pid in sorted(many, key=lambda p: (reader.processes[p].comm != first, p))]


def _timeline(process: _Process, reader: _Reader, event: int) -> Timeline | None:
    """Return the samples of one event; None if there are none."""
    of_event = np.frombuffer(process.event, dtype=np.int64) == event
    if not of_event.any():
        return None
    timeline = process.timeline.of(of_event)
    time, thread, node = timeline.as_added()
    period = np.frombuffer(process.period, dtype=np.uint64)[of_event].astype(np.float64)
    cpu = _seconds(_kind(list(reader.events)[event]), period, time, thread)
    timeline.app, timeline.tick_s = _program(process, timeline, node), float(np.clip(np.median(cpu), LEAST_S, MOST_S))
    timeline.rescale(cpu)
    return timeline


def _seconds(kind: str, period: FloatArray, time: FloatArray, thread: IntArray) -> FloatArray:
    """Return CPU seconds of samples: a clock counts nanoseconds; else the typical time per event times the events."""
    if kind in CLOCKS and period.all():
        return period / 1e9
    order = np.lexsort((time, thread))
    distance, same = np.diff(time[order]), np.diff(thread[order]) == 0
    same &= distance > 0
    if not period.all():
        usual = float(np.median(distance[same])) if same.any() else DEFAULT_S
        return np.full(len(time), np.clip(usual, LEAST_S, MOST_S))
    speed = float(np.median((period[order][1:] / np.maximum(distance, 1e-9))[same])) if same.any() else 0.0
    return period / speed if speed > 0 else np.full(len(time), DEFAULT_S)


def _program(process: _Process, timeline: Timeline, node: IntArray) -> str:
    """Return the module in which most samples begin: the executable."""
    paths = timeline.paths
    top = outermost(np.frombuffer(paths.parent, dtype=np.int64))
    count = np.bincount(top[node], minlength=len(top))
    weights: dict[str, int] = {}
    for number in np.flatnonzero(count[1:]).tolist():
        module = paths.frames[paths.frame[number + 1]].module
        named = module.rpartition("/")[2][:15] == process.comm[:15]
        weights[module] = weights.get(module, 0) + int(count[number + 1]) * (1000 if named else 1)
    return max(sorted(weights), key=lambda module: weights[module]) if weights else process.comm
