"""Which lambda inlined code is of: GCC has the same name for all of them, and nothing that tells them apart but places.

The debug information nests them in the functions that they are written in; addr2line and llvm-symbolizer do not say.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from elftools.dwarf.die import DIE
from elftools.dwarf.ranges import BaseAddressEntry
from elftools.elf.elffile import ELFFile

from incprof.inputs import open_input
from incprof.names import ANONYMOUS
from incprof.readers.symbols.addr2line import Chain
from incprof.readers.symbols.line_tables import DAMAGED, bloated

CALL = "operator()"
ENCLOSING = ("DW_TAG_subprogram", "DW_TAG_class_type", "DW_TAG_structure_type", "DW_TAG_union_type", "DW_TAG_namespace")
# Of debug information that leads in a circle.
DEEPEST = 100


class _Code(NamedTuple):
    """Code of a function, or of one that was inlined into it. inside: what was inlined, blocks left out."""

    entry: DIE
    ranges: tuple[tuple[int, int], ...]
    inside: tuple[_Code, ...]

    def path_to(self, address: int) -> tuple[DIE, ...]:
        """What an address is in, outermost first; nothing where it is not in here."""
        if not any(low <= address < high for low, high in self.ranges):
            return ()
        return (self.entry, *next(filter(None, (code.path_to(address) for code in self.inside)), ()))


def with_lambdas(binary: str, addresses: Sequence[int], chains: list[Chain]) -> list[Chain]:
    """The chains at some link-time addresses, with names for inlined lambdas: `main::{lambda line 7}::operator()`.

    They stay as they are where the binary says no more.
    """
    wanted = {address: at for at, address in enumerate(addresses) if any(f.function == CALL for f in chains[at])}
    if not wanted:
        return chains
    out = list(chains)
    with suppress(*DAMAGED), open_input(binary) as stream:
        elf = ELFFile(stream)
        if not elf.has_dwarf_info() or bloated(elf, os.fstat(stream.fileno()).st_size):
            return chains
        for address, entries in _found(elf.get_dwarf_info(), sorted(wanted)):
            out[wanted[address]] = _named(chains[wanted[address]], entries)
    return out


def _named(chain: Chain, entries: Sequence[DIE]) -> Chain:
    """A chain with the names of its lambdas, by what the address is in, innermost first."""
    if len(chain) != len(entries):
        return chain
    return tuple(
        frame._replace(function=_name(entry) or CALL) if frame.function == CALL else frame
        for frame, entry in zip(chain, entries, strict=True)
    )


def _found(dwarf: Any, addresses: Sequence[int]) -> Iterator[tuple[int, tuple[DIE, ...]]]:
    """What each address is in, innermost first; what cannot be read is left out."""
    units = dwarf.get_aranges()
    functions: dict[int, list[tuple[DIE, tuple[tuple[int, int], ...]]]] = {}
    code: dict[int, _Code] = {}
    for address in addresses:
        with suppress(*DAMAGED):
            offset = units.cu_offset_at_addr(address)
            if offset is None:
                continue
            if offset not in functions:
                top = dwarf.get_CU_at(offset).get_top_DIE()
                entries = (child for child in top.iter_children() if child.tag == "DW_TAG_subprogram")
                functions[offset] = [(entry, found) for entry in entries if (found := _ranges(entry))]
            at = ((e, r) for e, r in functions[offset] if any(low <= address < high for low, high in r))
            for entry, ranges in at:
                if entry.offset not in code:
                    code[entry.offset] = _Code(entry, ranges, tuple(_inside(entry)))
                yield address, code[entry.offset].path_to(address)[::-1]
                break


def _inside(entry: DIE, depth: int = 0) -> Iterator[_Code]:
    """What was inlined into code, also within its blocks."""
    for child in entry.iter_children() if depth < DEEPEST else ():
        if child.tag == "DW_TAG_inlined_subroutine":
            yield _Code(child, _ranges(child), tuple(_inside(child, depth + 1)))
        elif child.tag == "DW_TAG_lexical_block":
            yield from _inside(child, depth + 1)


def _ranges(entry: DIE) -> tuple[tuple[int, int], ...]:
    """Where its code is: begin and end of each piece."""
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
    """Where a function is declared, that this is code of."""
    for _ in range(DEEPEST):
        link = next((n for n in ("DW_AT_abstract_origin", "DW_AT_specification") if n in entry.attributes), None)
        if link is None:
            break
        entry = entry.get_DIE_from_attribute(link)
    return entry


def _name(entry: DIE) -> str | None:
    """The name of a lambda's code with all that encloses it; None of other code."""
    names = [CALL]
    place = _declared(entry).get_parent()
    if place is None or "DW_AT_name" in place.attributes or "DW_AT_decl_line" not in place.attributes:
        return None
    names.append(f"{{lambda line {place.attributes['DW_AT_decl_line'].value}}}")
    for _ in range(DEEPEST):
        parent = place.get_parent()
        if parent is None:
            break
        place = _declared(parent)
        if place.tag in ENCLOSING:
            names.append(_own_name(place))
    return "::".join(reversed(names))


def _own_name(place: DIE) -> str:
    """What a class, function or namespace is called; another lambda's code is its line."""
    if "DW_AT_name" in place.attributes:
        return str(place.attributes["DW_AT_name"].value.decode("utf-8", "replace"))
    line = place.attributes.get("DW_AT_decl_line")
    return ANONYMOUS if place.tag == "DW_TAG_namespace" or line is None else f"{{lambda line {line.value}}}"
