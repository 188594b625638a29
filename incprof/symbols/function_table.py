"""The functions of a process by address: those of a module's file, and those generated at run time."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incprof.model import BoolArray, IntArray
from incprof.symbols.elf import ElfFile
from incprof.symbols.python_code import label

AddressArray = npt.NDArray[np.uint64]
Int64Array = npt.NDArray[np.int64]

NOWHERE = -1


@dataclass(frozen=True)
class SymbolTable:
    """Symbols in order of address, and the address ranges that belong to them.

    Attributes:
        address: (f,) of each symbol.
        size: (f,) of each symbol.
        names: the mangled names joined; symbol i's are bytes name_end[i-1] to name_end[i].
        name_end: (f,) end of each name.
        start: (r,) starts of disjoint ascending ranges.
        end: (r,) ends of the ranges.
        owner: (r,) the symbol that each range belongs to.
        fortran: the module contains code of gfortran or flang.
        exported_only: made from the dynamic symbols of a stripped file; unnamed functions are named by their first
            address, as in +0x1234.
    """

    address: AddressArray
    size: AddressArray
    names: bytes
    name_end: Int64Array
    start: AddressArray
    end: AddressArray
    owner: Int64Array
    fortran: bool = False
    exported_only: bool = False

    def __len__(self) -> int:
        """Number of symbols."""
        return len(self.address)

    def name(self, index: int) -> str:
        """Return the mangled name of a symbol."""
        first = int(self.name_end[index - 1]) if index else 0
        return self.names[first : int(self.name_end[index])].decode("utf-8", "replace")

    def find(self, address: AddressArray) -> Int64Array:
        """Return the symbol that covers each address, same shape; NOWHERE in gaps."""
        if not len(self.start):
            return np.full(address.shape, NOWHERE, dtype=np.int64)
        index = np.searchsorted(self.start, address, side="right") - 1
        inside = (index >= 0) & (address < self.end[index])
        return np.where(inside, self.owner[index], NOWHERE)


def build_table(address: AddressArray, size: AddressArray, limit: AddressArray, names: list[bytes]) -> SymbolTable:
    """Build a table from symbols with distinct ascending addresses, all shape (f,).

    limit: where each symbol's section ends, which bounds symbols without a size.
    """
    name_end = np.cumsum([len(name) for name in names], dtype=np.int64)
    return table_of(address, size, limit, b"".join(names), name_end, fortran=False)


def table_of(
    address: AddressArray, size: AddressArray, limit: AddressArray, names: bytes, name_end: Int64Array, *, fortran: bool
) -> SymbolTable:
    """Do the same with names joined as in the table."""
    start, end, owner = _ranges(address, size, limit)
    return SymbolTable(address, size, names, name_end, start, end, owner, fortran)


def single_symbol_table(name: str) -> SymbolTable:
    """Return a table with one symbol that covers all addresses."""
    start, size = np.zeros(1, np.uint64), np.full(1, 2**64 - 1, np.uint64)
    return build_table(start, size, size, [name.encode("utf-8", "surrogateescape")])


def _ranges(
    address: AddressArray, size: AddressArray, limit: AddressArray
) -> tuple[AddressArray, AddressArray, Int64Array]:
    """Return disjoint ranges of symbols that may be nested."""
    following = np.append(address[1:], np.uint64(2**64 - 1)) if len(address) else address
    end = np.where(size > 0, address + size, np.minimum(following, limit))
    end = np.where(end < address, following, end)
    if (end > following).any():
        return _cut_out(address.tolist(), end.tolist())
    keep = end > address
    return address[keep], end[keep], np.flatnonzero(keep).astype(np.int64)


def _cut_out(address: list[int], end: list[int]) -> tuple[AddressArray, AddressArray, Int64Array]:
    """Return ranges such that each address belongs to the symbol that begins last among those that cover it."""
    pieces: list[tuple[int, int, int]] = []
    open_symbols: list[int] = []
    position = 0
    for symbol, stop in enumerate([*address, 2**64]):
        while open_symbols and position < stop:
            owner = open_symbols[-1]
            until = min(end[owner], stop)
            if until > position:
                pieces.append((position, until, owner))
                position = until
            if end[owner] <= position:
                open_symbols.pop()
        position = stop
        open_symbols.append(symbol)
    starts, ends, owners = zip(*pieces, strict=True) if pieces else ((), (), ())
    return (np.array(starts, np.uint64), np.array(ends, np.uint64), np.array(owners, np.int64))


_NO_ADDRESSES: AddressArray = np.empty(0, dtype=np.uint64)
EMPTY_TABLE = build_table(_NO_ADDRESSES, _NO_ADDRESSES, _NO_ADDRESSES, [])


# Function ranges in a file without symbols: from its unwind tables, which contain no names.
#
# Uses the sorted table of .eh_frame_hdr (the LSB's section 10.6.2), and the code length of each entry of .eh_frame.
# Copies in run directories have these lengths in the table itself, in place of the records' positions
# (preload/objects/elf_file.h).


# Version, and the encodings of the pointer to .eh_frame, the number of entries and the table (DW_EH_PE_*): the only
# ones that linkers write.
HEAD = bytes([1, 0x1B, 0x03, 0x3B])
UNWIND_SIZES = 0x80000000 + 0x696E6370
ENTRY = np.dtype([("start", "<i4"), ("record", "<i4")])
# An FDE's length, its offset back to the CIE, the (relative) beginning of its code, and the length of that.
FDE = np.dtype([("length", "<u4"), ("common", "<u4"), ("start", "<i4"), ("size", "<u4")])


def unwind_ranges(elf: ElfFile) -> tuple[AddressArray, AddressArray]:
    """Return first addresses, ascending, and sizes of the functions in unwind tables; a size is 0 if unknown.

    Linkage stubs are left out.

    Raises: NoDataError if the file is damaged.
    """
    header, frames = elf.section(".eh_frame_hdr"), elf.section(".eh_frame")
    no_addresses = np.zeros(0, dtype=np.uint64)
    data = elf.contents(header) if header else b""
    if header is None or len(data) < 12 or data[:4] != HEAD:
        return no_addresses, no_addresses
    count = min(struct.unpack_from("<I", data, 8)[0], (len(data) - 12) // ENTRY.itemsize)
    table = np.frombuffer(data, dtype=ENTRY, count=count, offset=12)
    start = np.uint64(header.address) + table["start"].astype(np.int64).astype(np.uint64)
    size = np.zeros(count, dtype=np.uint64)
    if header.type == UNWIND_SIZES:
        size[:] = table["record"].view("<u4")
    elif frames is not None:
        base = np.uint64((header.address - frames.address) % 2**64)
        size = _sizes(
            elf.contents(frames), frames.address, start, base + table["record"].astype(np.int64).astype(np.uint64)
        )
    start, first = np.unique(start, return_index=True)
    size = size[first]
    keep = _in_code(elf, start)
    return start[keep], size[keep]


def _sizes(data: bytes, address: int, start: AddressArray, at: AddressArray) -> AddressArray:
    """Return sizes of the functions from the records at these offsets; 0 if a record is not of the usual form."""
    size = np.zeros(len(start), dtype=np.uint64)
    inside = np.flatnonzero(at <= np.uint64(max(len(data) - FDE.itemsize, 0)))
    if not len(inside) or len(data) < FDE.itemsize:
        return size
    offset = at[inside].astype(np.int64)
    rows = np.frombuffer(data, dtype=np.uint8)[offset[:, None] + np.arange(FDE.itemsize)]
    record = np.ascontiguousarray(rows).view(FDE).ravel()
    record_address = np.uint64(address) + at[inside] + np.uint64(8)
    usual = record_address + record["start"].astype(np.int64).astype(np.uint64) == start[inside]
    size[inside[usual]] = record["size"][usual]
    return size


def _in_code(elf: ElfFile, address: AddressArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which addresses lie in sections of code that are not linkage stubs."""
    out = np.zeros(len(address), dtype=np.bool_)
    for section in elf.sections:
        if section.executable and not section.name.startswith(".plt"):
            out |= (address >= np.uint64(section.address)) & (
                address < np.uint64(min(section.address + section.size, 2**64 - 1))
            )
    return out


# Functions that a program generated at run time. Their code is moved and discarded, and other code takes its place.
#
# Code that occupied the same place at different times gets separate addresses, above all that a program can have
# (`RELOCATED_BASE`), so that a table of functions by address works for it too. At the place itself, the table has the
# last code.


RELOCATED_BASE = 2**62


class Piece(NamedTuple):
    """Code of a function that exists since a time (CLOCK_MONOTONIC, nanoseconds), and its source, if known.

    file: b"" if unknown.
    """

    since: int
    start: int
    size: int
    name: str
    file: bytes = b""
    line: int = 0


class Use(NamedTuple):
    """Content of a place since a time: the address of its code in the table."""

    since: int
    address: int


@dataclass(frozen=True)
class GeneratedCode(SymbolTable):
    """A table of generated functions.

    Attributes:
        sources: file and line of functions by name, as far as the program reported them.
        shared: (4, m) of the pieces whose place also held others, in the order in which they were generated: since,
            start, end, and address in the table.
    """

    sources: dict[str, tuple[str, int]] = field(default_factory=dict)
    shared: IntArray = field(default_factory=lambda: np.empty((4, 0), dtype=np.int64))

    def uses(self, address: int) -> list[Use]:
        """Return the successive contents of an address; empty if it was always one function."""
        since, start, end, moved = self.shared
        covering = np.flatnonzero((start <= address) & (address < end))
        successive: list[Use] = []
        owners: list[int] = []
        for at, by in zip(
            since[covering].tolist(), (moved[covering] + address - start[covering]).tolist(), strict=True
        ):
            owner = int(self.find(np.array([by], dtype=np.uint64))[0])
            if not owners or owners[-1] != owner:
                successive.append(Use(at, by))
                owners.append(owner)
        return successive if len(successive) > 1 else []

    def is_shared(self, address: IntArray) -> BoolArray:
        """Return which addresses lie where different functions may have been; same shape."""
        _, start, end, _ = self.shared
        if not len(start):
            return np.zeros(address.shape, dtype=bool)
        order = np.argsort(start, kind="stable")
        index = np.searchsorted(start[order], address, side="right") - 1
        inside: BoolArray = (index >= 0) & (address < np.maximum.accumulate(end[order])[index])
        return inside


NO_CODE = GeneratedCode(**vars(EMPTY_TABLE))


def generated_code(pieces: Sequence[Piece]) -> GeneratedCode:
    """Return a table of pieces given in the order in which they were generated.

    All code of one name is one function: run-times compile it repeatedly.
    """
    if not pieces:
        return NO_CODE
    names = [however_compiled(piece.name) for piece in pieces]
    since, start, size = (np.array([piece[i] for piece in pieces], dtype=np.int64) for i in range(3))
    shared = np.flatnonzero(_share_places(start, start + size, names))
    moved = RELOCATED_BASE + np.cumsum(size[shared]) - size[shared]
    last = _last_at_each(start)
    row, address = np.concatenate([last, shared]), np.concatenate([start[last], moved]).astype(np.uint64)

    number: dict[str, int] = {}
    function = np.array([number.setdefault(names[i], len(number)) for i in row.tolist()], dtype=np.int64)
    length = size[row].astype(np.uint64)
    ranges = build_table(address, length, address + length, [names[i].encode() for i in row.tolist()])
    at = np.unique(function, return_index=True)[1]
    table = build_table(address[at], length[at], address[at] + length[at], [name.encode() for name in number])
    table = replace(table, start=ranges.start, end=ranges.end, owner=function[ranges.owner])
    sources = {
        name: (piece.file.decode("utf-8", "replace"), piece.line)
        for name, piece in zip(names, pieces, strict=True)
        if piece.file
    }
    places = np.stack([since[shared], start[shared], start[shared] + size[shared], moved])
    return GeneratedCode(**vars(table), sources=sources, shared=places)


def _last_at_each(start: IntArray) -> IntArray:
    """Return the last of the pieces that begin at each place, in order of address."""
    at = np.unique(start[::-1], return_index=True)[1]
    result: IntArray = len(start) - 1 - at
    return result


def _share_places(start: IntArray, end: IntArray, names: Sequence[str]) -> BoolArray:
    """Return which pieces overlap, directly or through others, with code of another name; same shape."""
    order = np.argsort(start, kind="stable")
    reach = np.maximum.accumulate(end[order])
    group = np.zeros(len(start), dtype=np.int64)
    group[order[1:]] = np.cumsum(start[order[1:]] >= reach[:-1])
    number: dict[str, int] = {}
    name = np.array([number.setdefault(n, len(number)) for n in names], dtype=np.int64)
    lowest, highest = np.full(len(start), len(number), dtype=np.int64), np.full(len(start), -1, dtype=np.int64)
    np.minimum.at(lowest, group, name)
    np.maximum.at(highest, group, name)
    result: BoolArray = (lowest != highest)[group]
    return result


# Names of functions that run-times compile: from their form in perf's maps to display names.


# V8's: `JS:*step /home/me/run.js:3:10`. The mark encodes the compilation tier, which may change during the run.
SCRIPT = re.compile(r"((?:JS|LazyCompile|Function|Script|Eval|Regexp):)[~^+*]?((?:(\S*) )?(.+):(\d{1,9}):(\d{1,9}))")
# A JVM's: `double solver.Grid$Cell.relax(int)`.
METHOD = re.compile(r"(?:[\w.$]+(?:\[\])* )?([\w.$]+)\.([\w$<>]+)(\([^()]*\))")
# Numba's: `solver::sweep[abi:v1][abi:c8t...](Array<double, 1, C>)`, and its wrappers for Python and C.
NUMBA = re.compile(r"(?:cpython::)?([^\[(]+)\[abi:v\d+\].*")
NUMBA_CALLER = re.compile(r"(?:_ZN7cpython|cfunc\._ZN)(\d.*)")
# Julia's: `julia_sweep_123`, with a new number each time that it is compiled.
JULIA = re.compile(r"julia_(.+)_\d{1,9}")
# A JVM's name for the code that interprets methods: it runs all methods that are not compiled.
INTERPRETER, INTERPRETED = "Interpreter", "<interpreted Java>"
# Classes in these are not a program's own.
JAVA = re.compile(r"(java|javax|jdk|sun|com\.sun|kotlin|scala)\.")


class Compiled(NamedTuple):
    """A function: its display name, its file ("": unknown) and line (0), and whether it belongs to the run-time."""

    name: str
    file: str = ""
    line: int = 0
    shared: bool = False


def however_compiled(symbol: str) -> str:
    """Return one name for all compiled versions of a function."""
    if match := SCRIPT.fullmatch(symbol):
        return f"JS:{match[2]}"
    if match := NUMBA_CALLER.fullmatch(symbol):
        return f"_ZN{match[1]}"
    return f"julia_{match[1]}_0" if (match := JULIA.fullmatch(symbol)) else symbol


def compiled(symbol: str) -> Compiled:
    """Parse the name in a map: functions of scripts are displayed like Python's, methods of classes like C++'s."""
    if match := SCRIPT.fullmatch(symbol):
        file, line = match[4], int(match[5])
        # The top-level code of a file, which node wraps in a function.
        unnamed = "<module>" if (match[5], match[6]) == ("1", "1") else f"<anonymous {line}>"
        return Compiled(f"{label(file)}:{match[3] or unnamed}", file, line, file.startswith("node:"))
    if match := METHOD.fullmatch(symbol):
        parts = [part for part in match[1].rpartition(".")[2].split("$") if part]
        return Compiled("::".join([*parts, match[2]]) + match[3], shared=JAVA.match(match[1]) is not None)
    if symbol == INTERPRETER:
        return Compiled(INTERPRETED)
    if match := NUMBA.fullmatch(symbol):
        return Compiled(match[1].removeprefix("__main__::"))
    return Compiled(match[1] if (match := JULIA.fullmatch(symbol)) else symbol)
