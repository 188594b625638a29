"""Read symbol tables from ELF files, in bulk."""

from __future__ import annotations

import lzma
import struct
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from incprof.symbols.addr2line import Place
from incprof.symbols.elf import MOST_OF_NAMES, ElfFile, Section
from incprof.symbols.function_table import EMPTY_TABLE, AddressArray, Int64Array, SymbolTable, table_of, unwind_ranges

SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
SymbolArray = npt.NDArray[np.void]

NOTYPE, FUNC, GNU_IFUNC = 0, 2, 10
LOCAL, GLOBAL, WEAK, GNU_UNIQUE = 0, 1, 2, 10
PLT_NAME = b"[plt]"
FORTRAN_MARKS = (b"_gfortran_", b"\0MAIN__\0", b"_MOD_", b"_FortranA", b"\0_QQmain\0")
# Most bytes of names, unpacked; and the largest accepted compression ratio (xz packs zeroes 7 000 to 1).
MOST_BYTES = 1 << 28
MOST_RATIO = 100


@contextmanager
def embedded_symbols(elf: ElfFile) -> Iterator[ElfFile | None]:
    """Provide the file embedded in another one; None if there is none that can be unpacked.

    Raises: NoDataError if `elf` is damaged.
    """
    section = elf.section(".gnu_debugdata")
    data = unpacked(elf.contents(section)) if section else None
    if data is None:
        yield None
        return
    with tempfile.NamedTemporaryFile(prefix="incprof-symbols-") as file:
        file.write(data)
        file.flush()
        yield ElfFile(file.name)


def unpacked(data: bytes) -> bytes | None:
    """Unpack xz data; None for anything else, and for more bytes than symbols take."""
    most = min(MOST_BYTES, MOST_RATIO * len(data))
    try:
        machine = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_BYTES)
        content = machine.decompress(data, max_length=most)
    except lzma.LZMAError:
        return None
    return content if machine.eof else None


def read_symbols(elf: ElfFile) -> SymbolTable:
    """Return the functions of a file: from .symtab, else from .gnu_debugdata, else the exported ones, or Go's.

    Exported ones (.dynsym) leave gaps: functions from unwind tables fill them, named by their address, `+0x1234`; such
    a table is `exported_only`. Empty if there is no source of symbols.
    """
    full, strings = _functions(elf, ".symtab")
    if len(full):
        return _digest(elf, full, strings)
    exported, strings = _functions(elf, ".dynsym")
    with embedded_symbols(elf) as inner:
        if inner is not None and inner.readable:
            hidden, names = _functions(inner, ".symtab")
            if len(hidden):
                hidden = hidden.copy()
                hidden["name"] += len(strings)
                return _digest(elf, np.concatenate([exported, hidden]), strings + names)
    of_go, strings = _functions_of_go(elf, strings)
    exported = np.concatenate([exported, of_go])
    ranges = _between(exported, *unwind_ranges(elf))
    if not len(exported) and not len(ranges):
        return EMPTY_TABLE
    addresses = [b"+%#x\0" % address for address in ranges["value"].tolist()]
    ranges["name"] = len(strings) + np.cumsum([0, *map(len, addresses)])[:-1]
    ranges["section"] = _sections_of(elf, ranges["value"])
    digest = _digest(elf, np.concatenate([exported, ranges]), strings + b"".join(addresses))
    return replace(digest, exported_only=not len(of_go))


def _functions_of_go(elf: ElfFile, strings: bytes) -> tuple[SymbolArray, bytes]:
    """Return symbols for the functions in the table of Go's run-time, and the strings with their names."""
    table = go_table(elf)
    if table is None:
        return np.zeros(0, dtype=SYMBOL), strings
    start, size, names = table.functions()
    out = np.zeros(len(start), dtype=SYMBOL)
    out["info"], out["value"], out["size"] = FUNC, start, size
    out["name"] = len(strings) + np.cumsum([0, *(len(name) + 1 for name in names)])[:-1]
    out["section"] = _sections_of(elf, start)
    return out[out["section"] > 0], strings + b"".join(name + b"\0" for name in names)


def _functions(elf: ElfFile, table_name: str) -> tuple[SymbolArray, bytes]:
    """Return the code symbols of a section and its strings; none if there is no such section."""
    section = elf.section(table_name)
    if section is None:
        return np.zeros(0, dtype=SYMBOL), b""
    symbols, strings = _raw(elf, section)
    return _code_symbols(elf, symbols, strings), strings


def _between(symbols: SymbolArray, start: AddressArray, size: AddressArray) -> SymbolArray:
    """Return symbols, without names, for the functions that no given symbol covers."""
    ordered = symbols[np.argsort(symbols["value"], kind="stable")]
    begin = ordered["value"]
    reach = np.maximum.accumulate(begin + np.maximum(ordered["size"], np.uint64(1))) if len(ordered) else begin
    before = np.searchsorted(begin, start, side="right") - 1
    free = (before < 0) | (start >= reach[before]) if len(begin) else np.ones(len(start), dtype=np.bool_)
    out = np.zeros(int(free.sum()), dtype=SYMBOL)
    out["info"], out["value"], out["size"] = FUNC, start[free], size[free]
    return out


def _sections_of(elf: ElfFile, address: AddressArray) -> npt.NDArray[np.uint16]:
    """Return the indices of the code sections that contain addresses."""
    out = np.zeros(len(address), dtype=np.uint16)
    for index, section in enumerate(elf.sections):
        if section.executable:
            last = min(section.address + section.size, 2**64 - 1)
            out[(address >= np.uint64(section.address)) & (address < np.uint64(last))] = index
    return out


def _raw(elf: ElfFile, section: Section) -> tuple[SymbolArray, bytes]:
    """Return a symbol section's entries and its strings."""
    data, strings = elf.symbol_table(section)
    symbols = np.frombuffer(data, dtype=SYMBOL, count=len(data) // SYMBOL.itemsize)
    if _length_of_names(symbols, strings) > MOST_OF_NAMES * (len(data) + len(strings)):
        raise elf.damaged("names of symbols overlap")
    return symbols, strings


def _length_of_names(symbols: SymbolArray, strings: bytes) -> int:
    """Return the total bytes of all symbols' names: names may be parts of each other."""
    begin, end = _places(strings, symbols["name"])
    return int((end - begin).sum())


def _code_symbols(elf: ElfFile, symbols: SymbolArray, strings: bytes) -> SymbolArray:
    """Return functions, and labels of hand-written assembly that lie outside functions."""
    n = len(elf.sections)
    executable = np.array([s.executable for s in elf.sections], dtype=bool)
    limit = np.array([min(s.address + s.size, 2**64 - 1) for s in elf.sections], dtype=np.uint64)
    inside = (symbols["section"] > 0) & (symbols["section"] < n) & (symbols["name"] < len(strings))
    symbols = symbols[inside]
    place = symbols["section"]
    symbols = symbols[executable[place] & (symbols["value"] < limit[place])]

    kind = symbols["info"] & 15
    function = symbols[(kind == FUNC) | (kind == GNU_IFUNC)]
    label = symbols[kind == NOTYPE]
    order = np.argsort(function["value"], kind="stable")
    start = function["value"][order]
    reach = np.maximum.accumulate(start + function["size"][order]) if len(order) else start
    before = np.searchsorted(start, label["value"], side="right") - 1
    covered = (before >= 0) & (label["value"] < reach[before]) if len(start) else np.zeros(len(label), bool)
    label = label[~covered & ~np.isin(label["value"], start)]
    marks = (b".", b"$", b"\0")
    named = [not strings[offset : offset + 1].startswith(marks) for offset in label["name"].tolist()]
    return np.concatenate([function, label[np.array(named, dtype=bool)]])


def _digest(elf: ElfFile, symbols: SymbolArray, strings: bytes) -> SymbolTable:
    """Return one symbol per address, in order; the stubs of a procedure linkage table are one symbol per section."""
    symbols = symbols[np.argsort(symbols["value"], kind="stable")]
    address, first, count = np.unique(symbols["value"], return_index=True, return_counts=True)
    selected = first.copy()
    size = np.maximum.reduceat(symbols["size"], first)
    for group in np.flatnonzero(count > 1):
        members = symbols[first[group] : first[group] + count[group]].tolist()
        keys = [_preference(member, strings) for member in members]
        selected[group] += keys.index(min(keys))
    limits = np.array([min(s.address + s.size, 2**64 - 1) for s in elf.sections], dtype=np.uint64)
    limit = limits[symbols["section"][selected]]

    stubs = [s for s in elf.sections if s.executable and s.size and s.name.startswith(".plt")]
    stubs = [s for s in stubs if s.address not in address]
    address = np.append(address, np.array([s.address for s in stubs], dtype=np.uint64))
    size = np.append(size, np.array([s.size for s in stubs], dtype=np.uint64))
    limit = np.append(limit, address[len(limit) :] + size[len(limit) :])
    named = np.append(symbols["name"][selected].astype(np.int64), np.full(len(stubs), len(strings) + 1, np.int64))
    order = np.argsort(address, kind="stable")
    fortran = any(mark in strings for mark in FORTRAN_MARKS)
    names = _joined(strings + b"\0" + PLT_NAME, named[order])
    return table_of(address[order], size[order], limit[order], *names, fortran=fortran)


def _preference(symbol: tuple[int, ...], strings: bytes) -> tuple[bool, bool, int, bool, int, bytes]:
    """Sort key of a symbol among those at the same address; the smallest one names the function."""
    offset, info, _, _, _, size = symbol
    name = _string(strings, offset)
    binding = info >> 4
    is_local, is_weak = binding not in (GLOBAL, GNU_UNIQUE, WEAK), binding == WEAK
    # Public names in glibc are weak: poll, of the global __poll.
    underscores = len(name) - len(name.lstrip(b"_"))
    return (not size, is_local, underscores, is_weak, len(name), name)


def _places(
    strings: bytes, offsets: npt.NDArray[np.unsignedinteger | np.signedinteger]
) -> tuple[Int64Array, Int64Array]:
    """Return where the NUL-terminated strings at some offsets begin and end."""
    ends = np.append(np.flatnonzero(np.frombuffer(strings, dtype=np.uint8) == 0), len(strings))
    begin = np.minimum(offsets.astype(np.int64), len(strings))
    return begin, ends[np.searchsorted(ends, begin)]


def _joined(strings: bytes, offsets: Int64Array) -> tuple[bytes, Int64Array]:
    """Return the strings at some offsets, concatenated, and where each ends."""
    begin, end = _places(strings, offsets)
    ends = np.cumsum(end - begin)
    skipped = np.repeat(end - ends, end - begin)
    return np.frombuffer(strings, dtype=np.uint8)[skipped + np.arange(len(skipped))].tobytes(), ends


def _string(strings: bytes, offset: int) -> bytes:
    """Return the NUL-terminated string at an offset."""
    end = strings.find(b"\0", offset)
    return strings[offset:] if end < 0 else strings[offset:end]


# Go's run-time table of stacks and function names (.gopclntab), which remains in a stripped program.
#
# Supports Go 1.16 and later; its layout is in Go's source, internal/abi and runtime/symtab.go.


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
        names = [self._text(self.names + offset) for offset in self._fields(0).tolist()]
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
