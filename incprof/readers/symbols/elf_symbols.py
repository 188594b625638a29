"""Symbol tables from ELF files, read in bulk."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from incprof.elf.file import MOST_OF_NAMES, ElfFile, Section
from incprof.readers.symbols.table import EMPTY_TABLE, SymbolTable, build_table

SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
SymbolArray = npt.NDArray[np.void]

NOTYPE, FUNC, GNU_IFUNC = 0, 2, 10
LOCAL, GLOBAL, WEAK, GNU_UNIQUE = 0, 1, 2, 10
PLT_NAME = b"[plt]"
FORTRAN_MARKS = (b"_gfortran_", b"\0MAIN__\0", b"_MOD_")


def read_symbols(elf: ElfFile) -> SymbolTable:
    """The functions of a file from .symtab, else from .dynsym (`exported_only`). Empty when it has neither."""
    for table_name in (".symtab", ".dynsym"):
        section = elf.section(table_name)
        if section is None:
            continue
        symbols, strings = _raw(elf, section)
        code = _code_symbols(elf, symbols, strings)
        if len(code):
            table = _digest(elf, code, strings)
            if table_name == ".dynsym":
                return replace(table, exported_only=True)
            return table
    return EMPTY_TABLE


def _raw(elf: ElfFile, section: Section) -> tuple[SymbolArray, bytes]:
    """A symbol section's entries and its strings."""
    data, strings = elf.symbol_table(section)
    symbols = np.frombuffer(data, dtype=SYMBOL, count=len(data) // SYMBOL.itemsize)
    if _length_of_names(symbols, strings) > MOST_OF_NAMES * (len(data) + len(strings)):
        raise elf.damaged("names of symbols lie in each other")
    return symbols, strings


def _length_of_names(symbols: SymbolArray, strings: bytes) -> int:
    """How many bytes the names of all symbols have together: they may be parts of each other."""
    ends = np.append(np.flatnonzero(np.frombuffer(strings, dtype=np.uint8) == 0), len(strings))
    begin = np.minimum(symbols["name"], len(strings))
    return int((ends[np.searchsorted(ends, begin)] - begin).sum())


def _code_symbols(elf: ElfFile, symbols: SymbolArray, strings: bytes) -> SymbolArray:
    """Functions, and labels of hand-written assembly that lie outside of functions."""
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
    """One symbol per address, in order, with the stubs of the procedure linkage table as one symbol a section."""
    symbols = symbols[np.argsort(symbols["value"], kind="stable")]
    address, first, count = np.unique(symbols["value"], return_index=True, return_counts=True)
    chosen = first.copy()
    size = np.maximum.reduceat(symbols["size"], first)
    for group in np.flatnonzero(count > 1):
        members = symbols[first[group] : first[group] + count[group]].tolist()
        keys = [_preference(member, strings) for member in members]
        chosen[group] += keys.index(min(keys))
    names = [_string(strings, offset) for offset in symbols["name"][chosen].tolist()]
    limits = np.array([min(s.address + s.size, 2**64 - 1) for s in elf.sections], dtype=np.uint64)
    limit = limits[symbols["section"][chosen]]

    stubs = [s for s in elf.sections if s.executable and s.size and s.name.startswith(".plt")]
    stubs = [s for s in stubs if s.address not in address]
    address = np.append(address, np.array([s.address for s in stubs], dtype=np.uint64))
    size = np.append(size, np.array([s.size for s in stubs], dtype=np.uint64))
    limit = np.append(limit, address[len(limit) :] + size[len(limit) :])
    names += [PLT_NAME] * len(stubs)
    order = np.argsort(address, kind="stable")
    fortran = any(mark in strings for mark in FORTRAN_MARKS)
    return build_table(address[order], size[order], limit[order], [names[i] for i in order], fortran=fortran)


def _preference(symbol: tuple[int, ...], strings: bytes) -> tuple[bool, int, int, int, bytes]:
    """Sort key of a symbol among those at the same address; the least one names the function."""
    offset, info, _, _, _, size = symbol
    name = _string(strings, offset)
    binding = {GLOBAL: 0, GNU_UNIQUE: 0, WEAK: 1}.get(info >> 4, 2)
    underscores = len(name) - len(name.lstrip(b"_"))
    return (not size, binding, underscores, len(name), name)


def _string(strings: bytes, offset: int) -> bytes:
    """The NUL-terminated string at an offset."""
    end = strings.find(b"\0", offset)
    return strings[offset:] if end < 0 else strings[offset:end]
