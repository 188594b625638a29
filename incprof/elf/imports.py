"""What a file calls in others: the slots that the loader fills, and the stubs that jump through them."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from incprof.elf.file import SHT_DYNSYM, SHT_RELA, STT_FUNC, SYMBOL, ElfFile, Section

# Places that look like a symbol of some name: in a sound file most of them are.
MOST_TRIES = 10_000


def import_slots(elf: ElfFile) -> dict[int, str]:
    """Addresses of the GOT slots that the loader fills with a symbol's address, with the symbol's name."""
    symbols = elf.symbols(SHT_DYNSYM)
    slots = {}
    for section in elf.sections:
        if section.type != SHT_RELA:
            continue
        data = elf.contents(section)
        for address, info, _ in struct.iter_unpack("<QQq", data[: len(data) // 24 * 24]):
            index = info >> 32
            if 0 < index < len(symbols) and symbols[index].name:
                slots[address] = symbols[index].name
    return slots


def plt_stubs(elf: ElfFile, section: Section, slots: dict[int, str]) -> Iterator[tuple[int, str]]:
    """Addresses of the linkage-table entries that jump through one of `slots`."""
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


def stub_names(elf: ElfFile) -> dict[int, str]:
    """What each entry of the linkage tables leads to, by its address."""
    slots = import_slots(elf)
    return {address: name for section in elf.sections for address, name in plt_stubs(elf, section, slots)}


def exported_function(table: bytes, strings: bytes, name: str) -> int | None:
    """Where a function begins that other files may import by a name; None where there is none.

    table, strings: the dynamic symbols of a file and their names, which are not gone through: there may be many.
    """
    wanted, at, tries = name.encode() + b"\0", -1, 0
    while (at := strings.find(wanted, at + 1)) >= 0 and tries < MOST_TRIES:
        entry, place = struct.pack("<I", at), -1
        while (place := table.find(entry, place + 1)) >= 0 and tries < MOST_TRIES:
            tries += 1
            if place % SYMBOL.size == 0 and place + SYMBOL.size <= len(table):
                _, info, _, section, address, _ = SYMBOL.unpack_from(table, place)
                if section and info & 15 == STT_FUNC:
                    return int(address)
    return None
