"""Go's run-time table of stacks and function names (.gopclntab), which remains in a stripped program.

Supports Go 1.16 and later; its layout is in Go's source, internal/abi and runtime/symtab.go.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from incprof.symbols.elf.file import MOST_OF_NAMES, ElfFile
from incprof.symbols.line_tables import Place
from incprof.symbols.table import AddressArray

# Sections in which linkers place it; the last one holds other data, too.
SECTIONS = (".gopclntab", ".data.rel.ro.gopclntab", ".data.rel.ro")
GO_16, GO_18, GO_20 = 0xFFFFFFFA, 0xFFFFFFF0, 0xFFFFFFF1
# Magic number, two zeroes, the minimum instruction length, and the size of an address.
HEAD = struct.Struct("<IBBBB")
LONGEST_NAME = 4096
# Most line changes of one function; generated code has some thousands.
MOST_STEPS = 1 << 16


@dataclass(frozen=True)
class GoTable:
    """A table whose parts lie within its data.

    Attributes:
        entry: (f + 1,) where functions begin, and the last one ends.
        about: (f,) offset in `data` of each description.
    """

    data: bytes
    version: int
    quantum: int
    entry: AddressArray
    about: AddressArray
    names: int
    units: int
    files: int
    counts: int

    def functions(self) -> tuple[AddressArray, AddressArray, list[bytes]]:
        """Return first addresses, sizes, and names of the functions, in order of address; unnamed ones are left out.

        None if names overlap, which no linker writes.
        """
        ends = np.append(np.flatnonzero(np.frombuffer(self.data, dtype=np.uint8) == 0), len(self.data))
        begin = np.minimum(self.names + self._fields(0).astype(np.int64), len(self.data))
        if (ends[np.searchsorted(ends, begin)] - begin).sum() > MOST_OF_NAMES * len(self.data):
            return self.entry[:0], self.entry[:0], []
        names = [self._name(offset) for offset in self._fields(0).tolist()]
        start, size = self.entry[:-1], np.diff(self.entry)
        keep = np.array([bool(name) for name in names], dtype=np.bool_) & (self.entry[1:] > start)
        return start[keep], size[keep], [name for name, is_kept in zip(names, keep.tolist(), strict=True) if is_kept]

    def place(self, address: int) -> Place | None:
        """Return file and line of the code at an address, for inlined code its own; None if the table lacks them."""
        index = int(np.searchsorted(self.entry, np.uint64(address), side="right")) - 1
        if not 0 <= index < len(self.about):
            return None
        fields = self._fields
        offset = address - int(self.entry[index])
        file = self._value(int(fields(4)[index]), offset)
        line = self._value(int(fields(5)[index]), offset)
        if file is None or line is None or line <= 0:
            return None
        unit = self.units + 4 * (int(fields(7)[index]) + file)
        if unit + 4 > len(self.data):
            return None
        name = self._text(self.files + int.from_bytes(self.data[unit : unit + 4], "little"))
        return (name.decode("utf-8", "replace"), line) if name else None

    @cached_property
    def _descriptions(self) -> np.ndarray[tuple[int, int], np.dtype[np.uint32]]:
        """Return (f, 8) 32-bit fields after the entry of each description; zeroes for those outside the data."""
        begin = self.about.astype(np.int64) + (8 if self.version == GO_16 else 4)
        inside = begin + 32 <= len(self.data)
        rows = np.zeros((len(begin), 32), dtype=np.uint8)
        rows[inside] = np.frombuffer(self.data, dtype=np.uint8)[begin[inside, None] + np.arange(32)]
        return np.ascontiguousarray(rows).view("<u4")

    def _fields(self, number: int) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
        """Return fields of a function: 0 its name, 4 files, 5 lines, 7 the first file of its unit."""
        return self._descriptions[:, number]

    def _name(self, offset: int) -> bytes:
        return self._text(self.names + offset)

    def _text(self, at: int) -> bytes:
        end = self.data.find(b"\0", at, at + LONGEST_NAME)
        return self.data[at:end] if end >= 0 else b""

    def _value(self, at: int, offset: int) -> int | None:
        """Return the value of a list of changes at the given distance in bytes into its function."""
        numbers = self._numbers(self.counts + at)
        value, reached = -1, 0
        for step in range(MOST_STEPS if at else 0):
            change, length = next(numbers, 0), next(numbers, 0)
            if (change == 0 and step) or length == 0:
                return None
            value += -(change + 1 >> 1) if change & 1 else change >> 1
            reached += length * self.quantum
            if offset < reached:
                return value
        return None

    def _numbers(self, at: int) -> Iterator[int]:
        """Yield numbers of seven bits a byte, the lowest first."""
        value = shift = 0
        for byte in memoryview(self.data)[at : at + 10 * MOST_STEPS]:
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                yield value
                value = shift = 0
            elif shift > 63:
                return


def go_table(elf: ElfFile) -> GoTable | None:
    """Return the table of a file; None if there is no supported one.

    Raises: NoDataError if the file is damaged.
    """
    section = next((s for s in map(elf.section, SECTIONS) if s is not None), None)
    if section is None:
        return None
    data = elf.contents(section)
    code = next((s for s in elf.sections if s.name == ".text"), None)
    for at in _heads(data):
        table = _read(data[at:], code.address if code else 0)
        if table is not None:
            return table
    return None


def _heads(data: bytes) -> Iterator[int]:
    """Yield where tables may begin."""
    for magic in (GO_16, GO_18, GO_20):
        for quantum in (1, 4):
            head = HEAD.pack(magic, 0, 0, quantum, 8)
            at = data.find(head)
            if at >= 0 and at % 8 == 0:
                yield at


def _read(data: bytes, code: int) -> GoTable | None:
    """Parse the table at the beginning of some bytes. `code`: where code begins, if the table does not contain it."""
    version, _, _, quantum, _ = HEAD.unpack_from(data)
    words = struct.Struct("<7Q" if version == GO_16 else "<8Q")
    if len(data) < HEAD.size + words.size:
        return None
    count, _, *first, names, units, files, counts, functions = words.unpack_from(data, HEAD.size)
    text = (first[0] or code) if first else 0
    number = "<u8" if version == GO_16 else "<u4"
    row = np.dtype([("entry", number), ("about", number)])
    if max(names, units, files, counts, functions) >= len(data) or count >= (len(data) - functions) // row.itemsize:
        return None
    rows = np.frombuffer(data, dtype=row, count=count, offset=functions)
    last = np.frombuffer(data, dtype=number, count=1, offset=functions + count * row.itemsize)
    entry = np.concatenate([rows["entry"], last]).astype(np.uint64) + np.uint64(text)
    if (entry[1:] < entry[:-1]).any():
        return None
    about = rows["about"].astype(np.uint64) + np.uint64(functions)
    about[about > len(data)] = len(data)
    return GoTable(data, version, quantum, entry, about, names, units, files, counts)


def go_places(elf: ElfFile, addresses: Sequence[int]) -> list[Place | None]:
    """Return file and line of each link-time address.

    Raises: NoDataError if the file is damaged.
    """
    table = go_table(elf)
    return [table.place(address) if table else None for address in addresses]
