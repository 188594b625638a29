"""Calls by call instruction, from a stream: executions of each calling line, by phase."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model import IntArray, Process, Run, distinct
from incprof.readers.stream.collect import Collected, collect
from incprof.readers.stream.records import chunks, parse_images
from incprof.readers.stream.window import Source
from incprof.symbols.function_space import FunctionSpace
from incprof.symbols.modules import SymbolLoader
from incprof.symbols.table import NOWHERE
from incprof.symbols.tail_calls import TailCalls

UNKNOWN_CALLER = 0


@dataclass(frozen=True)
class CallSites:
    """Call instructions of a process, a each; a row for each callee. A jump in place of a call counts as one.

    Attributes:
        module: (a,) base names.
        function: (a,) link-time address of the function that contains the instruction.
        address: (a,) the last byte of a call, the first of a jump.
        callee: (a,) an address in the called function.
        calls: (a, k) by phase.
    """

    module: tuple[str, ...]
    function: IntArray
    address: IntArray
    callee: IntArray
    calls: IntArray

    def of_function(self, module: str, begin: int) -> IntArray:
        """Return the rows of the function that begins at an address, ascending."""
        here = np.flatnonzero(self.function == begin)
        return np.array([row for row in here.tolist() if self.module[row] == module], dtype=np.int64)


def read_call_sites(run: Run, process: Process, labels: IntArray, *, exe: str | None = None) -> CallSites:
    """Return the call sites of a process whose callers and callees lie in the same module.

    labels: (n,) phase of each interval, -1 for none. A directory of gmon files has no call sites.

    Raises: NoDataError if the stream can no longer be read.
    """
    phases = int(labels.max(initial=-1)) + 1
    if process.series:
        return _described([], phases, run, exe, None)
    with Source(process.path) as source:
        found = collect(source)
        tables = [_summed(rows) for rows in _rows(found, labels)]
        return _described([_summed(np.concatenate(tables))] if tables else [], phases, run, exe, found)


def _rows(found: Collected, labels: IntArray) -> list[IntArray]:
    """Return (module, phase, from, to, count) of the arcs, (m, 5) for each chunk of intervals."""
    tables = []
    for chunk in chunks(found):
        parts = [np.empty((0, 5), dtype=np.int64)]
        for image in parse_images(found, chunk):
            phase = int(labels[image.interval]) if image.interval < len(labels) else -1
            arcs = image.records
            if phase < 0 or not len(arcs.arcs):
                continue
            same = np.full(len(arcs.arcs), 1, dtype=np.int64)
            ends = (arcs.from_pc.view(np.int64), arcs.self_pc.view(np.int64))
            parts.append(np.stack([same * image.module, same * phase, *ends, arcs.count], axis=1))
        rows = np.concatenate(parts)
        tables.append(_summed(rows[(rows[:, 2] != UNKNOWN_CALLER) & (rows[:, 4] > 0)]))
    return tables


def _summed(rows: IntArray) -> IntArray:
    """Return one row for each (module, phase, from, to), counts added up."""
    if not len(rows):
        return rows
    order = np.lexsort(rows[:, :4].T[::-1])
    rows = rows[order]
    head = np.flatnonzero(np.any(np.diff(rows[:, :4], axis=0, prepend=rows[:1, :4] - 1) != 0, axis=1))
    result: IntArray = rows[head].copy()
    result[:, 4] = np.add.reduceat(rows[:, 4], head)
    return result


def _described(tables: list[IntArray], phases: int, run: Run, exe: str | None, found: Collected | None) -> CallSites:
    """Return rows by call site and callee, with the functions that contain them."""
    none: IntArray = np.empty(0, dtype=np.int64)
    if found is None or not tables:
        return CallSites((), none, none, none, np.empty((0, phases), dtype=np.int64))
    rows = tables[0]
    # A return address may be the first one after its function; the call itself is always inside.
    rows[:, 2] -= 1
    symbols = SymbolLoader(run.directory, exe)
    _at_jumps(rows, found, symbols)
    ends, where = np.unique(rows[:, [0, 2, 3]], axis=0, return_inverse=True)
    calls = np.zeros((len(ends), phases), dtype=np.int64)
    np.add.at(calls, (where.ravel(), rows[:, 1]), rows[:, 4])
    address = ends[:, 1]
    function = np.full(len(ends), NOWHERE, dtype=np.int64)
    for number in distinct(ends[:, 0]).tolist():
        here = ends[:, 0] == number
        table = symbols.load(found.modules[number])
        symbol = table.find(address[here].view(np.uint64))
        begin = np.append(table.address.astype(np.int64), NOWHERE)
        function[here] = begin[symbol]
    names = {number: found.modules[number].name for number in distinct(ends[:, 0]).tolist()}
    return CallSites(tuple(names[n] for n in ends[:, 0].tolist()), function, address, ends[:, 2], calls)


def _at_jumps(rows: IntArray, found: Collected, symbols: SymbolLoader) -> None:
    """Move calls made by jumps to these jumps: as recorded, they come from the caller of the jumping function."""
    modules = tuple(found.modules.values())
    space = FunctionSpace(modules, symbols.load)
    tail_calls = TailCalls(space, modules, symbols.code)
    callee = space.resolve(rows[:, 0], rows[:, 3].view(np.uint64))
    chains, which = tail_calls.lost(rows[:, 0], rows[:, 2].view(np.uint64), callee)
    last = [chain[-1] for chain in chains[1:]]
    places = [(0, 0), *((space.origin(frame.function)[0], frame.address) for frame in last)]
    lost = which > 0
    rows[lost, 0], rows[lost, 2] = np.array(places, dtype=np.int64)[which[lost]].T
