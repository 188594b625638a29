"""Many LEB128 numbers at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

ByteArray = npt.NDArray[np.uint8]
UintArray = npt.NDArray[np.uint64]
IndexArray = npt.NDArray[np.int64]

MAX_BYTES = 10


def ends_of(data: ByteArray) -> IndexArray:
    """Positions one past each number's last byte, shape (m,). `data` has shape (b,)."""
    return np.flatnonzero(data < 0x80).astype(np.int64) + 1


def well_formed(data: ByteArray) -> bool:
    """Whether `data`, shape (b,), is a row of complete numbers of at most 10 bytes each."""
    if not len(data):
        return True
    if data[-1] >= 0x80:
        return False
    ends = ends_of(data)
    return bool(np.diff(ends, prepend=0).max() <= MAX_BYTES)


def decode(data: ByteArray) -> UintArray:
    """Decode a row of well-formed numbers: shape (m,). Bits above the 64th are lost."""
    ends = ends_of(data)
    lengths = np.diff(ends, prepend=0)
    starts = ends - lengths
    values = (data[starts] & 0x7F).astype(np.uint64)
    index = np.flatnonzero(lengths > 1)
    for k in range(1, MAX_BYTES):
        if not len(index):
            break
        septet = (data[starts[index] + k] & 0x7F).astype(np.uint64)
        values[index] |= septet << np.uint64(7 * k)
        index = index[lengths[index] > k + 1]
    return values


def unzigzag(values: UintArray) -> IndexArray:
    """Signed numbers from zigzag ones, same shape."""
    half = (values >> np.uint64(1)).astype(np.int64)
    return half ^ -(values & np.uint64(1)).astype(np.int64)
