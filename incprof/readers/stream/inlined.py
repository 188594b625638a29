"""Inlined functions on call paths, from the program's debug information.

Only inlined functions are reported that are written in the program's own source and contain a loop in the machine code.
Accessors, operators and the standard library's templates stay part of their callers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from incprof.model import (
    OUTSIDE_LOOPS,
    PROFILER,
    UNKNOWN_CODE,
    BoolArray,
    CodeLoops,
    FloatArray,
    Function,
    Inlined,
    IntArray,
    IntervalProfile,
    Run,
)
from incprof.model.calltree import Range, inclusive, innermost, nested
from incprof.readers.stream.library_functions import with_inlined_time
from incprof.readers.stream.records import Libs
from incprof.safe.jsonstore import JsonStore, Stores
from incprof.symbols.addr2line import Chain
from incprof.symbols.control_flow import Jump
from incprof.symbols.demangle import display_names
from incprof.symbols.function_space import is_shared_module, is_shared_source
from incprof.symbols.jumps import Key, code_loops_of, functions_called_with, is_own, jumps_of, loop_owner
from incprof.symbols.python_code import KeptLoops, line_at
from incprof.symbols.source_lines import chains_of, gap_of

# Number of a module's addresses that are looked up, those with the most time.
MOST_ADDRESSES = 20_000
# Inlined functions are looked up, and reported, only for functions with this share of the run's time.
LEAST = 0.002


@dataclass(frozen=True)
class _Code:
    """Data on a module's part of the call paths.

    Attributes:
        nodes: of its functions.
        chains: at their addresses.
        lines: first known line of each inlined function that is reported.
        related: see functions_called_with, for functions that have it.
    """

    label: str
    nodes: list[int]
    chains: dict[int, Chain]
    lines: dict[Key, int]
    related: dict[Key, set[int]]


@dataclass(frozen=True)
class _Binaries:
    """Look-ups in the binaries of a recorded process. stores: where their answers are kept."""

    run: Run
    profile: IntervalProfile
    exe: str | None
    stores: Stores

    def chains(self, label: str, addresses: Sequence[int]) -> list[Chain]:
        """Return the inlined functions at each address of a module."""
        return chains_of(self.run, self.profile, label, addresses, exe=self.exe, stores=self.stores)

    def jumps(self, label: str, functions: Sequence[int]) -> list[list[Jump]]:
        """Return the backward jumps in each function of a module."""
        return jumps_of(self.run, self.profile, label, functions, exe=self.exe, stores=self.stores)


def with_inlined(
    run: Run, profile: IntervalProfile, libs: Libs, *, exe: str | None = None, stores: Stores = JsonStore
) -> IntervalProfile:
    """Return the profile with the inlined functions of its call paths; unchanged if none are known.

    They follow the other functions, with the self time of their code, and no calls. Functions from a header of the
    system or a package are marked; modules of packages are not examined. libs: how time in libraries is counted.
    stores: where answers from the binaries are kept.
    """
    binaries, ticks = _Binaries(run, profile, exe, stores), _inclusive(profile)
    labels = sorted({f.module for f in profile.functions if f.address} - _packages(profile))
    codes = [_look_up(binaries, label, ticks) for label in labels] if ticks[0] > 0 else []
    gaps = [gap_of(run, profile, code.label, list(code.chains.values()), exe=exe) for code in codes]
    profile = replace(profile, warnings=(*profile.warnings, *filter(None, gaps))) if any(gaps) else profile
    functions = list(profile.functions)
    for code in codes:
        for index in _of_the_system(profile, code):
            functions[index] = replace(functions[index], system=True)
    number = _numbered(functions, codes)
    inlined = _inlined(profile, codes, number)
    if functions == list(profile.functions) and not len(inlined.function):
        return profile
    shape = (profile.n_intervals, len(functions))
    self_s, calls = (csr_array((m.data, m.indices, m.indptr), shape=shape) for m in (profile.self_s, profile.calls))
    functions_known = replace(profile, functions=tuple(functions), self_s=self_s, calls=calls, inlined=inlined)
    return with_inlined_time(functions_known, libs)


def _packages(profile: IntervalProfile) -> set[str]:
    """Return the labels of the modules that came with a package."""
    modules = profile.metadata.modules
    program = next((module.path for module in modules if module.id == 0), "")
    return {module.name for module in modules if is_shared_module(module.path, program)}


def _inclusive(profile: IntervalProfile) -> FloatArray:
    """Return inclusive ticks of each path node, shape (p,)."""
    use = profile.samples.kind != PROFILER
    node, parent = profile.samples.node[use], profile.paths.parent
    return inclusive(parent, np.bincount(node, weights=profile.samples.weight[use], minlength=len(parent)))


def _look_up(binaries: _Binaries, label: str, ticks: FloatArray) -> _Code:
    """Look up the addresses of a module's functions, and the loops of those that others were inlined into."""
    profile = binaries.profile
    own = np.array([f.module == label and f.address > 0 for f in profile.functions] + [False], dtype=bool)
    nodes = np.flatnonzero(own[np.maximum(profile.paths.function, -1)] & (ticks > 0))
    address, where = np.unique(profile.paths.address[nodes], return_inverse=True)
    weight = np.bincount(where.ravel(), weights=ticks[nodes], minlength=len(address))
    looked_up = np.sort(address[np.argsort(-weight, kind="stable")[:MOST_ADDRESSES]]).tolist()
    chains = dict(zip(looked_up, binaries.chains(label, looked_up), strict=True))

    related = _with_loops(binaries, label, nodes.tolist(), chains, ticks)
    ticks_of: defaultdict[Key, float] = defaultdict(float)
    for node in nodes.tolist():
        for key in {(frame.function, frame.file) for frame in _at(profile, chains, node)[:-1]} & related.keys():
            ticks_of[key] += float(ticks[node])
    lines = _first_lines(chains.values(), {key for key, total in ticks_of.items() if total >= LEAST * ticks[0]})
    return _Code(label, nodes.tolist(), chains, lines, {key: b for key, b in related.items() if b and key in lines})


def _with_loops(
    binaries: _Binaries, label: str, nodes: list[int], chains: dict[int, Chain], ticks: FloatArray
) -> dict[Key, set[int] | None]:
    """Return the program's own inlined functions with a loop in a recorded function; see functions_called_with."""
    profile = binaries.profile
    hosts: defaultdict[int, float] = defaultdict(float)
    for node in nodes:
        if any(is_own(frame) for frame in _at(profile, chains, node)[:-1]):
            hosts[int(profile.paths.function[node])] += float(ticks[node])
    large = [index for index in sorted(hosts, key=lambda i: (-hosts[i], i)) if hosts[index] >= LEAST * ticks[0]]
    entries = [profile.functions[index].address for index in large]
    jumps = binaries.jumps(label, entries)
    ends = sorted({*entries, *(address for function in jumps for jump in function for address in jump)})
    at = dict(zip(ends, binaries.chains(label, ends), strict=True))
    calls = _calls(profile, nodes, large)
    related: dict[Key, set[int] | None] = {}
    for host, entry, function in zip(large, entries, jumps, strict=True):
        owners = {jump: loop_owner(at[jump[0]], at[jump[1]], at[entry]) for jump in function}
        for key, related_functions in functions_called_with(owners, calls[host], host).items():
            previous = related.setdefault(key, set())
            related[key] = (
                previous | related_functions if previous is not None and related_functions is not None else None
            )
    return related


def _calls(profile: IntervalProfile, nodes: Sequence[int], hosts: Sequence[int]) -> dict[int, list[tuple[int, int]]]:
    """Return address and callee of the calls on call paths, by the calling function."""
    selected = dict.fromkeys(nodes)
    calls_of: dict[int, set[tuple[int, int]]] = {host: set() for host in hosts}
    rows = zip(profile.paths.parent.tolist(), profile.paths.function.tolist(), strict=True)
    for caller, callee in rows:
        host = int(profile.paths.function[caller])
        if caller in selected and host in calls_of and callee >= 0:
            calls_of[host].add((int(profile.paths.address[caller]), callee))
    return {host: sorted(pairs) for host, pairs in calls_of.items()}


def _first_lines(chains: Iterable[Chain], named: set[Key]) -> dict[Key, int]:
    """Return the first line of each inlined function that occurs in the chains."""
    lines: dict[Key, int] = {}
    for chain in chains:
        for frame in chain[:-1]:
            key = (frame.function, frame.file)
            if frame.line and key in named:
                lines[key] = min(lines.get(key, frame.line), frame.line)
    return lines


def _at(profile: IntervalProfile, chains: dict[int, Chain], node: int) -> Chain:
    """Return the chain at a node's address."""
    return chains.get(int(profile.paths.address[node]), ())


def _of_the_system(profile: IntervalProfile, code: _Code) -> list[int]:
    """Return functions whose known code lies entirely in system headers, or in sources of packages."""
    files: defaultdict[int, set[str]] = defaultdict(set)
    for node in code.nodes:
        if (chain := _at(profile, code.chains, node)) and chain[-1].file:
            files[int(profile.paths.function[node])].add(chain[-1].file)
    return [index for index, paths in sorted(files.items()) if all(map(is_shared_source, paths))]


def _numbered(functions: list[Function], codes: Sequence[_Code]) -> dict[tuple[str, Key], int]:
    """Return the index of each inlined function: its own if it was recorded, else a new one at the end."""
    recorded = {(f.module, f.mangled): index for index, f in reversed(list(enumerate(functions)))}
    fortran = any("_MOD_" in f.mangled or f.mangled in ("MAIN__", "_QQmain") for f in functions)
    number: dict[tuple[str, Key], int] = {}
    for code in codes:
        keys = sorted(code.lines)
        for key, name in zip(keys, display_names([mangled for mangled, _ in keys], fortran=fortran), strict=True):
            index = recorded.get((code.label, key[0]))
            if index is None:
                index = len(functions)
                functions.append(Function(code.label, key[0], name, 0, key[1], code.lines[key]))
            number[code.label, key] = index
    return number


def _inlined(profile: IntervalProfile, codes: Sequence[_Code], number: dict[tuple[str, Key], int]) -> Inlined:
    """Return the reported inlined functions at each path node."""
    listed: dict[int, list[int]] = {}
    for code in codes:
        for node in code.nodes:
            chain = _at(profile, code.chains, node)
            numbers = [number.get((code.label, (frame.function, frame.file))) for frame in reversed(chain[:-1])]
            if present := [index for index in numbers if index is not None]:
                listed[node] = present
    count = np.zeros(len(profile.paths.parent) + 1, dtype=np.int64)
    count[np.fromiter(listed, np.int64, len(listed)) + 1] = [len(present) for present in listed.values()]
    function = [index for node in sorted(listed) for index in listed[node]]
    related = {number[code.label, key]: tuple(sorted(b)) for code in codes for key, b in code.related.items() if b}
    return Inlined(np.cumsum(count), np.array(function, dtype=np.int64), related)


# Inlined functions of known addresses: most addresses in the next intervals of a run were looked up before.


# The reported inlined functions at an address of a module, outermost first. An address without any is stored too.
Known = Mapping[tuple[str, int], tuple[Function, ...]]


def inlined_by_address(profile: IntervalProfile) -> Known:
    """Return the inlined functions at the call path addresses of a profile for which they were looked up."""
    listed = {} if profile.inlined is None else profile.inlined.by_node()
    functions, paths = profile.functions, profile.paths
    by_address: dict[tuple[str, int], tuple[Function, ...]] = {}
    for node, (number, address) in enumerate(zip(paths.function.tolist(), paths.address.tolist(), strict=True)):
        if number >= 0 and functions[number].address:
            by_address[functions[number].module, address] = tuple(functions[i] for i in listed.get(node, ()))
    return by_address


def with_known_inlined(profile: IntervalProfile, by_address: Known, libs: Libs) -> tuple[IntervalProfile, FloatArray]:
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
        inlined_here = by_address.get((profile.functions[host].module, address))
        new[node] |= inlined_here is None
        for function in inlined_here or ():
            inner.append(number.setdefault(_key(function), len(functions)))
            if inner[-1] == len(functions):
                functions.append(function)
        count[node + 1] = len(inlined_here or ())
    share = _share(profile, new)
    if not inner:
        return profile, share
    self_s, calls = profile.self_s.copy(), profile.calls.copy()
    for matrix in (self_s, calls):
        matrix.resize((profile.n_intervals, len(functions)))
    inlined = Inlined(np.cumsum(count), np.array(inner, dtype=np.int64), {})
    extended = replace(profile, functions=tuple(functions), self_s=self_s, calls=calls, inlined=inlined)
    return with_inlined_time(extended, libs), share


def _key(function: Function) -> tuple[str, str, int]:
    """Return the key that identifies a function, independent of its other properties."""
    return function.module, function.mangled, function.address


def _share(profile: IntervalProfile, new: BoolArray) -> FloatArray:
    """Return the share of each interval's samples at the given path nodes, (n,)."""
    use = profile.samples.kind != PROFILER
    row, weight = profile.interval_of_samples()[use], profile.samples.weight[use].astype(np.float64)
    total = np.bincount(row, weights=weight, minlength=profile.n_intervals)
    new_weight = np.bincount(row, weights=weight * new[profile.samples.node[use]], minlength=profile.n_intervals)
    return np.divide(new_weight, total, out=np.zeros(profile.n_intervals), where=total > 0)


# Find the addresses of call paths that lie in loops of their functions, for runs without call counts.


# Functions on the stack in a smaller share of the run are skipped: each costs a part of a disassembly.
LEAST_IN_LOOPS = 0.005
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
    matter = _relevant_functions(profile).tolist()
    for function in matter:
        one = profile.functions[function]
        if one.is_code and one.address:
            addresses[one.module].append(function)
    out = np.full(len(of_node), UNKNOWN_CODE, dtype=np.int64)
    around, always = [0], np.zeros(len(of_node), dtype=np.bool_)
    for module, functions in sorted(addresses.items()):
        begins = [profile.functions[f].address for f in functions]
        for function, code in zip(
            functions, code_loops_of(run, profile, module, begins, exe=exe, stores=stores), strict=True
        ):
            if code is None:
                continue
            nodes = np.flatnonzero(of_node == function)
            at = paths.address[nodes].astype(np.int64)
            _enter(((target, body) for (_, target), body in code.loops), at, nodes, out, around)
            always[nodes] = np.any([(at >= first) & (at <= last) for first, last in code.always], axis=0)
    sources = KeptLoops(stores(run.directory, "symbols/python-loops.json", VERSION))
    for function in matter:
        _read_source(profile, function, sources, out, around)
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


def _read_source(profile: IntervalProfile, function: int, sources: KeptLoops, out: IntArray, around: list[int]) -> None:
    """Do the same for a Python function: addresses are lines."""
    one = profile.functions[function]
    loops = sources.of(one.file, one.code) if one.code is not None and one.file is not None else None
    if one.code is None or loops is None:
        return
    nodes = np.flatnonzero(profile.paths.function == function)
    lines = np.array([line_at(one.code, int(at)) for at in profile.paths.address[nodes].tolist()], dtype=np.int64)
    _enter(((number, (lines_of,)) for number, lines_of in enumerate(loops)), lines, nodes, out, around)


def _relevant_functions(profile: IntervalProfile) -> IntArray:
    """Return the functions that are on the stack in enough of the samples, ascending."""
    total = _inclusive(profile)
    resolved = profile.paths.function >= 0
    of = np.bincount(profile.paths.function[resolved], weights=total[resolved], minlength=len(profile.functions))
    return np.flatnonzero(of >= LEAST_IN_LOOPS * max(total[0], 1.0))
