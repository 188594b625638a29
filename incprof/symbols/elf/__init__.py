"""A small reader of 64-bit little-endian ELF files, with the standard library only.

Every read is checked against the size of the file.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from incprof.errors import NoDataError
from incprof.safe.inputs import AnyPath, open_input

MAGIC = b"\x7fELF"
ET_EXEC, ET_DYN = 2, 3
EM_X86_64, EM_AARCH64 = 62, 183
PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
SHT_SYMTAB, SHT_RELA, SHT_NOTE, SHT_NOBITS, SHT_DYNSYM = 2, 4, 7, 8, 11
DT_NEEDED, DT_STRTAB, DT_STRSZ, DT_RPATH, DT_RUNPATH = 1, 5, 10, 15, 29
STT_FUNC, STT_IFUNC = 2, 10
SHF_EXECINSTR = 4
NT_GNU_BUILD_ID = 3

# Longest piece read at once; no honest section of a program is larger.
LARGEST = 1 << 32
# Names share one table and may be parts of each other, but not of all others.
LONGEST_SECTION_NAME = 256
MOST_OF_NAMES = 8
MOST_NOTES = 4096
SYMBOL = struct.Struct("<IBBHQQ")
NOTE_HEAD = struct.Struct("<III")


class Segment(NamedTuple):
    """A program header."""

    type: int
    flags: int
    offset: int
    address: int
    size: int


class Section(NamedTuple):
    """A section header."""

    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    entry_size: int

    @property
    def executable(self) -> bool:
        """True if it contains code."""
        return bool(self.flags & SHF_EXECINSTR)


class Symbol(NamedTuple):
    """A symbol table entry; `section` is 0 for an imported one."""

    name: str
    type: int
    section: int
    address: int
    size: int


def is_elf(path: str) -> bool:
    """Return whether the file starts like an ELF file. False for anything unreadable."""
    try:
        with open_input(path) as stream:
            return stream.read(4) == MAGIC
    except OSError:
        return False


def text_at(strings: bytes, offset: int, most: int | None = None) -> str:
    """Return the zero-terminated string at `offset` of a string table, at most `most` bytes; empty if outside."""
    last = len(strings) if most is None else min(offset + most, len(strings))
    end = strings.find(b"\0", offset, last)
    return strings[offset : end if end >= 0 else last].decode("utf-8", "replace")


class ElfFile:
    """An ELF file, open only while it is read. `bits` and `little` are always set, the rest if `readable`.

    within: the directory of the run that the file belongs to.

    All methods raise: NoDataError if the file cannot be read, is not an ELF file, or is damaged.
    """

    def __init__(self, path: str, *, within: AnyPath | None = None) -> None:
        self.path, self._within = path, within
        ident = self.read(0, 20)
        if ident[:4] != MAGIC:
            raise NoDataError(f"{self.path}: not an ELF file")
        self.bits = {1: 32, 2: 64}.get(ident[4], 0)
        self.little = ident[5] == 1
        self.type, self.machine = struct.unpack_from("<HH" if self.little else ">HH", ident, 16)
        self.readable = self.bits == 64 and self.little
        if self.readable:
            self._header = struct.unpack("<HHIQQQIHHHHHH", self.read(16, 48))

    def damaged(self, what: str) -> NoDataError:
        """Return the error for a file that contradicts itself."""
        return NoDataError(f"{self.path}: damaged ELF file: {what}; copy it or link it again")

    def read(self, offset: int, size: int) -> bytes:
        """Return `size` bytes at `offset`; raise an error if there are fewer."""
        try:
            with open_input(self.path, within=self._within) as stream:
                file_size = os.fstat(stream.fileno()).st_size
                if size > LARGEST or offset + size > file_size:
                    raise self.damaged(f"{size} bytes at offset {offset} of {file_size}")
                stream.seek(offset)
                data = stream.read(size)
        except OSError as error:
            raise NoDataError(f"{self.path}: cannot be read: {error.strerror or error}") from error
        if len(data) != size:
            raise self.damaged("it became shorter")
        return data

    def _table(self, offset: int, count: int, entry: int, layout: str, what: str) -> Iterator[tuple[int, ...]]:
        if count and entry != struct.calcsize(layout):
            raise self.damaged(f"{what} of {entry} bytes")
        return struct.iter_unpack(layout, self.read(offset, count * entry))

    @cached_property
    def segments(self) -> list[Segment]:
        """Return the program headers."""
        offset, entry, count = self._header[4], self._header[8], self._header[9]
        rows = self._table(offset, count, entry, "<IIQQQQQQ", "program headers")
        return [Segment(r[0], r[1], r[2], r[3], r[5]) for r in rows]

    @cached_property
    def sections(self) -> list[Section]:
        """Return the section headers; empty in a file without them."""
        offset, entry, count, names_index = self._header[5], self._header[10], self._header[11], self._header[12]
        rows = list(self._table(offset, count if offset else 0, entry, "<IIQQQQIIQQ", "section headers"))
        if not rows:
            return []
        if names_index >= len(rows):
            raise self.damaged("no section names")
        names = self.read(rows[names_index][4], rows[names_index][5])
        titles = [text_at(names, r[0], LONGEST_SECTION_NAME) for r in rows]
        return [Section(t, r[1], r[2], r[3], r[4], r[5], r[6], r[9]) for t, r in zip(titles, rows, strict=True)]

    def section(self, name: str) -> Section | None:
        """Return the first section of that name that has contents."""
        return next((s for s in self.sections if s.name == name and s.type != SHT_NOBITS), None)

    def contents(self, section: Section) -> bytes:
        """Return the bytes of a section."""
        return b"" if section.type == SHT_NOBITS else self.read(section.offset, section.size)

    def symbol_table(self, table: Section) -> tuple[bytes, bytes]:
        """Return a symbol table's entries, and their names."""
        if table.link >= len(self.sections):
            raise self.damaged("a symbol table without names")
        return self.contents(table), self.contents(self.sections[table.link])

    def symbols(self, section_type: int) -> list[Symbol]:
        """Return the symbols of the first table of that type, SHT_SYMTAB or SHT_DYNSYM."""
        table = next((s for s in self.sections if s.type == section_type), None)
        if table is None:
            return []
        entries, names = self.symbol_table(table)
        if table.entry_size != SYMBOL.size:
            raise self.damaged(f"symbols of {table.entry_size} bytes")
        bytes_left = MOST_OF_NAMES * (len(names) + table.size)
        symbols = []
        for row in SYMBOL.iter_unpack(entries[: len(entries) // SYMBOL.size * SYMBOL.size]):
            symbols.append(Symbol(text_at(names, row[0], bytes_left), row[1] & 15, row[3], row[4], row[5]))
            bytes_left -= len(symbols[-1].name)
            if bytes_left <= 0:
                raise self.damaged("names of symbols overlap")
        return symbols

    @cached_property
    def build_id(self) -> str | None:
        """Return the build-id as hex digits, from the first note that contains one."""
        for section in self.sections:
            if section.type != SHT_NOTE:
                continue
            notes = self.read(section.offset, min(section.size, MOST_NOTES))
            position = 0
            while position + NOTE_HEAD.size <= len(notes):
                name_size, size, kind = NOTE_HEAD.unpack_from(notes, position)
                name_at = position + NOTE_HEAD.size
                at = name_at + (name_size + 3) // 4 * 4
                if kind == NT_GNU_BUILD_ID and notes[name_at : name_at + name_size] == b"GNU\0":
                    return notes[at : at + size].hex() or None
                position = at + (size + 3) // 4 * 4
        return None

    @cached_property
    def dynamic(self) -> list[tuple[int, int]]:
        """Return the (tag, value) pairs of the dynamic segment, up to its end mark; empty in a static program."""
        segment = next((s for s in self.segments if s.type == PT_DYNAMIC), None)
        if segment is None:
            return []
        pairs = []
        for tag, value in struct.iter_unpack("<qQ", self.read(segment.offset, segment.size // 16 * 16)):
            if tag == 0:
                break
            pairs.append((tag, value))
        return pairs

    @cached_property
    def dynamic_strings(self) -> bytes:
        """Return the dynamic string table: names of imports, exports and needed libraries."""
        values = dict(self.dynamic)
        address, size = values.get(DT_STRTAB, 0), values.get(DT_STRSZ, 0)
        for segment in self.segments:
            if segment.type == PT_LOAD and segment.address <= address < segment.address + segment.size:
                return self.read(segment.offset + address - segment.address, size)
        return b""


def open_elf(path: str, *, within: AnyPath | None = None) -> ElfFile:
    """Open an ELF file whose sections and build-id can be read.

    Raises: NoDataError, also if its class is not 64-bit little-endian.
    """
    file = ElfFile(path, within=within)
    if not file.readable:
        kind = f"{file.bits}-bit {'little' if file.little else 'big'}-endian"
        raise NoDataError(f"{path}: {kind} programs are not supported: build for 64-bit little-endian")
    _ = file.sections, file.build_id
    return file


# Write ELF files that contain only names of functions, like the snapshots in a run directory.


HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SHARED, X86_64 = 3, 62
SYMTAB, STRTAB, NOBITS = 2, 3, 8
ALLOC_EXEC, GLOBAL_FUNCTION = 6, 0x12


class WrittenSymbol(NamedTuple):
    """A function: size bytes at an address."""

    name: str
    address: int
    size: int


def symbols_file(symbols: Sequence[WrittenSymbol], low: int, high: int) -> bytes:
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
