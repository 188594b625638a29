"""Images of kinds that systems decode themselves: those of complete intervals, whole, in order."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.errors import NoDataError
from incprof.readers.stream.interval_images import ALLOCATIONS, WAITS, interval_images
from incprof.readers.stream.stream_files import HEADER, INTERVAL, METADATA, SUM_AT, check
from tests.unit import streamwriter

SECOND = 10**9


def image(kind: int, payload: bytes, number: int = 0) -> bytes:
    """An image with its sum."""
    whole = streamwriter.image(kind, payload, interval=number)
    head = whole[: HEADER.size]
    return head[:SUM_AT] + bytes([check(head, payload)]) + whole[SUM_AT + 1 :]


def metadata() -> bytes:
    return image(METADATA, b'{"format": "incprof-stream", "version": 1, "rate_hz": 100, "interval_s": 1.0}')


def interval(number: int) -> bytes:
    return image(INTERVAL, struct.pack("<2Q", number * SECOND, (number + 1) * SECOND), number)


def stream(*payloads: bytes, kind: int = WAITS) -> bytes:
    """A stream with an image of the kind in each interval of a second."""
    parts = [metadata()]
    for number, payload in enumerate(payloads):
        parts += [image(kind, payload, number), interval(number)]
    return b"".join(parts)


def test_payloads_of_complete_intervals_come_with_their_times(tmp_path: Path) -> None:
    path = tmp_path / "rank-00000.gmon"
    path.write_bytes(stream(b"one", b"", b"three") + image(WAITS, b"open", 3))
    found = list(interval_images(str(path), WAITS))
    assert [tuple(one) for one in found] == [
        (0, 0, SECOND, b"one"), (1, SECOND, 2 * SECOND, b""), (2, 2 * SECOND, 3 * SECOND, b"three"),
    ]  # fmt: skip
    assert list(interval_images(str(path), ALLOCATIONS)) == []


def test_a_torn_or_damaged_image_costs_its_interval(tmp_path: Path) -> None:
    path = tmp_path / "rank-00000.gmon"
    whole = stream(b"one", b"two", b"three")
    at = whole.index(b"two")
    path.write_bytes(whole[:at] + b"owt" + whole[at + 3 :])
    assert [one.payload for one in interval_images(str(path), WAITS)] == [b"one", b"three"]
    path.write_bytes(whole[: whole.index(b"three") + 2])
    assert [one.payload for one in interval_images(str(path), WAITS)] == [b"one", b"two"]


@given(st.binary(max_size=40), st.integers(0, 400))
def test_no_bytes_make_it_fail(tmp_path_factory: pytest.TempPathFactory, wrong: bytes, place: int) -> None:
    path = tmp_path_factory.mktemp("stream") / "rank-00000.gmon"
    whole = stream(b"one", b"two")
    place = min(place, len(whole))
    path.write_bytes(whole[:place] + wrong + whole[place + len(wrong) :])
    try:
        assert all(isinstance(one.payload, bytes) for one in interval_images(str(path), WAITS))
    except NoDataError:
        assert place < len(metadata()) + HEADER.size
