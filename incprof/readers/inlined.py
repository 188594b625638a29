"""Inlined functions on call paths, as the program's debug information has them.

Of what was inlined, only functions count that a person would name: written in the program's own source, and with a loop
of their own in the machine code. Accessors, operators and the standard library's templates stay part of their callers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from incprof.model import PROFILER, STANDARD, FloatArray, Function, Inlined, IntervalProfile, Run
from incprof.readers.addr2line import Chain, Frame
from incprof.readers.backjumps import Jump
from incprof.readers.demangle import display_names
from incprof.readers.jumps import jumps_of
from incprof.readers.lines import chains_of

# Headers that come with the system or the compiler.
SYSTEM = re.compile(r"(?:^|/)(?:usr/(?:local/)?include|include/c\+\+|lib(?:32|64)?/(?:gcc|gcc-cross|llvm-\d+|clang))/")
# So many addresses of a module are asked for, those with the most time.
MOST_ADDRESSES = 20_000
# Only functions with this part of the run's time are looked at for others that were inlined into them.
LEAST = 0.002

# An inlined function: its mangled name and its file.
Key = tuple[str, str]


@dataclass(frozen=True)
class _Code:
    """What is known of a module's part of the call paths.

    nodes: of its functions. chains: at their addresses. lines: of the inlined functions that count, the first known
    line. beside: see called_beside, where that is known.
    """

    label: str
    nodes: list[int]
    chains: dict[int, Chain]
    lines: dict[Key, int]
    beside: dict[Key, set[int]]


def with_inlined(run: Run, profile: IntervalProfile, *, exe: str | None = None) -> IntervalProfile:
    """The profile with the inlined functions of its call paths; itself where nothing is known of any.

    They come behind the other functions, and have no self time and no calls of their own. Functions whose source is a
    header of the system are marked.
    """
    ticks = _inclusive(profile)
    labels = sorted({f.module for f in profile.functions if f.address})
    found = [_look_up(run, profile, label, ticks, exe) for label in labels] if ticks[0] > 0 else []
    functions = list(profile.functions)
    for code in found:
        for index in _of_the_system(profile, code):
            functions[index] = replace(functions[index], system=True)
    number = _numbered(functions, found)
    inlined = _inlined(profile, found, number)
    if functions == list(profile.functions):
        return replace(profile, inlined=inlined) if len(inlined.function) else profile
    shape = (profile.n_intervals, len(functions))
    self_s, calls = (csr_array((m.data, m.indices, m.indptr), shape=shape) for m in (profile.self_s, profile.calls))
    return replace(profile, functions=tuple(functions), self_s=self_s, calls=calls, inlined=inlined)


def loop_owner(source: Chain, target: Chain) -> Key | None:
    """The function of the program's own that a loop belongs to, from its jump back; None for that on record.

    It is the innermost one that holds both ends. Loops of the library are those of the function that uses it.
    """
    shared = 0
    for one, other in zip(reversed(source), reversed(target), strict=False):
        if (one.function, one.file) != (other.function, other.file):
            break
        shared += 1
        if one.line != other.line:  # not inlined by the same call, whatever comes next
            break
    own = next((i for i in range(shared - 1, 0, -1) if _is_own(source[-1 - i])), 0)
    return (source[-1 - own].function, source[-1 - own].file) if own else None


def is_system(file: str) -> bool:
    """Whether a file is a header of the system or of the compiler."""
    return SYSTEM.search(file) is not None


def _is_own(frame: Frame) -> bool:
    """Whether code is of a function that has a name and is written in the program's own source."""
    return bool(frame.function and frame.file) and not STANDARD.match(frame.function) and not is_system(frame.file)


def _inclusive(profile: IntervalProfile) -> FloatArray:
    """Ticks of each path node with all that is below it, shape (p,)."""
    use = profile.samples.kind != PROFILER
    node, p = profile.samples.node[use], len(profile.paths.parent)
    own = np.bincount(node, weights=profile.samples.weight[use], minlength=p)
    total, parent = own.tolist(), profile.paths.parent.tolist()
    for child in range(p - 1, 0, -1):
        total[parent[child]] += total[child]
    return np.array(total, dtype=np.float64)


def _look_up(run: Run, profile: IntervalProfile, label: str, ticks: FloatArray, exe: str | None) -> _Code:
    """Ask for the addresses of a module's functions, and for the loops of those that others were inlined into."""
    own = np.array([f.module == label and f.address > 0 for f in profile.functions] + [False], dtype=bool)
    nodes = np.flatnonzero(own[np.maximum(profile.paths.function, -1)] & (ticks > 0))
    address, where = np.unique(profile.paths.address[nodes], return_inverse=True)
    weight = np.bincount(where.ravel(), weights=ticks[nodes], minlength=len(address))
    asked = np.sort(address[np.argsort(-weight, kind="stable")[:MOST_ADDRESSES]]).tolist()
    chains = dict(zip(asked, chains_of(run, profile, label, asked, exe=exe), strict=True))

    hosts: defaultdict[int, float] = defaultdict(float)
    for node in nodes.tolist():
        if any(_is_own(frame) for frame in _at(profile, chains, node)[:-1]):
            hosts[int(profile.paths.function[node])] += float(ticks[node])
    large = [index for index in sorted(hosts, key=lambda i: (-hosts[i], i)) if hosts[index] >= LEAST * ticks[0]]
    jumps = jumps_of(run, profile, label, [profile.functions[index].address for index in large], exe=exe)
    ends = sorted({address for function in jumps for jump in function for address in jump})
    at = dict(zip(ends, chains_of(run, profile, label, ends, exe=exe), strict=True))
    calls = _calls(profile, nodes.tolist(), large)
    beside: dict[Key, set[int] | None] = {}
    for host, function in zip(large, jumps, strict=True):
        owners = {jump: loop_owner(at[jump[0]], at[jump[1]]) for jump in function}
        for key, found in called_beside(owners, calls[host], host).items():
            known = beside.setdefault(key, set())
            beside[key] = known | found if known is not None and found is not None else None
    lines = _first_lines((*chains.values(), *at.values()), set(beside))
    return _Code(label, nodes.tolist(), chains, lines, {key: b for key, b in beside.items() if b and key in lines})


def called_beside(
    owners: Mapping[Jump, Key | None], calls: Sequence[tuple[int, int]], host: int
) -> dict[Key, set[int] | None]:
    """What is called as often as each inlined function that loops in a function on record; None where nobody knows.

    That is what the loop around it calls itself, or the function on record where there is no loop around it. One that
    loops in a loop in a loop of which nothing is known is left out: it may be as small as an accessor.

    Args:
        owners: the inlined function that each loop belongs to, by its jump; None for loops of the function on record.
        calls: address and function called, of calls in the function on record.
        host: that function.
    """
    order = sorted(owners, key=lambda jump: (jump[0] - jump[1], jump))
    around = {
        jump: next((o for o in order if o != jump and o[1] <= jump[1] and jump[0] <= o[0]), None) for jump in order
    }
    called: defaultdict[Jump | None, set[int]] = defaultdict(set)
    for address, function in calls:
        called[next((o for o in order if o[1] <= address <= o[0]), None)].add(function)
    found: dict[Key, set[int] | None] = {}
    for jump, key in owners.items():
        outer = around[jump]
        while outer is not None and owners[outer] == key:
            outer = around[outer]
        if key is None:
            continue
        known = called[outer] if outer is not None else {host}
        if known:
            before = found.get(key, set())
            found[key] = before | known if before is not None else None
        elif outer is not None and around[outer] is None:
            found[key] = None
    return found


def _calls(profile: IntervalProfile, nodes: Sequence[int], hosts: Sequence[int]) -> dict[int, list[tuple[int, int]]]:
    """Address and callee of the calls on call paths, by the calling function."""
    wanted = dict.fromkeys(nodes)
    found: dict[int, set[tuple[int, int]]] = {host: set() for host in hosts}
    rows = zip(profile.paths.parent.tolist(), profile.paths.function.tolist(), strict=True)
    for caller, callee in rows:
        host = int(profile.paths.function[caller])
        if caller in wanted and host in found and callee >= 0:
            found[host].add((int(profile.paths.address[caller]), callee))
    return {host: sorted(pairs) for host, pairs in found.items()}


def _first_lines(chains: Iterable[Chain], named: set[Key]) -> dict[Key, int]:
    """The first line of each inlined function that occurs in the chains."""
    lines: dict[Key, int] = {}
    for chain in chains:
        for frame in chain[:-1]:
            key = (frame.function, frame.file)
            if frame.line and key in named:
                lines[key] = min(lines.get(key, frame.line), frame.line)
    return lines


def _at(profile: IntervalProfile, chains: dict[int, Chain], node: int) -> Chain:
    """The chain at a node's address."""
    return chains.get(int(profile.paths.address[node]), ())


def _of_the_system(profile: IntervalProfile, code: _Code) -> list[int]:
    """Functions all of whose code that is known lies in headers of the system."""
    files: defaultdict[int, set[str]] = defaultdict(set)
    for node in code.nodes:
        if (chain := _at(profile, code.chains, node)) and chain[-1].file:
            files[int(profile.paths.function[node])].add(chain[-1].file)
    return [index for index, seen in sorted(files.items()) if all(map(is_system, seen))]


def _numbered(functions: list[Function], found: Sequence[_Code]) -> dict[tuple[str, Key], int]:
    """The index of each inlined function: its own where it is on record, else a new one at the end."""
    known = {(f.module, f.mangled): index for index, f in reversed(list(enumerate(functions)))}
    fortran = any("_MOD_" in f.mangled or f.mangled == "MAIN__" for f in functions)
    number: dict[tuple[str, Key], int] = {}
    for code in found:
        keys = sorted(code.lines)
        for key, name in zip(keys, display_names([mangled for mangled, _ in keys], fortran=fortran), strict=True):
            index = known.get((code.label, key[0]))
            if index is None:
                index = len(functions)
                functions.append(Function(code.label, key[0], name, 0, key[1], code.lines[key]))
            number[code.label, key] = index
    return number


def _inlined(profile: IntervalProfile, found: Sequence[_Code], number: dict[tuple[str, Key], int]) -> Inlined:
    """The inlined functions that count at each path node."""
    listed: dict[int, list[int]] = {}
    for code in found:
        for node in code.nodes:
            chain = _at(profile, code.chains, node)
            here = [number.get((code.label, (frame.function, frame.file))) for frame in reversed(chain[:-1])]
            if known := [index for index in here if index is not None]:
                listed[node] = known
    count = np.zeros(len(profile.paths.parent) + 1, dtype=np.int64)
    count[np.fromiter(listed, np.int64, len(listed)) + 1] = [len(known) for known in listed.values()]
    function = [index for node in sorted(listed) for index in listed[node]]
    beside = {number[code.label, key]: tuple(sorted(b)) for code in found for key, b in code.beside.items() if b}
    return Inlined(np.cumsum(count), np.array(function, dtype=np.int64), beside)
