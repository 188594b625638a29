"""Inlined functions of known addresses: most addresses in the next intervals of a run were looked up before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from incprof.model import PROFILER, BoolArray, FloatArray, Function, Inlined, IntervalProfile
from incprof.readers.stream.moved_time import with_inlined_time
from incprof.readers.stream.records import Libs

# The reported inlined functions at an address of a module, outermost first. An address without any is stored too.
Known = Mapping[tuple[str, int], tuple[Function, ...]]


def known_from(profile: IntervalProfile) -> Known:
    """Return the inlined functions at the call path addresses of a profile for which they were looked up."""
    listed = {} if profile.inlined is None else profile.inlined.by_node()
    functions, paths = profile.functions, profile.paths
    known: dict[tuple[str, int], tuple[Function, ...]] = {}
    for node, (number, address) in enumerate(zip(paths.function.tolist(), paths.address.tolist(), strict=True)):
        if number >= 0 and functions[number].address:
            known[functions[number].module, address] = tuple(functions[i] for i in listed.get(node, ()))
    return known


def with_known(profile: IntervalProfile, known: Known, libs: Libs) -> tuple[IntervalProfile, FloatArray]:
    """Return the profile with known inlined functions, and the share of each interval in code not looked up, (n,).

    That is the share of samples with an address on their path that was not looked up yet. libs: how time in libraries
    is counted.
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
    found = replace(profile, functions=tuple(functions), self_s=self_s, calls=calls, inlined=inlined)
    return with_inlined_time(found, libs), share


def _key(function: Function) -> tuple[str, str, int]:
    """Return the key that identifies a function, independent of its other properties."""
    return function.module, function.mangled, function.address


def _share(profile: IntervalProfile, new: BoolArray) -> FloatArray:
    """Return the share of each interval's samples at the given path nodes, (n,)."""
    use = profile.samples.kind != PROFILER
    row, weight = profile.interval_of_samples()[use], profile.samples.weight[use].astype(np.float64)
    total = np.bincount(row, weights=weight, minlength=profile.n_intervals)
    there = np.bincount(row, weights=weight * new[profile.samples.node[use]], minlength=profile.n_intervals)
    return np.divide(there, total, out=np.zeros(profile.n_intervals), where=total > 0)
