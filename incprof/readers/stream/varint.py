"""Decode many LEB128 numbers at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

ByteArray = npt.NDArray[np.uint8]
UintArray = npt.NDArray[np.uint64]
IndexArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

MAX_BYTES = 10


def decode_rows(payloads: Sequence[ByteArray]) -> tuple[UintArray, IndexArray, BoolArray]:
    """Decode k payloads: all their numbers (m,), the count in each (k,), and which are well-formed (k,).

    A well-formed payload is a sequence of complete numbers of at most 10 bytes each; any other yields no number.
    """
    good = np.array([not len(payload) or payload[-1] < 0x80 for payload in payloads], dtype=bool)
    numbers, per_payload, overlong = _decode_complete(_chosen(payloads, good))
    if overlong.any():
        good[np.flatnonzero(good)[overlong]] = False
        numbers, per_payload, _ = _decode_complete(_chosen(payloads, good))
    counts = np.zeros(len(payloads), dtype=np.int64)
    counts[good] = per_payload
    return numbers, counts, good


def _chosen(payloads: Sequence[ByteArray], which: BoolArray) -> Sequence[ByteArray]:
    """Return the selected payloads."""
    return payloads if which.all() else [payloads[index] for index in np.flatnonzero(which).tolist()]


def _decode_complete(payloads: Sequence[ByteArray]) -> tuple[UintArray, IndexArray, BoolArray]:
    """Decode k payloads whose last byte ends a number: numbers (m,), count in each, which hold an overlong one."""
    data = np.concatenate([np.empty(0, np.uint8), *payloads])
    edges = np.cumsum([len(payload) for payload in payloads], dtype=np.int64)
    ends = np.flatnonzero(data < 0x80) + 1
    lengths = np.diff(ends, prepend=0)
    overlong = np.zeros(len(payloads), dtype=bool)
    overlong[np.searchsorted(edges, ends[lengths > MAX_BYTES], side="left")] = True
    counts = np.diff(np.searchsorted(ends, edges, side="right"), prepend=0)
    return _decode(data, ends - lengths, lengths), counts.astype(np.int64), overlong


def _decode(data: ByteArray, starts: IndexArray, lengths: IndexArray) -> UintArray:
    """Return the numbers that begin at `starts`, shape (m,). Bits above the 64th are lost."""
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
    """Return signed numbers from zigzag ones, same shape."""
    half = (values >> np.uint64(1)).astype(np.int64)
    return half ^ -(values & np.uint64(1)).astype(np.int64)
