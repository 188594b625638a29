"""A copy of a binary with hidden symbols, for addr2line.

With symbols, binutils gives inlined code of C++ and Fortran the name of the recorded function. One symbol that is not a
function stays: without any, it does not decompress sections.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from incprof.errors import NoDataError
from incprof.safe.inputs import open_input
from incprof.symbols.elf.file import ElfFile, text_at

# Most bytes of a program with debug information.
LARGEST = 4 << 30
# Section types in an ELF header: .symtab, .dynsym, and uninterpreted contents.
SYMTAB, DYNSYM, PLAIN = b"\2\0\0\0", b"\13\0\0\0", b"\1\0\0\0"
# A symbol of a source file, which has no address.
ENTRY, OF_A_FILE = 24, b"\0\0\0\0\4\0\xf1\xff" + bytes(16)


@contextmanager
def without_symbols(binary: str) -> Iterator[tuple[str, int]]:
    """Provide the path of a copy in memory, and its descriptor, which a reading process must inherit.

    Raises: OSError.
    """
    with open_input(binary) as source, os.fdopen(os.memfd_create("debug"), "r+b") as copy:
        if os.fstat(source.fileno()).st_size > LARGEST:
            raise OSError(errno.EFBIG, "too large to be copied", binary)
        shutil.copyfileobj(source, copy, 1 << 20)
        _hide(copy)
        path, shared = f"/proc/self/fd/{copy.fileno()}", shared_file(binary)
        if not shared or shared.startswith("/"):
            yield path, copy.fileno()
            return
        with tempfile.TemporaryDirectory(prefix="incprof-") as directory:
            yield _beside(path, Path(directory), shared, Path(binary).absolute().parent), copy.fileno()


def _hide(copy: BinaryIO) -> None:
    """Leave one symbol in the symbol table, and none in the dynamic one."""
    copy.seek(0)
    head = copy.read(64)
    start, size, count = (int.from_bytes(head[at : at + n], "little") for at, n in ((0x28, 8), (0x3A, 2), (0x3C, 2)))
    for place in range(start, start + count * size, size or 1):
        copy.seek(place)
        section = copy.read(64)
        offset, length = (int.from_bytes(section[at : at + 8], "little") for at in (0x18, 0x20))
        if section[4:8] == DYNSYM:
            _write(copy, place + 4, PLAIN)
        elif section[4:8] == SYMTAB and length >= 2 * ENTRY:
            _write(copy, place + 0x20, (2 * ENTRY).to_bytes(8, "little"))
            _write(copy, place + 0x2C, (2).to_bytes(4, "little"))  # all of them are local
            _write(copy, offset + ENTRY, OF_A_FILE)
    copy.flush()


def _write(copy: BinaryIO, at: int, data: bytes) -> None:
    copy.seek(at)
    copy.write(data)


def shared_file(binary: str) -> str:
    """Return the debug file that a binary shares with others (dwz), resolved from its place; empty if none."""
    try:
        elf = ElfFile(binary)
        section = elf.section(".gnu_debugaltlink") if elf.readable else None
        name = text_at(elf.contents(section), 0) if section is not None else ""
    except NoDataError:
        return ""
    return name


def _beside(copy: str, directory: Path, shared: str, home: Path) -> str:
    """Return a place from which the shared file has the same relative path as from the binary's own directory."""
    ups = Path(shared).parts.count("..")
    place = directory.joinpath(*("d" for _ in range(ups)))
    place.mkdir(parents=True, exist_ok=True)
    link = Path(os.path.normpath(place / shared))
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(os.path.normpath(home / shared))
    (place / "binary").symlink_to(copy)
    return str(place / "binary")
