"""The samples of a stream (docs/reference/formats.md, kind 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incprof.model import LIBRARY
from incprof.readers.stream import varint

IntArray = npt.NDArray[np.int64]

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


def decode_samples(payloads: Sequence[varint.ByteArray]) -> tuple[RawSamples, IntArray]:
    """Decode sample images; also return the indices of damaged ones, whose samples are left out.

    Takes some 30 bytes of memory per byte.
    """
    values, lengths, whole = varint.decode_rows(payloads)
    ends = np.cumsum(lengths)

    start, torn = _record_starts(values, ends - lengths, ends)
    payload = np.searchsorted(ends, start, side="right")
    whole[payload[torn]] = False
    start, payload = start[~torn], payload[~torn]

    samples = _fields(values, start, payload)
    whole[payload[_implausible(samples)]] = False
    keep = whole[payload]
    delay = _running_delay(samples.delay_us, payload)
    columns = (payload, delay, samples.thread, samples.node, samples.kind, samples.module, samples.weight)
    return RawSamples(*(column[keep] for column in columns)), np.flatnonzero(~whole)


def _record_starts(
    values: varint.UintArray, starts: IntArray, ends: IntArray
) -> tuple[IntArray, npt.NDArray[np.bool_]]:
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
    known = -1
    while (now := int(np.count_nonzero(reached))) != known:
        known = now
        reached[follow[np.flatnonzero(reached)]] = True
        follow = follow[follow]
    start = np.flatnonzero(reached[:m])
    return start, over[start]


def _fields(values: varint.UintArray, start: IntArray, payload: IntArray) -> RawSamples:
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
