"""The command that measures predictions of MPI programs, on one short program."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.integration.mpi_traces import run
from tests.paths import ROOT


def predictions(scratch: Path, *words: str) -> subprocess.CompletedProcess[str]:
    script = ROOT / "benchmarks" / "realworld" / "run.sh"
    return run(["sh", script, "predictions", *words], scratch, INCPROF_SCRATCH=str(scratch))


@pytest.mark.slow
def test_a_program_is_measured_once(tmp_path: Path) -> None:
    words = ["--only", "stencil", "--seconds", "2", "--runs", "1"]
    measured = predictions(tmp_path, *words)
    assert measured.returncode == 0, measured
    assert [line.split(": ")[1] for line in measured.stderr.splitlines()] == ["case", "base", "short-1", "full-1"]
    rows = [line for line in measured.stdout.splitlines() if line.startswith("| stencil")]
    assert len(rows) == 1
    again = predictions(tmp_path, *words)
    assert (again.returncode, again.stderr, again.stdout) == (0, "", measured.stdout)
    # Where the runs are kept, no trace of a run is left.
    case = next(tmp_path.glob("predictions/*"))
    assert not [path for path in case.iterdir() if path.is_dir()]


@pytest.mark.slow
def test_an_unknown_program_is_refused(tmp_path: Path) -> None:
    assert predictions(tmp_path, "--only", "other").returncode == 2
