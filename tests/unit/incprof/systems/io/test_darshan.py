"""Logs of Darshan beside a run: those that pydarshan has as examples."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from incprof.errors import NoDataError
from incprof.systems.io import darshan
from incprof.systems.io.darshan import DarshanLog, by_module, logs_beside, read_log
from incprof.systems.io.sections import of_log

PACKAGE = importlib.util.find_spec("darshan")
needs_darshan = pytest.mark.skipif(PACKAGE is None, reason="pydarshan is not installed")


def example(name: str) -> Path:
    assert PACKAGE is not None
    assert PACKAGE.origin is not None
    return Path(PACKAGE.origin).parent / name


def log(begin_s: list[float], end_s: list[float], moved: list[float], is_write: list[int]) -> DarshanLog:
    rank = np.zeros(len(begin_s), dtype=np.int64)
    edges = (np.array(each, dtype=np.float64) for each in (begin_s, end_s, moved))
    return DarshanLog("log", 1000.0, 1, (), "DXT_POSIX", rank, np.array(is_write), *edges)


def test_transfers_are_spread_over_their_times() -> None:
    one = log([1.0, 2.0, 2.5], [3.0, 2.0, 4.5], [200.0, 7.0, 10.0], [0, 0, 1])
    edges = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    assert one.moved(edges, 0, 1000.0) == pytest.approx(np.array([[0, 100, 107, 0, 0], [0, 0, 2.5, 5, 2.5]]))
    assert one.moved(edges, 1, 1000.0).sum() == 0
    later = one.moved(edges, 0, 1001.0)
    assert later == pytest.approx(np.array([[100, 107, 0, 0, 0], [0, 2.5, 5, 2.5, 0]])), "the run began a second later"


@needs_darshan
def test_an_example_with_traced_transfers() -> None:
    one = read_log(example("tests/input/sample-dxt-simple.darshan"))
    assert (one.processes, one.traced, one.start_s) == (16, "DXT_POSIX", 1619109091)
    sums = {module: (each.read_b, each.written_b, each.writes) for module, each in by_module(one.files).items()}
    assert sums == {"POSIX": (0, 4040, 2), "MPI-IO": (0, 4000, 1)}
    assert one.files[0].name.endswith("/test.out")
    edges = np.array([0.0, 1.0])
    assert one.moved(edges, 0, one.start_s)[1, 0] == pytest.approx(4040)
    text = of_log(one, is_placed=True)
    assert text.startswith("Darshan, sample-dxt-simple.darshan, 16 ranks: POSIX read 0 B and wrote 4.04 kB in 2 calls")
    assert "/test.out (POSIX 4 kB)" in text
    assert "DXT_ENABLE_IO_TRACE" in of_log(one, is_placed=False)


@pytest.mark.slow
@needs_darshan
def test_all_examples_are_read() -> None:
    logs = [read_log(path) for path in sorted(example("tests/input").glob("*.darshan"))]
    assert len(logs) >= 4
    assert all(each.files for each in logs)


@pytest.mark.slow
@needs_darshan
def test_damaged_logs_cost_one_sentence_each(tmp_path: Path) -> None:
    whole = example("tests/input/sample.darshan").read_bytes()
    (tmp_path / "a.darshan").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "b.darshan").write_bytes(b"nothing of the kind")
    shutil.copy(example("tests/input/sample.darshan"), tmp_path / "c.darshan")
    (tmp_path / "d.darshan").symlink_to(example("tests/input/sample.darshan"))
    logs, notes = logs_beside(tmp_path)
    assert [each.name for each in logs][-1:] == ["c.darshan"]
    assert any(note.startswith("b.darshan: a log of Darshan that cannot be read") for note in notes)
    assert any(note.startswith("d.darshan: ") for note in notes), "it leads out of the run"


def test_without_pydarshan_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "job.darshan").write_bytes(b"x")
    (tmp_path / "python").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(darshan.sys, "executable", str(tmp_path / "python"))
    assert logs_beside(tmp_path)[1] == ["job.darshan needs pydarshan, which reads it: pip install 'incprof[darshan]'"]
    monkeypatch.undo()
    assert sys.executable != str(tmp_path / "python")
    with pytest.raises(NoDataError):
        read_log(tmp_path / "missing.darshan")


def test_logs_beyond_the_limit_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(darshan, "MOST_LOGS", 0)
    (tmp_path / "a.darshan").touch()
    assert logs_beside(tmp_path) == ([], ["1 log of Darshan left out: at most 0 are read"])
