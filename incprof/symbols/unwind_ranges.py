"""Function ranges in a file without symbols: from its unwind tables, which contain no names.

Uses the sorted table of .eh_frame_hdr (the LSB's section 10.6.2), and the code length of each entry of .eh_frame.
Copies in run directories have these lengths in the table itself, in place of the records' positions
(preload/objects/elf_file.h).
"""

from __future__ import annotations

import struct

import numpy as np

from incprof.symbols.elf.file import ElfFile
from incprof.symbols.table import AddressArray

# Version, and the encodings of the pointer to .eh_frame, the number of entries and the table (DW_EH_PE_*): the only
# ones that linkers write.
HEAD = bytes([1, 0x1B, 0x03, 0x3B])
UNWIND_SIZES = 0x80000000 + 0x696E6370
ENTRY = np.dtype([("start", "<i4"), ("record", "<i4")])
# An FDE's length, its offset back to the CIE, the (relative) beginning of its code, and the length of that.
FDE = np.dtype([("length", "<u4"), ("common", "<u4"), ("start", "<i4"), ("size", "<u4")])


def unwind_ranges(elf: ElfFile) -> tuple[AddressArray, AddressArray]:
    """Return first addresses, ascending, and sizes of the functions in unwind tables; a size is 0 if unknown.

    Linkage stubs are left out.

    Raises: NoDataError if the file is damaged.
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
    """Return sizes of the functions from the records at these offsets; 0 if a record is not of the usual form."""
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
    """Return which addresses lie in sections of code that are not linkage stubs."""
    out = np.zeros(len(address), dtype=np.bool_)
    for section in elf.sections:
        if section.executable and not section.name.startswith(".plt"):
            out |= (address >= np.uint64(section.address)) & (
                address < np.uint64(min(section.address + section.size, 2**64 - 1))
            )
    return out
