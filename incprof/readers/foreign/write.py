"""Write timelines as the streams and symbols of a run directory (docs/reference/formats.md)."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from incprof import __version__
from incprof.model import LIBRARY, OWN, UNKNOWN, Module
from incprof.readers.foreign.layout import FIRST, Layout, Placed, function_of
from incprof.readers.foreign.ticks import Ticks, in_ticks
from incprof.readers.foreign.timeline import Timeline
from incprof.readers.stream import images
from incprof.readers.stream.encode import image, varints, zigzag
from incprof.readers.stream.metadata import VERSION
from incprof.symbols.elf.symbols import symbols_file
from incprof.symbols.source import module_key
from incprof.symbols.source_lines import said_lines

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
        out.write(image(images.METADATA, _metadata(timeline, ticks, layout, kind, rank)))
        _write_intervals(out, timeline, ticks, layout)
        out.write(image(images.END, b"{}", interval=len(ticks.end_s)))
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
    said = {
        "format": "incprof-stream", "version": VERSION, "tool": __version__, "imported": kind,
        "app": first.path.rpartition("/")[2] or first.path, "exe": first.path, "build_id": first.build_id,
        "argv": [first.path], "cwd": "", "host": "", "pid": timeline.pid or 0, "ppid": 0, "rank": rank, "ranks": None,
        "launch": "", "interval_s": round(length, 9), "rate_hz": round(1 / ticks.tick_s, 9), "clock": "cpu",
        "ordered": timeline.ordered, "start_unix_ns": timeline.start_unix_ns,
        "start_mono_ns": max(round(ticks.begins_s * NS), 0), "arch": "", "forked": False, "modules": modules,
    }  # fmt: skip
    return json.dumps(said).encode("ascii")


def _write_symbols(directory: Path, placed: Placed) -> None:
    """Write the symbols of a module, and its known lines; other processes may have the same ones."""
    module = Module(placed.number, placed.path, placed.build_id, 0, 0, True)
    path = directory / "symbols" / f"{module_key(module)}.elf"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(symbols_file(placed.symbols, FIRST, max(placed.end, FIRST + 1)))
    if placed.chains:
        chains = {f"{address:#x}": [list(place)] for address, place in sorted(placed.chains.items())}
        said_lines(str(directory), module).save({"chains": chains})


def _write_intervals(out: BinaryIO, timeline: Timeline, ticks: Ticks, layout: Layout) -> None:
    """Write interval after interval, each with its new nodes, samples, calls and counters."""
    nodes = _Nodes(timeline, layout)
    borders = np.searchsorted(ticks.interval, np.arange(len(ticks.end_s) + 1))
    calls: dict[int, list[tuple[int, int, int]]] = {}
    for (interval, frame), count in (timeline.calls or {}).items():
        calls.setdefault(interval, []).append((*layout.starts[function_of(frame)], count))
    for number, (first, last) in enumerate(zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True)):
        here = slice(first, last)
        payload = nodes.new(ticks.node[here])
        if payload:
            out.write(image(images.NODES, payload, interval=number))
        for module, records in _arcs(calls.get(number, [])):
            out.write(image(images.OWN_TIME, records, module=module, interval=number))
        out.write(image(images.SAMPLES, _samples(ticks, here, number, nodes, len(layout.modules)), interval=number))
        out.write(image(images.INTERVAL, _counters(ticks, here, number, ordered=timeline.ordered), interval=number))


class _Nodes:
    """Numbers nodes in the order in which they are written."""

    def __init__(self, timeline: Timeline, layout: Layout):
        self._layout, self._parent = layout, timeline.paths.parent
        self.number = np.zeros(len(self._parent), dtype=np.int64)
        self._written = 0

    def new(self, used: np.ndarray) -> bytes:
        """Return the payload for nodes that samples use for the first time; empty if there are none."""
        wanted: set[int] = set()
        for node in np.unique(used[self.number[used] == 0]).tolist():
            while node and not self.number[node] and node not in wanted:
                wanted.add(node)
                node = self._parent[node]
        if not wanted:
            return b""
        rows = sorted(wanted)
        self.number[rows] = np.arange(self._written + 1, self._written + 1 + len(rows))
        first, self._written = self._written + 1, self._written + len(rows)
        number = self.number[rows]
        parent = self.number[[self._parent[node] for node in rows]]
        module, address = np.array([self._layout.node(node) for node in rows], dtype=np.int64).T
        table = np.stack([number - parent, module, zigzag(np.diff(address, prepend=0)).view(np.int64)], axis=1)
        return varints(np.concatenate([[first, len(rows)], table.ravel()]).astype(np.int64).view(np.uint64))


def _samples(ticks: Ticks, here: slice, interval: int, nodes: _Nodes, modules: int) -> bytes:
    """Return the samples of an interval."""
    begin, length = ticks.start_s[interval], ticks.end_s[interval] - ticks.start_s[interval]
    at = np.rint(np.clip(ticks.time_s[here] - begin, 0.0, length) * 1e6).astype(np.int64)
    node, library, weight = nodes.number[ticks.node[here]], ticks.library[here], ticks.weight[here]
    kind = np.where(node == 0, UNKNOWN, np.where(library >= 0, LIBRARY, OWN))
    heavy = weight != 1
    delay = np.diff(at, prepend=0)
    table = np.stack([delay, ticks.thread[here], node * 8 + kind * 2 + heavy, modules + library, weight], axis=1)
    there = np.ones(table.shape, dtype=bool)
    there[:, 3], there[:, 4] = kind == LIBRARY, heavy
    return varints(table[there].astype(np.uint64))


def _counters(ticks: Ticks, here: slice, interval: int, *, ordered: bool) -> bytes:
    """Return the counters of an interval. At least one thread existed all the time."""
    low, high = ticks.start_s[interval], ticks.end_s[interval]
    weight = int(ticks.weight[here].sum())
    cpu = weight * ticks.tick_s
    inside = np.clip(np.minimum(ticks.lives[:, 1], high) - np.maximum(ticks.lives[:, 0], low), 0.0, None)
    alive = int(np.count_nonzero((ticks.lives[:, 0] < high) & (ticks.lives[:, 1] >= high)))
    spans = [low, high, cpu, max(float(inside.sum()), high - low, cpu)]
    start, end, cpu_ns, thread_ns = (round(span * NS) for span in spans)
    # Without an order, each row stands for as many samples as it has ticks.
    samples = len(ticks.weight[here]) if ordered else weight
    lost = int(ticks.lost[interval])
    return FIELDS.pack(start, max(end, start + 1), cpu_ns, thread_ns, 0, 0, samples, weight, 0, lost, 0, max(alive, 1))


def _arcs(calls: list[tuple[int, int, int]]) -> Iterator[tuple[int, bytes]]:
    """Yield modules, and the records of calls of functions in each, (module, address, count); callers are unknown."""
    for module in sorted({module for module, _, _ in calls}):
        records = bytearray()
        for _, address, count in sorted(call for call in calls if call[0] == module):
            left = count
            while left > 0:
                records += ARC.pack(1, 0, address, min(left, MOST_CALLS))
                left -= MOST_CALLS
        yield module, bytes(records)
