"""Source lines of addresses in one binary, asked for in one batch."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

from elftools.common.exceptions import DWARFError, ELFError
from elftools.elf.elffile import ELFFile

Place = tuple[str, int]

TIMEOUT_S = 300
LLVM = ("llvm-symbolizer", "--output-style=GNU", "-f=none", "-a", "-i")
ANSWER = re.compile(r"(.+):(\d+)(?::\d+)?(?: \(discriminator \d+\))?")


def look_up(binary: str, addresses: Sequence[int]) -> list[Place | None]:
    """File and line of each link-time address; None where the binary does not say.

    An address in inlined code has the line of the function that it was inlined into: that one is on record.
    Asks addr2line, else llvm-symbolizer, else reads the line table of the compile unit around each address.
    """
    if not addresses:
        return []
    for command in (["addr2line", "-a", "-i", "-e", binary], [*LLVM, "-e", binary]):
        if shutil.which(command[0]) and (answers := _ask(command, addresses)) is not None:
            return answers
    return _from_line_tables(binary, addresses)


def _ask(command: Sequence[str], addresses: Sequence[int]) -> list[Place | None] | None:
    """Run a tool that answers each address on stdin with itself and its places, innermost first; None when it fails."""
    question = "".join(f"{address:#x}\n" for address in addresses)
    try:
        done = subprocess.run(
            command, input=question, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    outermost: list[Place | None] = []
    for line in done.stdout.splitlines():
        if line.startswith("0x"):
            outermost.append(None)
        elif line and outermost:
            outermost[-1] = _place(line)
    return outermost if len(outermost) == len(addresses) else None


def _place(answer: str) -> Place | None:
    """`file:line` taken apart; None for `??:0` and the like."""
    match = ANSWER.fullmatch(answer)
    if not match or match[1] == "??" or int(match[2]) == 0:
        return None
    return os.path.normpath(match[1]), int(match[2])


def _from_line_tables(binary: str, addresses: Sequence[int]) -> list[Place | None]:
    """The same from the line tables themselves, one compile unit at a time."""
    nothing: list[Place | None] = [None] * len(addresses)
    try:
        with open(binary, "rb") as stream:
            elf = ELFFile(stream)
            if not elf.has_dwarf_info():
                return nothing
            dwarf = elf.get_dwarf_info()
            units = dwarf.get_aranges()
            if units is None:
                return nothing
            return [_in_unit(dwarf, units.cu_offset_at_addr(address), address) for address in addresses]
    except (OSError, ELFError, DWARFError, ValueError, KeyError, IndexError, AttributeError, TypeError):
        return nothing


def _in_unit(dwarf: Any, offset: int | None, address: int) -> Place | None:
    """The line table entry that covers an address in the compile unit at `offset`."""
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
    """Path of a file of a line program; numbers start at 1 before DWARF 5."""
    new = program["version"] >= 5
    file = program["file_entry"][number - (not new)]
    directory = unit.get_top_DIE().attributes["DW_AT_comp_dir"].value.decode("utf-8", "replace")
    index = file.dir_index if new else file.dir_index - 1
    if index >= 0:
        directory = os.path.join(directory, program["include_directory"][index].decode("utf-8", "replace"))
    name: str = file.name.decode("utf-8", "replace")
    return os.path.normpath(os.path.join(directory, name))
