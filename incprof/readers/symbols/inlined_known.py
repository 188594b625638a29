"""Inlined functions that were looked up before: the next intervals of a run are full of addresses that are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from incprof.model import PROFILER, BoolArray, FloatArray, Function, Inlined, IntervalProfile

# The inlined functions that count at an address of a module, outermost first. Where none does, it is known as well.
Known = Mapping[tuple[str, int], tuple[Function, ...]]


def known_from(profile: IntervalProfile) -> Known:
    """What there is at the addresses on the call paths of a profile whose inlined functions were looked up."""
    listed = {} if profile.inlined is None else profile.inlined.by_node()
    functions, paths = profile.functions, profile.paths
    known: dict[tuple[str, int], tuple[Function, ...]] = {}
    for node, (number, address) in enumerate(zip(paths.function.tolist(), paths.address.tolist(), strict=True)):
        if number >= 0 and functions[number].address:
            known[functions[number].module, address] = tuple(functions[i] for i in listed.get(node, ()))
    return known


def with_known(profile: IntervalProfile, known: Known) -> tuple[IntervalProfile, FloatArray]:
    """The profile with the inlined functions that are known, and the part of each interval in code that is not, (n,).

    That is a sample with an address on its path that nobody has looked up.
    """
    paths, number = profile.paths, {_key(function): index for index, function in enumerate(profile.functions)}
    functions = list(profile.functions)
    count = np.zeros(len(paths.parent) + 1, dtype=np.int64)
    inner: list[int] = []
    new = np.zeros(len(paths.parent), dtype=bool)
    rows = zip(paths.parent.tolist(), paths.function.tolist(), paths.address.tolist(), strict=True)
    for node, (parent, host, address) in enumerate(rows):
        new[node] = node > 0 and new[parent]
        if host < 0 or not profile.functions[host].address:
            continue
        here = known.get((profile.functions[host].module, address))
        new[node] |= here is None
        for function in here or ():
            inner.append(number.setdefault(_key(function), len(functions)))
            if inner[-1] == len(functions):
                functions.append(function)
        count[node + 1] = len(here or ())
    share = _share(profile, new)
    if not inner:
        return profile, share
    self_s, calls = profile.self_s.copy(), profile.calls.copy()
    for matrix in (self_s, calls):
        matrix.resize((profile.n_intervals, len(functions)))
    inlined = Inlined(np.cumsum(count), np.array(inner, dtype=np.int64), {})
    return replace(profile, functions=tuple(functions), self_s=self_s, calls=calls, inlined=inlined), share


def _key(function: Function) -> tuple[str, str, int]:
    """What makes it that function, whatever else is known of it."""
    return function.module, function.mangled, function.address


def _share(profile: IntervalProfile, new: BoolArray) -> FloatArray:
    """The part of each interval's samples at some path nodes, (n,)."""
    use = profile.samples.kind != PROFILER
    row, weight = profile.interval_of_samples()[use], profile.samples.weight[use].astype(np.float64)
    total = np.bincount(row, weights=weight, minlength=profile.n_intervals)
    there = np.bincount(row, weights=weight * new[profile.samples.node[use]], minlength=profile.n_intervals)
    return np.divide(there, total, out=np.zeros(profile.n_intervals), where=total > 0)
