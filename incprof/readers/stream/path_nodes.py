"""Call-path nodes of a stream (docs/reference/formats.md, kind 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incprof.readers.stream import varint

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

ELIDED_MODULE, BROKEN_MODULE = 65535, 65534
HEAD, FIELDS = 2, 3
# A node takes at least a byte for each of its numbers.
NODE_BYTES = FIELDS


@dataclass(frozen=True)
class Nodes:
    """The trie as written; node 0 is the root. All shape (p,). `address` wraps above 2**63.

    Attributes:
        lost: number of nodes that cannot be read: a BROKEN_MODULE below the root stands for each.
        more_lost: more of them may have followed the last one.
    """

    parent: IntArray
    module: IntArray
    address: IntArray
    lost: BoolArray
    more_lost: bool


@dataclass(frozen=True)
class _Blocks:
    """Node images, all shape (k,): number of the first node, count, position in the table, whether usable.

    Attributes:
        parent: (m,) of all their nodes.
        module: (m,) of all their nodes.
        address: (m,) of all their nodes.
    """

    first: IntArray
    count: IntArray
    start: IntArray
    good: BoolArray
    parent: IntArray
    module: IntArray
    address: IntArray


def decode_nodes(payloads: Sequence[varint.ByteArray | None], limit: int) -> tuple[Nodes, int]:
    """Decode node images in file order; also return how many of them are damaged.

    None among the payloads: images may be missing here. limit: the most nodes that the file could hold. An image
    contains the number of its first node: the next one, or a higher one if images are missing or damaged.
    """
    decoder = NodeDecoder()
    nodes, bad = decoder.decode(payloads, limit)
    root = np.zeros(1, dtype=np.int64)
    parent, module, address = (np.concatenate([root, column]) for column in (nodes.parent, nodes.module, nodes.address))
    return Nodes(parent, module, address, np.concatenate([[False], nodes.lost]), nodes.more_lost), bad


class NodeDecoder:
    """Decodes the node images of a stream, a few at a time. following: number of the next node."""

    def __init__(self) -> None:
        self.following = 1
        self._hole = False

    def decode(self, payloads: Sequence[varint.ByteArray | None], limit: int) -> tuple[Nodes, int]:
        """Return the nodes of these images, without the earlier ones; and how many of the images are damaged."""
        blocks = _decode_blocks([payload for payload in payloads if payload is not None], limit)
        rows = zip(blocks.first.tolist(), blocks.count.tolist(), blocks.good.tolist(), strict=True)
        begin, bad = self.following, 0
        used: list[int] = []
        index = -1
        for payload in payloads:
            if payload is None:
                self._hole = True
                continue
            index += 1
            first, count, good = next(rows)
            if good and (first == self.following or (self._hole and self.following < first <= limit - count)):
                used.append(index)
                self.following, self._hole = first + count, False
            else:
                self._hole, bad = True, bad + 1
        return _placed(blocks, used, begin, self.following, self._hole), bad


def _decode_blocks(payloads: Sequence[varint.ByteArray], limit: int) -> _Blocks:
    """Decode node images one by one, whatever their numbers."""
    values, lengths, good = varint.decode_rows(payloads)
    heads = np.cumsum(lengths) - lengths
    good &= lengths >= HEAD
    first, count = (np.zeros(len(lengths), dtype=np.int64) for _ in range(HEAD))
    for place, column in enumerate((first, count)):
        column[good] = np.minimum(values[heads[good] + place], np.uint64(limit + 1)).astype(np.int64)
    good &= (first > 0) & (lengths == HEAD + FIELDS * count)

    count[~good] = 0
    start = np.cumsum(count) - count
    within = np.arange(count.sum(), dtype=np.int64) - np.repeat(start, count)
    table = values[(np.repeat(heads, count) + HEAD + FIELDS * within)[:, None] + np.arange(FIELDS)]
    number = np.repeat(first, count) + within
    parent = number - np.minimum(table[:, 0], np.uint64(2**62)).astype(np.int64)
    module = np.minimum(table[:, 1], np.uint64(2**31)).astype(np.int64)
    address = _undelta(varint.unzigzag(table[:, 2]), count)

    wrong = np.repeat(np.arange(len(count)), count)[(parent < 0) | (parent >= number)]
    good[wrong] = False
    return _Blocks(first, count, start, good, parent, module, address)


def _placed(blocks: _Blocks, used: Sequence[int], begin: int, following: int, hole: bool) -> Nodes:
    """Return nodes `begin` to `following` - 1 from the usable blocks; nodes between blocks are lost."""
    size = following - begin
    parent, address = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    module, lost = np.full(size, BROKEN_MODULE, dtype=np.int64), np.ones(size, dtype=bool)
    chosen = np.array(used, dtype=np.int64)
    count = blocks.count[chosen]
    within = np.arange(count.sum(), dtype=np.int64) - np.repeat(np.cumsum(count) - count, count)
    number = np.repeat(blocks.first[chosen] - begin, count) + within
    row = np.repeat(blocks.start[chosen], count) + within
    parent[number], module[number], address[number] = blocks.parent[row], blocks.module[row], blocks.address[row]
    lost[number] = False
    return Nodes(parent, module, address, lost, hole)


def _undelta(steps: IntArray, per_payload: IntArray) -> IntArray:
    """Return running sums that restart with each payload; they wrap like the writer's unsigned numbers."""
    total = np.cumsum(steps.view(np.uint64), dtype=np.uint64)
    starts = np.cumsum(per_payload) - per_payload
    before = np.concatenate([np.zeros(1, np.uint64), total])[starts]
    running: IntArray = (total - np.repeat(before, per_payload)).view(np.int64)
    return running
