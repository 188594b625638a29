"""Files of loops: cut anywhere, damaged, hostile, growing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.errors import NoDataError
from incprof.systems.openmp.read import LONGEST_LINE, LoopReader, read_loops

START = {"type": "start", "format": "incprof-selfanalyze", "version": 1, "app": "app", "rank": 0, "pid": 7}
FUNCTION = {"type": "function", "id": 0, "address": "0x10", "module": "/nowhere/app", "build_id": None}
REGION = {"type": "region", "id": 0, "kind": "detected", "name": None, "period": 3, "hash": "ab", "functions": [0]}


def state(iterations: int) -> dict[str, object]:
    times = {"count": iterations - 1, "mean_ns": 10**6, "std_ns": 10, "min_ns": 5, "max_ns": 2 * 10**6}
    return {"type": "state", "id": 0, "iterations": iterations, "threads": 2, "last_ns": 10**9, "times": times}


RECORDS = [START, FUNCTION, REGION, state(5), {"type": "progress", "at_ns": 10**9, "parallel_regions": 15}, state(9)]
TEXT = "".join(json.dumps(record) + "\n" for record in RECORDS).encode()


def written(folder: Path, data: bytes) -> Path:
    path = folder / "rank-00000.sa"
    path.write_bytes(data)
    return path


def test_the_last_word_counts(tmp_path: Path) -> None:
    written(tmp_path, TEXT)
    (run,) = read_loops(str(tmp_path))
    (loop,) = run.loops
    assert (loop.iterations, loop.period, loop.times.count, loop.times.mean_s) == (9, 3, 8, pytest.approx(1e-3))
    assert (run.parallel_regions, run.ended, run.damaged, run.end_s) == (15, False, 0, 1.0)


def test_a_file_may_end_anywhere(tmp_path: Path) -> None:
    first = len(json.dumps(START)) + 1
    for end in range(len(TEXT)):
        reader = LoopReader(written(tmp_path, TEXT[:end]))
        reader.update()
        if end < first:
            with pytest.raises(NoDataError):
                reader.run()
        else:
            assert reader.run().damaged == (TEXT[end - 1 : end] != b"\n")


def test_a_growing_file_is_read_on(tmp_path: Path) -> None:
    reader = LoopReader(written(tmp_path, b""))
    for at in range(0, len(TEXT), 7):
        with reader.path.open("ab") as file:
            file.write(TEXT[at : at + 7])
        assert reader.update()
    assert not reader.update()
    assert reader.run().loops[0].iterations == 9
    assert reader.run().damaged == 0


@given(st.binary(max_size=400))
def test_noise_is_no_run_and_no_crash(tmp_path_factory: pytest.TempPathFactory, noise: bytes) -> None:
    path = written(tmp_path_factory.mktemp("noise"), TEXT + noise + b"\n" + TEXT[TEXT.index(b"\n") + 1 :])
    (run,) = read_loops(str(path))
    assert run.loops[0].iterations == 9


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from(sorted({key for record in RECORDS for key in record} | {"fewer", "expected", "depth"}))


@given(st.sampled_from(RECORDS), st.dictionaries(KEYS, VALUES, max_size=4))
def test_values_of_the_wrong_kind_do_no_harm(
    tmp_path_factory: pytest.TempPathFactory, record: dict[str, object], wrong: dict[str, object]
) -> None:
    line = json.dumps({**record, **wrong}).encode() + b"\n"
    (run,) = read_loops(str(written(tmp_path_factory.mktemp("wrong"), TEXT + line)))
    assert all(loop.iterations >= 0 and loop.times.mean_s >= 0 for loop in run.loops)


@pytest.mark.parametrize("line", [b"[" * 200_000 + b"\n", b"x" * (3 * LONGEST_LINE) + b"\n", b"\n", b'"text"\n'])
def test_a_hostile_line_is_one_damaged_line(tmp_path: Path, line: bytes) -> None:
    (run,) = read_loops(str(written(tmp_path, TEXT + line + TEXT[TEXT.index(b"\n") + 1 :])))
    assert run.loops[0].iterations == 9
    assert run.damaged >= 1


def test_a_directory_without_files_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(NoDataError, match="no parallel region"):
        read_loops(str(tmp_path))
