"""Join parts of profiles one after the other, so that separate recordings can be analysed as one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from incprof.model.arrays import BoolArray, IntArray
from incprof.model.functions import Function, Module
from incprof.model.profile import Arcs, Counters, Inlined, IntervalProfile, PathTree, Samples

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def some_intervals(profile: IntervalProfile, use: BoolArray) -> IntervalProfile:
    """Return the profile restricted to some intervals, (n,), times unchanged. Paths and functions stay."""
    place = np.cumsum(use) - 1
    samples, arcs = profile.samples, profile.arcs
    kept = use[profile.interval_of_samples()] if len(samples.time_s) else np.zeros(0, dtype=np.bool_)
    calls = use[arcs.interval]
    counters: dict[str, Any] = {f.name: _rows(getattr(profile.counters, f.name), use) for f in fields(Counters)}
    return replace(
        profile,
        start_s=profile.start_s[use],
        end_s=profile.end_s[use],
        self_s=profile.self_s[np.flatnonzero(use)],
        calls=profile.calls[np.flatnonzero(use)],
        arcs=Arcs(
            place[arcs.interval[calls]].astype(arcs.interval.dtype), arcs.caller[calls], arcs.callee[calls],
            arcs.count[calls],
        ),
        samples=Samples(**{f.name: getattr(samples, f.name)[kept] for f in fields(Samples)}),
        counters=Counters(**counters),
    )  # fmt: skip


def joined(profiles: Sequence[IntervalProfile]) -> IntervalProfile:
    """Return parts of profiles as one run, one after the other, with the metadata of the first.

    Each part begins where the one before it ends. Threads of different parts are different threads. Functions with the
    same module and mangled name are merged, and so are equal call paths and loaded modules. The loops of the joined
    code are not available. A single part is returned unchanged.
    """
    if len(profiles) == 1:
        return profiles[0]
    functions = union(profile.functions for profile in profiles)
    parts = [on_functions(profile, functions) for profile in profiles]
    first = np.concatenate([[0], np.cumsum([part.n_intervals for part in parts])])
    shift = _shifts(parts)
    modules = _Modules()
    paths, nodes, inlined = _paths(parts)
    thread = np.concatenate([[0], np.cumsum([int(part.samples.thread.max(initial=-1)) + 1 for part in parts])])
    samples = [
        Samples(
            part.samples.time_s + shift[i],
            part.samples.thread + thread[i],
            nodes[i][part.samples.node],
            part.samples.kind,
            part.samples.weight,
            modules.add(part.metadata.modules)[part.samples.library],
        )
        for i, part in enumerate(parts)
    ]
    return replace(
        parts[0],
        metadata=replace(parts[0].metadata, modules=tuple(modules.all)),
        start_s=np.concatenate([part.start_s + shift[i] for i, part in enumerate(parts)]),
        end_s=np.concatenate([part.end_s + shift[i] for i, part in enumerate(parts)]),
        self_s=_stacked([part.self_s for part in parts]),
        calls=_stacked([part.calls for part in parts]),
        arcs=Arcs(
            np.concatenate([part.arcs.interval + first[i] for i, part in enumerate(parts)]),
            *(np.concatenate([getattr(part.arcs, name) for part in parts]) for name in ("caller", "callee", "count")),
        ),
        paths=paths,
        samples=Samples(**{f.name: np.concatenate([getattr(s, f.name) for s in samples]) for f in fields(Samples)}),
        counters=Counters(
            **{f.name: np.concatenate([getattr(p.counters, f.name) for p in parts]) for f in fields(Counters)}
        ),
        warnings=(),
        damaged=any(part.damaged for part in parts),
        inlined=inlined,
        code_loops=None,
    )


def _rows(values: IntArray, use: BoolArray) -> IntArray:
    """Return counters of some intervals; counters that the input lacks stay empty."""
    return values[use] if len(values) else values


def _shifts(parts: Sequence[IntervalProfile]) -> list[float]:
    """Return the time shift of each part, seconds; 0 for the first."""
    out, end = [0.0], float(parts[0].end_s[-1])
    for part in parts[1:]:
        out.append(end - float(part.start_s[0]))
        end += float(part.end_s[-1] - part.start_s[0])
    return out


def _stacked(matrices: Sequence[csr_array]) -> csr_array:
    """Stack sparse matrices vertically."""
    from scipy.sparse import csr_array, vstack

    return csr_array(vstack(matrices, format="csr"))


class _Modules:
    """Modules of all parts.

    Attributes:
        all: modules so far; a module keeps the id from the first part that has its path.
    """

    def __init__(self) -> None:
        self.all: list[Module] = []
        self._numbers: dict[tuple[str, str | None], int] = {}

    def add(self, modules: Sequence[Module]) -> IntArray:
        """Add the modules of a part. Return the new id by the old one; the last entry is that of -1."""
        taken = {module.id for module in self.all}
        out = np.arange(max((module.id for module in modules), default=-1) + 2)
        out[-1] = -1
        for module in modules:
            number = self._numbers.get((module.path, module.build_id))
            if number is None:
                number = module.id if module.id not in taken else max(taken) + 1
                taken.add(number)
                self._numbers[module.path, module.build_id] = number
                self.all.append(replace(module, id=number))
            out[module.id] = number
        return out


def _paths(parts: Sequence[IntervalProfile]) -> tuple[PathTree, list[IntArray], Inlined | None]:
    """Return the paths of all parts as one trie, the new node of each part's nodes, and the functions inlined there."""
    new_nodes: dict[tuple[int, int, int], int] = {}
    nodes, below, related = [], dict[int, list[int]](), dict[int, tuple[int, ...]]()
    for part in parts:
        new = [0]
        tree = part.paths
        rows = zip(tree.parent.tolist()[1:], tree.function.tolist()[1:], tree.address.tolist()[1:], strict=True)
        for parent, function, address in rows:
            new.append(new_nodes.setdefault((new[parent], function, address), len(new_nodes) + 1))
        nodes.append(np.array(new, dtype=np.int64))
        if part.inlined is not None:
            below |= {new[node]: functions for node, functions in part.inlined.by_node().items()}
            related |= part.inlined.beside
    table = np.array([(0, -1, 0), *new_nodes], dtype=np.int64)
    paths = PathTree(table[:, 0], table[:, 1], table[:, 2])
    if all(part.inlined is None for part in parts):
        return paths, nodes, None
    count = np.array([len(below.get(node, ())) for node in range(len(table))])
    function = np.array([f for node in range(len(table)) for f in below.get(node, ())], dtype=np.int64)
    return paths, nodes, Inlined(np.concatenate([[0], np.cumsum(count)]), function, related)


# Move a profile to another list of functions, so that those of several processes have the same indices.


# Identifies a function in any process.
Key = tuple[str, str]


def key_of(function: Function) -> Key:
    """Return the key that identifies a function: its module and mangled name."""
    return function.module, function.mangled


def union(lists: Iterable[Sequence[Function]]) -> tuple[Function, ...]:
    """Return the functions of all lists, each once, in order of first occurrence.

    Functions with the same name in one list (static ones) are distinguished by address.
    """
    lists = [list(functions) for functions in lists]
    often = frozenset[Key]().union(*map(_often, lists))
    by_key: dict[tuple[Key, int], Function] = {}
    for functions in lists:
        for function in functions:
            key = key_of(function)
            by_key.setdefault((key, function.address if key in often else 0), function)
    return tuple(by_key.values())


def keys_of(functions: Sequence[Function]) -> list[Key]:
    """Return keys that distinguish the given functions; those of one name include the address."""
    often = _often(functions)
    return [
        (f.module, f"{f.mangled}@{f.address:x}" if key in often else f.mangled)
        for f, key in zip(functions, map(key_of, functions), strict=True)
    ]


def _often(functions: Sequence[Function]) -> frozenset[Key]:
    """Return the keys that more than one of the given functions has."""
    return frozenset(key for key, times in Counter(map(key_of, functions)).items() if times > 1)


def on_functions(profile: IntervalProfile, functions: Sequence[Function]) -> IntervalProfile:
    """Return the profile with these functions in place of its own; functions that it never ran have no time.

    All sums stay the same. A profile that has exactly these functions is returned unchanged.

    Raises:
        ValueError: a function of the profile is not among them.
    """
    place = {key_of(function): number for number, function in reversed(list(enumerate(functions)))}
    exact = {(key_of(function), function.address): number for number, function in enumerate(functions)}
    try:
        new = np.array([exact.get((key_of(f), f.address), place[key_of(f)]) for f in profile.functions], dtype=np.int64)
    except KeyError as missing:
        raise ValueError(f"the functions lack {missing.args[0][1]} of {missing.args[0][0]}") from None
    if len(new) == len(functions) and (new == np.arange(len(new))).all():
        return profile
    arcs, paths = profile.arcs, profile.paths
    return replace(
        profile,
        functions=tuple(functions),
        self_s=_columns(profile.self_s, new, len(functions)),
        calls=_columns(profile.calls, new, len(functions)),
        arcs=_in_order(Arcs(arcs.interval, _moved(arcs.caller, new), _moved(arcs.callee, new), arcs.count)),
        paths=PathTree(paths.parent, _moved(paths.function, new), paths.address),
        inlined=None if profile.inlined is None else _inlined(profile.inlined, new),
    )


def _moved(index: IntArray, new: IntArray) -> IntArray:
    """Return the new indices of functions; negative ones, which stand for no function, stay."""
    if not len(new):
        return index
    moved: IntArray = np.where(index >= 0, new[np.maximum(index, 0)], index).astype(index.dtype)
    return moved


def _columns(matrix: csr_array, new: IntArray, size: int) -> csr_array:
    """Return a sparse (n, f) matrix with its columns moved to new indices, (n, size)."""
    from scipy.sparse import csr_array

    # The arrays of the original matrix must not change.
    moved = csr_array((matrix.data, new[matrix.indices], matrix.indptr), shape=(matrix.shape[0], size), copy=True)
    moved.sort_indices()
    return moved


def _in_order(arcs: Arcs) -> Arcs:
    """Return calls in the order of interval, caller, callee."""
    order = np.lexsort((arcs.callee, arcs.caller, arcs.interval))
    return Arcs(arcs.interval[order], arcs.caller[order], arcs.callee[order], arcs.count[order])


def _inlined(inlined: Inlined, new: IntArray) -> Inlined:
    """Return inlined functions at their new indices."""
    place = new.tolist()
    related = {place[one]: tuple(place[other] for other in others) for one, others in inlined.beside.items()}
    return Inlined(inlined.first, _moved(inlined.function, new), related)
