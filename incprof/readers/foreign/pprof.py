"""pprof's profiles: protocol buffers of Go, gperftools' legacy files, and those of many other tools (profile.proto)."""

from __future__ import annotations

import re
import struct
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from incprof.errors import NoDataError
from incprof.model import FloatArray
from incprof.readers.foreign import foreign_files
from incprof.readers.foreign.foreign_files import file_contents, series_of, understood
from incprof.readers.foreign.frames import Mapped, frames_at, is_shared, qualified
from incprof.readers.foreign.timeline import Frame, Imported, Paths, Timeline, place_series, regular_edges
from incprof.symbols.function_space import is_shared_code

UNITS = {"nanoseconds": 1e-9, "microseconds": 1e-6, "milliseconds": 1e-3, "seconds": 1.0}
# Preference among several times; any other comes after these.
PREFERRED = ("cpu", "wall", "time", "samples")
DEFAULT_TICK_S, LEAST_S, MOST_S = 0.01, 1e-4, 1.0
# The file of a function of Go's run-time, which locates Go's own library.
GO_RUNTIME = re.compile(r"(.*/src/)?runtime/[^/]+\.(?:go|s)")
# Without paths (-trimpath), functions of these packages are recognised by their names.
GO_OWN = re.compile(r"(?:runtime|internal|syscall|sync|reflect)[./]")


@dataclass
class Snapshot:
    """One profile.

    Attributes:
        stacks: frames, outermost first, and CPU seconds.
        start_s: 0 if not recorded.
        length_s: 0 if not recorded.
    """

    program: str
    stacks: list[tuple[tuple[Frame, ...], float]]
    tick_s: float
    start_s: float = 0.0
    length_s: float = 0.0


@dataclass
class _Raw:
    """The fields of a profile that are used; texts are indices into strings."""

    types: list[tuple[int, int]] = field(default_factory=list)
    samples: list[tuple[list[int], list[int]]] = field(default_factory=list)
    mappings: dict[int, dict[int, int]] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    locations: dict[int, tuple[int, int, list[tuple[int, int]]]] = field(default_factory=dict)
    functions: dict[int, dict[int, int]] = field(default_factory=dict)
    strings: list[str] = field(default_factory=list)
    period_type: tuple[int, int] = (0, 0)
    single: dict[int, int] = field(default_factory=dict)


def read_pprof(inputs: Sequence[str], interval_s: float | None, exe: str | None) -> Imported:
    """Read a series of profiles as a timeline, ordered by their times or, if missing, by the numbers in their names.

    interval_s: length of each, overriding the recorded one. exe: the program, if its path has changed.

    Raises: NoDataError if one of them is not a profile, or has no time.
    """
    files = series_of(inputs)
    snapshots = [understood(path, "profile of pprof", lambda path=path: _snapshot(path, exe)) for path in files]  # type: ignore[misc]
    notes = []
    timed = all(each.start_s and each.length_s for each in snapshots)
    if timed:
        snapshots.sort(key=lambda each: each.start_s)
    if interval_s or not timed:
        length = interval_s or 1.0
        edges = regular_edges(len(snapshots), length)
        notes.append(f"a file represents {length:g} s (-i)")
    else:
        edges = _ends(snapshots)
    start_ns = round(snapshots[0].start_s * 1e9) if timed else 0
    tick = float(np.clip(np.median([each.tick_s for each in snapshots]), LEAST_S, MOST_S))
    timeline = Timeline(snapshots[0].program, Paths(), tick, edges_s=edges, ordered=False, start_unix_ns=start_ns)
    for number, each in enumerate(snapshots):
        total: defaultdict[tuple[int, str], float] = defaultdict(float)
        for stack, seconds in each.stacks:
            total[timeline.paths.add(stack)] += seconds
        stacks = [(*place, seconds) for place, seconds in sorted(total.items())]
        begin = max(float(edges[number]), float(edges[number + 1]) - each.length_s) if timed else float(edges[number])
        place_series(timeline, stacks, begin, float(edges[number + 1]))
    if not len(timeline):
        raise NoDataError(f"{files[0]}: no sample in it")
    return Imported("pprof-series", [timeline], notes)


def _ends(snapshots: Sequence[Snapshot]) -> FloatArray:
    """Return the end of each profile, from the beginning of the first; the gap between two belongs to the second."""
    edges = [0.0]
    for each in snapshots:
        edges.append(max(each.start_s + each.length_s - snapshots[0].start_s, edges[-1] + LEAST_S))
    return np.array(edges)


def _snapshot(path: str, exe: str | None) -> Snapshot:
    data = file_contents(path)
    if is_legacy(data):
        program, stacks, tick = read_legacy(data, exe)
        return Snapshot(program, stacks, tick)
    return _of_message(data, path, exe)


def _of_message(data: bytes, path: str, exe: str | None) -> Snapshot:
    raw = _parse(memoryview(data))
    place, unit = _time_of(raw, path)
    program = exe or _text(raw, raw.mappings[raw.order[0]].get(5, 0)) if raw.order else exe or ""
    frames = _frames(raw, program)
    stacks = []
    for locations, values in raw.samples:
        stack = tuple(frame for number in reversed(locations) for frame in frames[number])
        stacks.append((stack, foreign_files.signed(values[place]) * unit))
    period = foreign_files.signed(raw.single.get(12, 0)) * UNITS.get(_text(raw, raw.period_type[1]), 0.0)
    start, length = (foreign_files.signed(raw.single.get(number, 0)) * 1e-9 for number in (9, 10))
    return Snapshot(program or "app", stacks, period or DEFAULT_TICK_S, max(start, 0.0), max(length, 0.0))


def _time_of(raw: _Raw, path: str) -> tuple[int, float]:
    """Return which value of a sample is a time, and its unit in seconds."""
    value_types = [(_text(raw, kind), _text(raw, unit)) for kind, unit in raw.types]
    rank = {kind: place for place, kind in enumerate(PREFERRED)}
    times = [place for place, (_, unit) in enumerate(value_types) if unit in UNITS]
    if times:
        place = min(times, key=lambda each: rank.get(value_types[each][0], len(rank)))
        return place, UNITS[value_types[place][1]]
    period = foreign_files.signed(raw.single.get(12, 0)) * UNITS.get(_text(raw, raw.period_type[1]), 0.0)
    counts = [place for place, (_, unit) in enumerate(value_types) if unit == "count"]
    if period > 0 and counts:
        return counts[0], period
    shown = ", ".join(f"{kind} in {unit}" for kind, unit in value_types)[:200]
    raise NoDataError(f"{path}: its values are not times ({shown or 'it has none'}): import a CPU profile")


def _frames(raw: _Raw, program: str) -> dict[int, list[Frame]]:
    """Return the frames of each location, outermost first: more than one if functions were inlined."""
    frames_of: dict[int, list[Frame]] = {}
    bare: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    go = _go_library(raw)
    for number, (mapping, address, lines) in raw.locations.items():
        path = _text(raw, raw.mappings.get(mapping, {}).get(5, 0)) or program
        path = program if mapping in raw.order[:1] else path
        if lines:
            frames_of[number] = [_frame(raw, path, program, function, line, go) for function, line in reversed(lines)]
        else:
            bare[mapping].append((number, address))
    for mapping, places in bare.items():
        mapping_fields = raw.mappings.get(mapping, {})
        path = program if mapping in raw.order[:1] else _text(raw, mapping_fields.get(5, 0)) or program
        mapped = Mapped(path, mapping_fields.get(2, 0), mapping_fields.get(4, 0))
        addresses = [address for _, address in places]
        for (number, _), frames in zip(places, frames_at(mapped, addresses, program), strict=True):
            frames_of[number] = frames
    return frames_of


def _frame(raw: _Raw, path: str, program: str, number: int, line: int, go: str | None) -> Frame:
    """Return a frame for a line of a location."""
    function = raw.functions.get(number, {})
    name = _text(raw, function.get(3, 0)) or _text(raw, function.get(2, 0))
    file = _text(raw, function.get(4, 0))
    places = [
        value if 0 < value < 10**9 else 0
        for value in (foreign_files.signed(line), foreign_files.signed(function.get(5, 0)))
    ]
    of_go = go is not None and (GO_OWN.match(name) is not None if not go else file.startswith(go))
    shared = is_shared(path) or of_go or is_shared_code(file)
    module = "" if path == program else path
    if go is not None or file.endswith(".py"):  # languages whose functions are identified by their files
        return Frame("[library]" if shared else module, qualified(name), file, places[0], file, places[1], shared)
    return Frame(module, name, file, places[0], "", places[1], shared)


def _go_library(raw: _Raw) -> str | None:
    """Return the directory of Go's own library, "" if paths are left out; None for programs in other languages."""
    for function in raw.functions.values():
        if _text(raw, function.get(2, 0)).startswith("runtime."):
            match = GO_RUNTIME.fullmatch(_text(raw, function.get(4, 0)))
            if match:
                return match[1] or ""
    return None


def _text(raw: _Raw, number: int) -> str:
    return raw.strings[number]


def _parse(data: memoryview) -> _Raw:
    """Parse the fields of a profile."""
    raw = _Raw()
    for kind, value in foreign_files.fields(data):
        if kind == 1:
            raw.types.append(_pair(value))
        elif kind == 2:
            raw.samples.append(_sample(value))
        elif kind == 3:
            fields = _numbers_of(value)
            raw.mappings[fields.get(1, 0)] = fields
            raw.order.append(fields.get(1, 0))
        elif kind == 4:
            number, location = _location(value)
            raw.locations[number] = location
        elif kind == 5:
            fields = _numbers_of(value)
            raw.functions[fields.get(1, 0)] = fields
        elif kind == 6:
            raw.strings.append(bytes(foreign_files.message(value)).decode("utf-8", "replace"))
        elif kind == 11:
            raw.period_type = _pair(value)
        elif kind in (9, 10, 12):
            raw.single[kind] = foreign_files.number(value)
    if not raw.strings or raw.strings[0]:
        raise ValueError("no table of strings")
    return raw


def _numbers_of(value: foreign_files.Value) -> dict[int, int]:
    """Return the numbers of a message by their fields."""
    return {
        kind: foreign_files.number(each)
        for kind, each in foreign_files.fields(foreign_files.message(value))
        if isinstance(each, int)
    }


def _pair(value: foreign_files.Value) -> tuple[int, int]:
    fields = _numbers_of(value)
    return fields.get(1, 0), fields.get(2, 0)


def _sample(value: foreign_files.Value) -> tuple[list[int], list[int]]:
    """Parse a sample: locations, innermost first, and values."""
    locations, values = list[int](), list[int]()
    for kind, each in foreign_files.fields(foreign_files.message(value)):
        if kind == 1:
            locations += foreign_files.numbers(each)
        elif kind == 2:
            values += foreign_files.numbers(each)
    return locations, values


def _location(value: foreign_files.Value) -> tuple[int, tuple[int, int, list[tuple[int, int]]]]:
    """Parse a location: number, mapping, address and lines, (function, line), innermost first."""
    single, lines = dict[int, int](), list[tuple[int, int]]()
    for kind, each in foreign_files.fields(foreign_files.message(value)):
        if kind == 4:
            lines.append(_pair(each))
        elif kind in (1, 2, 3):
            single[kind] = foreign_files.number(each)
    return single.get(1, 0), (single.get(2, 0), single.get(3, 0), lines)


# CPU profiles in gperftools' format: counted stacks of addresses, and the list of memory mappings.


# In words: 0, 3 more, version 0, microseconds between samples, 0; stacks; and a stack of 0 samples with the one frame
# 0.
WORD = struct.Struct("<Q")
HEAD = struct.Struct("<5Q")
LAST = (0, 1, 0)
DEEPEST = 1 << 14
MAPPED = re.compile(rb"([0-9a-f]{1,16})-([0-9a-f]{1,16}) ..x. ([0-9a-f]{1,16}) \S+ \d+ +(\S.*)")


@dataclass(frozen=True)
class _Range:
    """Addresses at which a file is mapped."""

    low: int
    high: int
    mapped: Mapped


def is_legacy(data: bytes) -> bool:
    """Return whether this is a profile in gperftools' format."""
    if len(data) < HEAD.size:
        return False
    first, words, version, period, zero = HEAD.unpack_from(data)
    return (first, words, version, zero) == (0, 3, 0, 0) and 0 < period < 10**9


def read_legacy(data: bytes, exe: str | None) -> tuple[str, list[tuple[tuple[Frame, ...], float]], float]:
    """Return the program, its stacks with CPU seconds, and the seconds between samples.

    Raises: ValueError if it is damaged.
    """
    tick = HEAD.unpack_from(data)[3] * 1e-6
    stacks, end = _stacks(data)
    ranges = _ranges(data[end:])
    program = exe or (ranges[0].mapped.path if ranges else "app")
    frames = _legacy_frames(stacks, ranges, program)
    return (
        program,
        [(tuple(frame for pc in reversed(pcs) for frame in frames.get(pc, ())), count * tick) for pcs, count in stacks],
        tick,
    )


def _stacks(data: bytes) -> tuple[list[tuple[tuple[int, ...], int]], int]:
    """Return the stacks, innermost address first, with their counts; and the offset of the text after them."""
    stacks, at = list[tuple[tuple[int, ...], int]](), HEAD.size
    while True:
        if at + 2 * WORD.size > len(data):
            raise ValueError("no end")
        count, depth = struct.unpack_from("<2Q", data, at)
        at += 2 * WORD.size
        if not 0 < depth <= DEEPEST or at + depth * WORD.size > len(data):
            raise ValueError("a stack that is too deep")
        pcs = struct.unpack_from(f"<{depth}Q", data, at)
        at += depth * WORD.size
        if (count, depth, pcs[0]) == LAST:
            return stacks, at
        # All but the innermost are return addresses.
        stacks.append(((pcs[0], *(pc - 1 for pc in pcs[1:] if pc)), count))


def _ranges(text: bytes) -> list[_Range]:
    """Return the executable mappings; the program comes first."""
    ranges = []
    for low, high, offset, path in (match.groups() for match in map(MAPPED.match, text.splitlines()) if match):
        start = int(low, 16)
        ranges.append(
            _Range(start, int(high, 16), Mapped(path.decode("utf-8", "surrogateescape"), start, int(offset, 16)))
        )
    return ranges


def _legacy_frames(
    stacks: list[tuple[tuple[int, ...], int]], ranges: list[_Range], program: str
) -> dict[int, list[Frame]]:
    """Return the frames at each address; none if nothing was mapped there."""
    every = sorted({pc for pcs, _ in stacks for pc in pcs})
    first, inside = ranges[0].mapped.path if ranges else "", defaultdict[_Range, list[int]](list)
    for pc in every:
        range_of_pc = next((each for each in ranges if each.low <= pc < each.high), None)
        if range_of_pc:
            inside[range_of_pc].append(pc)
    frames_of: dict[int, list[Frame]] = {}
    for each, pcs in inside.items():
        mapped = each.mapped
        if mapped.path == first:
            mapped = Mapped(program, mapped.start, mapped.offset)
        frames_of.update(zip(pcs, frames_at(mapped, pcs, program), strict=True))
    return frames_of
