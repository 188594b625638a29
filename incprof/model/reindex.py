"""Move a profile to another list of functions, so that those of several processes have the same indices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from incprof.model.arrays import IntArray
from incprof.model.profile import Arcs, Function, Inlined, IntervalProfile, PathTree

if TYPE_CHECKING:
    from scipy.sparse import csr_array

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
    found: dict[tuple[Key, int], Function] = {}
    for functions in lists:
        for function in functions:
            key = key_of(function)
            found.setdefault((key, function.address if key in often else 0), function)
    return tuple(found.values())


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
    beside = {place[one]: tuple(place[other] for other in others) for one, others in inlined.beside.items()}
    return Inlined(inlined.first, _moved(inlined.function, new), beside)
