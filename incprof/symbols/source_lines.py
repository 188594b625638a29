"""Source places of functions and samples. Answers are stored in the run directory, so that they travel with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from incprof.model import LIBRARY, OWN, Code, Function, IntArray, IntervalProfile, Module, Run
from incprof.safe.jsonstore import JsonStore, Stores
from incprof.symbols.addr2line import Chain, Frame, chains, outermost
from incprof.symbols.closures import with_lambdas
from incprof.symbols.debug_gaps import gap
from incprof.symbols.go_table import go_places
from incprof.symbols.line_tables import Place
from incprof.symbols.python_code import line_at
from incprof.symbols.source import binaries, module_key

VERSION, SAID_VERSION = 3, 1
DEBUG_LINES = (".debug_line", ".zdebug_line")


def locate(
    run: Run, profile: IntervalProfile, functions: Iterable[Function], *, exe: str | None = None
) -> tuple[Function, ...]:
    """Return the functions with the file and line at which each begins; None if the binary has no line numbers."""
    functions = tuple(functions)
    places: dict[tuple[str, int], Place | None] = {}
    for label in sorted({f.module for f in functions}):
        wanted = sorted({f.address for f in functions if f.module == label and f.address})
        answers = lines_of(run, profile, label, wanted, exe=exe)
        places.update({(label, address): place for address, place in zip(wanted, answers, strict=True)})
    found = [(f, places.get((f.module, f.address))) for f in functions]
    return tuple(replace(f, file=place[0], line=place[1]) if place else f for f, place in found)


def lines_of(
    run: Run, profile: IntervalProfile, module: str, addresses: Sequence[int], *, exe: str | None = None
) -> list[Place | None]:
    """Return file and line of each link-time address in the module with that base name."""
    return [outermost(chain) for chain in chains_of(run, profile, module, addresses, exe=exe)]


def chains_of(
    run: Run,
    profile: IntervalProfile,
    module: str,
    addresses: Sequence[int],
    *,
    exe: str | None = None,
    stores: Stores = JsonStore,
) -> list[Chain]:
    """Return the inlined functions of each link-time address in the module with that base name; new ones in one batch.

    stores: where answers are kept.
    """
    described = next((m for m in profile.metadata.modules if m.name == module), None)
    if described is None or not addresses or described.code is not None:
        return [()] * len(addresses)
    store = stores(run.directory, f"symbols/{module_key(described)}.json", VERSION)
    known = store.load(_chains) or {}
    known |= said_lines(run.directory, described).load(_chains) or {}
    missing = sorted({address for address in addresses if address not in known})
    if missing:
        answers = _answers(described, run.directory, exe if described.id == 0 else None, missing)
        found = dict(zip(missing, answers, strict=True))
        # An entirely empty result may be due to a missing tool.
        if any(found.values()):
            known.update(found)
            store.save({"chains": {f"{a:#x}": known[a] for a in sorted(known)}})
    return [known.get(address, ()) for address in addresses]


def said_lines(directory: str, module: Module) -> JsonStore:
    """Return where an imported profile stores its own lines, which exist nowhere else."""
    return JsonStore(directory, f"symbols/{module_key(module)}.lines.json", SAID_VERSION)


def line_weights(
    run: Run,
    profile: IntervalProfile,
    function: int,
    *,
    intervals: IntArray | None = None,
    exe: str | None = None,
) -> list[tuple[str, int, float]]:
    """Return (file, line, seconds) of the self time of a function, heaviest first.

    function: index into the profile's functions. intervals: only samples of these, shape (k,); default all. Time in
    libraries counts at the line of the call, that of functions inlined into this one at the line that uses them. Empty
    without samples or line numbers.
    """
    samples, tree, described = profile.samples, profile.paths, profile.functions[function]
    mine = np.zeros(len(tree.parent), dtype=bool)
    mine[nodes_of(profile, function)] = True
    node = profile.own_node[samples.node]
    use = mine[node] & np.isin(samples.kind, (OWN, LIBRARY))
    if intervals is not None:
        use &= np.isin(profile.interval_of_samples(), intervals)
    keys = np.stack([tree.address[node[use]], tree.function[node[use]] == function])
    (address, whole), where = np.unique(keys, axis=1, return_inverse=True)
    seconds = np.bincount(where.ravel(), weights=samples.weight[use], minlength=len(address)) / profile.metadata.rate_hz
    totals: dict[Place, float] = {}
    if described.code is not None:
        return _weights_of_code(described, described.code, address.tolist(), seconds.tolist())
    answers = chains_of(run, profile, described.module, address.tolist(), exe=exe)
    for chain, is_whole, weight in zip(answers, whole.tolist(), seconds.tolist(), strict=True):
        if place := outermost(chain if is_whole else inlined_part(chain, described)):
            totals[place] = totals.get(place, 0.0) + weight
    ordered = sorted(totals.items(), key=lambda item: (-item[1], item[0]))
    return [(file, line, weight) for (file, line), weight in ordered]


def _weights_of_code(
    function: Function, code: Code, offsets: Sequence[int], seconds: Sequence[float]
) -> list[tuple[str, int, float]]:
    """Return the same for a Python function, whose addresses are distances within its code."""
    totals: dict[int, float] = {}
    for offset, weight in zip(offsets, seconds, strict=True):
        line = line_at(code, offset)
        totals[line] = totals.get(line, 0.0) + weight
    ordered = sorted(totals.items(), key=lambda item: (-item[1], item[0]))
    return [(function.file, line, weight) for line, weight in ordered] if function.file else []


def nodes_of(profile: IntervalProfile, function: int) -> IntArray:
    """Return the path nodes of a function, and those at which it was inlined, ascending."""
    nodes = np.flatnonzero(profile.paths.function == function)
    return nodes if profile.inlined is None else np.union1d(nodes, profile.inlined.nodes_of(function))


def inlined_part(chain: Chain, function: Function) -> Chain:
    """Return the part of a chain that is a function's, and those inlined into it; empty if it was not inlined."""
    for at in range(len(chain) - 2, -1, -1):
        frame = chain[at]
        if frame.function == function.mangled and (function.address or frame.file == function.file):
            return chain[: at + 1]
    return ()


def _answers(module: Module, directory: str, exe: str | None, addresses: Sequence[int]) -> list[Chain]:
    """Look addresses up in the module's first file with line numbers, else in the table of Go's run-time."""
    known = []
    for elf in binaries(module, directory, exe, fetch=True):
        if any(elf.section(name) for name in DEBUG_LINES):
            return with_lambdas(elf.path, addresses, chains(elf.path, addresses))
        known.append(elf)
    places = next((places for places in (go_places(elf, addresses) for elf in known) if any(places)), [])
    return [(Frame("", *place),) if place else () for place in places] or [()] * len(addresses)


def gap_of(run: Run, profile: IntervalProfile, module: str, found: Sequence[Chain], *, exe: str | None) -> str | None:
    """Return a line on what a module's debug information lacks, judged by the chains of some of its addresses."""
    described = next((m for m in profile.metadata.modules if m.name == module), None)
    if described is None or not found or described.code is not None:
        return None
    for elf in binaries(described, run.directory, exe if described.id == 0 else None):
        if any(elf.section(name) for name in DEBUG_LINES):
            return gap(elf, found)
    return None


def _chains(stored: dict[str, Any]) -> dict[int, Chain]:
    """Return stored chains."""
    return {
        int(address, 16): tuple(Frame(str(function), str(file), int(line)) for function, file, line in chain)
        for address, chain in stored["chains"].items()
    }
