"""Which addresses of call paths lie in loops of their functions: asked where nobody has counted calls."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np

from incprof.jsonstore import JsonStore, Stores
from incprof.model import OUTSIDE_LOOPS, PROFILER, UNKNOWN_CODE, CodeLoops, IntArray, IntervalProfile, Run
from incprof.model.code_loops import innermost, nested
from incprof.readers.symbols.jumps import code_loops_of

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
    for function in _that_matter(profile).tolist():
        one = profile.functions[function]
        if one.is_code and one.address:
            addresses[one.module].append(function)
    out = np.full(len(of_node), UNKNOWN_CODE, dtype=np.int64)
    around = [0]
    for module, functions in sorted(addresses.items()):
        begins = [profile.functions[f].address for f in functions]
        for function, known in zip(
            functions, code_loops_of(run, profile, module, begins, exe=exe, stores=stores), strict=True
        ):
            if known is None:
                continue
            nodes = np.flatnonzero(of_node == function)
            at = paths.address[nodes].astype(np.int64)
            loops, first = nested((target, body) for (_, target), body in known), len(around)
            around += [first + outer if outer >= 0 else 0 for _, outer in loops]
            position = innermost(loops, at)
            out[nodes] = np.where(position >= 0, first + position, OUTSIDE_LOOPS)
    return replace(profile, code_loops=CodeLoops(out, np.array(around, dtype=np.int64)))


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
