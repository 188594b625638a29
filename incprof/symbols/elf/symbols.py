"""Write ELF files that contain only names of functions, like the snapshots in a run directory."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
SHARED, X86_64 = 3, 62
SYMTAB, STRTAB, NOBITS = 2, 3, 8
ALLOC_EXEC, GLOBAL_FUNCTION = 6, 0x12


@dataclass(frozen=True)
class Symbol:
    """A function: size bytes at an address."""

    name: str
    address: int
    size: int


def symbols_file(symbols: Sequence[Symbol], low: int, high: int) -> bytes:
    """Return an ELF file with the functions of code from low to high, without the code."""
    names = [symbol.name.encode("utf-8", "surrogateescape") + b"\0" for symbol in symbols]
    entries, at = bytearray(SYMBOL.size), 1
    for symbol, name in zip(symbols, names, strict=True):
        entries += SYMBOL.pack(at, GLOBAL_FUNCTION, 0, 1, symbol.address, symbol.size)
        at += len(name)
    strings = b"\0" + b"".join(names)
    titles = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
    body = bytes(entries) + strings + titles
    begin = HEADER.size
    second, third, end = begin + len(entries), begin + len(entries) + len(strings), begin + len(body)
    sections = [
        SECTION.pack(0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        SECTION.pack(titles.index(b".text"), NOBITS, ALLOC_EXEC, low, begin, high - low, 0, 0, 16, 0),
        SECTION.pack(titles.index(b".symtab"), SYMTAB, 0, 0, begin, len(entries), 3, 1, 8, SYMBOL.size),
        SECTION.pack(titles.index(b".strtab"), STRTAB, 0, 0, second, len(strings), 0, 0, 1, 0),
        SECTION.pack(titles.index(b".shstrtab"), STRTAB, 0, 0, third, len(titles), 0, 0, 1, 0),
    ]
    head = HEADER.pack(
        b"\x7fELF\x02\x01\x01", SHARED, X86_64, 1, 0, 0, end, 0, HEADER.size, 0, 0, SECTION.size, len(sections), 4
    )
    return head + body + b"".join(sections)
