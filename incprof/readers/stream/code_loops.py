"""Which addresses of call paths lie in loops of their functions: asked where nobody has counted calls."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from incprof.jsonstore import JsonStore, Stores
from incprof.model import IN_LOOP, OUTSIDE_LOOPS, PROFILER, UNKNOWN_CODE, IntArray, IntervalProfile, Run
from incprof.readers.symbols.jumps import known_jumps_of
from incprof.readers.symbols.python_code import line_at
from incprof.readers.symbols.python_loops import loops_of

# Functions that are on the stack in less of the run are not looked at: each costs a part of a disassembly.
LEAST = 0.005


def with_code_loops(
    run: Run, profile: IntervalProfile, *, exe: str | None = None, stores: Stores = JsonStore
) -> IntervalProfile:
    """The profile with what its machine code says; itself where calls were counted.

    Functions whose code is not here, or of another processor than x86-64, stay unknown. stores: where answers are kept.
    """
    if profile.counted or not len(profile.samples.time_s):
        return profile
    paths = profile.paths
    of_node = paths.function.astype(np.int64)
    addresses = defaultdict[str, list[int]](list)
    matter = _that_matter(profile).tolist()
    for function in matter:
        one = profile.functions[function]
        if one.is_code and one.address:
            addresses[one.module].append(function)
    out = np.full(len(of_node), UNKNOWN_CODE, dtype=np.int8)
    for module, functions in sorted(addresses.items()):
        begins = [profile.functions[f].address for f in functions]
        for function, jumps in zip(
            functions, known_jumps_of(run, profile, module, begins, exe=exe, stores=stores), strict=True
        ):
            if jumps is None:
                continue
            nodes = np.flatnonzero(of_node == function)
            at = paths.address[nodes].astype(np.int64)
            inside = np.zeros(len(nodes), dtype=np.bool_)
            for source, target in jumps:
                inside |= (at >= target) & (at <= source)
            out[nodes] = np.where(inside, IN_LOOP, OUTSIDE_LOOPS)
    for function in matter:
        _look_into_source(profile, function, out)
    return replace(profile, in_loop=out)


def _look_into_source(profile: IntervalProfile, function: int, out: npt.NDArray[np.int8]) -> None:
    """The same for a function of Python."""
    one = profile.functions[function]
    loops = loops_of(one.file, one.code) if one.code is not None and one.file is not None else None
    if one.code is None or loops is None:
        return
    for node in np.flatnonzero(profile.paths.function == function).tolist():
        line = line_at(one.code, int(profile.paths.address[node]))
        out[node] = IN_LOOP if any(first <= line <= last for first, last in loops) else OUTSIDE_LOOPS


def _that_matter(profile: IntervalProfile) -> IntArray:
    """The functions that are on the stack in enough of the samples, ascending."""
    samples = profile.samples
    own = np.bincount(
        samples.node, weights=samples.weight * (samples.kind != PROFILER), minlength=len(profile.paths.parent)
    )
    total = own.astype(np.float64)
    parent = profile.paths.parent
    for node in range(len(total) - 1, 0, -1):
        total[parent[node]] += total[node]
    known = profile.paths.function >= 0
    of = np.bincount(profile.paths.function[known], weights=total[known], minlength=len(profile.functions))
    return np.flatnonzero(of >= LEAST * max(total[0], 1.0))
