"""Encode numbers and images as the collector does (docs/reference/formats.md)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incprof.readers.stream.coded_records import MAX_BYTES
from incprof.readers.stream.stream_files import HEADER, MAGIC, check

UintArray = npt.NDArray[np.uint64]

# Limit on the length of a name.
LONGEST_NAME = 4000


def image(kind: int, payload: bytes, *, module: int = 0, interval: int = 0) -> bytes:
    """Return an image: its header and payload."""
    head = HEADER.pack(MAGIC, kind, 0, module, len(payload), interval)
    return HEADER.pack(MAGIC, kind, check(head, payload), module, len(payload), interval) + payload


def varints(values: UintArray) -> bytes:
    """Return numbers as consecutive LEB128."""
    septets = np.zeros((len(values), MAX_BYTES), dtype=np.uint8)
    remaining, length = values.copy(), np.ones(len(values), dtype=np.int64)
    for at in range(MAX_BYTES):
        septets[:, at] = (remaining & np.uint64(0x7F)).astype(np.uint8)
        remaining >>= np.uint64(7)
        more = remaining > 0
        septets[more, at] |= 0x80
        length += more
    return septets[np.arange(MAX_BYTES) < length[:, None]].tobytes()


def zigzag(values: npt.NDArray[np.int64]) -> UintArray:
    """Return signed numbers as unsigned ones, same shape."""
    return ((values << 1) ^ (values >> 63)).view(np.uint64)
