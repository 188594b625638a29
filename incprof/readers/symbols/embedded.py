"""The symbols that a stripped file carries along, packed: .gnu_debugdata, an ELF file with nothing but names."""

from __future__ import annotations

import lzma
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from incprof.elf.file import ElfFile

# Of names, unpacked; and by how much they may have been packed (xz packs zeroes 7 000 to 1).
MOST_BYTES = 1 << 28
MOST_RATIO = 100


@contextmanager
def embedded_symbols(elf: ElfFile) -> Iterator[ElfFile | None]:
    """The file that another one holds, while it is read; None where it holds none that can be unpacked.

    Raises: NoDataError when `elf` is damaged.
    """
    section = elf.section(".gnu_debugdata")
    data = unpacked(elf.contents(section)) if section else None
    if data is None:
        yield None
        return
    with tempfile.NamedTemporaryFile(prefix="incprof-symbols-") as file:
        file.write(data)
        file.flush()
        yield ElfFile(file.name)


def unpacked(data: bytes) -> bytes | None:
    """What xz has packed; None for anything else, and for what is larger than symbols are."""
    most = min(MOST_BYTES, MOST_RATIO * len(data))
    try:
        machine = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_BYTES)
        found = machine.decompress(data, max_length=most)
    except lzma.LZMAError:
        return None
    return found if machine.eof else None
