"""Functions and source lines of addresses in one binary, asked for in one batch."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any, NamedTuple

from elftools.common.exceptions import DWARFError, ELFError
from elftools.elf.elffile import ELFFile

Place = tuple[str, int]

TIMEOUT_S = 300
LLVM = ("llvm-symbolizer", "--output-style=GNU", "-f=linkage", "--no-demangle", "-a", "-i")
ADDRESS = re.compile(r"0x[0-9a-f]+")
ANSWER = re.compile(r"(.+):(\d+)(?::\d+)?(?: \(discriminator \d+\))?")


class Frame(NamedTuple):
    """Code of a function, as its mangled name says; "" and 0 where the binary does not say."""

    function: str
    file: str
    line: int


# An address's code, innermost inlined function first, the one that the code lies in last; empty where nothing is known.
Chain = tuple[Frame, ...]


def look_up(binary: str, addresses: Sequence[int]) -> list[Place | None]:
    """File and line of each link-time address; None where the binary does not say.

    An address in inlined code has the line of the function that it was inlined into: that one is on record.
    """
    return [outermost(chain) for chain in chains(binary, addresses)]


def outermost(chain: Chain) -> Place | None:
    """Where a chain's code lies in the function that is on record."""
    return (chain[-1].file, chain[-1].line) if chain and chain[-1].line else None


def chains(binary: str, addresses: Sequence[int]) -> list[Chain]:
    """The functions whose code each link-time address is, as they were inlined into each other.

    Asks llvm-symbolizer, else addr2line, else reads the line table of the compile unit around each address, which
    knows one place and no name.
    """
    if not addresses:
        return []
    # binutils has the name of the function around it for inlined code of C++ and Fortran: it is asked last.
    for command in ([*LLVM, "-e", binary], ["addr2line", "-a", "-f", "-i", "-e", binary]):
        if shutil.which(command[0]) and (answers := _ask(command, addresses)) is not None:
            return answers
    places = _from_line_tables(binary, addresses)
    return [(Frame("", *place),) if place else () for place in places]


def _ask(command: Sequence[str], addresses: Sequence[int]) -> list[Chain] | None:
    """Run a tool that answers each address on stdin with itself and, innermost first, names and places on two lines.

    None when it fails.
    """
    question = "".join(f"{address:#x}\n" for address in addresses)
    try:
        done = subprocess.run(
            command, input=question, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found: list[list[Frame]] = []
    lines = iter(done.stdout.split("\n"))
    for line in lines:
        if ADDRESS.fullmatch(line):
            found.append([])
        elif line and found:
            found[-1].append(_frame(line, next(lines, "")))
    return [_known(chain) for chain in found] if len(found) == len(addresses) else None


def _frame(function: str, answer: str) -> Frame:
    """A name and a `file:line` taken apart; `??` and the like are no answers."""
    match = ANSWER.fullmatch(answer)
    name = "" if function == "??" else function
    if not match or match[1] == "??" or int(match[2]) == 0:
        return Frame(name, "", 0)
    return Frame(name, os.path.normpath(match[1]), int(match[2]))


def _known(chain: list[Frame]) -> Chain:
    """The chain, or nothing when none of it has a line."""
    return tuple(chain) if any(frame.line for frame in chain) else ()


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
