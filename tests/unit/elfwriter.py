"""Small ELF files with nothing but symbols, like the snapshots in a run directory."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FUNC, NOTYPE = 2, 0
LOCAL, GLOBAL, WEAK = 0, 1, 2
SECTION = struct.Struct("<IIQQQQIIQQ")
HEADER_SIZE = 64


@dataclass(frozen=True)
class Symbol:
    name: str
    address: int
    size: int = 0x80
    binding: int = GLOBAL
    type: int = FUNC
    name_at: int | None = None  # in the names, instead of one of its own


def elf_bytes(
    symbols: Iterable[Symbol],
    *,
    build_id: str | None,
    text: tuple[int, int],
    plt: tuple[int, int] | None = None,
    table: str = ".symtab",
    extra_strings: bytes = b"",
) -> bytes:
    """An ELF file whose code sections are [low, high) ranges without bytes. table: .symtab or .dynsym."""
    strings = b"\0"
    entries = bytes(24)
    for symbol in symbols:
        info = symbol.binding << 4 | symbol.type
        name_at = len(strings) if symbol.name_at is None else symbol.name_at
        entries += struct.pack("<IBBHQQ", name_at, info, 0, 1, symbol.address, symbol.size)
        strings += symbol.name.encode() + b"\0" if symbol.name_at is None else b""
    strings += extra_strings
    note = struct.pack("<III4s", 4, len(build_id) // 2, 3, b"GNU\0") + bytes.fromhex(build_id) if build_id else b""
    stubs = plt or (text[1], text[1])

    # name, type, flags, address, size, link, bytes
    sections: list[tuple[str, int, int, int, int, int, bytes]] = [
        ("", 0, 0, 0, 0, 0, b""),
        (".text", 8, 6, text[0], text[1] - text[0], 0, b""),
        (".plt", 8, 6, stubs[0], stubs[1] - stubs[0], 0, b""),
        (".note.gnu.build-id", 7, 2, 0, len(note), 0, note),
        (table, 2 if table == ".symtab" else 11, 0, 0, len(entries), 5, entries),
        (".strtab", 3, 0, 0, len(strings), 0, strings),
    ]
    names = b"".join(s[0].encode() + b"\0" for s in sections) + b".shstrtab\0"
    sections.append((".shstrtab", 3, 0, 0, len(names), 0, names))

    body, headers, name_at = b"", b"", 0
    for name, kind, flags, address, size, link, content in sections:
        offset = HEADER_SIZE + len(body)
        entry_size = 24 if name == table else 0
        headers += SECTION.pack(name_at, kind, flags, address, offset, size, link, 1, 8, entry_size)
        body += content
        name_at += len(name) + 1
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    at = HEADER_SIZE + len(body)
    rest = struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, at, 0, 64, 0, 0, 64, len(sections), len(sections) - 1)
    return ident + rest + body + headers


def write_elf(path: Path, symbols: Iterable[Symbol], *, build_id: str | None, text: tuple[int, int]) -> None:
    """Write such a file, and the directories above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(elf_bytes(symbols, build_id=build_id, text=text))
