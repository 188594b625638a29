"""Find the addresses of call paths that lie in loops of their functions, for runs without call counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from incprof.model import OUTSIDE_LOOPS, PROFILER, UNKNOWN_CODE, CodeLoops, IntArray, IntervalProfile, Run
from incprof.model.code_loops import Range, innermost, nested
from incprof.safe.jsonstore import JsonStore, Stores
from incprof.symbols.jumps import code_loops_of
from incprof.symbols.python_code import line_at
from incprof.symbols.python_loops import KeptLoops

# Functions on the stack in a smaller share of the run are skipped: each costs a part of a disassembly.
LEAST = 0.005
# Version of the stored Python loops.
VERSION = 1


def with_code_loops(
    run: Run, profile: IntervalProfile, *, exe: str | None = None, stores: Stores = JsonStore
) -> IntervalProfile:
    """Return the profile with the loops of its machine code; unchanged if calls were counted.

    Functions whose code is not available, or not for x86-64, stay unknown. stores: where answers are kept.
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
    out = np.full(len(of_node), UNKNOWN_CODE, dtype=np.int64)
    around, always = [0], np.zeros(len(of_node), dtype=np.bool_)
    for module, functions in sorted(addresses.items()):
        begins = [profile.functions[f].address for f in functions]
        for function, known in zip(
            functions, code_loops_of(run, profile, module, begins, exe=exe, stores=stores), strict=True
        ):
            if known is None:
                continue
            nodes = np.flatnonzero(of_node == function)
            at = paths.address[nodes].astype(np.int64)
            _enter(((target, body) for (_, target), body in known.loops), at, nodes, out, around)
            always[nodes] = np.any([(at >= first) & (at <= last) for first, last in known.always], axis=0)
    sources = KeptLoops(stores(run.directory, "symbols/python-loops.json", VERSION))
    for function in matter:
        _look_into_source(profile, function, sources, out, around)
    sources.save()
    return replace(profile, code_loops=CodeLoops(out, np.array(around, dtype=np.int64), always))


def _enter(
    bodies: Iterable[tuple[int, Sequence[Range]]], at: IntArray, nodes: IntArray, out: IntArray, around: list[int]
) -> None:
    """Record for path nodes of a function, (m,) with their addresses `at`, which of its loops contain them."""
    loops, first = nested(bodies), len(around)
    around += [first + outer if outer >= 0 else 0 for _, outer in loops]
    position = innermost(loops, at)
    out[nodes] = np.where(position >= 0, first + position, OUTSIDE_LOOPS)


def _look_into_source(
    profile: IntervalProfile, function: int, sources: KeptLoops, out: IntArray, around: list[int]
) -> None:
    """Do the same for a Python function: addresses are lines."""
    one = profile.functions[function]
    loops = sources.of(one.file, one.code) if one.code is not None and one.file is not None else None
    if one.code is None or loops is None:
        return
    nodes = np.flatnonzero(profile.paths.function == function)
    lines = np.array([line_at(one.code, int(at)) for at in profile.paths.address[nodes].tolist()], dtype=np.int64)
    _enter(((number, (lines_of,)) for number, lines_of in enumerate(loops)), lines, nodes, out, around)


def _that_matter(profile: IntervalProfile) -> IntArray:
    """Return the functions that are on the stack in enough of the samples, ascending."""
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
