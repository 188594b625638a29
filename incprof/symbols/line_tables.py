"""Source lines of addresses from a binary's line tables, for systems without a tool that reads them."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Sequence
from typing import Any

from elftools.common.exceptions import DWARFError, ELFError
from elftools.elf.elffile import ELFFile

from incprof.safe.inputs import open_input

Place = tuple[str, int]

MOST_TIMES = 8
# Errors that pyelftools raises for files that no compiler wrote.
DAMAGED = (
    OSError, ELFError, DWARFError, ValueError, LookupError, AttributeError, TypeError, AssertionError,
    zlib.error, struct.error, ArithmeticError, RecursionError,
)  # fmt: skip


def from_line_tables(binary: str, addresses: Sequence[int]) -> list[Place | None]:
    """Return file and line of each link-time address, one compile unit at a time; None if the binary lacks them."""
    nothing: list[Place | None] = [None] * len(addresses)
    try:
        with open_input(binary) as stream:
            elf = ELFFile(stream)
            if not elf.has_dwarf_info() or bloated(elf, os.fstat(stream.fileno()).st_size):
                return nothing
            dwarf = elf.get_dwarf_info()
            units = dwarf.get_aranges()
            if units is None:
                return nothing
            return [_in_unit(dwarf, units.cu_offset_at_addr(address), address) for address in addresses]
    except DAMAGED:
        return nothing


def bloated(elf: ELFFile, size: int) -> bool:
    """Return whether the sections of a file of so many bytes claim to be, or unpack to, far more than is plausible."""
    sections = list(elf.iter_sections())
    # This old format does not contain the size in advance.
    if any(section.name.startswith(".zdebug") for section in sections):
        return True
    read = (each for each in sections if each.header.sh_type != "SHT_NOBITS" or each.name.startswith(".debug"))
    return int(sum(section.data_size for section in read)) > MOST_TIMES * size


def _in_unit(dwarf: Any, offset: int | None, address: int) -> Place | None:
    """Return the line table entry that covers an address in the compile unit at `offset`."""
    if offset is None:
        return None
    unit = dwarf.get_CU_at(offset)
    program = dwarf.line_program_for_CU(unit)
    previous = None
    for entry in program.get_entries() if program else ():
        state = entry.state
        if state is None:
            continue
        if previous and not previous.end_sequence and previous.address <= address < state.address:
            return _file_name(unit, program, previous.file), int(previous.line)
        previous = state
    return None


def _file_name(unit: Any, program: Any, number: int) -> str:
    """Return the path of a file of a line program; numbers start at 1 before DWARF 5."""
    new = program["version"] >= 5
    file = program["file_entry"][number - (not new)]
    directory = unit.get_top_DIE().attributes["DW_AT_comp_dir"].value.decode("utf-8", "replace")
    index = file.dir_index if new else file.dir_index - 1
    if index >= 0:
        directory = os.path.join(directory, program["include_directory"][index].decode("utf-8", "replace"))
    name: str = file.name.decode("utf-8", "replace")
    return os.path.normpath(os.path.join(directory, name))
