"""A profile on another list of functions: so that those of several processes have the same places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from incprof.model.arrays import IntArray
from incprof.model.profile import Arcs, Function, Inlined, IntervalProfile, PathTree

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# What a function is known by, in whatever process.
Key = tuple[str, str]


def key_of(function: Function) -> Key:
    """Return what a function is known by: its module and mangled name."""
    return function.module, function.mangled


def union(lists: Iterable[Sequence[Function]]) -> tuple[Function, ...]:
    """Return the functions of all lists, each once, in the order in which they come."""
    found: dict[Key, Function] = {}
    for functions in lists:
        for function in functions:
            found.setdefault(key_of(function), function)
    return tuple(found.values())


def on_functions(profile: IntervalProfile, functions: Sequence[Function]) -> IntervalProfile:
    """Return the profile with these functions in place of its own; those that it never ran have no time.

    All sums stay what they are. A profile that has just these functions is returned as it is.

    Raises:
        ValueError: a function of the profile is not among them.
    """
    place = {key_of(function): number for number, function in enumerate(functions)}
    try:
        new = np.array([place[key_of(function)] for function in profile.functions], dtype=np.int64)
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
    """Return the new places of functions; what stands for none, below 0, stays."""
    if not len(new):
        return index
    moved: IntArray = np.where(index >= 0, new[np.maximum(index, 0)], index).astype(index.dtype)
    return moved


def _columns(matrix: csr_array, new: IntArray, size: int) -> csr_array:
    """Return a sparse (n, f) matrix with its columns at other places, (n, size)."""
    from scipy.sparse import csr_array

    # The arrays of the other one stay as they are.
    moved = csr_array((matrix.data, new[matrix.indices], matrix.indptr), shape=(matrix.shape[0], size), copy=True)
    moved.sort_indices()
    return moved


def _in_order(arcs: Arcs) -> Arcs:
    """Return calls in the order of interval, caller, callee."""
    order = np.lexsort((arcs.callee, arcs.caller, arcs.interval))
    return Arcs(arcs.interval[order], arcs.caller[order], arcs.callee[order], arcs.count[order])


def _inlined(inlined: Inlined, new: IntArray) -> Inlined:
    """Return inlined functions at their new places."""
    place = new.tolist()
    beside = {place[one]: tuple(place[other] for other in others) for one, others in inlined.beside.items()}
    return Inlined(inlined.first, _moved(inlined.function, new), beside)
