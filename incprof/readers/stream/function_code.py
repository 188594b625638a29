"""Executed lines of functions, and their calls, by phase: the data by which loops are chosen as places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.model import LIBRARY, OWN, FloatArray, Function, IntArray, IntervalProfile, Process, Run
from incprof.readers.stream.callsites import CallSites, read_call_sites
from incprof.symbols.addr2line import Chain, Frame
from incprof.symbols.python_code import line_at
from incprof.symbols.source_lines import chains_of, inlined_part, nodes_of


@dataclass(frozen=True)
class FunctionCode:
    """Executed code of one function of the profile, by address; k phases.

    Attributes:
        chains: (q,) of the addresses that were sampled or called from, outermost function last; () without lines.
        seconds: (q, k) self time, including called libraries.
        whole: (q, k) inclusive time.
        call_chains: (c,) of the call instructions.
        callee: (c,) an address in the called function.
        calls: (c, k).
    """

    chains: tuple[Chain, ...]
    seconds: FloatArray
    whole: FloatArray
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
        self._whole_s = _with_below(profile.paths.parent, self.own_s)
        self._sites: CallSites = read_call_sites(run, process, labels, exe=exe)

    def look_up(self, functions: Sequence[int]) -> dict[int, FunctionCode]:
        """Return the code of functions, by their index in the profile."""
        wanted = {index: self._addresses(index) for index in sorted(set(functions))}
        known: dict[tuple[str, int], Chain] = {}
        for module in sorted({self._profile.functions[index].module for index in wanted}):
            mine = [tables for index, tables in wanted.items() if self._profile.functions[index].module == module]
            asked = sorted({address for own, *_, row in mine for address in [*own, *self._sites.address[row].tolist()]})
            answers = chains_of(self._run, self._profile, module, asked, exe=self._exe)
            known.update({(module, address): chain for address, chain in zip(asked, answers, strict=True)})
        return {
            index: self._code(index, known, own, seconds, whole, row)
            for index, (own, seconds, whole, row) in wanted.items()
        }

    def _code(
        self,
        index: int,
        known: dict[tuple[str, int], Chain],
        own: list[int],
        seconds: FloatArray,
        whole: FloatArray,
        row: IntArray,
    ) -> FunctionCode:
        """Assemble the looked-up data; of functions that contain inlined ones, only the inlined part."""
        function = self._profile.functions[index]
        mine = self._sites.function[row] == function.address
        calls = [known[function.module, address] for address in self._sites.address[row].tolist()]
        calls = [c if is_mine else inlined_part(c, function) for c, is_mine in zip(calls, mine.tolist(), strict=True)]
        use = np.array([is_mine or bool(c) for c, is_mine in zip(calls, mine.tolist(), strict=True)], dtype=bool)
        begin = set(self._profile.paths.address[self._profile.paths.function == index].tolist())
        chains = [self._chain(function, known[function.module, address], address) for address in own]
        return FunctionCode(
            tuple(c if at in begin else inlined_part(c, function) for at, c in zip(own, chains, strict=True)),
            seconds,
            whole,
            tuple(c for c, used in zip(calls, use.tolist(), strict=True) if used),
            self._sites.callee[row[use]],
            self._sites.calls[row[use]],
        )

    @staticmethod
    def _chain(function: Function, known: Chain, address: int) -> Chain:
        """Return the chain of an address; a Python function contains the lines of its own code."""
        if function.code is None or function.file is None:
            return known
        return (Frame(function.mangled, function.file, line_at(function.code, address)),)

    def _addresses(self, index: int) -> tuple[list[int], FloatArray, FloatArray, IntArray]:
        """Return a function's addresses on paths (q,), self and inclusive seconds (q, k), and rows of call sites.

        For a function that was inlined, the rows are those of the functions around it.
        """
        tree, function = self._profile.paths, self._profile.functions[index]
        nodes = nodes_of(self._profile, index)
        nodes = nodes[self._whole_s[nodes].any(axis=1)]
        address, where = np.unique(tree.address[nodes], return_inverse=True)
        seconds, whole = np.zeros((len(address), self._phases)), np.zeros((len(address), self._phases))
        np.add.at(seconds, where.ravel(), self.own_s[nodes])
        np.add.at(whole, where.ravel(), self._whole_s[nodes])
        holders = {index, *tree.function[nodes].tolist()}
        begins = sorted({self._profile.functions[holder].address for holder in holders} - {0})
        rows = [self._sites.of_function(function.module, begin) for begin in begins]
        return address.tolist(), seconds, whole, np.concatenate([np.empty(0, dtype=np.int64), *rows])

    def _seconds_of_nodes(self, labels: IntArray) -> FloatArray:
        """Return self seconds of each path node in each phase, shape (p, k)."""
        samples, p = self._profile.samples, len(self._profile.paths.parent)
        label = labels[self._profile.interval_of_samples()] if len(samples.node) else np.empty(0, dtype=np.int64)
        use = np.isin(samples.kind, (OWN, LIBRARY)) & (label >= 0)
        cell = self._profile.own_node[samples.node[use]] * self._phases + label[use]
        ticks = np.bincount(cell, weights=samples.weight[use], minlength=p * self._phases)
        return ticks.reshape(p, self._phases) / self._profile.metadata.rate_hz


def _with_below(parent: IntArray, own: FloatArray) -> FloatArray:
    """Return inclusive values of each path node, shape (p, k) like `own`."""
    total = own.copy()
    node = np.flatnonzero(own.any(axis=1))
    amount = own[node]
    while len(node):
        up = node > 0
        node, amount = parent[node[up]], amount[up]
        np.add.at(total, node, amount)
    return total
