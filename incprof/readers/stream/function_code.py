"""Executed lines of functions, and their calls, by phase: the data by which loops are chosen as places."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.model import LIBRARY, OWN, FloatArray, Function, IntArray, IntervalProfile, Process, Run, distinct
from incprof.model.calltree import inclusive
from incprof.readers.stream.collect import Collected, collect
from incprof.readers.stream.records import chunks, parse_images
from incprof.readers.stream.stream_files import Source
from incprof.symbols.addr2line import Chain, Frame
from incprof.symbols.function_space import FunctionSpace
from incprof.symbols.function_table import NOWHERE
from incprof.symbols.modules import SymbolLoader
from incprof.symbols.python_code import line_at
from incprof.symbols.source_lines import chains_of, inlined_part, nodes_of
from incprof.symbols.tail_calls import TailCalls


@dataclass(frozen=True)
class FunctionCode:
    """Executed code of one function of the profile, by address; k phases.

    Attributes:
        chains: (q,) of the addresses that were sampled or called from, outermost function last; () without lines.
        seconds: (q, k) self time, including called libraries.
        inclusive: (q, k) inclusive time.
        call_chains: (c,) of the call instructions.
        callee: (c,) an address in the called function.
        calls: (c, k).
    """

    chains: tuple[Chain, ...]
    seconds: FloatArray
    inclusive: FloatArray
    call_chains: tuple[Chain, ...]
    callee: IntArray
    calls: IntArray


class CodeReader:
    """Reads the code of some functions of a profile at a time: new addresses are looked up in one batch per module.

    labels: (n,) phase of each interval, -1 for none.
    """

    def __init__(
        self, run: Run, process: Process, profile: IntervalProfile, labels: IntArray, *, exe: str | None = None
    ):
        self._run, self._profile, self._exe = run, profile, exe
        self._phases = int(labels.max(initial=-1)) + 1
        self.own_s = self._seconds_of_nodes(labels)
        self._whole_s = inclusive(profile.paths.parent, self.own_s.T).T
        self._sites: CallSites = read_call_sites(run, process, labels, exe=exe)

    def look_up(self, functions: Sequence[int]) -> dict[int, FunctionCode]:
        """Return the code of functions, by their index in the profile."""
        tables_of = {index: self._addresses(index) for index in sorted(set(functions))}
        chains: dict[tuple[str, int], Chain] = {}
        for module in sorted({self._profile.functions[index].module for index in tables_of}):
            own_tables = [
                tables for index, tables in tables_of.items() if self._profile.functions[index].module == module
            ]
            addresses = sorted(
                {address for own, *_, row in own_tables for address in [*own, *self._sites.address[row].tolist()]}
            )
            answers = chains_of(self._run, self._profile, module, addresses, exe=self._exe)
            chains.update({(module, address): chain for address, chain in zip(addresses, answers, strict=True)})
        return {
            index: self._code(index, chains, own, seconds, inclusive, row)
            for index, (own, seconds, inclusive, row) in tables_of.items()
        }

    def _code(
        self,
        index: int,
        chain_at: dict[tuple[str, int], Chain],
        own: list[int],
        seconds: FloatArray,
        inclusive: FloatArray,
        row: IntArray,
    ) -> FunctionCode:
        """Assemble the looked-up data; of functions that contain inlined ones, only the inlined part."""
        function = self._profile.functions[index]
        is_own = self._sites.function[row] == function.address
        calls = [chain_at[function.module, address] for address in self._sites.address[row].tolist()]
        calls = [c if is_mine else inlined_part(c, function) for c, is_mine in zip(calls, is_own.tolist(), strict=True)]
        use = np.array([is_mine or bool(c) for c, is_mine in zip(calls, is_own.tolist(), strict=True)], dtype=bool)
        begin = set(self._profile.paths.address[self._profile.paths.function == index].tolist())
        chains = [self._chain(function, chain_at[function.module, address], address) for address in own]
        return FunctionCode(
            tuple(c if at in begin else inlined_part(c, function) for at, c in zip(own, chains, strict=True)),
            seconds,
            inclusive,
            tuple(c for c, used in zip(calls, use.tolist(), strict=True) if used),
            self._sites.callee[row[use]],
            self._sites.calls[row[use]],
        )

    @staticmethod
    def _chain(function: Function, chain: Chain, address: int) -> Chain:
        """Return the chain of an address; a Python function contains the lines of its own code."""
        if function.code is None or function.file is None:
            return chain
        return (Frame(function.mangled, function.file, line_at(function.code, address)),)

    def _addresses(self, index: int) -> tuple[list[int], FloatArray, FloatArray, IntArray]:
        """Return a function's addresses on paths (q,), self and inclusive seconds (q, k), and rows of call sites.

        For a function that was inlined, the rows are those of the functions around it.
        """
        tree, function = self._profile.paths, self._profile.functions[index]
        nodes = nodes_of(self._profile, index)
        nodes = nodes[self._whole_s[nodes].any(axis=1)]
        address, where = np.unique(tree.address[nodes], return_inverse=True)
        seconds, inclusive = np.zeros((len(address), self._phases)), np.zeros((len(address), self._phases))
        np.add.at(seconds, where.ravel(), self.own_s[nodes])
        np.add.at(inclusive, where.ravel(), self._whole_s[nodes])
        holders = {index, *tree.function[nodes].tolist()}
        begins = sorted({self._profile.functions[holder].address for holder in holders} - {0})
        rows = [self._sites.of_function(function.module, begin) for begin in begins]
        return address.tolist(), seconds, inclusive, np.concatenate([np.empty(0, dtype=np.int64), *rows])

    def _seconds_of_nodes(self, labels: IntArray) -> FloatArray:
        """Return self seconds of each path node in each phase, shape (p, k)."""
        samples, p = self._profile.samples, len(self._profile.paths.parent)
        label = labels[self._profile.interval_of_samples()] if len(samples.node) else np.empty(0, dtype=np.int64)
        use = np.isin(samples.kind, (OWN, LIBRARY)) & (label >= 0)
        cell = self._profile.own_node[samples.node[use]] * self._phases + label[use]
        ticks = np.bincount(cell, weights=samples.weight[use], minlength=p * self._phases)
        return ticks.reshape(p, self._phases) / self._profile.metadata.rate_hz


# Calls by call instruction, from a stream: executions of each calling line, by phase.


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
        collected = collect(source)
        tables = [_summed(rows) for rows in _rows(collected, labels)]
        return _described([_summed(np.concatenate(tables))] if tables else [], phases, run, exe, collected)


def _rows(collected: Collected, labels: IntArray) -> list[IntArray]:
    """Return (module, phase, from, to, count) of the arcs, (m, 5) for each chunk of intervals."""
    tables = []
    for chunk in chunks(collected):
        parts = [np.empty((0, 5), dtype=np.int64)]
        for image in parse_images(collected, chunk):
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


def _described(
    tables: list[IntArray], phases: int, run: Run, exe: str | None, collected: Collected | None
) -> CallSites:
    """Return rows by call site and callee, with the functions that contain them."""
    none: IntArray = np.empty(0, dtype=np.int64)
    if collected is None or not tables:
        return CallSites((), none, none, none, np.empty((0, phases), dtype=np.int64))
    rows = tables[0]
    # A return address may be the first one after its function; the call itself is always inside.
    rows[:, 2] -= 1
    symbols = SymbolLoader(run.directory, exe)
    _at_jumps(rows, collected, symbols)
    ends, where = np.unique(rows[:, [0, 2, 3]], axis=0, return_inverse=True)
    calls = np.zeros((len(ends), phases), dtype=np.int64)
    np.add.at(calls, (where.ravel(), rows[:, 1]), rows[:, 4])
    address = ends[:, 1]
    function = np.full(len(ends), NOWHERE, dtype=np.int64)
    for number in distinct(ends[:, 0]).tolist():
        in_module = ends[:, 0] == number
        table = symbols.load(collected.modules[number])
        symbol = table.find(address[in_module].view(np.uint64))
        begin = np.append(table.address.astype(np.int64), NOWHERE)
        function[in_module] = begin[symbol]
    names = {number: collected.modules[number].name for number in distinct(ends[:, 0]).tolist()}
    return CallSites(tuple(names[n] for n in ends[:, 0].tolist()), function, address, ends[:, 2], calls)


def _at_jumps(rows: IntArray, collected: Collected, symbols: SymbolLoader) -> None:
    """Move calls made by jumps to these jumps: as recorded, they come from the caller of the jumping function."""
    modules = tuple(collected.modules.values())
    space = FunctionSpace(modules, symbols.load)
    tail_calls = TailCalls(space, modules, symbols.machine_code)
    callee = space.resolve(rows[:, 0], rows[:, 3].view(np.uint64))
    chains, which = tail_calls.lost(rows[:, 0], rows[:, 2].view(np.uint64), callee)
    last = [chain[-1] for chain in chains[1:]]
    places = [(0, 0), *((space.origin(frame.function)[0], frame.address) for frame in last)]
    lost = which > 0
    rows[lost, 0], rows[lost, 2] = np.array(places, dtype=np.int64)[which[lost]].T


# A function's samples and calls by line, of the function itself or of one that was inlined into it.


@dataclass(frozen=True)
class Level:
    """Executed code of a function in one file: at depth 0 the recorded function, at depth 1 one inlined into it.

    Attributes:
        function: mangled name of the inlined one; None at depth 0.
        whole: the time of called functions counts too, at the line of the call.
    """

    code: FunctionCode
    file: str
    depth: int = 0
    function: str | None = None
    whole: bool = False

    def frame(self, chain: Chain) -> Frame | None:
        """Return the frame of a chain at this level; None if its code is not this function's, or has no line."""
        if len(chain) <= self.depth:
            return None
        frame = chain[-1 - self.depth]
        is_own = frame.file == self.file and frame.line and self.function in (None, frame.function)
        return frame if is_own else None

    def seconds(self, phases: Sequence[int]) -> tuple[dict[int, float], dict[int, float]]:
        """Return seconds by line in some phases, and in all others. Inlined code counts at the line that uses it."""
        own: defaultdict[int, float] = defaultdict(float)
        other_phases: defaultdict[int, float] = defaultdict(float)
        selected, total = self._seconds_in(phases), self._time.sum(axis=1)
        for at, chain in enumerate(self.code.chains):
            if frame := self.frame(chain):
                own[frame.line] += float(selected[at])
                other_phases[frame.line] += float(total[at] - selected[at])
        return own, other_phases

    def calls(self) -> dict[tuple[int, int, bool], FloatArray]:
        """Return calls in each phase by (line, callee, whether the call is in inlined code), (k,) each."""
        calls_by_line: dict[tuple[int, int, bool], FloatArray] = {}
        for row, chain in enumerate(self.code.call_chains):
            if frame := self.frame(chain):
                key = frame.line, int(self.code.callee[row]), len(chain) - 1 > self.depth
                calls_by_line[key] = calls_by_line.get(key, np.zeros(self.code.calls.shape[1])) + self.code.calls[row]
        return calls_by_line

    def inner(self, phases: Sequence[int], part: float) -> tuple[Level, Frame] | None:
        """Return the function inlined here with at least this share of the time, and its hottest place; else None."""
        groups: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        seconds = self._seconds_in(phases)
        own = [at for at, chain in enumerate(self.code.chains) if self.frame(chain)]
        for at in own:
            chain = self.code.chains[at]
            if len(chain) > self.depth + 1 and chain[-2 - self.depth].line:
                groups[chain[-2 - self.depth].function, chain[-2 - self.depth].file].append(at)
        total = float(seconds[own].sum())
        for (function, file), rows in groups.items():
            if seconds[rows].sum() >= part * total > 0:
                hottest = max(rows, key=lambda at: (float(seconds[at]), -at))
                inner = Level(self.code, file, self.depth + 1, function, self.whole)
                return inner, self.code.chains[hottest][-2 - self.depth]
        return None

    @property
    def _time(self) -> FloatArray:
        """Return seconds of each address in each phase, shape (q, k)."""
        return self.code.inclusive if self.whole else self.code.seconds

    def _seconds_in(self, phases: Sequence[int]) -> FloatArray:
        """Return seconds of each address in some phases, shape (q,)."""
        total: FloatArray = self._time[:, list(phases)].sum(axis=1)
        return total
