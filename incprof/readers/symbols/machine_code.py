"""The machine code of a module of a run: whom its call instructions name, and where its functions jump to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from incprof.elf.file import EM_X86_64, SHT_DYNSYM, SHT_NOBITS, ElfFile, Section
from incprof.elf.imports import exported_function, import_slots, stub_names
from incprof.errors import NoDataError
from incprof.readers.symbols.flow import Control, Range, flows

AddressArray = npt.NDArray[np.uint64]
ByteArray = npt.NDArray[np.uint8]

# call rel32: one byte, and as many as its distance has.
CALL, DISTANCE = 0xE8, 4
# call and jmp through a slot that the loader fills, and jmp rel32: their first bytes.
CALL_SLOT, JUMP_SLOT, JUMP = b"\xff\x15", b"\xff\x25", b"\xe9"
# Compilers may put these before a call or jump: bnd, notrack.
PREFIXES = b"\xf2\x3e"
# The first bytes of a call through a table: call *table(base, index, 8), whose third byte may look like CALL.
INDIRECT = (0xFF, 0x94)


class MachineCode:
    """What is asked of a file's code. A damaged file answers as one without code."""

    def __init__(self, elf: ElfFile):
        self._elf = elf
        self._bytes: dict[int, ByteArray] = {}

    def call_targets(self, last: AddressArray) -> AddressArray:
        """Whom the calls call whose last bytes are at these addresses, same shape; 0 where none names an address."""
        target = np.zeros(last.shape, dtype=np.uint64)
        if self._elf.machine != EM_X86_64:
            return target
        for section in self._elf.sections:
            if not section.executable or section.type == SHT_NOBITS or section.size <= DISTANCE:
                continue
            low, high = section.address + DISTANCE, section.address + section.size
            here = np.flatnonzero((last >= np.uint64(low)) & (last < np.uint64(min(high, 2**64 - 1))))
            if len(here) and len(code := self._bytes_of(section)):
                target[here] = _targets(code, last[here], section.address)
        return target

    def imported(self, address: int) -> str | None:
        """The function of another file that a call leads to, by its last byte, or a jump, by its first; None of others.

        It is named by the linkage stub, or by the slot that the loader fills (`-fno-plt`).
        """
        section = next(
            (s for s in self._elf.sections if s.executable and s.address <= address < s.address + s.size), None
        )
        if section is None or self._elf.machine != EM_X86_64 or section.type == SHT_NOBITS:
            return None
        code, at = self._bytes_of(section), address - section.address
        before, behind = code[max(at - 5, 0) : at + 1].tobytes(), code[at : at + 7].tobytes().lstrip(PREFIXES)
        if before[1:2] == bytes([CALL]) and (name := self.stubs.get(_ahead(address + 1, before[2:]))):
            return name
        if before[:2] == CALL_SLOT and (name := self._slots.get(_ahead(address + 1, before[2:]))):
            return name
        after = address + min(7, len(code) - at) - len(behind)
        if behind[:1] == JUMP:
            return self.stubs.get(_ahead(after + 5, behind[1:5]))
        return self._slots.get(_ahead(after + 6, behind[2:6])) if behind[:2] == JUMP_SLOT else None

    def jumps(self, functions: Sequence[Range]) -> dict[Range, list[Control]]:
        """The jumps and returns of functions, as far as they are known."""
        return flows(self._elf, functions) if self._elf.machine == EM_X86_64 else {}

    @cached_property
    def stubs(self) -> dict[int, str]:
        """What the linkage stubs lead to, by address."""
        try:
            return stub_names(self._elf)
        except NoDataError:
            return {}

    @cached_property
    def _slots(self) -> dict[int, str]:
        """What the loader puts into slots, by address."""
        try:
            return import_slots(self._elf)
        except NoDataError:
            return {}

    @cached_property
    def _dynamic(self) -> tuple[bytes, bytes]:
        """The dynamic symbols and their names."""
        try:
            table = next((s for s in self._elf.sections if s.type == SHT_DYNSYM), None)
            return self._elf.symbol_table(table) if table is not None else (b"", b"")
        except NoDataError:
            return b"", b""

    def exported(self, name: str) -> int | None:
        """Where a function begins that other modules may import by this name; None where there is none."""
        return exported_function(*self._dynamic, name)

    def _bytes_of(self, section: Section) -> ByteArray:
        """All of a section's bytes, or none of them."""
        if section.address not in self._bytes:
            try:
                contents = self._elf.contents(section)
            except NoDataError:
                contents = b""
            self._bytes[section.address] = np.frombuffer(contents, dtype=np.uint8)
        return self._bytes[section.address]


def _ahead(end: int, distance: bytes) -> int:
    """The address that is so far from the end of an instruction; -1 without a whole distance."""
    return end + int.from_bytes(distance, "little", signed=True) if len(distance) == DISTANCE else -1


def _targets(code: ByteArray, last: AddressArray, begin: int) -> AddressArray:
    """The targets of the calls in a section that begins at an address."""
    at = (last - np.uint64(begin)).astype(np.int64) - DISTANCE
    distance = code[at[:, None] + np.arange(1, DISTANCE + 1)].view("<i4").ravel().astype(np.int64)
    before = [code[np.maximum(at - back, 0)] for back in (2, 1)]
    through_table = (at >= 2) & (before[0] == INDIRECT[0]) & (before[1] == INDIRECT[1])
    direct = (code[at] == CALL) & ~through_table
    return np.where(direct, last + np.uint64(1) + distance.view(np.uint64), np.uint64(0))
