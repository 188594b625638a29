"""ELF files as far as symbols need them: sections, build-id, class."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from incprof.errors import NoDataError

SHF_EXECINSTR = 4
NOTE_HEAD = struct.Struct("<III")
NOTE_BUILD_ID = 3
MAX_NOTES = 4096


@dataclass(frozen=True, slots=True)
class Section:
    """A section: link-time address, place in the file, flags. `link` is the index of the section it refers to."""

    name: str
    type: int | str
    flags: int
    address: int
    offset: int
    size: int
    link: int

    @property
    def executable(self) -> bool:
        """Whether it holds code."""
        return bool(self.flags & SHF_EXECINSTR)


@dataclass(frozen=True)
class ElfFile:
    """The section table of a 64-bit little-endian ELF file."""

    path: str
    sections: tuple[Section, ...]
    build_id: str | None

    def section(self, name: str) -> Section | None:
        """The first section of that name which has bytes in the file."""
        found = (s for s in self.sections if s.name == name and s.type != "SHT_NOBITS")
        return next(found, None)

    def bytes_of(self, section: Section) -> bytes:
        """The section's bytes.

        Raises: NoDataError when the file does not hold as many.
        """
        try:
            with open(self.path, "rb") as file:
                if section.offset + section.size > Path(self.path).stat().st_size:
                    raise NoDataError(f"{self.path}: section {section.name} is cut off: copy the file again")
                file.seek(section.offset)
                return file.read(section.size)
        except OSError as error:
            raise NoDataError(f"{self.path}: cannot be read: {error.strerror}") from error


def open_elf(path: str) -> ElfFile:
    """Read the section table.

    Raises: NoDataError when the file cannot be read, is no ELF file, or is of another class than 64-bit little-endian.
    """
    try:
        with open(path, "rb") as stream:
            elf = ELFFile(stream)
            if elf.elfclass != 64 or not elf.little_endian:
                kind = f"{elf.elfclass}-bit {'little' if elf.little_endian else 'big'}-endian"
                raise NoDataError(f"{path}: {kind} programs are not supported: build for 64-bit little-endian")
            sections = tuple(_section(s.name, s.header) for s in elf.iter_sections())
            build_id = _build_id(stream, sections)
    except OSError as error:
        raise NoDataError(f"{path}: cannot be read: {error.strerror or error}") from error
    except NoDataError:
        raise
    except (ELFError, ValueError, KeyError, IndexError, AttributeError, TypeError, MemoryError) as error:
        # pyelftools lets several kinds of exception out on damaged headers.
        raise NoDataError(f"{path}: not a readable ELF file: give the recorded program") from error
    return ElfFile(path, sections, build_id)


def _section(name: str, header: Any) -> Section:
    """A section from pyelftools' parsed header."""
    numbers = (header["sh_flags"], header["sh_addr"], header["sh_offset"], header["sh_size"], header["sh_link"])
    return Section(name, header["sh_type"], *numbers)


def _build_id(stream: BinaryIO, sections: tuple[Section, ...]) -> str | None:
    """The build-id as hex digits, from the first note that carries one."""
    for section in sections:
        if section.type != "SHT_NOTE":
            continue
        stream.seek(section.offset)
        notes = stream.read(min(section.size, MAX_NOTES))
        position = 0
        while position + NOTE_HEAD.size <= len(notes):
            name_size, size, kind = NOTE_HEAD.unpack_from(notes, position)
            name_at = position + NOTE_HEAD.size
            at = name_at + (name_size + 3) // 4 * 4
            if kind == NOTE_BUILD_ID and notes[name_at : name_at + name_size] == b"GNU\0":
                return notes[at : at + size].hex() or None
            position = at + (size + 3) // 4 * 4
    return None
