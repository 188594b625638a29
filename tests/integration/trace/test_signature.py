"""Signatures of traced programs, and predictions from their beginning; under both MPIs."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.integration.mpi_traces import INCPROF, Mpi, run

STEPS = 200
TURNS = sum(2 + step % 4 for step in range(STEPS))


@pytest.fixture(scope="module")
def traced(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the solver with its trace, and its signature as app.signature."""
    cwd = tmp_path_factory.mktemp("run")
    outcome = mpi.trace(3, mpi.build("solver.c"), str(STEPS), cwd=cwd)
    assert (outcome.returncode, outcome.stdout) == (0, f"{STEPS} steps\n"), outcome
    return cwd


def said(cwd: Path, *words: str | Path, status: int = 0) -> subprocess.CompletedProcess[str]:
    outcome = run([*INCPROF, *words], cwd)
    assert outcome.returncode == status, outcome
    return outcome


def signature(cwd: Path, *words: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said(cwd, "signature", "run", "--json", *words).stdout)
    return found


def predicted(mpi: Mpi, cwd: Path, file: Path, *words: str | Path, status: int = 0) -> tuple[dict[str, Any], str]:
    line = mpi.launch(3, *INCPROF, "predict", file, "-o", cwd / "here", *words)
    outcome = subprocess.run(line, cwd=cwd, env={**os.environ}, capture_output=True, text=True, timeout=600)
    assert outcome.returncode == status, outcome
    return json.loads(outcome.stdout.splitlines()[-1]), outcome.stderr


def test_every_loop_has_its_exact_weight(traced: Path) -> None:
    # All loops, however little time they take.
    found = signature(traced, "--relevant", "0")
    weights = {tuple(phase["calls"]): (phase["weight"], phase["line"]) for phase in found["phases"]}
    assert weights[("Gather",)][0] == STEPS // 10
    assert weights[("Allreduce",)] == (TURNS, 37)
    assert weights[("Irecv", "Isend", "Waitall")] == (STEPS, 19)
    assert [one["rank"] for one in found["per_rank"]] == [0, 1, 2]


@pytest.mark.slow
def test_the_papers_ways_agree_on_a_program_in_which_all_do_the_same(traced: Path) -> None:
    alone, together = (signature(traced, "--method", method, "--similar", "0") for method in ("paper", "global"))
    for found in (alone, together):
        # A step's first sum is in the structure with its messages, and its last one begins the next.
        sums = [phase for phase in found["phases"] if phase["calls"] == ["Allreduce"]]
        assert sum(phase["weight"] for phase in sums) in range(TURNS - 2 * STEPS, TURNS - STEPS + 1)
    assert [(phase["calls"], phase["weight"]) for phase in alone["phases"]] == [
        (phase["calls"], phase["weight"]) for phase in together["phases"]
    ]


def test_phase_table_and_file(traced: Path) -> None:
    said(traced, "signature", "run", "-o", "app.signature", "--phase-table", "Phase_Table", "--force")
    rows = [line.split() for line in (traced / "Phase_Table").read_text().splitlines()]
    kept = json.loads((traced / "app.signature").read_text())
    assert [[int(cell) for cell in row] for row in rows] == [
        [phase["start"], phase["end"], phase["id"], phase["id"], phase["weight"]] for phase in kept["phases"]
    ]
    # Each step sends once: the phase that does so begins with the first send, and ends behind it.
    said(traced, "signature", "run", "--phase-table", "Phase_Table", "--sends", "--force")
    in_sends = [[int(cell) for cell in line.split()] for line in (traced / "Phase_Table").read_text().splitlines()]
    assert [row[2:] for row in in_sends] == [[int(cell) for cell in row[2:]] for row in rows]
    steps = [row for row, phase in zip(in_sends, kept["phases"], strict=True) if "Isend" in phase["calls"]]
    assert all(end == start + 1 for start, end, *_ in steps)
    assert "exists" in said(traced, "signature", "run", "-o", "app.signature", status=2).stderr


@pytest.mark.slow
def test_the_beginning_of_a_run_is_enough(mpi: Mpi, traced: Path, tmp_path: Path) -> None:
    file = tmp_path / "app.signature"
    said(traced, "signature", "run", "-o", file)
    found, stderr = predicted(mpi, tmp_path, file, "--json", "--", mpi.build("solver.c"), str(STEPS))
    known = json.loads(file.read_text())
    assert found["follows"], found
    assert "ended on purpose" in stderr
    assert [phase["weight"] for phase in found["phases"]] == [phase["weight"] for phase in known["phases"]]
    awaited = [one for one, whole in zip(found["phases"], known["phases"], strict=True) if whole["awaited"]]
    assert awaited
    assert all(0 < phase["seen"] < phase["weight"] for phase in awaited)
    assert found["pet_low_s"] <= found["pet_s"] <= found["pet_high_s"]
    assert found["set_s"] > 0


@pytest.mark.slow
def test_a_program_run_to_its_end_reports_its_time(mpi: Mpi, traced: Path, tmp_path: Path) -> None:
    file = tmp_path / "app.signature"
    said(traced, "signature", "run", "-o", file)
    line = mpi.launch(3, *INCPROF, "predict", file, "-o", tmp_path / "here", "--full", "--json", "--")
    outcome = run([*line, mpi.build("solver.c"), str(STEPS)], tmp_path)
    steps, answer = sorted(outcome.stdout.splitlines(), reverse=True)[1], outcome.stdout.splitlines()[-1]
    assert (outcome.returncode, f"{STEPS} steps" in outcome.stdout) == (0, True), (outcome, steps)
    assert json.loads(answer)["aet_s"] > json.loads(answer)["set_s"]


@pytest.mark.slow
def test_another_course_is_reported(mpi: Mpi, traced: Path, tmp_path: Path) -> None:
    file = tmp_path / "app.signature"
    said(traced, "signature", "run", "-o", file)
    words = ("--json", "--accept", "arguments", "--", mpi.build("solver.c"), str(STEPS), "other")
    found, stderr = predicted(mpi, tmp_path, file, *words, status=3)
    assert not found["follows"]
    assert "MPI_Scan at solver.c:40, call" in stderr


def test_a_program_that_fails_is_not_predicted(mpi: Mpi, traced: Path, tmp_path: Path) -> None:
    file = tmp_path / "app.signature"
    said(traced, "signature", "run", "-o", file)
    outcome = run([*INCPROF, "predict", file, "--", "false"], tmp_path)
    assert (outcome.returncode, outcome.stdout) == (1, "")
    assert "ended with status 1: no prediction" in outcome.stderr


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", marks=pytest.mark.slow),
        pytest.param("{}", marks=pytest.mark.slow),
        pytest.param('{"schema": "incprof.signature/1"}', marks=pytest.mark.slow),
        '{"schema": "incprof.signature/1", "method": "robust", "kinds": 3}',
    ],
)
def test_what_is_no_signature_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "bad.signature"
    file.write_text(text)
    outcome = run([*INCPROF, "predict", file, "--", "true"], tmp_path)
    assert (outcome.returncode, len(outcome.stderr.splitlines())) == (4, 1), outcome
