"""Read the samples of waiting threads (docs/reference/formats.md, kind 9). m spans, s sites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incprof.model import BoolArray, FloatArray, IntArray
from incprof.readers.stream.coded_records import decode_rows, unzigzag
from incprof.readers.stream.interval_images import WAITS, IntervalImage, RecordedPaths, interval_images, recorded_paths

NOT_BLOCKED, BLOCKED, ONE_WAIT, BRIEF = range(4)
HEAD, COLUMNS = 5, 10
# Larger numbers are damage.
MOST_US, MOST_NUMBER, MOST_FRAMES = 2**50, 2**31 - 1, 64
US = 1e-6

# Frames of libraries at a site, innermost first: (module, address).
Frames = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Site:
    """A place at which threads wait.

    Attributes:
        node: of the innermost application frame; 0: none.
        frames: library functions further in, innermost first: indices of the paths' functions.
        modules: their module ids.
    """

    node: int
    frames: tuple[int, ...]
    modules: tuple[int, ...]


@dataclass(frozen=True)
class Waits:
    """The spans of all threads' time between samples, in the order of their intervals.

    Attributes:
        begin_s: (m,) seconds since the start of the run.
        end_s: (m,) likewise.
        thread: (m,) numbers as those of samples.
        waited_s: (m,) seconds off the processors.
        delayed_s: (m,) seconds ready to run, without a processor.
        samples: (m,) number of samples.
        state: (m,) NOT_BLOCKED, BLOCKED at the end of the span, ONE_WAIT: all of it in this wait, or BRIEF: blocked,
            but not any more once the call path had been read.
        site: (m,) index of `sites`; -1: unknown.
        call: (m,) number of the system call; -1: none.
        object: (m,) what its descriptor is, see formats.md.
        holder: (m,) thread that holds the lock; -1: unknown.
        sites: where threads wait.
        paths: call paths and functions.
        taken: number of samples.
        left_out: number of samples left out because the budget was spent.
        own_s: CPU seconds that the samples took.
        refused: the kernel denied what threads are blocked in.
        damaged: number of images that cannot be read.
        arch: of the system calls' numbers.
    """

    begin_s: FloatArray
    end_s: FloatArray
    thread: IntArray
    waited_s: FloatArray
    delayed_s: FloatArray
    samples: IntArray
    state: IntArray
    site: IntArray
    call: IntArray
    object: IntArray
    holder: IntArray
    sites: tuple[Site, ...]
    paths: RecordedPaths
    taken: int
    left_out: int
    own_s: float
    refused: bool
    damaged: int
    arch: str


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
        spans: (m, COLUMNS) numbers as recorded, but times of the run, and sites of the run.
        damaged: number of images that cannot be read.
    """

    sites: tuple[tuple[int, Frames], ...]
    heads: tuple[tuple[int, ...], ...]
    spans: IntArray
    damaged: int

    def waits(self, sites: tuple[Site, ...], paths: RecordedPaths, arch: str) -> Waits:
        """Return the waits, given the names of sites and paths."""
        spans = self.spans
        begin_us, length_us = spans[:, 0].astype(np.float64), spans[:, 1].astype(np.float64)
        return Waits(
            begin_s=begin_us * US,
            end_s=(begin_us + length_us) * US,
            thread=spans[:, 2],
            waited_s=np.minimum(spans[:, 3], length_us) * US,
            delayed_s=np.minimum(spans[:, 4], length_us) * US,
            samples=spans[:, 5] >> 2,
            state=spans[:, 5] & 3,
            site=spans[:, 6] - 1,
            call=spans[:, 7] - 1,
            object=spans[:, 8],
            holder=spans[:, 9] - 1,
            sites=sites,
            paths=paths,
            taken=sum(head[0] for head in self.heads),
            left_out=sum(head[1] for head in self.heads),
            own_s=sum(head[2] for head in self.heads) * US,
            refused=any(head[3] for head in self.heads),
            damaged=self.damaged,
            arch=arch,
        )


def read_waits(path: str, directory: str, *, arch: str = "x86_64", exe: str | None = None) -> Waits | None:
    """Read the samples of waiting threads of a process; None if there are none.

    Args:
        path: of its stream.
        directory: of the run.
        arch: of the machine, as the recording has it.
        exe: replaces the recorded program's symbols.

    Raises: NoDataError if it is not a stream, has no metadata or cannot be read, or `exe` is another program.
    """
    images = list(interval_images(path, WAITS))
    if not images:
        return None
    decoded = decode(images)
    frames = [frame for _, chain in decoded.sites for frame in chain]
    module = np.array([number for number, _ in frames], dtype=np.int64)
    address = np.array([place for _, place in frames], dtype=np.uint64)
    paths = recorded_paths(path, directory, exe=exe, module=module, address=address)
    return decoded.waits(_named(decoded.sites, paths), paths, arch)


def _named(sites: Sequence[tuple[int, Frames]], paths: RecordedPaths) -> tuple[Site, ...]:
    """Return the sites with the functions of their frames."""
    code, nodes = iter(paths.code.tolist()), len(paths.tree.parent)
    return tuple(
        Site(node if node < nodes else 0, tuple(next(code) for _ in frames), tuple(module for module, _ in frames))
        for node, frames in sites
    )


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
    return Decoded(tuple(sites.numbers), tuple(heads), np.concatenate(tables), len(images) - len(heads))


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
