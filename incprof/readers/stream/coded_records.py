"""Call-path nodes and samples of a stream (docs/reference/formats.md, kinds 6 and 7), and their coded numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incprof.model import LIBRARY, positions
from incprof.readers.stream.stream_files import HEADER, MAGIC, check

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


def decode_nodes(payloads: Sequence[ByteArray | None], limit: int) -> tuple[Nodes, int]:
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

    def decode(self, payloads: Sequence[ByteArray | None], limit: int) -> tuple[Nodes, int]:
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


def _decode_blocks(payloads: Sequence[ByteArray], limit: int) -> _Blocks:
    """Decode node images one by one, whatever their numbers."""
    values, lengths, good = decode_rows(payloads)
    heads = np.cumsum(lengths) - lengths
    good &= lengths >= HEAD
    first, count = (np.zeros(len(lengths), dtype=np.int64) for _ in range(HEAD))
    for place, column in enumerate((first, count)):
        column[good] = np.minimum(values[heads[good] + place], np.uint64(limit + 1)).astype(np.int64)
    good &= (first > 0) & (lengths == HEAD + FIELDS * count)

    count[~good] = 0
    start = np.cumsum(count) - count
    position = np.arange(count.sum(), dtype=np.int64) - np.repeat(start, count)
    table = values[(np.repeat(heads, count) + HEAD + FIELDS * position)[:, None] + np.arange(FIELDS)]
    number = np.repeat(first, count) + position
    parent = number - np.minimum(table[:, 0], np.uint64(2**62)).astype(np.int64)
    module = np.minimum(table[:, 1], np.uint64(2**31)).astype(np.int64)
    address = _undelta(unzigzag(table[:, 2]), count)

    wrong = np.repeat(np.arange(len(count)), count)[(parent < 0) | (parent >= number)]
    good[wrong] = False
    return _Blocks(first, count, start, good, parent, module, address)


def _placed(blocks: _Blocks, used: Sequence[int], begin: int, following: int, hole: bool) -> Nodes:
    """Return nodes `begin` to `following` - 1 from the usable blocks; nodes between blocks are lost."""
    size = following - begin
    parent, address = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    module, lost = np.full(size, BROKEN_MODULE, dtype=np.int64), np.ones(size, dtype=bool)
    selected = np.array(used, dtype=np.int64)
    count = blocks.count[selected]
    position = positions(count)
    number = np.repeat(blocks.first[selected] - begin, count) + position
    row = np.repeat(blocks.start[selected], count) + position
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


# The samples of a stream (docs/reference/formats.md, kind 7).


# Larger numbers are damage, and would overflow the sums made of them.
MAX_DELAY_US, MAX_THREAD, MAX_NODE, MAX_WEIGHT, MAX_MODULE = 2**50, 2**31 - 1, 2**31 - 1, 2**31 - 1, 2**16


@dataclass(frozen=True)
class RawSamples:
    """Samples in file order, all shape (s,). `payload` counts sample images from 0, `delay_us` restarts with each."""

    payload: IntArray
    delay_us: IntArray
    thread: IntArray
    node: IntArray
    kind: IntArray
    module: IntArray
    weight: IntArray


def decode_samples(payloads: Sequence[ByteArray]) -> tuple[RawSamples, IntArray]:
    """Decode sample images; also return the indices of damaged ones, whose samples are left out.

    Takes some 30 bytes of memory per byte.
    """
    values, lengths, is_valid = decode_rows(payloads)
    ends = np.cumsum(lengths)

    start, torn = _record_starts(values, ends - lengths, ends)
    payload = np.searchsorted(ends, start, side="right")
    is_valid[payload[torn]] = False
    start, payload = start[~torn], payload[~torn]

    samples = _fields(values, start, payload)
    is_valid[payload[_implausible(samples)]] = False
    keep = is_valid[payload]
    delay = _running_delay(samples.delay_us, payload)
    columns = (payload, delay, samples.thread, samples.node, samples.kind, samples.module, samples.weight)
    return RawSamples(*(column[keep] for column in columns)), np.flatnonzero(~is_valid)


def _record_starts(values: UintArray, starts: IntArray, ends: IntArray) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Return where each sample starts among the numbers, and which samples extend over the end of their payload.

    A sample's length depends on its third number, so the starts form chains. They are followed by doubling: given all
    starts up to 2**j samples into a payload, one jump of 2**j samples yields those up to 2**(j+1).
    """
    m = len(values)
    code = np.zeros(m + 1, dtype=np.uint64)
    code[: max(m - 2, 0)] = values[2:]
    has_module = ((code >> np.uint64(1)) & np.uint64(3)) == LIBRARY
    follow = np.arange(m + 1, dtype=np.int64) + 3 + has_module + (code & np.uint64(1)).astype(np.int64)
    limit = np.append(np.repeat(ends, ends - starts), m)
    over = follow > limit
    follow[over] = m
    follow[m] = m

    reached = np.zeros(m + 1, dtype=bool)
    reached[starts] = True
    previous = -1
    while (now := int(np.count_nonzero(reached))) != previous:
        previous = now
        reached[follow[np.flatnonzero(reached)]] = True
        follow = follow[follow]
    start = np.flatnonzero(reached[:m])
    return start, over[start]


def _fields(values: UintArray, start: IntArray, payload: IntArray) -> RawSamples:
    """Return the numbers of each sample; out-of-range ones are clipped to just above their limit."""

    def column(index: IntArray, limit: int) -> IntArray:
        return np.minimum(values[index], np.uint64(limit + 1)).astype(np.int64)

    code = values[start + 2]
    kind = ((code >> np.uint64(1)) & np.uint64(3)).astype(np.int64)
    heavy = (code & np.uint64(1)).astype(bool)
    in_library = kind == LIBRARY
    module = np.full(len(start), -1, dtype=np.int64)
    module[in_library] = column(start[in_library] + 3, MAX_MODULE)
    weight = np.ones(len(start), dtype=np.int64)
    weight[heavy] = column((start + 3 + in_library)[heavy], MAX_WEIGHT)
    node = np.minimum(code >> np.uint64(3), np.uint64(MAX_NODE + 1)).astype(np.int64)
    return RawSamples(payload, column(start, MAX_DELAY_US), column(start + 1, MAX_THREAD), node, kind, module, weight)


def _implausible(samples: RawSamples) -> npt.NDArray[np.bool_]:
    """Return which samples hold a number that no collector writes, shape (s,)."""
    wrong = (samples.delay_us > MAX_DELAY_US) | (samples.thread > MAX_THREAD) | (samples.node > MAX_NODE)
    return wrong | (samples.weight > MAX_WEIGHT) | (samples.module > MAX_MODULE)


def _running_delay(delay: IntArray, payload: IntArray) -> IntArray:
    """Return microseconds since the start of the payload's interval, shape (s,); only damaged payloads may wrap."""
    if not len(delay):
        return delay
    total = np.cumsum(delay)
    head = np.flatnonzero(np.diff(payload, prepend=-1))
    before = (total - delay)[head]
    return total - np.repeat(before, np.diff(head, append=len(delay)))


# Decode many LEB128 numbers at once.


ByteArray = npt.NDArray[np.uint8]
UintArray = npt.NDArray[np.uint64]
IndexArray = npt.NDArray[np.int64]

MAX_BYTES = 10


def decode_rows(payloads: Sequence[ByteArray]) -> tuple[UintArray, IndexArray, BoolArray]:
    """Decode k payloads: all their numbers (m,), the count in each (k,), and which are well-formed (k,).

    A well-formed payload is a sequence of complete numbers of at most 10 bytes each; any other yields no number.
    """
    good = np.array([not len(payload) or payload[-1] < 0x80 for payload in payloads], dtype=bool)
    numbers, per_payload, overlong = _decode_complete(_selected(payloads, good))
    if overlong.any():
        good[np.flatnonzero(good)[overlong]] = False
        numbers, per_payload, _ = _decode_complete(_selected(payloads, good))
    counts = np.zeros(len(payloads), dtype=np.int64)
    counts[good] = per_payload
    return numbers, counts, good


def _selected(payloads: Sequence[ByteArray], which: BoolArray) -> Sequence[ByteArray]:
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


# Records of a type, a length and so many bytes, one after the other: the images that systems decode.


# A float holds all digits of numbers up to this one.
MOST = 2**53
MOST_NAME = 4096


def records_of(payload: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the types and contents of a payload's records.

    Raises: ValueError if one is cut off.
    """
    at = 0
    while at < len(payload):
        kind, at = number_at(payload, at)
        length, at = number_at(payload, at)
        if length > len(payload) - at:
            raise ValueError("a record is cut off")
        yield kind, payload[at : at + length]
        at += length


def number_at(text: bytes, at: int) -> tuple[int, int]:
    """Return the varint at a place, and the place behind it.

    Raises: ValueError if it is cut off, or above MOST.
    """
    value = 0
    for place, byte in enumerate(text[at : at + MAX_BYTES]):
        value |= (byte & 127) << 7 * place
        if byte < 128:
            if value > MOST:
                raise ValueError("a number is too large")
            return value, at + place + 1
    raise ValueError("a number is cut off")


def name_at(text: bytes, at: int) -> tuple[bytes, int]:
    """Return the name at a place, behind its length, and the place behind it.

    Raises: ValueError if it is cut off, or too long.
    """
    length, at = number_at(text, at)
    if length > min(MOST_NAME, len(text) - at):
        raise ValueError("a name is cut off")
    return text[at : at + length], at + length


def names_of(text: bytes) -> dict[int, bytes]:
    """Return names by number, from a record with the number of the first and all names.

    Raises: ValueError if one is cut off, or too long.
    """
    names = dict[int, bytes]()
    number, at = number_at(text, 0)
    while at < len(text):
        names[number], at = name_at(text, at)
        number += 1
    return names


# Encode numbers and images as the collector does.


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
