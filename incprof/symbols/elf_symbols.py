"""Read symbol tables from ELF files, in bulk."""

from __future__ import annotations

import lzma
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from incprof.symbols.elf.file import MOST_OF_NAMES, ElfFile, Section
from incprof.symbols.go_table import go_table
from incprof.symbols.table import EMPTY_TABLE, AddressArray, IntArray, SymbolTable, table_of
from incprof.symbols.unwind_ranges import unwind_ranges

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
        found = machine.decompress(data, max_length=most)
    except lzma.LZMAError:
        return None
    return found if machine.eof else None


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
        raise elf.damaged("names of symbols lie in each other")
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
    chosen = first.copy()
    size = np.maximum.reduceat(symbols["size"], first)
    for group in np.flatnonzero(count > 1):
        members = symbols[first[group] : first[group] + count[group]].tolist()
        keys = [_preference(member, strings) for member in members]
        chosen[group] += keys.index(min(keys))
    limits = np.array([min(s.address + s.size, 2**64 - 1) for s in elf.sections], dtype=np.uint64)
    limit = limits[symbols["section"][chosen]]

    stubs = [s for s in elf.sections if s.executable and s.size and s.name.startswith(".plt")]
    stubs = [s for s in stubs if s.address not in address]
    address = np.append(address, np.array([s.address for s in stubs], dtype=np.uint64))
    size = np.append(size, np.array([s.size for s in stubs], dtype=np.uint64))
    limit = np.append(limit, address[len(limit) :] + size[len(limit) :])
    named = np.append(symbols["name"][chosen].astype(np.int64), np.full(len(stubs), len(strings) + 1, np.int64))
    order = np.argsort(address, kind="stable")
    fortran = any(mark in strings for mark in FORTRAN_MARKS)
    names = _joined(strings + b"\0" + PLT_NAME, named[order])
    return table_of(address[order], size[order], limit[order], *names, fortran=fortran)


def _preference(symbol: tuple[int, ...], strings: bytes) -> tuple[bool, int, int, int, bytes]:
    """Sort key of a symbol among those at the same address; the smallest one names the function."""
    offset, info, _, _, _, size = symbol
    name = _string(strings, offset)
    binding = {GLOBAL: 0, GNU_UNIQUE: 0, WEAK: 1}.get(info >> 4, 2)
    underscores = len(name) - len(name.lstrip(b"_"))
    return (not size, binding, underscores, len(name), name)


def _places(strings: bytes, offsets: npt.NDArray[np.unsignedinteger | np.signedinteger]) -> tuple[IntArray, IntArray]:
    """Return where the NUL-terminated strings at some offsets begin and end."""
    ends = np.append(np.flatnonzero(np.frombuffer(strings, dtype=np.uint8) == 0), len(strings))
    begin = np.minimum(offsets.astype(np.int64), len(strings))
    return begin, ends[np.searchsorted(ends, begin)]


def _joined(strings: bytes, offsets: IntArray) -> tuple[bytes, IntArray]:
    """Return the strings at some offsets, concatenated, and where each ends."""
    begin, end = _places(strings, offsets)
    ends = np.cumsum(end - begin)
    skipped = np.repeat(end - ends, end - begin)
    return np.frombuffer(strings, dtype=np.uint8)[skipped + np.arange(len(skipped))].tobytes(), ends


def _string(strings: bytes, offset: int) -> bytes:
    """Return the NUL-terminated string at an offset."""
    end = strings.find(b"\0", offset)
    return strings[offset:] if end < 0 else strings[offset:end]
