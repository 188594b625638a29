"""Collect the ticks and calls of a made-up run, and build an interval profile from them as the readers would."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from scipy.sparse import csr_array

from incprof.model import (
    OWN,
    ROOT,
    Arcs,
    Counters,
    FloatArray,
    Function,
    IntArray,
    IntervalProfile,
    Metadata,
    PathTree,
    Samples,
)

Path = tuple[str, ...]
APP = "synthetic"


class Recorder:
    """The recorded data of intervals with the boundaries `edges` (n + 1,), seconds."""

    def __init__(self, edges: FloatArray):
        self.edges = edges
        self.n = len(edges) - 1
        self._ticks: dict[Path, list[FloatArray]] = defaultdict(list)
        self._calls: dict[tuple[str | None, str], IntArray] = {}

    def interval_of(self, times: FloatArray) -> IntArray:
        """Return the interval of each time, shape (len(times),)."""
        return np.clip(np.searchsorted(self.edges, times, side="right") - 1, 0, self.n - 1).astype(np.int64)

    def per_interval(self, times: FloatArray) -> IntArray:
        """Count times per interval, shape (n,); times after the last boundary are ignored."""
        recorded = times[times < self.edges[-1]]
        return np.bincount(self.interval_of(recorded), minlength=self.n).astype(np.int64)

    def ticks(self, path: Path, times: FloatArray) -> None:
        """Record samples of a call path, outermost function first."""
        if len(times):
            self._ticks[path].append(times)

    def calls(self, caller: str | None, callee: str, counts: IntArray) -> None:
        """Record calls per interval (n,)."""
        key = (caller, callee)
        earlier = self._calls.get(key)
        self._calls[key] = counts.astype(np.int64) if earlier is None else earlier + counts

    def profile(
        self, interval_s: float, rate_hz: float, lost: IntArray, empty: IntArray, rng: np.random.Generator
    ) -> IntervalProfile:
        """Build the profile.

        lost: intervals that are left out. empty: intervals without samples and calls. Functions come in an order drawn
        by `rng`, because a linker's order is unrelated to phases too.
        """
        names = sorted({name for path in self._ticks for name in path} | {callee for _, callee in self._calls})
        names = [names[i] for i in rng.permutation(len(names))]
        index = {name: i for i, name in enumerate(names)}
        keep = np.ones(self.n, dtype=np.bool_)
        keep[lost] = False
        without_samples = ~keep
        without_samples[empty] = True
        new = np.cumsum(keep) - 1
        paths, samples, row, leaf = self._samples(index, without_samples)
        n, f = int(keep.sum()), len(names)
        own = csr_array((np.full(len(row), 1.0 / rate_hz), (new[row], leaf)), shape=(n, f))
        own.sum_duplicates()
        arcs, calls = self._arcs(index, without_samples, new, (n, f))
        width = np.diff(self.edges)[keep]
        count = np.bincount(new[row], minlength=n).astype(np.int64)
        zero, none = np.zeros(n), np.zeros(n, dtype=np.int64)
        functions = tuple(Function(APP, name, name, 4096 + 64 * i) for i, name in enumerate(names))
        return IntervalProfile(
            metadata=Metadata(APP, None, 0, 1, interval_s, rate_hz),
            start_s=self.edges[:-1][keep],
            end_s=self.edges[1:][keep],
            functions=functions,
            self_s=own,
            calls=calls,
            arcs=arcs,
            paths=paths,
            samples=samples,
            counters=Counters(
                count / rate_hz, width, zero, zero, zero, count, none, none, none + 1, none, none, zero, zero
            ),
        )

    def _samples(
        self, index: dict[str, int], without_samples: np.ndarray[tuple[int], np.dtype[np.bool_]]
    ) -> tuple[PathTree, Samples, IntArray, IntArray]:
        """Return the trie, the samples in time order, and the interval and function of each."""
        nodes: dict[Path, int] = {(): 0}
        parents, functions, addresses = [0], [ROOT], [0]
        times, node_of = [], []
        for path in sorted(self._ticks):
            for depth in range(1, len(path) + 1):
                if path[:depth] not in nodes:
                    nodes[path[:depth]] = len(parents)
                    parents.append(nodes[path[: depth - 1]])
                    functions.append(index[path[depth - 1]])
                    addresses.append(4096 + 64 * index[path[depth - 1]] + 8)
            at = np.concatenate(self._ticks[path])
            times.append(at)
            node_of.append(np.full(len(at), nodes[path]))
        time = np.concatenate([np.zeros(0), *times])
        node = np.concatenate([np.zeros(0, dtype=np.int64), *node_of]).astype(np.int64)
        order = np.argsort(time, kind="stable")
        time, node = time[order], node[order]
        row = self.interval_of(time)
        with_samples = ~without_samples[row]
        time, node, row = time[with_samples], node[with_samples], row[with_samples]
        zero = np.zeros(len(time), dtype=np.int64)
        tree = PathTree(np.array(parents), np.array(functions), np.array(addresses))
        samples = Samples(time, zero, node, zero + OWN, zero + 1, zero - 1)
        return tree, samples, row, tree.function[node]

    def _arcs(
        self,
        index: dict[str, int],
        without_samples: np.ndarray[tuple[int], np.dtype[np.bool_]],
        new: IntArray,
        shape: tuple[int, int],
    ) -> tuple[Arcs, csr_array]:
        """Return the calls as a table of arcs, and per function."""
        rows = []
        for (caller, callee), counts in self._calls.items():
            at = np.flatnonzero((counts > 0) & ~without_samples)
            caller_index = -1 if caller is None else index[caller]
            rows.append(
                np.stack([new[at], np.full(len(at), caller_index), np.full(len(at), index[callee]), counts[at]])
            )
        table = np.concatenate([np.zeros((4, 0), dtype=np.int64), *rows], axis=1)
        table = table[:, np.lexsort((table[2], table[1], table[0]))]
        calls = csr_array((table[3], (table[0], table[2])), shape=shape)
        calls.sum_duplicates()
        return Arcs(table[0], table[1], table[2], table[3]), calls
