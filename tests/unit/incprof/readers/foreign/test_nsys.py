"""Exports of Nsight Systems, written here by their documented schema, as they are and damaged."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from incprof.cli.main import main
from incprof.errors import NoDataError
from incprof.readers.foreign.formats import detect_format
from incprof.readers.foreign.nsys import read_nsys
from incprof.readers.run import open_run, read_profile
from incprof.readers.stream.interval_images import IntervalImage
from incprof.systems.gpu.read import activity_of, read_gpu

MILLI = 1_000_000
Row = tuple[object, object, int, int, int]


def written(folder: Path, kernels: Sequence[Row], copies: Sequence[tuple[int, int]] = ()) -> str:
    path = folder / "report.sqlite"
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL)")
    connection.execute(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, demangledName, shortName)"
    )
    connection.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, bytes, copyKind)")
    connection.executemany("INSERT INTO StringIds VALUES (?, ?)", [(1, "relax(double *, int)"), (2, "product")])
    connection.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, 1, ?, ?, 1)", kernels)
    connection.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, 0, 7, 10, 1)", copies)
    connection.commit()
    connection.close()
    return str(path)


def test_kernels_and_copies_become_functions_with_their_time(tmp_path: Path) -> None:
    kernels: list[Row] = [(at * 5 * MILLI, (at * 5 + 4) * MILLI, 0, 7, 1) for at in range(200)]
    kernels += [((1000 + at * 5) * MILLI, (1005 + at * 5) * MILLI, 1, 9, 2) for at in range(200)]
    path = written(tmp_path, kernels, [((at * 5 + 4) * MILLI, (at * 5 + 5) * MILLI) for at in range(200)])
    assert detect_format([path]) == "nsys"
    assert main(["import", path, "-o", str(tmp_path / "run"), "-i", "0.1"]) == 0
    profile = read_profile(open_run(tmp_path / "run"))
    seconds = np.asarray(profile.self_s.sum(axis=0)).ravel()
    by_name = {function.name: time for function, time in zip(profile.functions, seconds, strict=True)}
    assert by_name["product"] == pytest.approx(1.0, rel=0.03)
    assert by_name["[copy]"] == pytest.approx(0.2, rel=0.05)
    assert next(time for name, time in by_name.items() if "relax" in name) == pytest.approx(0.8, rel=0.03)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.sqlite", "run"]


def with_host(path: str) -> str:
    """Add ranges of NVTX, calls of CUDA, waits and the device to an export of kernels with correlations 1, 2, ..."""
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN correlationId")
        connection.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET correlationId = rowid")
        connection.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId)")
        connection.execute("CREATE TABLE NVTX_EVENTS (start, end, eventType, text, globalTid, textId)")
        connection.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, syncType)")
        connection.execute("CREATE TABLE TARGET_INFO_GPU (id, name)")
        connection.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H200')")
        connection.execute("INSERT INTO StringIds VALUES (3, 'cudaLaunchKernel_v7000'), (4, 'epoch')")
        kernels = connection.execute("SELECT rowid, start FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchall()
        calls = [(max(start - MILLI, 0), start, 77, number, 3) for number, start in kernels]
        connection.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?)", calls)
        ranges = [(0, 900 * MILLI, 59, None, 77, 4), (0, 500 * MILLI, 59, "forward", 77, None),
                  (0, 10**10, 59, "other thread", 78, None), (0, None, 59, "open", 77, None)]  # fmt: skip
        connection.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?, ?)", ranges)
        waits = [(0, 30 * MILLI, 4), (0, 900 * MILLI, 2), ("x", 5, 4)]
        connection.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (?, ?, ?)", waits)
    return path


def test_device_work_is_that_of_a_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernels: list[Row] = [(at * 5 * MILLI, (at * 5 + 4) * MILLI, 0, 7, 1) for at in range(200)]
    path = with_host(written(tmp_path, kernels, [(at * 100 * MILLI, (at * 100 + 2) * MILLI) for at in range(10)]))
    assert main(["import", path, "-o", str(tmp_path / "run"), "-i", "0.1"]) == 0
    found = read_gpu(str(tmp_path / "run" / "rank-00000.gmon"))
    assert found is not None
    assert found.damaged == 0
    assert found.missing == 0
    assert found.totals.launches == found.kernels.count.sum() == 200
    assert found.kernels.seconds.sum() == pytest.approx(0.8)
    assert found.busy.seconds[found.busy.device == 0].sum() == pytest.approx(0.8)
    assert found.synchronisations.seconds.sum() == pytest.approx(0.03)
    assert found.copies.bytes.sum() == 100
    assert found.devices == {0: "NVIDIA H200"}
    capsys.readouterr()
    assert main(["phases", str(tmp_path / "run"), "--card", "--json"]) == 0
    cards = [phase["card"]["device"] for phase in json.loads(capsys.readouterr().out)["phases"]]
    paths = {tuple(kernel["path"]) for card in cards for kernel in card["kernels"]}
    assert paths == {("[epoch]", "[forward]"), ("[epoch]",)}
    assert sum(kernel["count"] for card in cards for kernel in card["kernels"]) == pytest.approx(200, abs=2)


def test_damaged_rows_are_left_out_and_counted(tmp_path: Path) -> None:
    found = read_nsys(written(tmp_path, [(0, 5, 0, 7, 1), (9, 5, 0, 7, 1), (0, 5, 0, 7, 77), ("x", 5, 0, 7, 1)]))
    assert found.damaged
    assert "3 damaged rows left out" in found.notes[-1]


def test_views_are_not_read(tmp_path: Path) -> None:
    path = written(tmp_path, [(0, 5, 0, 7, 1)])
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL")
        endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS start FROM n"
        connection.execute(f"CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS {endless}")
    with pytest.raises(NoDataError):
        read_nsys(path)


def test_bad_input_ends_with_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (written(tmp_path, []), __file__, str(tmp_path / "missing"), str(tmp_path)):
        assert main(["import", "--from", "nsys", path, "-o", str(tmp_path / "run")]) == 4
        assert len(capsys.readouterr().err.splitlines()) == 1


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.binary(min_size=1, max_size=80), st.integers(0, 40000), st.booleans())
def test_hostile_input_ends_in_an_answer_or_an_error(tmp_path: Path, noise: bytes, at: int, is_cut: bool) -> None:
    path = Path(with_host(written(tmp_path, [(n * 1000, n * 1000 + 500, 0, 7, 1) for n in range(50)], [(5, 9)])))
    whole = path.read_bytes()
    path.write_bytes(whole[:at] + noise + (b"" if is_cut else whole[at + len(noise) :]))
    try:
        found = read_nsys(str(path))
    except NoDataError:
        return
    work = found.timelines[0].device
    assert work is not None
    payloads = work.payloads(0.0, np.array([1.0, 2.0]), np.arange(1000))
    activity = activity_of(IntervalImage(at, 0, 1, payload) for at, payload in enumerate(payloads))
    assert activity is not None
    assert activity.damaged == 0
    assert len(found.timelines[0])
