"""The waits of a process in its stream (docs/reference/formats.md, kind 9), and waits as samples. m spans, s samples.

Of programs that hardly use a processor, the places at which they wait show what they do when.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incprof.model import LIBRARY, OWN, UNKNOWN, BoolArray, IntArray, positions
from incprof.readers.stream.coded_records import RawSamples, decode_rows, unzigzag
from incprof.readers.stream.collect import Collected
from incprof.readers.stream.delays import delays_in_place
from incprof.readers.stream.interval_images import WAITS, IntervalImage, interval_images

HEAD, COLUMNS = 5, 10
# Larger numbers are damage.
MOST_US, MOST_NUMBER, MOST_FRAMES = 2**50, 2**31 - 1, 64

# Frames of libraries at a site, innermost first: (module, address).
Frames = tuple[tuple[int, int], ...]


@dataclass
class _Sites:
    """Distinct sites of all images, as recorded: node and frames."""

    numbers: dict[tuple[int, Frames], int]

    def number(self, node: int, frames: Frames) -> int:
        return self.numbers.setdefault((node, frames), len(self.numbers))


@dataclass(frozen=True)
class Decoded:
    """The images of a run, without names.

    Attributes:
        sites: node and frames of each.
        heads: of the images: samples taken, left out, microseconds, whether the kernel denied something, sites.
        spans: (m, COLUMNS) numbers as recorded, but times of the run, sites of the run, and delays where they were.
        damaged: number of images that cannot be read.
    """

    sites: tuple[tuple[int, Frames], ...]
    heads: tuple[tuple[int, ...], ...]
    spans: IntArray
    damaged: int


def decode(images: Sequence[IntervalImage]) -> Decoded:
    """Decode the images of a run; damaged ones are left out."""
    payloads = [np.frombuffer(image.payload, dtype=np.uint8) for image in images]
    values, lengths, good = decode_rows(payloads)
    ends = np.cumsum(lengths)
    sites, heads, tables = _Sites({}), list[tuple[int, ...]](), [np.zeros((0, COLUMNS), dtype=np.int64)]
    for image, low, high, is_complete in zip(
        images, (ends - lengths).tolist(), ends.tolist(), good.tolist(), strict=True
    ):
        decoded_image = _image(values[low:high], image.start_ns // 1000, sites) if is_complete else None
        if decoded_image is not None:
            heads.append(tuple(decoded_image[0]))
            tables.append(decoded_image[1])
    spans = np.concatenate(tables)
    order = np.lexsort((spans[:, 0], spans[:, 2]))
    begin, length, thread, waited, delayed = spans[order, :5].T
    follows = np.append(False, (np.diff(thread) == 0) & (np.diff(begin) - length[:-1] <= 1))[: len(order)]
    spans[order, 3:5] = np.stack(delays_in_place(length, follows, waited, delayed), axis=1)
    return Decoded(tuple(sites.numbers), tuple(heads), spans, len(images) - len(heads))


def _image(
    values: npt.NDArray[np.uint64], start_us: int, sites: _Sites
) -> tuple[list[int], npt.NDArray[np.int64]] | None:
    """Return head and spans of an image; None if it is damaged."""
    if len(values) < HEAD or int(values[:HEAD].max()) > MOST_US:
        return None
    head = values[:HEAD].tolist()
    sites_read = _sites(values, head[-1])
    if sites_read is None:
        return None
    sites_of_image, at = sites_read
    remaining = values[at:]
    if len(remaining) % COLUMNS:
        return None
    table = remaining.reshape(-1, COLUMNS)
    begin = unzigzag(table[:, 0])
    if _is_wrong(table, begin, len(sites_of_image)).any():
        return None
    spans = table.astype(np.int64)
    spans[:, 0] = start_us + np.cumsum(begin)
    numbers = np.array([0, *(sites.number(*site) + 1 for site in sites_of_image)], dtype=np.int64)
    spans[:, 6] = numbers[spans[:, 6]]
    return head, spans


def _is_wrong(table: npt.NDArray[np.uint64], begin: IntArray, sites: int) -> BoolArray:
    """Mark spans with numbers that no collector writes, (m,)."""
    wrong = np.abs(begin) > MOST_US
    wrong |= (table[:, (1, 3, 4)] > MOST_US).any(axis=1) | (table[:, (2, 5, 7, 8, 9)] > MOST_NUMBER).any(axis=1)
    wrong |= table[:, 6] > sites
    return wrong | (np.abs(np.cumsum(begin)) > MOST_US)


def _sites(values: npt.NDArray[np.uint64], count: int) -> tuple[list[tuple[int, Frames]], int] | None:
    """Return the sites of an image, and where its spans begin; None if they are damaged."""
    numbers, at = values.tolist(), HEAD
    sites: list[tuple[int, Frames]] = []
    for _ in range(count):
        if at + 2 > len(numbers) or numbers[at] > MOST_NUMBER or numbers[at + 1] > MOST_FRAMES:
            return None
        node, frames, address = numbers[at], list[tuple[int, int]](), 0
        last = at + 2 + 2 * numbers[at + 1]
        if last > len(numbers):
            return None
        for place in range(at + 2, last, 2):
            step = numbers[place + 1]
            address = (address + (step >> 1 ^ -(step & 1))) & 2**64 - 1
            frames.append((min(numbers[place], MOST_NUMBER), address))
        sites.append((node, tuple(frames)))
        at = last
    return sites, at


# Functions in which threads begin.
BEGINS = ("start_thread", "clone", "__clone", "clone3", "__clone3", "thread_start", "__libc_start_call_main")
# Functions of Python's interpreter.
INTERPRETER = re.compile(r"_?Py[A-Z_]|\w+_vectorcall|(cfunction|method|type)_call|slot_")
# Symbols of one function of MPI: its profiling name, and the tracer's function for it.
MPI_NAME = re.compile(r"P?(MPI_\w+?)(?:_wrapper)?")
# Code without a symbol.
NAMELESS = re.compile(r"^\[|\+0x[0-9a-f]+$")


def called_of(names: Sequence[str]) -> str:
    """Return the outermost of library functions that has a name; names are innermost first.

    Functions of Python's interpreter do not count where it has called others.
    """
    plain = [name.split("@", 1)[0] for name in names]
    named = [name for name in reversed(plain) if name not in BEGINS and not NAMELESS.search(name)]
    return next((name for name in named if not INTERPRETER.match(name)), named[0] if named else "")


def as_called(name: str) -> str:
    """Return the name by which programs call a function of MPI; any other name unchanged."""
    mpi = MPI_NAME.fullmatch(name)
    return mpi[1] if mpi else name


# Waits as samples.


# A program waits nearly all the time if it has fewer ticks than this share of a busy thread's: then a phase of work is
# one of waiting as well (analysis/features.py).
WORKS = 0.05
# A sample of at most this many ticks is one moment (analysis/phases/sequence.py); so long are the pieces of a wait.
PIECE = 8
# Most pieces: in a longer run, pieces are longer.
MOST = 1 << 20
# A wait of the main thread for other threads: system calls of locks, and of joins.
FUTEX = {"x86_64": 202, "aarch64": 98}
MAIN_THREAD = 0
ONE_WAIT = 2  # the state of a span that is all of one wait
MOST_OF_RUN = 0.5


def wait_samples(collected: Collected) -> tuple[RawSamples, IntArray] | None:
    """Return samples of waits, and the interval of each; None unless the program waits nearly all the time.

    They are of the main thread, and where that waits for others, of these as well; not of threads that wait at one
    site, unless all do.
    """
    start_ns, end_ns, ticks = (collected.counters[:, at].astype(np.float64) for at in (0, 1, 7))
    if ticks.sum() >= WORKS * 1e-9 * collected.metadata.rate_hz * (end_ns - start_ns).sum():
        return None
    decoded = decode(list(interval_images(collected.source.path, WAITS)))
    if not len(decoded.spans):
        return None
    samples = _samples(collected, decoded, FUTEX.get(str(collected.metadata.raw.get("arch")), -1))
    return samples if len(samples[1]) else None


def _samples(collected: Collected, decoded: Decoded, futex: int) -> tuple[RawSamples, IntArray]:
    """Return the samples of spans. futex: number of that system call."""
    spans = decoded.spans[np.lexsort((decoded.spans[:, 0], decoded.spans[:, 2]))]
    begin, length, thread, waited = spans[:, :4].T
    blocked = (spans[:, 5] & 3) > 0
    # A thread that runs at the end of a span has mostly waited in what it was blocked in at the beginning.
    follows = np.append(False, (np.diff(thread) == 0) & blocked[:-1])[: len(spans)]
    wait = np.arange(len(spans)) - (~blocked & follows)
    ticks = np.where(blocked[wait], np.minimum(waited, length), 0) * (1e-6 * collected.metadata.rate_hz)
    many = np.ceil(ticks / max(PIECE, float(ticks.sum()) / MOST)).astype(np.int64)
    of = np.repeat(np.arange(len(spans)), many)
    part = (positions(many) + 0.5) / many[of]
    time_us = (begin[of] + part * length[of]).astype(np.int64)
    # Between two waits, the first half of a span belongs to the one before.
    is_before = (part < 0.5) & ((spans[of, 5] & 3) != ONE_WAIT) & follows[of]
    wait_of = np.where(is_before, of - 1, wait[of])
    weight = np.diff(np.floor(np.cumsum(ticks[of] / many[of]) + 0.5), prepend=0.0).astype(np.int64)
    for_others = (thread == MAIN_THREAD) & blocked[wait] & (spans[wait, 7] == futex + 1)
    leads = (thread[of] == MAIN_THREAD) | _inside(begin, begin + length, for_others, time_us)
    leads &= weight > 0
    active = leads & ~_idle(spans)[thread[of]]
    keep = np.flatnonzero(active if active.any() else leads)
    keep = keep[np.argsort(time_us[keep], kind="stable")]
    start_us, end_us = (collected.counters[:, at].astype(np.int64) // 1000 for at in (0, 1))
    interval = np.minimum(np.searchsorted(end_us, time_us[keep]), len(end_us) - 1)
    delay = np.maximum(time_us[keep] - start_us[interval], 0)
    node, module = _places(decoded, spans[wait_of[keep], 6])
    kind = np.where(module >= 0, LIBRARY, np.where(node > 0, OWN, UNKNOWN))
    return RawSamples(interval, delay, thread[of[keep]], node, kind, module, weight[keep]), interval


def _places(decoded: Decoded, site: IntArray) -> tuple[IntArray, IntArray]:
    """Return node and module of the library, -1 for none, of sites, (s,), numbered from 1; 0: unknown."""
    node = np.array([0, *(node for node, _ in decoded.sites)], dtype=np.int64)
    module = np.array([-1, *(frames[-1][0] if frames else -1 for _, frames in decoded.sites)], dtype=np.int64)
    return node[site], module[site]


def _idle(spans: IntArray) -> BoolArray:
    """Mark the threads that wait at one site for most of the run, as those of a pool without work, (t,)."""
    thread, blocked = spans[:, 2], (spans[:, 5] & 3) > 0
    size = int(thread.max(initial=-1)) + 1
    sites = np.bincount(np.unique(spans[blocked][:, (2, 6)], axis=0)[:, 0], minlength=size)
    waited = np.bincount(thread, weights=spans[:, 1] * blocked, minlength=size)
    run = float(np.ptp(np.append(spans[:, 0], spans[:, 0] + spans[:, 1])))
    idle: BoolArray = (sites == 1) & (waited > MOST_OF_RUN * run)
    return idle


def _inside(begin: IntArray, end: IntArray, selected: BoolArray, time_us: IntArray) -> BoolArray:
    """Mark the times inside the selected spans of one thread, (s,)."""
    low, high = begin[selected], end[selected]
    inside: BoolArray = np.searchsorted(low, time_us) > np.searchsorted(high, time_us, side="right")
    return inside
