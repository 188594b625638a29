"""Profiles of Firefox's profiler, as saved by the browser, by its viewer and by samply.

The browser saves tables of rows, with a schema that gives the position of each column; processed profiles have columns.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from incprof.errors import NoDataError
from incprof.readers.foreign.foreign_files import document, understood
from incprof.readers.foreign.frames import frame_of, frames_in_image, is_shared
from incprof.readers.foreign.timeline import Frame, Imported, Paths, Timeline, usual_distance

MS = 1e-3
DEEPEST = 1024
CPU_UNITS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3}
# Units of weights that are times; other weights count samples.
WEIGHTS = {"tracing-ms": MS}
DEFAULT_S = 1e-3
# Name of a function without a symbol: its address.
BARE = re.compile(r"0x[0-9a-f]+")
# A location saved by the browser: `f (file.js:12:3)`, `g (in libxul.so)`.
IN_FILE = re.compile(r"(.*) \(([^()]+?):(\d{1,9})(?::\d{1,9})?\)")
IN_LIBRARY = re.compile(r"(.*) \(in ([^()]+)\)(?: .*)?")
NO_FRAME = Frame("", "")
Document = dict[str, Any]
# Frames by library and address.
Known = defaultdict[str, dict[int, list[Frame]]]


def read_firefox(path: str) -> Imported:
    """Read a timeline for each process in a file, the one with the most time first.

    Raises: NoDataError if it is not such a profile.
    """
    return understood(path, "profile of Firefox's profiler", lambda: _imported(document(path), path))


def _imported(document: Document, path: str) -> Imported:
    paths, timelines = Paths(), dict[str, Timeline]()
    frames_by_library: Known = defaultdict(dict)
    for number, (thread, meta, begins_s) in enumerate(_threads(document)):
        name = str(thread.get("processName") or meta.get("product") or "app")
        pid = str(thread.get("pid", 0))
        usual = float(meta.get("interval") or 0) * MS
        if pid not in timelines:
            timelines[pid] = Timeline(name, paths, DEFAULT_S, int(pid) if pid.isdigit() else None)
        _Thread(thread, document, meta, frames_by_library).add(timelines[pid], number, begins_s, usual)
    sorted_timelines = sorted(
        (each for each in timelines.values() if len(each)), key=lambda each: -float(each.columns()[1].sum())
    )
    if not sorted_timelines:
        raise NoDataError(f"{path}: contains no sample of CPU time")
    return Imported("firefox", sorted_timelines, _without_names(frames_by_library))


def _without_names(frames_by_library: Known) -> list[str]:
    """Return a note on programs whose functions are unnamed in the profile, and cannot be looked up."""
    bare = [
        library
        for library, frames in frames_by_library.items()
        if not any(one.name for each in frames.values() for one in each)
    ]
    own = sorted({library.rpartition("/")[2] for library in bare if not is_shared(library)})
    if not own:
        return []
    shown = ", ".join(own[:3]) + (f" and {len(own) - 3} more" if len(own) > 3 else "")
    return [f"functions of {shown} have no names: keep the files where they ran, or save the profile from its viewer"]


def _threads(document: Document) -> Iterator[tuple[Document, Document, float]]:
    """Yield each thread, the metadata of its process, and when that began after the first, seconds."""
    pending = [document]
    for process in pending:
        meta = process.get("meta") or {}
        begins = float(meta.get("startTime") or 0) - float(document["meta"].get("startTime") or 0)
        yield from ((thread, meta, begins * MS) for thread in process.get("threads") or () if "samples" in thread)
        pending += process.get("processes") or ()


class _Thread:
    """The tables of a thread; some are shared by all threads."""

    def __init__(self, thread: Document, document: Document, meta: Document, frames_by_library: Known):
        self._thread, self._shared, self._meta, self._frames_by_library = (
            thread,
            document.get("shared") or {},
            meta,
            frames_by_library,
        )
        self._libraries = thread.get("libs") or document.get("libs") or []
        self._strings: Sequence[Any] = next(
            (
                where[name]
                for name in ("stringArray", "stringTable")
                for where in (thread, self._shared)
                if name in where
            ),
            (),
        )

    def add(self, timeline: Timeline, number: int, begins_s: float, usual_s: float) -> None:
        """Add the samples of the thread. usual_s: their nominal distance, or 0."""
        samples = self._thread["samples"]
        stacks = _column(samples, "stack")
        times = begins_s + MS * _times(samples)
        usual = usual_s or usual_distance(times, np.zeros(len(times), dtype=np.int64), DEFAULT_S)
        timeline.tick_s = usual
        cpu, measured = self._cpu(samples, usual)
        walls = np.diff(times, prepend=times[:1] - usual).tolist() if measured else [0.0] * len(cpu)
        frames = self._frames(timeline.app)
        places: dict[int | None, tuple[int, str]] = {None: (0, "")}
        above = _column(self._table("stackTable"), "prefix"), _column(self._table("stackTable"), "frame")
        for stack, time, cpu_s, wall in zip(stacks, times.tolist(), cpu, walls, strict=True):
            if stack not in places:
                places[stack] = timeline.paths.add(_stack(stack, *above, frames))
            if cpu_s > 0:
                timeline.add_at(*places[stack], time, cpu_s, wall_s=max(wall, 0.0), thread=number)

    def _cpu(self, samples: Document, usual: float) -> tuple[list[float], bool]:
        """Return the CPU seconds of each sample, and whether the operating system measured them."""
        unit = (self._meta.get("sampleUnits") or {}).get("threadCPUDelta")
        deltas = _column(samples, "threadCPUDelta")
        if unit in CPU_UNITS and any(deltas):
            return [CPU_UNITS[unit] * float(each or 0) for each in deltas], True
        one = WEIGHTS.get(samples.get("weightType") or "samples", 0.0) or usual
        return [usual if each is None else one * max(float(each), 0.0) for each in _column(samples, "weight")], False

    def _table(self, name: str) -> Document:
        table: Document = self._thread.get(name) or self._shared[name]
        return table

    def _frames(self, program: str) -> list[list[Frame]]:
        """Return the frames of each row of the frame table, outermost first."""
        table = self._table("frameTable")
        if "schema" in table:
            return [_of_location(str(self._strings[place])) for place in _column(table, "location")]
        functions = [self._function(program, *row) for row in self._functions()]
        rows = list(zip(*(_column(table, name) for name in ("func", "address", "line")), strict=True))
        self._look_up(
            program, [(functions[int(func)][0], address) for func, address, _ in rows if not functions[int(func)][1]]
        )
        return [self._frames_of(*functions[int(func)], address, line) for func, address, line in rows]

    def _functions(self) -> Iterator[tuple[Any, ...]]:
        table = self._table("funcTable")
        files = _column(table, "fileName")
        if "source" in table:  # the newer form
            names = _column(self._table("sources"), "filename")
            files = [None if source is None else names[source] for source in table["source"]]
        return zip(_column(table, "name"), _column(table, "resource"), files, _column(table, "lineNumber"), strict=True)

    def _function(
        self, program: str, name: int, resource: int | None, file: int | None, line: int | None
    ) -> tuple[str, Frame | None]:  # fmt: skip
        """Return the library of a function, "" for none, and its frame; None if only its address is known."""
        called, place = str(self._strings[name]), "" if file is None else str(self._strings[file])
        lib = None if resource is None or resource < 0 else _column(self._table("resourceTable"), "lib")[resource]
        if lib is None:
            begins = int(line or 0)
            return "", frame_of(called, place, begins, begins) or NO_FRAME
        library = str(self._libraries[lib].get("path") or self._libraries[lib]["name"])
        module = "" if _is(library, program) else library
        return library, None if BARE.fullmatch(called) else Frame(module, called, place, shared=is_shared(library))

    def _look_up(self, program: str, places: Sequence[tuple[str, int | None]]) -> None:
        """Look up names of code that is unnamed in the profile, in libraries that exist here."""
        addresses_of: defaultdict[str, set[int]] = defaultdict(set)
        for library, address in places:
            if address is not None and address >= 0 and address not in self._frames_by_library[library]:
                addresses_of[library].add(address)
        for library, addresses in addresses_of.items():
            row, own = sorted(addresses), library if _is(library, program) else ""
            self._frames_by_library[library].update(zip(row, frames_in_image(library, row, own), strict=True))

    def _frames_of(self, library: str, frame: Frame | None, address: int | None, line: int | None) -> list[Frame]:
        if frame is None:
            return self._frames_by_library[library].get(address or 0) or [Frame(library, "", shared=is_shared(library))]
        return [] if frame == NO_FRAME else [frame._replace(line=int(line)) if line and frame.file else frame]


def _is(library: str, program: str) -> bool:
    """Return whether this is the file after which a process is named."""
    return library.rpartition("/")[2] == program


def _column(table: Mapping[str, Any], name: str) -> list[Any]:
    """Return a column of a table; None where a row is too short or the column is missing."""
    if "schema" not in table:
        return table.get(name) or [None] * int(table["length"])
    at = table["schema"].get(name)
    return [row[at] if at is not None and at < len(row) else None for row in table["data"]]


def _times(samples: Mapping[str, Any]) -> Any:
    """Return the times of samples, milliseconds, (s,)."""
    if "timeDeltas" in samples:
        return np.cumsum(np.array(samples["timeDeltas"], dtype=np.float64))
    return np.array(_column(samples, "time"), dtype=np.float64)


def _stack(number: int | None, prefix: list[Any], frame: list[Any], frames: list[list[Frame]]) -> list[Frame]:
    """Return the frames of a stack, outermost first; of a very deep one, only the innermost."""
    frames_found: list[list[Frame]] = []
    while number is not None and len(frames_found) < DEEPEST:
        frames_found.append(frames[frame[number]])
        above = prefix[number]
        if above is not None and not 0 <= above < number:
            raise ValueError("a stack that is its own caller")
        number = above
    return [one for each in reversed(frames_found) for one in each]


def _of_location(location: str) -> list[Frame]:
    if match := IN_LIBRARY.fullmatch(location):
        return [Frame(match[2], match[1], shared=is_shared(match[2]))]
    if match := IN_FILE.fullmatch(location):
        line = int(match[3])
        frame = frame_of(match[1], match[2], line, line)
    else:
        frame = frame_of(location)
    return [frame] if frame else []
