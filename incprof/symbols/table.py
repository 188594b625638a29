"""The functions of one module by address.

One name per address, in this order: sized before unsized code, global before weak before local, fewer leading
underscores, shorter, alphabetical. A function extends over its size; one without a size extends to the next symbol or
the end of its section. A range nested in another function's range is cut out of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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
