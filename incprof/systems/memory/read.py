"""Decode the images of kind 10 of a stream (docs/reference/formats.md). a allocations, r intervals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from incprof.model import BoolArray, FloatArray, IntArray
from incprof.readers.stream.coded_records import decode_rows, unzigzag
from incprof.readers.stream.interval_images import ALLOCATIONS, IntervalImage, interval_images

CERTAIN, CONTINUED = 2, 4
FLAG_BITS = 3
RECORDED, OWN_ALLOCATOR = range(2)
HEADER_NUMBERS, ALLOCATION_NUMBERS, RELEASE_NUMBERS = 7, 7, 2
# Weights are calibrated in groups of so many allocations of a thread, and by no more than so many standard errors.
GROUP, LEAST_GROUP, MOST_ERRORS = 32, 16, 4

NS, US = 1e-9, 1e-6
# No process has more bytes.
MOST_BYTES = 2**47

Signed = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Allocations:
    """The recorded allocations of a process, in time order, and what is known at the ends of intervals.

    Attributes:
        time_s: (a,) seconds since the start of the run.
        freed_s: (a,) likewise; infinity: not freed while the program was recorded.
        thread: (a,) numbers as those of samples.
        node: (a,) of the call path; 0: unknown.
        size: (a,) bytes.
        weight: (a,) bytes that the allocation stands for.
        group: (a,) allocations whose weights were calibrated together have the same number; -1: not calibrated.
        consumed: (a,) bytes that its thread has allocated since the thread's previous one, itself included.
        is_remainder: (a,) whether it is what is left of a mapping, a part of which was unmapped.
        mean: (a,) bytes between two recorded allocations; 0 for those recorded for their size.
        end_s: (r,) ends of the intervals.
        alive: (r,) recorded allocations alive there, by the recorder's own table.
        lost: (r,) allocations that could not be recorded so far.
        outstanding: (r,) bytes allocated by then that no allocation has in `consumed` so far.
        usual_mean: (r,) the mean in force.
        own_allocator: whether the program defines malloc itself, so that nothing was recorded.
        damaged: number of images that could not be decoded.
    """

    time_s: FloatArray
    freed_s: FloatArray
    thread: IntArray
    node: IntArray
    size: FloatArray
    weight: FloatArray
    group: IntArray
    consumed: FloatArray
    is_remainder: BoolArray
    mean: FloatArray
    end_s: FloatArray
    alive: FloatArray
    lost: FloatArray
    outstanding: FloatArray
    usual_mean: FloatArray
    own_allocator: bool = False
    damaged: int = 0

    @property
    def allocated_b(self) -> float:
        """Return the bytes allocated in the whole run."""
        return float(self.consumed.sum() + self.outstanding[-1:].sum())

    def __len__(self) -> int:
        return len(self.time_s)


@dataclass(frozen=True)
class _Image:
    """The numbers of an image: its header, allocations (a, 7) with absolute times in ns and whole ids, and releases."""

    header: list[int]
    allocations: Signed
    releases: Signed


def read_allocations(path: str) -> Allocations | None:
    """Return the allocations in one process's stream; None if it has none.

    Raises: NoDataError if it is not a stream or cannot be read.
    """
    return allocations_of(interval_images(path, ALLOCATIONS))


def allocations_of(images: Iterable[IntervalImage]) -> Allocations | None:
    """Return the allocations in images, in file order; None if there are none."""
    decoded, ends, damaged = list[_Image](), list[float](), 0
    for image in images:
        try:
            decoded.append(_decode(image))
        except ValueError:
            damaged += 1
            continue
        ends.append(image.end_ns * NS)
    if not decoded and not damaged:
        return None
    none = np.zeros((0, ALLOCATION_NUMBERS), dtype=np.int64)
    allocated = np.concatenate([none, *(each.allocations for each in decoded)])
    freed = np.concatenate([none[:, :RELEASE_NUMBERS], *(each.releases for each in decoded)])
    headers = np.array([each.header for each in decoded], dtype=np.float64).reshape(-1, HEADER_NUMBERS)
    return _combine(allocated, freed, np.array(ends), headers, damaged)


def _combine(allocated: Signed, freed: Signed, end_s: FloatArray, headers: FloatArray, damaged: int) -> Allocations:
    allocated = allocated[np.argsort(allocated[:, 0], kind="stable")]
    ids = allocated[:, 3]
    by_id = np.argsort(ids, kind="stable")
    place = np.minimum(np.searchsorted(ids[by_id], freed[:, 1]), max(len(ids) - 1, 0))
    freed_s = np.full(len(allocated), np.inf)
    if len(allocated):
        where = by_id[place]
        is_match = ids[where] == freed[:, 1]
        freed_s[where[is_match]] = freed[is_match, 0] * NS
    time_s = allocated[:, 0] * NS
    size = allocated[:, 4].astype(np.float64)
    flags = allocated[:, 5] & ((1 << FLAG_BITS) - 1)
    is_remainder = (flags & CONTINUED) != 0
    mean = np.where((flags & (CERTAIN | CONTINUED)) != 0, 0, allocated[:, 5] >> FLAG_BITS).astype(np.float64)
    node = allocated[:, 2].copy()
    consumed = np.where(is_remainder, 0, allocated[:, 6]).astype(np.float64)
    weight, group = calibrated(weights(size, mean), consumed, mean, allocated[:, 1])
    # What is left of a mapping was allocated where the mapping was, and stands for as much in proportion.
    for at in np.flatnonzero(is_remainder).tolist():
        before = by_id[min(int(np.searchsorted(ids[by_id], allocated[at, 6])), len(ids) - 1)]
        if ids[before] == allocated[at, 6] and before < at:
            node[at] = node[before]
            weight[at] = size[at] * weight[before] / max(size[before], 1.0)
    return Allocations(
        time_s=time_s.astype(np.float64),
        freed_s=np.maximum(freed_s, time_s),
        thread=allocated[:, 1],
        node=node,
        size=size,
        weight=weight,
        group=group,
        consumed=consumed,
        is_remainder=is_remainder,
        mean=mean,
        end_s=end_s,
        alive=headers[:, 3],
        lost=headers[:, 2],
        outstanding=headers[:, 4],
        usual_mean=headers[:, 1],
        own_allocator=bool((headers[:, 0] == OWN_ALLOCATOR).any()),
        damaged=damaged,
    )


def weights(size: FloatArray, mean: FloatArray) -> FloatArray:
    """Return the bytes that allocations stand for: their size over the probability that they are recorded.

    Args:
        size: (a,) bytes.
        mean: (a,) bytes between two recorded allocations; 0 for those recorded for their size.
    """
    sampled = (mean > 0) & (size > 0)
    ratio = np.divide(size, mean, out=np.ones_like(size), where=sampled)
    return np.where(sampled, size / -np.expm1(-ratio), size)


def calibrated(
    weight: FloatArray, consumed: FloatArray, mean: FloatArray, thread: IntArray
) -> tuple[FloatArray, IntArray]:
    """Return weights that add up to what each thread has allocated, and the groups (a,) in which they do.

    What a thread allocates between two samples is exact. So the weights of consecutive samples of a thread are scaled
    by a common factor: then they are nearly exact where the thread keeps, or frees, most of what it allocates. A factor
    that sampling does not explain is that of threads which ended without a sample; it is not used.

    Args:
        weight: (a,) bytes, in time order.
        consumed: (a,) bytes that the thread has allocated since its previous sample.
        mean: (a,) bytes between two samples; 0 for allocations recorded for their size, which stay as they are.
        thread: (a,) numbers.
    """
    scaled, group = weight.copy(), np.full(len(weight), -1)
    next_group = 0
    for each in np.unique(thread):
        own = np.flatnonzero(thread == each)
        sampled = np.flatnonzero(mean[own] > 0)
        if len(sampled) < LEAST_GROUP:
            continue
        edges = np.linspace(0, len(sampled), max(len(sampled) // GROUP, 1) + 1).astype(int)
        for begin, end in pairwise(edges):
            # From the group before, up to the last sample of this one.
            members = own[sampled[begin - 1] + 1 if begin else 0 : sampled[end - 1] + 1]
            selected = members[mean[members] > 0]
            exact = consumed[members].sum() - weight[members[mean[members] == 0]].sum()
            estimate, error = weight[selected].sum(), np.sqrt((weight[selected] ** 2).sum())
            if abs(exact - estimate) <= MOST_ERRORS * error:
                scaled[selected] *= exact / estimate
                group[selected] = next_group
                next_group += 1
    return scaled, group


def _decode(image: IntervalImage) -> _Image:
    """Decode an image. Raises: ValueError if it is damaged."""
    numbers, _, is_whole = decode_rows([np.frombuffer(image.payload, dtype=np.uint8)])
    if not is_whole.all():
        raise ValueError("a number is cut off, or has too many digits")
    if len(numbers) < HEADER_NUMBERS:
        raise ValueError("the header is cut off")
    header = numbers[:HEADER_NUMBERS].tolist()
    allocated, freed = header[5:]
    if HEADER_NUMBERS + allocated * ALLOCATION_NUMBERS + freed * RELEASE_NUMBERS != len(numbers):
        raise ValueError("the records do not fill the image")
    split = HEADER_NUMBERS + allocated * ALLOCATION_NUMBERS
    rows = numbers[HEADER_NUMBERS:split].reshape(-1, ALLOCATION_NUMBERS)
    allocations = rows.astype(np.int64)
    allocations[:, 0] = image.start_ns + 1000 * np.cumsum(unzigzag(rows[:, 0]))
    allocations[:, 3] = np.cumsum(unzigzag(rows[:, 3]))
    allocations[:, 5] = np.cumsum(unzigzag(rows[:, 5]))
    pairs = numbers[split:].reshape(-1, RELEASE_NUMBERS)
    releases = np.stack(
        [image.start_ns + 1000 * np.cumsum(unzigzag(pairs[:, 0])), np.cumsum(unzigzag(pairs[:, 1]))], axis=1
    )
    if (allocations < 0).any() or (allocations[:, 4] > MOST_BYTES).any() or (releases < 0).any():
        raise ValueError("a number is out of range")
    if len(rows) and int(rows[:, (1, 2, 4, 6)].max()) >= 2**62:
        raise ValueError("a number is too large")
    return _Image(header, allocations, releases)
