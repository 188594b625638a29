"""A file's calls into other files: the slots that the loader fills, and the stubs that jump through them."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from typing import TypeVar

from incprof.symbols.elf.file import SHT_DYNSYM, SHT_RELA, ElfFile, Section

What = TypeVar("What")


def slot_symbols(elf: ElfFile) -> dict[int, int]:
    """Return GOT slots that the loader fills with a symbol's address, by address, with the dynamic symbol's number."""
    slots: dict[int, int] = {}
    for section in elf.sections:
        if section.type == SHT_RELA:
            data = elf.contents(section)
            rows = struct.iter_unpack("<QQq", data[: len(data) // 24 * 24])
            slots.update({address: info >> 32 for address, info, _ in rows if info >> 32})
    return slots


def import_slots(elf: ElfFile) -> dict[int, str]:
    """Return the same with the symbols' names; those without a name are left out."""
    symbols = elf.symbols(SHT_DYNSYM)
    slots = {address: index for address, index in slot_symbols(elf).items() if index < len(symbols)}
    return {address: symbols[index].name for address, index in slots.items() if symbols[index].name}


def plt_stubs(elf: ElfFile, section: Section, slots: Mapping[int, What]) -> Iterator[tuple[int, What]]:
    """Yield the addresses of linkage-table entries that jump through one of `slots`, with the slot's value."""
    if not section.name.startswith(".plt"):
        return
    data, entry = elf.contents(section), section.entry_size or 16
    for match in re.finditer(rb"\xff\x25", data):  # jmp *slot(%rip)
        at = match.start()
        if at + 6 > len(data):
            break
        slot = section.address + at + 6 + struct.unpack_from("<i", data, at + 2)[0]
        if slot in slots:
            yield section.address + at // entry * entry, slots[slot]
