"""Decode the samples of waiting threads (docs/reference/formats.md, kind 9). m spans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incprof.model import BoolArray, IntArray
from incprof.readers.stream.coded_records import decode_rows, unzigzag
from incprof.readers.stream.delays import delays_in_place
from incprof.readers.stream.interval_images import IntervalImage

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
    spans[order, 3:5] = np.stack(delays_in_place(*spans[order, :5].T), axis=1)
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
