"""Name the lambda of inlined code: GCC gives all of them the same name, and only their places distinguish them.

The debug information nests them in the functions that contain them; addr2line and llvm-symbolizer do not report this.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from elftools.dwarf.die import DIE
from elftools.dwarf.ranges import BaseAddressEntry
from elftools.elf.elffile import ELFFile

from incprof.model.names import ANONYMOUS
from incprof.safe.inputs import open_input
from incprof.symbols.addr2line import Chain
from incprof.symbols.line_tables import DAMAGED, bloated

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
        entries = (child for child in top.iter_children() if child.tag == "DW_TAG_subprogram")
        pieces = [(low, high, entry) for entry in entries for low, high in _ranges(entry)]
        self._pieces = sorted(pieces, key=lambda piece: piece[0])
        self._begins = [low for low, _, _ in self._pieces]
        self._code: dict[int, _Code] = {}

    def path_to(self, address: int) -> tuple[DIE, ...]:
        """Return the entries around an address, outermost first."""
        at = bisect_right(self._begins, address) - 1
        if at < 0 or address >= self._pieces[at][1]:
            return ()
        entry = self._pieces[at][2]
        if entry.offset not in self._code:
            self._code[entry.offset] = _Code(entry, _ranges(entry), tuple(_inside(entry)))
        return self._code[entry.offset].path_to(address)


def with_lambdas(binary: str, addresses: Sequence[int], chains: Sequence[Chain]) -> list[Chain]:
    """Return the chains at some link-time addresses, with named lambdas: `main::{lambda line 7}::operator()`.

    They are unchanged if the binary has no such information.
    """
    known = dict(zip(addresses, chains, strict=True))
    wanted = sorted(address for address, chain in known.items() if any(frame.function == CALL for frame in chain))
    if not wanted:
        return list(chains)
    with suppress(*DAMAGED), open_input(binary) as stream:
        elf = ELFFile(stream)
        if elf.has_dwarf_info() and not bloated(elf, os.fstat(stream.fileno()).st_size):
            _name_all(elf.get_dwarf_info(), wanted, known)
    return [known[address] for address in addresses]


def _name_all(dwarf: Any, addresses: Sequence[int], known: dict[int, Chain]) -> None:
    """Name the lambdas in the known chains of some addresses; unreadable ones stay unchanged."""
    units, read = dwarf.get_aranges(), dict[int, _Unit]()
    for address in addresses if units is not None else ():
        with suppress(*DAMAGED):
            offset = units.cu_offset_at_addr(address)
            if offset is None:
                continue
            if offset not in read:
                read[offset] = _Unit(dwarf.get_CU_at(offset).get_top_DIE())
            known[address] = _named(known[address], read[offset].path_to(address)[::-1])


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
    said = entry.attributes
    if "DW_AT_low_pc" in said and "DW_AT_high_pc" in said:
        low, high = said["DW_AT_low_pc"].value, said["DW_AT_high_pc"]
        return ((low, high.value if high.form == "DW_FORM_addr" else low + high.value),)
    lists = entry.dwarfinfo.range_lists() if "DW_AT_ranges" in said else None
    if lists is None:
        return ()
    base = entry.cu.get_top_DIE().attributes["DW_AT_low_pc"].value
    found = []
    for piece in lists.get_range_list_at_offset(said["DW_AT_ranges"].value, entry.cu):
        if isinstance(piece, BaseAddressEntry):
            base = piece.base_address
        else:
            start = 0 if piece.is_absolute else base
            found.append((start + piece.begin_offset, start + piece.end_offset))
    return tuple(found)


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
