"""Source places of functions and samples. Answers are stored in the run directory, so that they travel with it."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from elftools.dwarf.die import DIE
from elftools.dwarf.ranges import BaseAddressEntry
from elftools.elf.elffile import ELFFile

from incprof.errors import NoDataError
from incprof.model import LIBRARY, OWN, Code, Function, IntArray, IntervalProfile, Module, Run
from incprof.model.names import ANONYMOUS, ENTRIES
from incprof.safe.inputs import open_input
from incprof.safe.jsonstore import JsonStore, Stores
from incprof.symbols.addr2line import DAMAGED, Chain, Frame, Place, bloated, chains, gap, outermost
from incprof.symbols.elf_symbols import go_places
from incprof.symbols.python_code import line_at
from incprof.symbols.symbol_files import binaries, find_symbols, module_key

VERSION, SAID_VERSION = 4, 1
DEBUG_LINES = (".debug_line", ".zdebug_line")


def locate(
    run: Run, profile: IntervalProfile, functions: Iterable[Function], *, exe: str | None = None
) -> tuple[Function, ...]:
    """Return the functions with the file and line at which each begins; None if the binary has no line numbers."""
    functions = tuple(functions)
    places: dict[tuple[str, int], Place | None] = {}
    for label in sorted({f.module for f in functions}):
        addresses = sorted({f.address for f in functions if f.module == label and f.address})
        answers = lines_of(run, profile, label, addresses, exe=exe)
        places.update({(label, address): place for address, place in zip(addresses, answers, strict=True)})
    located = [(f, places.get((f.module, f.address))) for f in functions]
    return tuple(replace(f, file=place[0], line=place[1]) if place else f for f, place in located)


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
    cached = store.load(_chains) or {}
    cached |= imported_lines(run.directory, described).load(_chains) or {}
    missing = sorted({address for address in addresses if address not in cached})
    if missing:
        answers = _look_up(described, run.directory, exe if described.id == 0 else None, missing)
        computed = dict(zip(missing, answers, strict=True))
        # An entirely empty result may be due to a missing tool.
        if any(computed.values()):
            cached.update(computed)
            store.save({"chains": {f"{a:#x}": cached[a] for a in sorted(cached)}})
    return [cached.get(address, ()) for address in addresses]


def imported_lines(directory: str, module: Module) -> JsonStore:
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
    in_function = np.zeros(len(tree.parent), dtype=bool)
    in_function[nodes_of(profile, function)] = True
    node = profile.own_node[samples.node]
    use = in_function[node] & np.isin(samples.kind, (OWN, LIBRARY))
    if intervals is not None:
        use &= np.isin(profile.interval_of_samples(), intervals)
    keys = np.stack([tree.address[node[use]], tree.function[node[use]] == function])
    (address, is_whole_call), where = np.unique(keys, axis=1, return_inverse=True)
    seconds = np.bincount(where.ravel(), weights=samples.weight[use], minlength=len(address)) / profile.metadata.rate_hz
    totals: dict[Place, float] = {}
    if described.code is not None:
        return _weights_of_code(described, described.code, address.tolist(), seconds.tolist())
    answers = chains_of(run, profile, described.module, address.tolist(), exe=exe)
    for chain, is_whole, weight in zip(answers, is_whole_call.tolist(), seconds.tolist(), strict=True):
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


def _look_up(module: Module, directory: str, exe: str | None, addresses: Sequence[int]) -> list[Chain]:
    """Look addresses up in the module's first file with line numbers, else in the table of Go's run-time."""
    files = []
    for elf in binaries(module, directory, exe, fetch=True):
        if any(elf.section(name) for name in DEBUG_LINES):
            return with_lambdas(elf.path, addresses, chains(elf.path, addresses))
        files.append(elf)
    places = next((places for places in (go_places(elf, addresses) for elf in files) if any(places)), [])
    return [(Frame("", *place),) if place else () for place in places] or [()] * len(addresses)


def gap_of(run: Run, profile: IntervalProfile, module: str, chains: Sequence[Chain], *, exe: str | None) -> str | None:
    """Return a line on what a module's debug information lacks, judged by the chains of some of its addresses."""
    described = next((m for m in profile.metadata.modules if m.name == module), None)
    if described is None or not chains or described.code is not None:
        return None
    for elf in binaries(described, run.directory, exe if described.id == 0 else None):
        if any(elf.section(name) for name in DEBUG_LINES):
            return gap(elf, chains)
    return None


def _chains(stored: dict[str, Any]) -> dict[int, Chain]:
    """Return stored chains."""
    return {
        int(address, 16): tuple(Frame(str(function), str(file), int(line)) for function, file, line in chain)
        for address, chain in stored["chains"].items()
    }


# Name the lambda of inlined code: GCC gives all of them the same name, and only their places distinguish them.
#
# The debug information nests them in the functions that contain them; addr2line and llvm-symbolizer do not report
# this.


CALL = "operator()"
ENCLOSING = ("DW_TAG_subprogram", "DW_TAG_class_type", "DW_TAG_structure_type", "DW_TAG_union_type", "DW_TAG_namespace")
# Deepest nesting: damaged debug information may be circular.
DEEPEST = 100

# Begin and end of each piece of code.
Ranges = tuple[tuple[int, int], ...]


class _Code(NamedTuple):
    """Code of a function, or of an inlined one. inside: the functions inlined into it, without blocks."""

    entry: DIE
    ranges: Ranges
    inside: tuple[_Code, ...]

    def path_to(self, address: int) -> tuple[DIE, ...]:
        """Return the entries around an address, outermost first; empty if it is not in this code."""
        if not any(low <= address < high for low, high in self.ranges):
            return ()
        return (self.entry, *next(filter(None, (code.path_to(address) for code in self.inside)), ()))


class _Unit:
    """The functions of a compile unit, each read when an address in it is first looked up."""

    def __init__(self, top: DIE):
        # Link-time optimisation leaves functions in their namespaces.
        self._unread = [top]
        self._pieces: list[tuple[int, int, DIE]] = []
        self._code: dict[int, _Code] = {}

    def _function_at(self, address: int) -> DIE | None:
        """Return the entry of the function around an address; None if it is in none."""
        at = bisect_right(self._pieces, address, key=lambda piece: piece[0]) - 1
        return self._pieces[at][2] if at >= 0 and address < self._pieces[at][1] else None

    def _read_next(self) -> None:
        """Read the functions of the unit, or those of all of its namespaces that are on the next level."""
        children = [child for place in self._unread for child in place.iter_children()]
        self._unread = [child for child in children if child.tag == "DW_TAG_namespace"]
        entries = [child for child in children if child.tag == "DW_TAG_subprogram"]
        self._pieces += [(low, high, entry) for entry in entries for low, high in _ranges(entry)]
        self._pieces.sort(key=lambda piece: piece[0])

    def path_to(self, address: int) -> tuple[DIE, ...]:
        """Return the entries around an address, outermost first."""
        while (entry := self._function_at(address)) is None and self._unread:
            self._read_next()
        if entry is None:
            return ()
        if entry.offset not in self._code:
            self._code[entry.offset] = _Code(entry, _ranges(entry), tuple(_inside(entry)))
        return self._code[entry.offset].path_to(address)


def with_lambdas(binary: str, addresses: Sequence[int], chains: Sequence[Chain]) -> list[Chain]:
    """Return the chains at some link-time addresses, with named lambdas: `main::{lambda line 7}::operator()`.

    They are unchanged if the binary has no such information.
    """
    by_address = dict(zip(addresses, chains, strict=True))
    lambda_addresses = sorted(
        address for address, chain in by_address.items() if any(frame.function == CALL for frame in chain)
    )
    if not lambda_addresses:
        return list(chains)
    with suppress(*DAMAGED), open_input(binary) as stream:
        elf = ELFFile(stream)
        if elf.has_dwarf_info() and not bloated(elf, os.fstat(stream.fileno()).st_size):
            _name_all(elf.get_dwarf_info(), lambda_addresses, by_address)
    return [by_address[address] for address in addresses]


def _name_all(dwarf: Any, addresses: Sequence[int], by_address: dict[int, Chain]) -> None:
    """Name the lambdas in the known chains of some addresses; unreadable ones stay unchanged."""
    units, read = dwarf.get_aranges(), dict[int, _Unit]()
    for address in addresses if units is not None else ():
        with suppress(*DAMAGED):
            offset = units.cu_offset_at_addr(address)
            if offset is None:
                continue
            if offset not in read:
                read[offset] = _Unit(dwarf.get_CU_at(offset).get_top_DIE())
            by_address[address] = _named(by_address[address], read[offset].path_to(address)[::-1])


def _named(chain: Chain, entries: Sequence[DIE]) -> Chain:
    """Return a chain with the names of its lambdas, from the entries around the address, innermost first."""
    if len(chain) != len(entries):
        return chain
    return tuple(
        frame._replace(function=_name(entry) or CALL) if frame.function == CALL else frame
        for frame, entry in zip(chain, entries, strict=True)
    )


def _inside(entry: DIE, depth: int = 0) -> Iterator[_Code]:
    """Yield the code inlined into this code, also within its blocks."""
    for child in entry.iter_children() if depth < DEEPEST else ():
        if child.tag == "DW_TAG_inlined_subroutine":
            yield _Code(child, _ranges(child), tuple(_inside(child, depth + 1)))
        elif child.tag == "DW_TAG_lexical_block":
            yield from _inside(child, depth + 1)


def _ranges(entry: DIE) -> Ranges:
    """Return the address ranges of its code."""
    attributes = entry.attributes
    if "DW_AT_low_pc" in attributes and "DW_AT_high_pc" in attributes:
        low, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
        return ((low, high.value if high.form == "DW_FORM_addr" else low + high.value),)
    lists = entry.dwarfinfo.range_lists() if "DW_AT_ranges" in attributes else None
    if lists is None:
        return ()
    base = entry.cu.get_top_DIE().attributes["DW_AT_low_pc"].value
    ranges = []
    for piece in lists.get_range_list_at_offset(attributes["DW_AT_ranges"].value, entry.cu):
        if isinstance(piece, BaseAddressEntry):
            base = piece.base_address
        else:
            start = 0 if piece.is_absolute else base
            ranges.append((start + piece.begin_offset, start + piece.end_offset))
    return tuple(ranges)


def _declared(entry: DIE) -> DIE:
    """Return the declaration of the function that this is code of."""
    for _ in range(DEEPEST):
        link = next((n for n in ("DW_AT_abstract_origin", "DW_AT_specification") if n in entry.attributes), None)
        if link is None:
            break
        entry = entry.get_DIE_from_attribute(link)
    return entry


def _name(entry: DIE) -> str | None:
    """Return the qualified name of a lambda's code; None for other code."""
    place = _declared(entry).get_parent()
    if place is None or not _is_lambda(place):
        return None
    names = [CALL, _own_name(place)]
    for _ in range(DEEPEST):
        parent = place.get_parent()
        if parent is None:
            break
        place = _declared(parent)
        if place.tag in ENCLOSING:
            names.append(_own_name(place))
    return "::".join(reversed(names))


def _is_lambda(place: DIE) -> bool:
    """Return whether this is a lambda's class: it has a line, but no name chosen by the programmer."""
    name = place.attributes.get("DW_AT_name")
    return "DW_AT_decl_line" in place.attributes and (name is None or name.value.startswith(b"<lambda"))


def _own_name(place: DIE) -> str:
    """Return the unqualified name of a class, function or namespace."""
    if place.tag != "DW_TAG_namespace" and _is_lambda(place):
        return f"{{lambda line {place.attributes['DW_AT_decl_line'].value}}}"
    name = place.attributes.get("DW_AT_name")
    return str(name.value.decode("utf-8", "replace")) if name is not None else ANONYMOUS


# The entry point of a program in its source.


def main_place(run: Run, profile: IntervalProfile, *, exe: str | None = None) -> Place | None:
    """Return file and line at which the PROGRAM, or main, begins; None if the symbols or the lines are missing."""
    module = next((m for m in profile.metadata.modules if m.id == 0), None)
    if module is None:
        return None
    try:
        table = find_symbols(module, run.directory, exe).table
    except NoDataError:
        return None
    for entry in ENTRIES:
        for index in _indices_of(table.names, table.name_end.tolist(), entry.encode()):
            place = lines_of(run, profile, module.name, [int(table.address[index])], exe=exe)[0]
            if place:
                return place
    return None


def _indices_of(names: bytes, ends: list[int], name: bytes) -> list[int]:
    """Return which of the joined names equal this one."""
    starts = [0, *ends[:-1]]
    return [
        index
        for index, (start, end) in enumerate(zip(starts, ends, strict=True))
        if end - start == len(name) and names[start:end] == name
    ]
