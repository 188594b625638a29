"""Load symbols for the modules of one process, and report missing ones."""

from __future__ import annotations

import os
import re
from pathlib import Path

from incprof.errors import NoDataError
from incprof.model import Module
from incprof.safe.inputs import read_input
from incprof.symbols.elf.file import ElfFile
from incprof.symbols.machine_code import MachineCode
from incprof.symbols.made_code import NO_CODE, MadeCode, Piece, made_code
from incprof.symbols.python_code import mangled_name
from incprof.symbols.source import binary_with_code, find_symbols
from incprof.symbols.table import SymbolTable, whole

# Modules named in one line.
MOST_NAMED = 4
MOST_BYTES = 256 << 20
# Directory in which run-times place their maps: anybody can write to it.
PLACE = Path("/tmp")
NAME = re.compile(r"perf-[0-9]+\.map")
ROOT = 0
HEX = rb"(?:0x)?([0-9a-fA-F]{1,16})"
CODE = re.compile(rb"%s %s ([^\n]+)" % (HEX, HEX))
# The collector's additions: the time from which the following entries are valid, moved functions, and sources.
SINCE = re.compile(rb"# since ([0-9]{1,19})")
MOVE = re.compile(rb"# move %s %s %s" % (HEX, HEX, HEX))
SOURCE = re.compile(rb"# source %s ([0-9]{1,9}) ([^\n]+)" % HEX)
MOST_SIZE, MOST_ADDRESS = 2**32, 2**62
# Python's trampolines stand for frames that are recorded anyway.
TRAMPOLINE = b"py::"


def map_table(directory: str, name: str) -> MadeCode:
    """Return the names in a map stored with a run; if there is none, or during the run, those of the program's own map.

    The name is from the recording. The program's own map must belong to the recording's owner, the reader or root.
    """
    if NAME.fullmatch(name) is None:
        return NO_CODE
    try:
        return parse_map(read_input(Path(directory) / "symbols" / name, MOST_BYTES, within=directory))
    except (OSError, NoDataError):
        pass
    try:
        owners = {os.stat(directory).st_uid, os.geteuid(), ROOT}
        return parse_map(read_input(PLACE / name, MOST_BYTES, owners=owners))
    except (OSError, NoDataError):
        return NO_CODE


def parse_map(text: bytes) -> MadeCode:
    """Parse the functions of a map, in the order in which they were generated; invalid lines are left out."""
    pieces: list[Piece] = []
    latest: dict[int, Piece] = {}
    since, source = 0, (-1, b"", 0)

    def add(start: int, size: int, name: bytes, place: tuple[bytes, int]) -> None:
        if 0 < size <= MOST_SIZE and start < MOST_ADDRESS:
            latest[start] = Piece(since, start, size, name.decode("utf-8", "replace"), place[0], place[1])
            pieces.append(latest[start])

    for line in text.split(b"\n"):
        if found := CODE.fullmatch(line):
            start, name = int(found[1], 16), found[3].strip()
            if not name.startswith(TRAMPOLINE):
                add(start, int(found[2], 16), name, source[1:] if source[0] == start else (b"", 0))
        elif found := SINCE.fullmatch(line):
            since = int(found[1])
        elif found := SOURCE.fullmatch(line):
            source = (int(found[1], 16), found[3], int(found[2]))
        elif (found := MOVE.fullmatch(line)) and (moved := latest.get(int(found[1], 16))):
            add(int(found[2], 16), int(found[3], 16), moved.name.encode(), (moved.file, moved.line))
    return made_code(pieces)


class SymbolLoader:
    """Loads tables for a FunctionSpace; `warnings` lists modules with missing symbols.

    nameless: a program without symbols is one nameless function, not an error.
    """

    def __init__(self, directory: str, exe: str | None, *, nameless: bool = False):
        self._directory = directory
        self._exe = exe
        self._nameless = nameless
        self._lacking: list[str] = []
        self._stripped: list[str] = []
        self._machine: dict[int, MachineCode | None] = {}

    def load(self, module: Module) -> SymbolTable:
        """Return the symbols of a module; the program itself must have some, a library need not.

        Raises: NoDataError if the program has none, or the binary given by hand does not match.
        """
        if module.code is not None:
            return whole(mangled_name(module.path, module.code))
        if module.map is not None:
            return map_table(self._directory, module.map)
        found = find_symbols(module, self._directory, self._exe if module.id == 0 else None)
        if not len(found.table):
            self._nothing(module)
        elif module.app and found.table.exported_only:
            self._stripped.append(module.name)
        return found.table

    @property
    def warnings(self) -> list[str]:
        """Return a line for each module without names, and one for all that are stripped."""
        if not self._stripped:
            return list(self._lacking)
        some = ", ".join(self._stripped[:MOST_NAMED])
        more = f" and {len(self._stripped) - MOST_NAMED} more" if len(self._stripped) > MOST_NAMED else ""
        verb = "is" if len(self._stripped) == 1 else "are"
        line = f"{some}{more} {verb} stripped: only exported functions have names, others their addresses"
        return [*self._lacking, f"{line} (build with symbols, or install debug symbols)"]

    def code(self, module: Module) -> ElfFile | None:
        """Return the binary of a module, if it exists here; another build of the program does not count."""
        if module.code is not None or module.map is not None:
            return None
        try:
            return binary_with_code(module, self._directory, self._exe if module.id == 0 else None)
        except NoDataError:
            return None

    def machine_code(self, module: Module) -> MachineCode | None:
        """Return the machine code of a module, if its binary exists here; opened once."""
        if module.id not in self._machine:
            elf = self.code(module)
            self._machine[module.id] = MachineCode(elf) if elf else None
        return self._machine[module.id]

    def _nothing(self, module: Module) -> None:
        """Report that a module has no symbols: an error for the program, a warning for a library."""
        path = Path(module.path)
        if module.id == 0 and self._nameless:
            self._lacking.append(f"{path}: no symbols: all of its time is shown as [unknown in {path.name}]")
            return
        if module.id == 0 and path.is_file():
            reason = "is stripped, or was built again since the run"
            raise NoDataError(f"{path} {reason}: build with symbols and record again, or give the program with --exe")
        if module.id == 0:
            raise NoDataError(f"{path}: neither the program nor its symbols are here: give the program with --exe")
        self._lacking.append(f"{path}: no symbols: its time is shown as [unknown in {path.name}]")
