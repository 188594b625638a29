"""Exports of Nsight Systems, written here by their documented schema, as they are and damaged."""

from __future__ import annotations

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
@given(st.binary(min_size=1, max_size=80), st.integers(0, 20000), st.booleans())
def test_hostile_input_ends_in_an_answer_or_an_error(tmp_path: Path, noise: bytes, at: int, is_cut: bool) -> None:
    path = Path(written(tmp_path, [(n * 1000, n * 1000 + 500, 0, 7, 1) for n in range(50)]))
    whole = path.read_bytes()
    path.write_bytes(whole[:at] + noise + (b"" if is_cut else whole[at + len(noise) :]))
    try:
        found = read_nsys(str(path))
    except NoDataError:
        return
    assert len(found.timelines[0])
