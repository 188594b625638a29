"""Explain missing information in existing debug information, in one line for each module."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from incprof.errors import NoDataError
from incprof.safe.inputs import notice, open_input
from incprof.symbols.addr2line import Chain, lacks_names
from incprof.symbols.elf.file import ElfFile
from incprof.symbols.line_tables import DAMAGED, bloated

SHF_COMPRESSED = 0x800
KINDS = {1: "zlib", 2: "zstd"}
# The first compile units show whether all are split.
MOST_UNITS = 20


def gap(elf: ElfFile, found: Sequence[Chain]) -> str | None:
    """Return what is missing in the chains at addresses in a file with line numbers; None if nothing seems to be."""
    name = Path(elf.path).name
    try:
        if not any(found):
            kind = _compression(elf)
            return kind and (
                f"{name}: its debug information is compressed ({kind}), which no tool here can read: no line numbers "
                f"(objcopy --decompress-debug-sections {name}, or install newer binutils)"
            )
        plain = all(len(chain) < 2 for chain in found)
        if elf.section(".gnu_debugaltlink") and (plain or lacks_names(found)):
            return f"{name}: its debug information is in another file (dwz), unread: inlined functions have no names"
        if plain and elf.section(".debug_addr"):
            return _split(elf.path, name)
    except NoDataError:
        return None
    return None


def _compression(elf: ElfFile) -> str | None:
    """Return how the line numbers are compressed."""
    if elf.section(".zdebug_line"):
        return "zlib-gnu"
    section = elf.section(".debug_line")
    if section is None or not section.flags & SHF_COMPRESSED:
        return None
    return KINDS.get(int.from_bytes(elf.read(section.offset, 4), "little"), "of an unknown kind")


def _split(path: str, name: str) -> str | None:
    """Return a message on a file whose inlined functions are described in other files (.dwo)."""
    from elftools.elf.elffile import ELFFile  # imported here, because few files need it

    try:
        with open_input(path) as stream:
            elf = ELFFile(stream)
            if bloated(elf, os.fstat(stream.fileno()).st_size):
                return None
            units = elf.get_dwarf_info(follow_links=False).iter_CUs()
            parts = [_part_of(unit) for unit, _ in zip(units, range(MOST_UNITS), strict=False)]
    except DAMAGED:
        return None
    named = [part for part in parts if part]
    if not named:
        return None
    notice(*named, f"{path}.dwp")
    missing = next((part for part in named if not os.path.exists(part)), None)
    if missing is None:
        why = "no tool here reads all of them"
    elif os.path.exists(f"{path}.dwp"):
        why = "its .dwp file could not be read"
    else:
        why = f"{missing} is not here"
    return f"{name}: its debug information is in .dwo files, and {why}: inlined functions have no names"


def _part_of(unit: Any) -> str | None:
    """Return the path of the file with a compile unit's split-off part; None if it is not split."""
    top = unit.get_top_DIE().attributes
    name = top.get("DW_AT_dwo_name") or top.get("DW_AT_GNU_dwo_name")
    home = top.get("DW_AT_comp_dir")
    texts = [each.value.decode("utf-8", "replace") for each in (home, name) if each]
    return os.path.join(*texts) if name else None
