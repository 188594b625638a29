"""Arcs of many images at once are those that parsing each image gives."""

from pathlib import Path

import numpy as np
import pytest

from incprof.readers.stream.collect import Collected, collect
from incprof.readers.stream.records import MOST_HISTOGRAMS, chunks, parse_images, read_records
from incprof.readers.stream.stream_files import Source
from tests.unit.streamwriter import LIBRARY_TIME, OWN_TIME, Sample, StreamWriter, arc, histogram, image

BLOCKS = b"\x02" + (1).to_bytes(4, "little") + bytes(12)


def payload(rng: np.random.Generator) -> bytes:
    """Records as the collector writes them, or not."""
    hist = [
        histogram(0x1000 + 64 * i, [1] * int(rng.choice([0, 1, 16, 16, 16]))) for i in range(int(rng.integers(0, 5)))
    ]
    arcs = [arc(int(rng.integers(0, 2**40)), 0x1004, int(rng.integers(1, 9))) for _ in range(int(rng.integers(0, 6)))]
    whole = b"".join(hist + arcs)
    return {
        0: whole, 1: whole, 2: whole, 3: b"".join(arcs + hist), 4: whole + BLOCKS, 5: whole[: int(rng.integers(0, 99))],
        6: whole + bytes(rng.integers(0, 256, int(rng.integers(0, 40)), dtype=np.uint8)),
        7: histogram(0x2000, [1, 2])[:1] + bytes(16) + histogram(0x2000, [1, 2])[17:] + whole,
        8: b"".join(histogram(0x1000, [1]) for _ in range(MOST_HISTOGRAMS + 2)) + whole,
    }[int(rng.integers(0, 9))]  # fmt: skip


def stream(seed: int) -> bytes:
    rng = np.random.default_rng(seed)
    writer = StreamWriter(["main"])
    for i in range(12):
        for _ in range(int(rng.integers(0, 3))):
            kind, module = (OWN_TIME, LIBRARY_TIME)[int(rng.integers(0, 2))], int(rng.choice([0, 0, 7, 9]))
            writer.data += image(kind, payload(rng), module=module, interval=i)
        writer.interval([Sample("main")] * int(rng.integers(0, 3)))
    return writer.data


def found_in(path: Path) -> Collected:
    return collect(Source(str(path)))


@pytest.mark.parametrize("seed", range(40))
def test_as_one_by_one(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rank-00000.gmon"
    path.write_bytes(stream(seed))
    if seed % 4 == 0:
        monkeypatch.setattr("incprof.readers.stream.records.WIDEST", 10)
    one, many = found_in(path), found_in(path)
    wanted = np.arange(one.n_intervals) % 3 == 0
    (chunk,) = chunks(one)
    expected = parse_images(one, chunk)
    rows, images = read_records(many, chunk, wanted)
    assert many.bad_images == one.bad_images
    known = np.isin(rows.module, list(one.modules))
    assert rows.arcs[known].tobytes() == b"".join(i.records.arcs.tobytes() for i in expected)
    assert rows.interval[known].tolist() == [i.interval for i in expected for _ in range(len(i.records.arcs))]
    assert rows.module[known].tolist() == [i.module for i in expected for _ in range(len(i.records.arcs))]
    mine = [i for i in expected if wanted[i.interval]]
    assert [(i.interval, i.module, i.library) for i in images] == [(i.interval, i.module, i.library) for i in mine]
    for a, b in zip(images, mine, strict=True):
        assert [h.counts.tolist() for h in a.records.histograms] == [h.counts.tolist() for h in b.records.histograms]
