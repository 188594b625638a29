"""Load symbols for the modules of one process, and report missing ones."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from incprof.errors import NoDataError
from incprof.model import Module
from incprof.safe.inputs import read_input
from incprof.symbols.control_flow import Control, Range, flows
from incprof.symbols.elf import EM_X86_64, LARGEST, SHT_DYNSYM, SHT_NOBITS, ElfFile, Section, text_at
from incprof.symbols.elf.program_file import plt_stubs, slot_symbols
from incprof.symbols.elf_symbols import FUNC, SYMBOL, SymbolArray
from incprof.symbols.function_table import (
    NO_CODE,
    GeneratedCode,
    Piece,
    SymbolTable,
    generated_code,
    single_symbol_table,
)
from incprof.symbols.python_code import mangled_name
from incprof.symbols.symbol_files import binary_with_code, find_symbols, is_built_again

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


def map_table(directory: str, name: str) -> GeneratedCode:
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


def parse_map(text: bytes) -> GeneratedCode:
    """Parse the functions of a map, in the order in which they were generated; invalid lines are left out."""
    pieces: list[Piece] = []
    latest: dict[int, Piece] = {}
    since, source = 0, (-1, b"", 0)

    def add(start: int, size: int, name: bytes, place: tuple[bytes, int]) -> None:
        if 0 < size <= MOST_SIZE and start < MOST_ADDRESS:
            latest[start] = Piece(since, start, size, name.decode("utf-8", "replace"), place[0], place[1])
            pieces.append(latest[start])

    for line in text.split(b"\n"):
        if match := CODE.fullmatch(line):
            start, name = int(match[1], 16), match[3].strip()
            if not name.startswith(TRAMPOLINE):
                add(start, int(match[2], 16), name, source[1:] if source[0] == start else (b"", 0))
        elif match := SINCE.fullmatch(line):
            since = int(match[1])
        elif match := SOURCE.fullmatch(line):
            source = (int(match[1], 16), match[3], int(match[2]))
        elif (match := MOVE.fullmatch(line)) and (moved := latest.get(int(match[1], 16))):
            add(int(match[2], 16), int(match[3], 16), moved.name.encode(), (moved.file, moved.line))
    return generated_code(pieces)


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
            return single_symbol_table(mangled_name(module.path, module.code))
        if module.map is not None:
            return map_table(self._directory, module.map)
        symbols = find_symbols(module, self._directory, self._exe if module.id == 0 else None)
        if not len(symbols.table):
            self._report_no_symbols(module)
        elif module.app and symbols.table.exported_only:
            self._stripped.append(module.name)
        return symbols.table

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
            if module.id == 0 and elf is None and is_built_again(module):
                self._lacking.append(
                    f"{module.path} was built again since the run: library functions that it called may have no names"
                    " (give the recorded program with --exe)"
                )
        return self._machine[module.id]

    def _report_no_symbols(self, module: Module) -> None:
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


# The machine code of a module of a run: functions named by its call instructions, and jumps of its functions.


AddressArray = npt.NDArray[np.uint64]
ByteArray = npt.NDArray[np.uint8]

# call rel32: one byte, and the bytes of its distance.
CALL, DISTANCE = 0xE8, 4
# call and jmp through a slot that the loader fills, and jmp rel32: their first bytes.
CALL_SLOT, JUMP_SLOT, JUMP = b"\xff\x15", b"\xff\x25", b"\xe9"
LONGEST_NAME = 1 << 16
# Names with the same end as the requested one: few in a sound file.
MOST_TRIES = 10_000
# Bytes of a call or jump instruction are closer together than this.
REACH = 16
# Compilers may put these before a call or jump: bnd, notrack.
PREFIXES = b"\xf2\x3e"
# The first bytes of a call through a table: call *table(base, index, 8), whose third byte may look like CALL.
INDIRECT = (0xFF, 0x94)
PAGE = 1 << 14


class SectionPages:
    """The bytes of a section; empty if it cannot be read completely."""

    def __init__(self, elf: ElfFile, section: Section):
        self._elf, self._section = elf, section
        size = section.size if _is_whole(elf, section) else 0
        # Pages that are never written to take no memory.
        self._bytes = np.zeros(size, dtype=np.uint8)
        self._read = np.zeros(-(-size // PAGE), dtype=np.bool_)

    def around(self, places: npt.NDArray[np.int64], reach: int) -> npt.NDArray[np.uint8]:
        """Return the section's bytes, valid up to `reach` bytes before and after each of these places."""
        if len(self._bytes) and len(places):
            ends = np.concatenate([places - reach, places + reach])
            pages = np.unique(np.clip(ends, 0, len(self._bytes) - 1) // PAGE)
            missing = pages[~self._read[pages]]
            for run in np.split(missing, np.flatnonzero(np.diff(missing) > 1) + 1) if len(missing) else ():
                self._fill(int(run[0]), int(run[-1]))
        return self._bytes

    def _fill(self, first: int, last: int) -> None:
        begin, end = first * PAGE, min((last + 1) * PAGE, len(self._bytes))
        try:
            data = self._elf.read(self._section.offset + begin, end - begin)
        except NoDataError:  # it was truncated
            self._bytes = self._bytes[:0]
            return
        self._bytes[begin:end] = np.frombuffer(data, dtype=np.uint8)
        self._read[first : last + 1] = True


def _is_whole(elf: ElfFile, section: Section) -> bool:
    """Return whether the file contains the section up to its last byte."""
    try:
        return 0 < section.size <= LARGEST and len(elf.read(section.offset + section.size - 1, 1)) == 1
    except NoDataError:
        return False


class MachineCode:
    """Queries about a file's code. A damaged file answers like one without code."""

    def __init__(self, elf: ElfFile):
        self._elf = elf
        self._pages: dict[int, SectionPages] = {}

    def call_targets(self, last: AddressArray) -> AddressArray:
        """Return the targets of the calls whose last bytes are at these addresses, same shape; 0 for indirect calls."""
        target = np.zeros(last.shape, dtype=np.uint64)
        if self._elf.machine != EM_X86_64:
            return target
        for section in self._elf.sections:
            if not section.executable or section.type == SHT_NOBITS or section.size <= DISTANCE:
                continue
            low, high = section.address + DISTANCE, section.address + section.size
            in_section = np.flatnonzero((last >= np.uint64(low)) & (last < np.uint64(min(high, 2**64 - 1))))
            at = (last[in_section] - np.uint64(section.address)).astype(np.int64) - DISTANCE
            if len(in_section) and len(code := self._code(section, at)):
                target[in_section] = _targets(code, at, last[in_section])
        return target

    def imported(self, address: int) -> str | None:
        """Return the function of another file that a call (by its last byte) or jump (by its first) leads to; or None.

        Its name comes from the linkage stub, or from the slot that the loader fills (`-fno-plt`).
        """
        section = next(
            (s for s in self._elf.sections if s.executable and s.address <= address < s.address + s.size), None
        )
        if section is None or self._elf.machine != EM_X86_64 or section.type == SHT_NOBITS:
            return None
        at = address - section.address
        code = self._code(section, np.array([at]))
        before, code_after = code[max(at - 5, 0) : at + 1].tobytes(), code[at : at + 7].tobytes().lstrip(PREFIXES)
        if before[1:2] == bytes([CALL]) and (name := self.stub(_target_at(address + 1, before[2:]))):
            return name
        if before[:2] == CALL_SLOT and (name := self._slot(_target_at(address + 1, before[2:]))):
            return name
        after = address + min(7, len(code) - at) - len(code_after)
        if code_after[:1] == JUMP:
            return self.stub(_target_at(after + 5, code_after[1:5]))
        return self._slot(_target_at(after + 6, code_after[2:6])) if code_after[:2] == JUMP_SLOT else None

    def jumps(self, functions: Sequence[Range]) -> dict[Range, list[Control]]:
        """Return the known jumps and returns of functions."""
        return flows(self._elf, functions) if self._elf.machine == EM_X86_64 else {}

    def stub(self, address: int) -> str | None:
        """Return the destination of the linkage stub at an address; None if there is no stub."""
        return self._name(self._stubs.get(address))

    def _slot(self, address: int) -> str | None:
        """Return the symbol whose address the loader stores in the slot at an address; None if there is no slot."""
        return self._name(self._slots.get(address))

    @cached_property
    def _stubs(self) -> dict[int, int]:
        """Return the dynamic symbols that the linkage stubs lead to, by address."""
        try:
            return dict(chain.from_iterable(plt_stubs(self._elf, s, self._slots) for s in self._elf.sections))
        except NoDataError:
            return {}

    @cached_property
    def _slots(self) -> dict[int, int]:
        """Return the dynamic symbols whose addresses the loader stores in slots, by address."""
        try:
            return slot_symbols(self._elf)
        except NoDataError:
            return {}

    def _name(self, symbol: int | None) -> str | None:
        """Return the name of a dynamic symbol, without a search through all names: there may be many."""
        rows, names = self._dynamic
        at = int(rows["name"][symbol]) if symbol is not None and symbol < len(rows) else len(names)
        return text_at(names, at, LONGEST_NAME) or None

    @cached_property
    def _dynamic(self) -> tuple[SymbolArray, bytes]:
        """Return the dynamic symbols and their names."""
        try:
            table = next((s for s in self._elf.sections if s.type == SHT_DYNSYM), None)
            entries, names = self._elf.symbol_table(table) if table is not None else (b"", b"")
        except NoDataError:
            entries, names = b"", b""
        return np.frombuffer(entries, dtype=SYMBOL, count=len(entries) // SYMBOL.itemsize), names

    @cached_property
    def _exports(self) -> SymbolArray:
        """Return the functions that other modules may import."""
        rows, _ = self._dynamic
        exports: SymbolArray = rows[(rows["section"] > 0) & (rows["info"] & 15 == FUNC)]
        return exports

    def exported(self, name: str) -> int | None:
        """Return where the function begins that other modules may import by this name; None if there is none."""
        _, names = self._dynamic
        pattern, at = name.encode() + b"\0", -1
        for _ in range(MOST_TRIES):
            at = names.find(pattern, at + 1)
            if at < 0:
                break
            rows = np.flatnonzero(self._exports["name"] == at)
            if len(rows):
                return int(self._exports["value"][rows[0]])
        return None

    def _code(self, section: Section, places: npt.NDArray[np.int64]) -> ByteArray:
        """Return a section's bytes, read around these places; empty if they cannot be read."""
        if section.address not in self._pages:
            self._pages[section.address] = SectionPages(self._elf, section)
        return self._pages[section.address].around(places, REACH)


def _target_at(end: int, distance: bytes) -> int:
    """Return the address at a distance from the end of an instruction; -1 if the distance is incomplete."""
    return end + int.from_bytes(distance, "little", signed=True) if len(distance) == DISTANCE else -1


def _targets(code: ByteArray, at: npt.NDArray[np.int64], last: AddressArray) -> AddressArray:
    """Return the targets of the calls that begin at these places of a section, and end at these addresses."""
    distance = code[at[:, None] + np.arange(1, DISTANCE + 1)].view("<i4").ravel().astype(np.int64)
    before = [code[np.maximum(at - back, 0)] for back in (2, 1)]
    through_table = (at >= 2) & (before[0] == INDIRECT[0]) & (before[1] == INDIRECT[1])
    direct = (code[at] == CALL) & ~through_table
    return np.where(direct, last + np.uint64(1) + distance.view(np.uint64), np.uint64(0))
