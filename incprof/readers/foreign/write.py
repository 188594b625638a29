"""Write timelines as the streams and symbols of a run directory (docs/reference/formats.md)."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from incprof.errors import NoDataError, UsageError
from incprof.model import LIBRARY, OWN, UNKNOWN, Module
from incprof.readers.foreign.timeline import ELIDED, Frame, Paths, Ticks, Timeline, in_ticks
from incprof.readers.gmon_directory import read_gmon
from incprof.readers.run import files_of, open_run
from incprof.readers.stream import stream_files
from incprof.readers.stream.coded_records import ELIDED_MODULE, LONGEST_NAME, image, varints, zigzag
from incprof.readers.stream.collect import DEFAULT_RATE_HZ, VERSION
from incprof.readers.stream.interval_images import DEVICE
from incprof.safe.inputs import open_input
from incprof.symbols.elf import WrittenSymbol, open_elf, symbols_file
from incprof.symbols.source_lines import imported_lines
from incprof.symbols.symbol_files import module_key
from incprof.version import __version__

NS = 1e9
# A call count that exceeds its field is written as several records.
MOST_CALLS = 2**32 - 1
ARC = struct.Struct("<BQQI")
FIELDS = struct.Struct("<12Q")


def write_timeline(
    timeline: Timeline, directory: Path, name: str, *, kind: str, interval_s: float, rank: int,
    tick_s: float | None = None,
) -> Ticks:  # fmt: skip
    """Write one process into a run directory, as the stream `name` and the symbols of its modules.

    kind: the input format. interval_s, tick_s: see in_ticks.

    Raises: NoDataError if it is empty; OSError.
    """
    ticks = in_ticks(timeline, interval_s, tick_s)
    counted = [frame for _, frame in timeline.calls] if timeline.calls is not None else []
    layout = Layout(timeline.paths, timeline.app, counted)
    for module in layout.modules:
        _write_symbols(directory, module)
    with (directory / name).open("xb") as out:
        out.write(image(stream_files.METADATA, _metadata(timeline, ticks, layout, kind, rank)))
        _write_intervals(out, timeline, ticks, layout)
        out.write(image(stream_files.END, b"{}", interval=len(ticks.end_s)))
    return ticks


def _module(placed: Placed, *, counts: bool) -> dict[str, Any]:
    """Return the metadata entry of a module of the program."""
    low, high = hex(FIRST), hex(max(placed.end, FIRST + 1))
    imports = {hex(address): called for address, called in sorted(placed.imports.items())}
    fields = {"base": "0x0", "low": low, "high": high, "app": True, "counts": counts, "imports": imports}
    return {"id": placed.number, "path": placed.path, "build_id": placed.build_id, **fields}


def _metadata(timeline: Timeline, ticks: Ticks, layout: Layout, kind: str, rank: int) -> bytes:
    """Return the metadata of a stream."""
    modules = [_module(placed, counts=timeline.calls is not None) for placed in layout.modules]
    for path in timeline.libraries:
        ends = {"base": "0x0", "low": "0x0", "high": "0x0"}
        modules.append({"id": len(modules), "path": path, "build_id": None, **ends, "app": False, "counts": False})
    first = layout.modules[0]
    length = float(np.median(ticks.end_s - ticks.start_s))
    fields = {
        "format": "incprof-stream", "version": VERSION, "tool": __version__, "imported": kind,
        "app": first.path.rpartition("/")[2] or first.path, "exe": first.path, "build_id": first.build_id,
        "argv": [first.path], "cwd": "", "host": "", "pid": timeline.pid or 0, "ppid": 0, "rank": rank, "ranks": None,
        "launch": "", "interval_s": round(length, 9), "rate_hz": round(1 / ticks.tick_s, 9), "clock": "cpu",
        "ordered": timeline.ordered, "start_unix_ns": timeline.start_unix_ns,
        "start_mono_ns": max(round(ticks.begins_s * NS), 0), "arch": "", "forked": False, "modules": modules,
    }  # fmt: skip
    return json.dumps(fields).encode("ascii")


def _write_symbols(directory: Path, placed: Placed) -> None:
    """Write the symbols of a module, and its known lines; other processes may have the same ones."""
    module = Module(placed.number, placed.path, placed.build_id, 0, 0, True)
    path = directory / "symbols" / f"{module_key(module)}.elf"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(symbols_file(placed.symbols, FIRST, max(placed.end, FIRST + 1)))
    if placed.chains:
        chains = {f"{address:#x}": [list(place)] for address, place in sorted(placed.chains.items())}
        imported_lines(str(directory), module).save({"chains": chains})


def _write_intervals(out: BinaryIO, timeline: Timeline, ticks: Ticks, layout: Layout) -> None:
    """Write interval after interval, each with its new nodes, samples, calls and counters."""
    nodes = _Nodes(timeline, layout)
    bounds = np.searchsorted(ticks.interval, np.arange(len(ticks.end_s) + 1))
    work, launching, device = timeline.device, np.zeros(0, dtype=np.int64), None
    if work is not None and len(work):
        launching = work.nodes[work.nodes > 0]
        device = work.payloads(ticks.begins_s, ticks.end_s, nodes.number)
    calls: dict[int, list[tuple[int, int, int]]] = {}
    for (interval, frame), count in (timeline.calls or {}).items():
        calls.setdefault(interval, []).append((*layout.starts[function_of(frame)], count))
    for number, (first, last) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
        rows = slice(first, last)
        used = ticks.node[rows]
        payload = nodes.new(np.concatenate([used, launching]) if number == 0 else used)
        if payload:
            out.write(image(stream_files.NODES, payload, interval=number))
        if device is not None:
            out.write(image(DEVICE, next(device), interval=number))
        for module, records in _arcs(calls.get(number, [])):
            out.write(image(stream_files.OWN_TIME, records, module=module, interval=number))
        out.write(
            image(stream_files.SAMPLES, _samples(ticks, rows, number, nodes, len(layout.modules)), interval=number)
        )
        out.write(
            image(stream_files.INTERVAL, _counters(ticks, rows, number, ordered=timeline.ordered), interval=number)
        )


class _Nodes:
    """Numbers nodes in the order in which they are written."""

    def __init__(self, timeline: Timeline, layout: Layout):
        self._layout, self._parent = layout, timeline.paths.parent
        self.number = np.zeros(len(self._parent), dtype=np.int64)
        self._written = 0

    def new(self, used: np.ndarray) -> bytes:
        """Return the payload for nodes that samples use for the first time; empty if there are none."""
        new_nodes: set[int] = set()
        for node in np.unique(used[self.number[used] == 0]).tolist():
            while node and not self.number[node] and node not in new_nodes:
                new_nodes.add(node)
                node = self._parent[node]
        if not new_nodes:
            return b""
        rows = sorted(new_nodes)
        self.number[rows] = np.arange(self._written + 1, self._written + 1 + len(rows))
        first, self._written = self._written + 1, self._written + len(rows)
        number = self.number[rows]
        parent = self.number[[self._parent[node] for node in rows]]
        module, address = np.array([self._layout.node(node) for node in rows], dtype=np.int64).T
        table = np.stack([number - parent, module, zigzag(np.diff(address, prepend=0)).view(np.int64)], axis=1)
        return varints(np.concatenate([[first, len(rows)], table.ravel()]).astype(np.int64).view(np.uint64))


def _samples(ticks: Ticks, rows: slice, interval: int, nodes: _Nodes, modules: int) -> bytes:
    """Return the samples of an interval."""
    begin, length = ticks.start_s[interval], ticks.end_s[interval] - ticks.start_s[interval]
    at = np.rint(np.clip(ticks.time_s[rows] - begin, 0.0, length) * 1e6).astype(np.int64)
    node, library, weight = nodes.number[ticks.node[rows]], ticks.library[rows], ticks.weight[rows]
    kind = np.where(node == 0, UNKNOWN, np.where(library >= 0, LIBRARY, OWN))
    heavy = weight != 1
    delay = np.diff(at, prepend=0)
    table = np.stack([delay, ticks.thread[rows], node * 8 + kind * 2 + heavy, modules + library, weight], axis=1)
    is_written = np.ones(table.shape, dtype=bool)
    is_written[:, 3], is_written[:, 4] = kind == LIBRARY, heavy
    return varints(table[is_written].astype(np.uint64))


def _counters(ticks: Ticks, rows: slice, interval: int, *, ordered: bool) -> bytes:
    """Return the counters of an interval. At least one thread existed all the time."""
    low, high = ticks.start_s[interval], ticks.end_s[interval]
    weight = int(ticks.weight[rows].sum())
    cpu = weight * ticks.tick_s
    inside = np.clip(np.minimum(ticks.lives[:, 1], high) - np.maximum(ticks.lives[:, 0], low), 0.0, None)
    live_threads = int(np.count_nonzero((ticks.lives[:, 0] < high) & (ticks.lives[:, 1] >= high)))
    spans = [low, high, cpu, max(float(inside.sum()), high - low, cpu)]
    start, end, cpu_ns, thread_ns = (round(span * NS) for span in spans)
    # Without an order, each row stands for as many samples as it has ticks.
    samples = len(ticks.weight[rows]) if ordered else weight
    lost = int(ticks.lost[interval])
    return FIELDS.pack(
        start, max(end, start + 1), cpu_ns, thread_ns, 0, 0, samples, weight, 0, lost, 0, max(live_threads, 1)
    )


def _arcs(calls: list[tuple[int, int, int]]) -> Iterator[tuple[int, bytes]]:
    """Yield modules, and the records of calls of functions in each, (module, address, count); callers are unknown."""
    for module in sorted({module for module, _, _ in calls}):
        records = bytearray()
        for _, address, count in sorted(call for call in calls if call[0] == module):
            remaining = count
            while remaining > 0:
                records += ARC.pack(1, 0, address, min(remaining, MOST_CALLS))
                remaining -= MOST_CALLS
        yield module, bytes(records)


# Assign addresses to functions that have names and lines, but no addresses here.
#
# Each function gets a range of addresses in its module: the first is its beginning; each pair of a line in it and a
# library function called from there has one of the others.


# Address of a module's first function, and the alignment of functions.
FIRST, ALIGNED = 0x1000, 0x10
Function = tuple[str, str, str]


@dataclass
class Placed:
    """A module with its functions.

    Attributes:
        imports: the library function that the code at an address calls.
        chains: name, file and line at an address.
    """

    path: str
    number: int
    symbols: list[WrittenSymbol] = field(default_factory=list)
    end: int = FIRST
    imports: dict[int, str] = field(default_factory=dict)
    chains: dict[int, tuple[str, str, int]] = field(default_factory=dict)

    @property
    def nameless(self) -> str:
        """The name of its code without symbols."""
        return f"[unknown in {self.path.rpartition('/')[2]}]"

    @property
    def build_id(self) -> str:
        """A hash of this set of functions, 40 hexadecimal digits."""
        digest = hashlib.sha1(self.path.encode("utf-8", "replace"), usedforsecurity=False)
        for symbol in self.symbols:
            digest.update(f"\0{symbol.name}\0{symbol.address}\0{symbol.size}".encode("utf-8", "replace"))
        for address, (_, file, line) in sorted(self.chains.items()):
            digest.update(f"\0{address}\0{file}\0{line}".encode("utf-8", "replace"))
        return digest.hexdigest()


class Layout:
    """Assigns the frames of paths to modules and addresses. program: the module with number 0. modules: by number."""

    def __init__(self, paths: Paths, program: str, more: Iterable[Frame] = ()):
        """more: functions that are on no path."""
        self._paths = paths
        self._slots: dict[tuple[int, int], int] = {}
        self.starts: dict[Function, tuple[int, int]] = {}
        functions_of: dict[str, dict[Function, dict[tuple[str, int, str], list[tuple[int, int]]]]] = {program: {}}
        begins: dict[Function, tuple[str, int]] = {}
        pairs = sorted(set(zip(paths.frame[1:], paths.called[1:], strict=True)))
        for frame in more:
            functions_of.setdefault(frame.module or program, {}).setdefault(function_of(frame), {})
            _begin(begins, frame)
        for number, called in pairs:
            frame = paths.frames[number]
            if frame == ELIDED:
                continue
            places = functions_of.setdefault(frame.module or program, {}).setdefault(function_of(frame), {})
            name = paths.names[called] if called >= 0 else ""
            places.setdefault((frame.file, frame.line, name), []).append((number, called))
            _begin(begins, frame)
        self.modules = [
            Placed(path, number) for number, path in enumerate([program, *sorted({*functions_of} - {program})])
        ]
        for module in self.modules:
            for function in sorted(functions_of[module.path]):
                self._place(module, function, functions_of[module.path][function], begins.get(function))
        if not self.modules[0].symbols:  # readers require symbols of a program
            self._place(self.modules[0], ("", "", ""), {}, None)

    def _place(
        self, module: Placed, function: Function, places: dict[tuple[str, int, str], list[tuple[int, int]]],
        begins: tuple[str, int] | None,
    ) -> None:  # fmt: skip
        name, start, size = function[1] or module.nameless, module.end, len(places) + 1
        module.symbols.append(WrittenSymbol(name, start, size))
        module.end = (start + size + ALIGNED - 1) // ALIGNED * ALIGNED
        self.starts[function] = (module.number, start)
        if begins:
            module.chains[start] = (name, *begins)
        for offset, (file, line, called) in enumerate(sorted(places), 1):
            address = start + offset
            for pair in places[file, line, called]:
                self._slots[pair] = address
            if file and line:
                module.chains[address] = (name, file, line)
            if called:
                module.imports[address] = called

    def node(self, node: int) -> tuple[int, int]:
        """Return module and address of a path node."""
        frame = self._paths.frames[self._paths.frame[node]]
        if frame == ELIDED:
            return ELIDED_MODULE, 0
        number = self.starts[function_of(frame)][0]
        return number, self._slots[self._paths.frame[node], self._paths.called[node]]


def function_of(frame: Frame) -> Function:
    """Return the key that identifies a frame's function."""
    return frame.module, frame.name.replace("\0", "")[:LONGEST_NAME], frame.own


def _begin(begins: dict[Function, tuple[str, int]], frame: Frame) -> None:
    """Record where a function begins: if that is not known, at its first known line."""
    line = frame.begins or frame.line
    if not frame.file or not line:
        return
    file, least = begins.get(function_of(frame), (frame.file, line))
    begins[function_of(frame)] = (file, min(least, line)) if file == frame.file else (file, least)


# Copy a directory of gmon.out files, one per interval, into one that names its program (docs/reference/formats.md).


def copy_gmon(inputs: Sequence[str], target: Path, exe: str | None, interval_s: float) -> tuple[str, int, float]:
    """Copy a series' files and the program. Return the program's name, the number of intervals, and samples per second.

    Raises: UsageError without a program; NoDataError if there is no series; OSError.
    """
    if len(inputs) != 1 or not Path(inputs[0]).is_dir():
        raise UsageError("gmon-dir: give one directory, which holds gmon.out files")
    if exe is None:
        raise UsageError(f"{inputs[0]}: gmon.out files do not name their program: give it with --exe")
    if any(entry.name.startswith("gmon-meta.") for entry in Path(inputs[0]).iterdir()):
        raise UsageError(f"{inputs[0]} is already a run directory: incprof phases {inputs[0]}")
    run = open_run(inputs[0], exe=exe)
    if not run.processes[0].series:
        raise UsageError(f"{inputs[0]} is already a run directory: incprof phases {inputs[0]}")
    elf, path = open_elf(exe), os.path.abspath(exe)
    code = [section for section in elf.sections if section.executable]
    if not code:
        raise NoDataError(f"{exe}: contains no code: give the program")
    low, high = min(s.address for s in code), max(s.address + s.size for s in code)
    module = Module(0, path, elf.build_id, low, high, True)
    (target / "symbols").mkdir()
    _copy(exe, target / "symbols" / f"{module_key(module)}.elf")
    intervals, rate_hz = 0, DEFAULT_RATE_HZ
    for process in run.processes:
        for snapshot in files_of(process):
            suffix = f".{process.pid}" if process.pid is not None else ""
            _copy(snapshot.path, target / f"gmon-{snapshot.number}.{process.rank}{suffix}")
            if process is run.processes[0]:
                intervals += 1
                rates = [float(np.max(each.rate)) for each in read_gmon(snapshot.path).histograms if np.size(each.rate)]
                rate_hz = max([rate for rate in rates if rate > 0], default=rate_hz)
        metadata = {
            "format": "incprof-gmon", "version": VERSION, "tool": __version__, "imported": "gmon-dir",
            "app": Path(exe).name, "exe": path, "build_id": elf.build_id, "rank": process.rank, "ranks": None,
            "interval_s": interval_s, "rate_hz": rate_hz,
            "modules": [
                {
                    "id": 0, "path": path, "build_id": elf.build_id, "base": "0x0", "low": hex(low), "high": hex(high),
                    "app": True,
                }
            ],
        }  # fmt: skip
        (target / f"gmon-meta.{process.rank}.json").write_text(json.dumps(metadata), encoding="ascii")
    return Path(exe).name, intervals, rate_hz


def _copy(source: str, target: Path) -> None:
    """Copy a regular file."""
    with open_input(source) as file, target.open("xb") as copy:
        shutil.copyfileobj(file, copy, 1 << 20)
