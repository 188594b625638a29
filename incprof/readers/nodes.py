"""Call-path nodes of a stream (docs/formats.md, kind 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incprof.readers import varint

IntArray = npt.NDArray[np.int64]

ELIDED_MODULE, BROKEN_MODULE = 65535, 65534
FIELDS = 3


@dataclass(frozen=True)
class Nodes:
    """The trie as written; node 0 is the root. All shape (p,). `address` wraps above 2**63."""

    parent: IntArray
    module: IntArray
    address: IntArray


def decode_nodes(payloads: Sequence[varint.ByteArray]) -> tuple[Nodes, int]:
    """Decode node images in file order, and say how many of them could be used.

    Numbers run over the whole file: after a damaged image no later one means anything, so decoding stops there.
    """
    good = _usable(payloads)
    data = np.concatenate([np.empty(0, np.uint8), *payloads[:good]])
    values = varint.decode(data)
    per_payload = np.array([_count(p) for p in payloads[:good]], dtype=np.int64)
    heads = np.cumsum(per_payload * FIELDS + 1) - (per_payload * FIELDS + 1)
    table = np.delete(values, heads).reshape(-1, FIELDS)

    number = np.arange(1, len(table) + 1, dtype=np.int64)
    parent = number - np.minimum(table[:, 0], np.uint64(2**62)).astype(np.int64)
    module = np.minimum(table[:, 1], np.uint64(2**31)).astype(np.int64)
    address = _undelta(varint.unzigzag(table[:, 2]), per_payload)

    wrong = np.flatnonzero((parent < 0) | (parent >= number))
    if len(wrong):
        good = int(np.searchsorted(np.cumsum(per_payload), wrong[0], side="right"))
        kept = int(per_payload[:good].sum())
        parent, module, address = parent[:kept], module[:kept], address[:kept]
    root = np.zeros(1, dtype=np.int64)
    return Nodes(*(np.concatenate([root, column]) for column in (parent, module, address))), good


def _usable(payloads: Sequence[varint.ByteArray]) -> int:
    """How many payloads from the start hold whole numbers, as many as they announce."""
    for index, payload in enumerate(payloads):
        if not len(payload) or not varint.well_formed(payload):
            return index
        if int(np.count_nonzero(payload < 0x80)) != 1 + FIELDS * _count(payload):
            return index
    return len(payloads)


def _count(payload: varint.ByteArray) -> int:
    """The number at the start of a well-formed payload."""
    value = shift = 0
    for byte in payload[: varint.MAX_BYTES].tolist():
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return int(value)


def _undelta(steps: IntArray, per_payload: IntArray) -> IntArray:
    """Running sums that start again with each payload; they wrap like the writer's unsigned numbers."""
    total = np.cumsum(steps.view(np.uint64), dtype=np.uint64)
    starts = np.cumsum(per_payload) - per_payload
    before = np.concatenate([np.zeros(1, np.uint64), total])[starts]
    running: IntArray = (total - np.repeat(before, per_payload)).view(np.int64)
    return running
