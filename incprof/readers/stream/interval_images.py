"""Images of a stream that systems decode themselves: waits, allocations, input and output, counters, GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from incprof.readers.stream.collect import MOST_BYTES, collect
from incprof.readers.stream.stream_files import Source

WAITS, ALLOCATIONS, IO, COUNTERS, DEVICE = range(9, 14)


class IntervalImage(NamedTuple):
    """An image of a complete interval.

    Attributes:
        interval: index of its interval among the complete ones, as in the profile before it is binned.
        start_ns: of that interval, nanoseconds since the start of the run.
        end_ns: likewise.
        payload: its bytes, which may be anything.
    """

    interval: int
    start_ns: int
    end_ns: int
    payload: bytes


def interval_images(path: str, kind: int) -> Iterator[IntervalImage]:
    """Yield the images of a kind from 9 on of one process's stream, in file order, those of complete intervals only.

    Images above 64 MiB are left out.

    Raises: NoDataError if it is not a stream, has no metadata or cannot be read.
    """
    with Source(path) as source:
        collected = collect(source, (kind,))
        counters = collected.counters
        for place in collected.places:
            interval, length = int(place["interval"]), int(place["length"])
            if place["kind"] == kind and length <= MOST_BYTES:
                start_ns, end_ns = (int(value) for value in counters[interval, :2])
                yield IntervalImage(interval, start_ns, end_ns, source.bytes_at(int(place["offset"]), length))
