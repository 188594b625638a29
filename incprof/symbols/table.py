"""The functions of one module by address.

One name per address, in this order: sized before unsized code, global before weak before local, fewer leading
underscores, shorter, alphabetical. A function extends over its size; one without a size extends to the next symbol or
the end of its section. A range nested in another function's range is cut out of it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incprof.symbols.elf.file import ElfFile

AddressArray = npt.NDArray[np.uint64]
IntArray = npt.NDArray[np.int64]

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
    name_end: IntArray
    start: AddressArray
    end: AddressArray
    owner: IntArray
    fortran: bool = False
    exported_only: bool = False

    def __len__(self) -> int:
        """Number of symbols."""
        return len(self.address)

    def name(self, index: int) -> str:
        """Return the mangled name of a symbol."""
        first = int(self.name_end[index - 1]) if index else 0
        return self.names[first : int(self.name_end[index])].decode("utf-8", "replace")

    def find(self, address: AddressArray) -> IntArray:
        """Return the symbol that covers each address, same shape; NOWHERE in gaps."""
        if not len(self.start):
            return np.full(address.shape, NOWHERE, dtype=np.int64)
        index = np.searchsorted(self.start, address, side="right") - 1
        inside = (index >= 0) & (address < self.end[index])
        return np.where(inside, self.owner[index], NOWHERE)


def build_table(
    address: AddressArray, size: AddressArray, limit: AddressArray, names: list[bytes], *, fortran: bool = False
) -> SymbolTable:
    """Build a table from symbols with distinct ascending addresses, all shape (f,).

    limit: where each symbol's section ends, which bounds symbols without a size.
    """
    name_end = np.cumsum([len(name) for name in names], dtype=np.int64)
    return table_of(address, size, limit, b"".join(names), name_end, fortran=fortran)


def table_of(
    address: AddressArray, size: AddressArray, limit: AddressArray, names: bytes, name_end: IntArray, *, fortran: bool
) -> SymbolTable:
    """Do the same with names joined as in the table."""
    start, end, owner = _ranges(address, size, limit)
    return SymbolTable(address, size, names, name_end, start, end, owner, fortran)


def whole(name: str) -> SymbolTable:
    """Return a table with one symbol that covers all addresses."""
    start, size = np.zeros(1, np.uint64), np.full(1, 2**64 - 1, np.uint64)
    return build_table(start, size, size, [name.encode("utf-8", "surrogateescape")])


def _ranges(
    address: AddressArray, size: AddressArray, limit: AddressArray
) -> tuple[AddressArray, AddressArray, IntArray]:
    """Return disjoint ranges of symbols that may be nested."""
    following = np.append(address[1:], np.uint64(2**64 - 1)) if len(address) else address
    end = np.where(size > 0, address + size, np.minimum(following, limit))
    end = np.where(end < address, following, end)
    if (end > following).any():
        return _cut_out(address.tolist(), end.tolist())
    keep = end > address
    return address[keep], end[keep], np.flatnonzero(keep).astype(np.int64)


def _cut_out(address: list[int], end: list[int]) -> tuple[AddressArray, AddressArray, IntArray]:
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
    nothing = np.zeros(0, dtype=np.uint64)
    data = elf.contents(header) if header else b""
    if header is None or len(data) < 12 or data[:4] != HEAD:
        return nothing, nothing
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
    here = np.uint64(address) + at[inside] + np.uint64(8)
    usual = here + record["start"].astype(np.int64).astype(np.uint64) == start[inside]
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
