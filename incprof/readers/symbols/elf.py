"""ELF files as far as symbols need them: sections, build-id, class."""

from __future__ import annotations

import os
from dataclasses import dataclass

from incprof.elf.file import LARGEST, SHT_NOBITS, Section
from incprof.elf.file import ElfFile as OpenFile
from incprof.errors import NoDataError
from incprof.inputs import AnyPath, open_input


@dataclass(frozen=True)
class ElfFile:
    """The section table of a 64-bit little-endian ELF file."""

    path: str
    sections: tuple[Section, ...]
    build_id: str | None

    def section(self, name: str) -> Section | None:
        """The first section of that name which has bytes in the file."""
        found = (s for s in self.sections if s.name == name and s.type != SHT_NOBITS)
        return next(found, None)

    def bytes_of(self, section: Section) -> bytes:
        """The section's bytes.

        Raises: NoDataError when the file does not hold as many.
        """
        if section.size > LARGEST:
            raise NoDataError(f"{self.path}: section {section.name} is too large: build the program again")
        try:
            with open_input(self.path) as file:
                if section.offset + section.size > os.fstat(file.fileno()).st_size:
                    raise NoDataError(f"{self.path}: section {section.name} is cut off: copy the file again")
                file.seek(section.offset)
                return file.read(section.size)
        except OSError as error:
            raise NoDataError(f"{self.path}: cannot be read: {error.strerror}") from error


def open_elf(path: str, *, within: AnyPath | None = None) -> ElfFile:
    """Read the section table. within: the directory of a run that the file is a part of.

    Raises: NoDataError when the file cannot be read, is no ELF file, or is of another class than 64-bit little-endian.
    """
    try:
        with OpenFile(path, within=within) as file:
            if not file.readable:
                kind = f"{file.bits}-bit {'little' if file.little else 'big'}-endian"
                raise NoDataError(f"{path}: {kind} programs are not supported: build for 64-bit little-endian")
            return ElfFile(path, tuple(file.sections), file.build_id)
    except OSError as error:
        raise NoDataError(f"{path}: cannot be read: {error.strerror or error}") from error
