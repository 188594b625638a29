"""Attribute time in libraries to the library functions that the program called: `MPI_Barrier`, `cblas_dgemm`.

A stack ends in the program's innermost frame: its call instruction names the library function, by the linkage stub or
the slot that it calls through. Time in functions that this one calls in turn is its own. A call through a pointer has
no name, and its time stays the caller's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_array, csr_array, hstack

from incprof.model import (
    LIBRARY,
    OWN,
    PROFILER,
    BoolArray,
    Function,
    IntArray,
    IntervalProfile,
    Module,
    PathTree,
    distinct,
    module_label,
    numbered,
)
from incprof.readers.stream.records import Libs
from incprof.symbols.demangle import display_names
from incprof.symbols.modules import MachineCode

# A library function is shown if it has this share of an interval, in at least this many samples: with less it is
# invisible in any chart, and there would be hundreds. It is the same share from which functions count as active.
VISIBLE, SAMPLES = 0.05, 3

Open = Callable[[Module], MachineCode | None]


def with_library_functions(profile: IntervalProfile, libs: Libs, code: Open) -> IntervalProfile:
    """Return the profile with library functions below their callers; unchanged if there are none.

    libs: "named" for the functions that were called, "separate" for whole libraries (`[libm.so.6]`). code: returns the
    machine code of a module, or None; without it nothing is named.
    """
    if libs not in ("named", "separate"):
        return profile
    profile = with_static_runtime(profile)
    where = np.flatnonzero((profile.samples.kind == LIBRARY) & (profile.samples.node > 0))
    named = _by_module(profile, where) if libs == "separate" else _visible(profile, _by_call(profile, where, code))
    return _with(profile, named, charged=libs == "named") if len(named.sample) else profile


# Functions of CUDA's run-time where it is linked statically, which is nvcc's default, and the names inside it.
STATIC_RUNTIME = re.compile(
    r"cuda(Launch|Mem|Malloc|Free|Stream|Event|Device|Thread|Graph|Get|Set|Host|Func|Peek|Init|Driver|Runtime|Occupancy)\w*$"
    r"|__cuda[A-Z]\w*$|libcudart_static_[0-9a-f]+$"
)


def with_static_runtime(profile: IntervalProfile) -> IntervalProfile:
    """Return the profile with a statically linked run-time as a library.

    The function that the program called has the time of all that it calls.
    """
    named = [STATIC_RUNTIME.match(function.mangled) is not None for function in profile.functions]
    if not any(named):
        return profile
    top = np.full(len(profile.paths.parent), -1, dtype=np.int64)
    nodes = zip(profile.paths.parent.tolist(), profile.paths.function.tolist(), strict=True)
    for place, (parent, function) in enumerate(nodes):
        if place and top[parent] >= 0:
            top[place] = top[parent]
        elif function >= 0 and named[function]:
            top[place] = place
    node = profile.samples.node.astype(np.int64)
    where = np.flatnonzero((top[node] >= 0) & (profile.samples.kind != PROFILER))
    to = top[node[where]]
    self_s = moved(profile, profile.self_s, where, profile.paths.function[to].astype(np.int64))
    node[where] = to
    functions = tuple(
        replace(function, imported=True) if is_named else function
        for function, is_named in zip(profile.functions, named, strict=True)
    )
    samples = replace(profile.samples, node=node.astype(profile.samples.node.dtype))
    return replace(profile, functions=functions, samples=samples, self_s=self_s)


@dataclass(frozen=True)
class _NamedSamples:
    """Samples in libraries, (s,) ascending, and the function of each: an index of names, (module, mangled name)."""

    sample: IntArray
    name: IntArray
    names: Sequence[tuple[str, str]]

    def of(self, keep: BoolArray) -> _NamedSamples:
        """Return some of them, (s,)."""
        return _NamedSamples(self.sample[keep], self.name[keep], self.names)


def _named_samples(sample: IntArray, key: IntArray, name: dict[int, tuple[str, str]]) -> _NamedSamples:
    """Return samples whose keys, (s,), have names."""
    names = sorted(set(name.values()))
    place = {one: number for number, one in enumerate(names)}
    number = np.full(int(key.max(initial=-1)) + 2, -1, dtype=np.int64)
    for each, one in name.items():
        number[each] = place[one]
    # A negative key is invalid: it indexes from the end, and the last place is unused.
    named = _NamedSamples(sample, number[key], names)
    return named.of(named.name >= 0)


def _by_module(profile: IntervalProfile, sample: IntArray) -> _NamedSamples:
    """Return the libraries themselves, by their files."""
    module = profile.samples.library[sample].astype(np.int64)
    path = {m.id: m.name for m in profile.metadata.modules if not m.app}
    libraries = [each for each in distinct(module).tolist() if each in path]
    return _named_samples(sample, module, {each: (path[each], module_label(path[each])) for each in libraries})


def _by_call(profile: IntervalProfile, sample: IntArray, code: Open) -> _NamedSamples:
    """Return the functions named by the call instructions at path nodes, or by the recording."""
    node = profile.samples.node[sample].astype(np.int64)
    module = {m.name: m for m in reversed(profile.metadata.modules) if m.app}
    machine: dict[str, MachineCode | None] = {}
    name_of: dict[int, tuple[str, str]] = {}
    for each in distinct(node).tolist():
        function = int(profile.paths.function[each])
        label = profile.functions[function].module if function >= 0 else ""
        if label not in machine:
            machine[label] = code(module[label]) if label in module else None
        code_of_module, address = machine[label], int(profile.paths.address[each])
        name = module[label].imports.get(address) if label in module else None
        name = name or (code_of_module.imported(address) if code_of_module else None)
        if name is not None:
            name_of[each] = ("", name)
    return _named_samples(sample, node, name_of)


def _visible(profile: IntervalProfile, named: _NamedSamples) -> _NamedSamples:
    """Return those whose function has a visible share of some interval."""
    interval, weight = profile.interval_of_samples(), profile.samples.weight
    total = np.bincount(interval, weights=weight, minlength=profile.n_intervals)
    shape = (profile.n_intervals, len(named.names))
    place_in_table = (interval[named.sample], named.name)
    ticks = coo_array((weight[named.sample].astype(np.float64), place_in_table), shape=shape).tocsr().tocoo()
    row, place = ticks.row, ticks.col
    is_visible = np.zeros(shape[1], dtype=np.bool_)
    is_visible[place[(ticks.data >= VISIBLE * total[row]) & (ticks.data >= SAMPLES)]] = True
    return named.of(is_visible[named.name])


def _with(profile: IntervalProfile, named: _NamedSamples, *, charged: bool) -> IntervalProfile:
    """Insert the functions into the call tree. charged: their self time still counts for their callers."""
    functions = list(profile.functions)
    # Whole libraries that have time by themselves are among the functions already.
    number = {(f.module, f.mangled): i for i, f in enumerate(functions) if not f.is_code and not charged}
    names_used = [named.names[i] for i in distinct(named.name).tolist()]
    names = sorted(set(names_used) - number.keys())
    # Fortran calls mpi_barrier_, and any language dgemm_: the trailing underscore is not part of the name.
    shown = [display_names([mangled], fortran=mangled.endswith("_"))[0] for _, mangled in names]
    for (module, mangled), name in zip(names, shown, strict=True):
        number[module, mangled] = len(functions)
        functions.append(Function(module, mangled, name, 0))
    used = {number[name] for name in names_used}
    functions = [replace(f, imported=True) if i in used else f for i, f in enumerate(functions)]

    callee = np.array([number.get(name, -1) for name in named.names], dtype=np.int64)[named.name]
    node = profile.samples.node.astype(np.int64)
    pairs, which = numbered(node[named.sample] * len(functions) + callee)
    size = len(profile.paths.parent)
    node[named.sample] = size + which
    paths = profile.paths
    tree = PathTree(
        np.concatenate([paths.parent, (pairs // len(functions)).astype(paths.parent.dtype)]),
        np.concatenate([paths.function, (pairs % len(functions)).astype(paths.function.dtype)]),
        np.concatenate([paths.address, np.zeros(len(pairs), dtype=paths.address.dtype)]),
    )
    more = csr_array((profile.n_intervals, len(functions) - len(profile.functions)))
    self_s, calls = (csr_array(hstack([matrix, more])) for matrix in (profile.self_s, profile.calls))
    if charged:
        self_s = moved(profile, self_s, named.sample, callee)
    samples = replace(profile.samples, node=node.astype(profile.samples.node.dtype))
    return replace(
        profile,
        functions=tuple(functions),
        paths=tree,
        samples=samples,
        self_s=self_s,
        calls=calls,
    )


# Move self time between functions, sample by sample: to inlined ones, and to callers.


def moved(profile: IntervalProfile, self_s: csr_array, sample: IntArray, to: IntArray) -> csr_array:
    """Return self times, (n, f), with the time of samples, (s,), moved from the recorded functions to others, (s,)."""
    at = profile.paths.function[profile.samples.node[sample]].astype(np.int64)
    interval = profile.interval_of_samples()[sample]
    seconds = profile.samples.weight[sample] / profile.metadata.rate_hz
    before = coo_array((seconds, (interval, at)), shape=self_s.shape).tocsr()
    # Redundant data of damaged files may be inconsistent: negative times become 0.
    remaining = self_s - before
    remaining.data[remaining.data < 1e-12] = 0.0
    self_time = csr_array(remaining + coo_array((seconds, (interval, to)), shape=self_s.shape).tocsr())
    self_time.eliminate_zeros()
    return self_time


def with_inlined_time(profile: IntervalProfile, libs: Libs) -> IntervalProfile:
    """Return the profile with the self time of inlined functions, which were looked up, moved from their callers.

    libs: how time in libraries is counted.
    """
    kind, node = profile.samples.kind, profile.samples.node
    counts = (kind == OWN) | ((kind == LIBRARY) & (libs in ("named", "caller")))
    moved_samples = np.flatnonzero(counts & (profile.innermost != profile.paths.function)[node])
    return replace(
        profile, self_s=moved(profile, profile.self_s, moved_samples, profile.innermost[node[moved_samples]])
    )
