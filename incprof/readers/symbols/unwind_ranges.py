"""Where functions begin and end in a file without symbols: by its unwind tables, which name nobody.

Of .eh_frame_hdr the sorted table (the LSB's section 10.6.2), of .eh_frame the length of each entry's code. Copies in
run directories have these lengths in the table itself, in place of where records are (preload/objects/unwind_sizes.h).
"""

from __future__ import annotations

import struct

import numpy as np

from incprof.elf.file import ElfFile
from incprof.readers.symbols.table import AddressArray

# Version, and how the pointer to .eh_frame, the number of entries and the table are written (DW_EH_PE_*): the only way
# in which linkers write them.
HEAD = bytes([1, 0x1B, 0x03, 0x3B])
UNWIND_SIZES = 0x80000000 + 0x696E6370
ENTRY = np.dtype([("start", "<i4"), ("record", "<i4")])
# An FDE's length, its way back to the CIE, where its code begins (from here), and for how long it goes on.
FDE = np.dtype([("length", "<u4"), ("common", "<u4"), ("start", "<i4"), ("size", "<u4")])


def unwind_ranges(elf: ElfFile) -> tuple[AddressArray, AddressArray]:
    """First addresses, ascending, and sizes of the functions that unwind tables tell of; a size is 0 where unknown.

    Linkage stubs are left out.

    Raises: NoDataError when the file is damaged.
    """
    header, frames = elf.section(".eh_frame_hdr"), elf.section(".eh_frame")
    nothing = np.zeros(0, dtype=np.uint64)
    data = elf.contents(header) if header else b""
    if header is None or len(data) < 12 or data[:4] != HEAD:
        return nothing, nothing
    count = min(struct.unpack_from("<I", data, 8)[0], (len(data) - 12) // ENTRY.itemsize)
    table = np.frombuffer(data, dtype=ENTRY, count=count, offset=12)
    start = np.uint64(header.address) + table["start"].astype(np.int64).astype(np.uint64)
    size = np.zeros(count, dtype=np.uint64)
    if header.type == UNWIND_SIZES:
        size[:] = table["record"].view("<u4")
    elif frames is not None:
        base = np.uint64((header.address - frames.address) % 2**64)
        size = _sizes(
            elf.contents(frames), frames.address, start, base + table["record"].astype(np.int64).astype(np.uint64)
        )
    start, first = np.unique(start, return_index=True)
    size = size[first]
    keep = _in_code(elf, start)
    return start[keep], size[keep]


def _sizes(data: bytes, address: int, start: AddressArray, at: AddressArray) -> AddressArray:
    """Sizes of the functions from the records at these offsets; 0 where a record is not of the usual form."""
    size = np.zeros(len(start), dtype=np.uint64)
    inside = np.flatnonzero(at <= np.uint64(max(len(data) - FDE.itemsize, 0)))
    if not len(inside) or len(data) < FDE.itemsize:
        return size
    offset = at[inside].astype(np.int64)
    rows = np.frombuffer(data, dtype=np.uint8)[offset[:, None] + np.arange(FDE.itemsize)]
    record = np.ascontiguousarray(rows).view(FDE).ravel()
    here = np.uint64(address) + at[inside] + np.uint64(8)
    usual = here + record["start"].astype(np.int64).astype(np.uint64) == start[inside]
    size[inside[usual]] = record["size"][usual]
    return size


def _in_code(elf: ElfFile, address: AddressArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which addresses lie in sections of code that are no linkage stubs."""
    out = np.zeros(len(address), dtype=np.bool_)
    for section in elf.sections:
        if section.executable and not section.name.startswith(".plt"):
            out |= (address >= np.uint64(section.address)) & (
                address < np.uint64(min(section.address + section.size, 2**64 - 1))
            )
    return out
