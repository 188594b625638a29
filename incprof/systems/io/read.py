"""Decode the images of kind 11 of a stream (docs/reference/formats.md). r rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray
from incprof.readers.stream.interval_images import IO, IntervalImage, interval_images

# Values of a record of totals, in their order.
READ, WRITTEN, READS, WRITES, FROM_STORAGE, TO_STORAGE, CANCELLED = range(7)
VALUES = 7
PROCESS, CHILDREN, REFUSED, BUFFERED = range(1, 5)
WITH_CHILDREN = 1

NS = 1e-9
# Bytes of the longest varint, and the largest number of which a float holds all digits.
MOST_DIGITS, MOST = 10, 2**53


@dataclass(frozen=True)
class Totals:
    """What a process has read and written, as the kernel counted it.

    Attributes:
        start_s: (r,) seconds since the start of the run.
        end_s: (r,) likewise.
        values: (r, VALUES) bytes and calls in each row.
        children: (VALUES,) of child processes that the process has waited for, not part of `values`.
        with_children: whether `values` contains those of children, because they could not be separated.
        buffered: bytes and calls of `values`, in the last row, that libc was to write after the recording's end.
        refusal: errno of the kernel, which did not give the totals; None if it did.
        damaged: number of images that could not be decoded.
    """

    start_s: FloatArray
    end_s: FloatArray
    values: FloatArray
    children: FloatArray
    with_children: bool = False
    buffered: tuple[int, int] = (0, 0)
    refusal: int | None = None
    damaged: int = 0


def read_totals(path: str) -> Totals | None:
    """Return the totals in one process's stream; None if it has none.

    Raises: NoDataError if it is not a stream or cannot be read.
    """
    return totals_of(interval_images(path, IO))


def totals_of(images: Iterable[IntervalImage]) -> Totals | None:
    """Return the totals in images, in file order; None if there are none.

    Written are totals since the start, so that a lost interval costs a time, and no bytes.
    """
    ends, rows = list[float](), list[list[int]]()
    children, last = [0] * VALUES, [0] * VALUES
    with_children, buffered, refusal, damaged = False, (0, 0), None, 0
    for image in images:
        try:
            records = list(records_of(image.payload))
        except ValueError:
            damaged += 1
            continue
        for kind, numbers in records:
            if kind == PROCESS and len(numbers) >= VALUES:
                # They never decrease; one that does is damaged.
                last = [max(pair) for pair in zip(last, numbers[:VALUES], strict=True)]
                with_children |= bool(sum(numbers[VALUES : VALUES + 1]) & WITH_CHILDREN)
                ends.append(image.end_ns * NS)
                rows.append(last)
            elif kind == CHILDREN and len(numbers) >= VALUES:
                children = numbers[:VALUES]
            elif kind == REFUSED and numbers:
                refusal = numbers[0]
            elif kind == BUFFERED and len(numbers) >= 2:
                buffered = (numbers[0], numbers[1])
    if not rows and refusal is None:
        return None
    return _made(ends, rows, children, with_children, buffered, refusal if not rows else None, damaged)


def _made(
    ends: list[float], rows: list[list[int]], children: list[int], with_children: bool, buffered: tuple[int, int],
    refusal: int | None, damaged: int,
) -> Totals:  # fmt: skip
    """Return totals from what each row has in all."""
    end_s = np.array(ends, dtype=np.float64)
    so_far = np.array([[0] * VALUES, *rows], dtype=np.float64)
    values = np.diff(so_far, axis=0)
    if len(values):
        values[-1, WRITTEN] += buffered[0]
        values[-1, WRITES] += buffered[1]
    start_s = np.concatenate([[0.0], end_s[:-1]]) if len(end_s) else end_s
    return Totals(
        start_s, end_s, values, np.array(children, dtype=np.float64), with_children, buffered, refusal, damaged
    )


def records_of(payload: bytes) -> Iterator[tuple[int, list[int]]]:
    """Yield the records of a payload: their types and numbers.

    Raises: ValueError if a record or a number is cut off, or a number is too large.
    """
    at = 0
    while at < len(payload):
        kind, at = number_at(payload, at)
        length, at = number_at(payload, at)
        if length > len(payload) - at:
            raise ValueError("a record is cut off")
        yield kind, numbers_of(payload[at : at + length]) if kind <= BUFFERED else []
        at += length


def numbers_of(text: bytes) -> list[int]:
    """Return the varints that a text consists of.

    Raises: ValueError as number_at.
    """
    found, at = [], 0
    while at < len(text):
        number, at = number_at(text, at)
        found.append(number)
    return found


def number_at(text: bytes, at: int) -> tuple[int, int]:
    """Return the varint at a place, and the place behind it.

    Raises: ValueError if it is cut off or too large.
    """
    value = 0
    for place, byte in enumerate(text[at : at + MOST_DIGITS]):
        value |= (byte & 127) << 7 * place
        if byte < 128:
            if value > MOST:
                raise ValueError("a number is too large")
            return value, at + place + 1
    raise ValueError("a number is cut off")
