"""Look up functions and lines of addresses that an input has no names for, in the files that the process ran."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from incprof.errors import NoDataError
from incprof.readers.foreign.shared import is_shared
from incprof.readers.foreign.timeline import Frame
from incprof.symbols.addr2line import Chain, chains
from incprof.symbols.cache import cached_symbols
from incprof.symbols.closures import with_lambdas
from incprof.symbols.elf.file import PT_LOAD, ElfFile, open_elf
from incprof.symbols.elf_symbols import PLT_NAME

PAGE = 4096


@dataclass(frozen=True)
class Mapped:
    """A mapped file: address `start` holds the byte at `offset`."""

    path: str
    start: int
    offset: int


def frames_at(mapped: Mapped, addresses: Sequence[int], program: str) -> list[list[Frame]]:
    """Return the frames at each address, outermost first; an unnamed frame if the file or its symbol is missing."""
    offsets = [address - mapped.start + mapped.offset for address in addresses]
    return _frames(mapped.path, program, len(offsets), lambda elf: [_linked(elf, offset) for offset in offsets])


def frames_in_image(path: str, distances: Sequence[int], program: str) -> list[list[Frame]]:
    """Return the same for addresses given as distances from where the file's first byte was loaded."""

    def linked(elf: ElfFile) -> list[int]:
        first = min((segment.address for segment in elf.segments if segment.type == PT_LOAD), default=0)
        return [first // PAGE * PAGE + distance for distance in distances]

    return _frames(path, program, len(distances), linked)


def _frames(
    path: str, program: str, count: int, link: Callable[[ElfFile], list[int]]
) -> list[list[Frame]]:  # fmt: skip
    """Return the frames at places in a file. link: returns their link-time addresses, `count` of them."""
    module, shared = "" if path == program else path, is_shared(path)
    unknown = [Frame(module, "", shared=shared)]
    try:
        elf = open_elf(path)
        table, linked = cached_symbols(elf), link(elf)
    except NoDataError:
        return [unknown] * count
    index = table.find(np.array(linked, dtype=np.uint64)).tolist()
    # Lines of shared code are not looked up, because nothing uses them.
    asked = [] if shared else linked
    places: list[Chain] = with_lambdas(path, asked, chains(path, asked)) or [()] * len(linked)
    found = []
    for symbol, chain in zip(index, places, strict=True):
        name = table.name(symbol) if symbol >= 0 else ""
        if name == PLT_NAME.decode():
            found.append(list[Frame]())
            continue
        outer = chain[-1] if chain else None
        frames = [Frame(module, name, outer.file if outer else "", outer.line if outer else 0, shared=shared)]
        inner = [Frame(module, each.function, each.file, each.line) for each in reversed(chain[:-1]) if each.function]
        found.append(frames + inner if name else unknown)
    return found


def _linked(elf: ElfFile, offset: int) -> int:
    """Return the link-time address of a byte of a file; 0 if it is not code."""
    for section in elf.sections:
        if section.executable and section.offset <= offset < section.offset + section.size:
            return section.address + offset - section.offset
    return 0
