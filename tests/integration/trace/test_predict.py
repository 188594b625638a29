"""Runs that are ended where each rank has made calls of its own, and runs that do not follow their signature."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.integration.mpi_traces import INCPROF, Mpi, events_of, mpis, run
from tests.paths import INTEGRATION

RANKS = 3
STEPS = 400
ENDED = "ended on purpose: all ranks have done as much as requested"


def signed(mpi: Mpi, cwd: Path, *arguments: str, options: tuple[str, ...] = ()) -> dict[str, Any]:
    """Trace a program, write its signature as cwd/a.signature, and return it."""
    outcome = mpi.trace(RANKS, mpi.build("neighbours.c"), *arguments, cwd=cwd)
    assert outcome.returncode == 0, outcome
    outcome = run([*INCPROF, "signature", "run", "-o", "a.signature", "--force", *options], cwd)
    assert outcome.returncode == 0, outcome
    found: dict[str, Any] = json.loads((cwd / "a.signature").read_text())
    return found


def predicted(
    mpi: Mpi, cwd: Path, program: Path, *arguments: str, ranks: int = RANKS, options: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Predict in front of the launcher, whose words about an exit status other than 0 are not in the way then."""
    words = ["predict", "a.signature", "-o", cwd / "here", "--json", *options, "--"]
    return run([*INCPROF, *words, *mpi.launch(ranks, program, *arguments)], cwd)


@pytest.mark.parametrize(
    "mode",
    ["halo", *(pytest.param(one, marks=pytest.mark.slow) for one in ("wave", "persistent", "sendrecv", "tests"))],
)
def test_ranks_that_meet_only_their_neighbours_end_after_their_own_calls(mpi: Mpi, tmp_path: Path, mode: str) -> None:
    known = signed(mpi, tmp_path, mode, str(STEPS))
    assert known["until"] is None
    ends = [(function, calls) for function, calls, ranks in known["until_calls"] for _ in range(ranks)]
    assert len(ends) == RANKS
    outcome = predicted(mpi, tmp_path, mpi.build("neighbours.c"), mode, str(STEPS))
    assert outcome.returncode == 0, outcome
    assert ENDED in outcome.stderr
    assert "steps" not in outcome.stdout
    answer = json.loads(outcome.stdout.splitlines()[-1])
    assert answer["follows"], answer
    assert 0 < answer["phases"][-1]["seen"] < STEPS
    for rank, events in events_of(tmp_path / "here").items():
        function, calls = ends[rank]
        assert events[-1].call.function == function.removeprefix("MPI_")
        assert sum(event.call.function == events[-1].call.function for event in events) == calls


@pytest.mark.slow
def test_large_messages_that_wait_for_their_receive_do_not_hold_the_end_up(mpi: Mpi, tmp_path: Path) -> None:
    signed(mpi, tmp_path, "wave", "100", str(1 << 20))
    outcome = predicted(mpi, tmp_path, mpi.build("neighbours.c"), "wave", "100", str(1 << 20))
    assert (outcome.returncode, json.loads(outcome.stdout.splitlines()[-1])["follows"]) == (0, True), outcome


@pytest.mark.slow
def test_work_that_goes_to_any_free_rank_is_run_to_its_end(mpi: Mpi, tmp_path: Path) -> None:
    known = signed(mpi, tmp_path, "workers", "200")
    assert (known["until"], known["until_calls"]) == (None, None)
    outcome = predicted(mpi, tmp_path, mpi.build("neighbours.c"), "workers", "200")
    assert "running it to its end" in outcome.stderr
    assert "200 steps" in outcome.stdout


@pytest.mark.slow
def test_the_papers_table_drives_a_signature_run(mpi: Mpi, tmp_path: Path) -> None:
    known = signed(mpi, tmp_path, "halo", str(STEPS), options=("--method", "paper", "--similar", "0", "--most", "0.9"))
    outcome = predicted(mpi, tmp_path, mpi.build("neighbours.c"), "halo", str(STEPS))
    answer = json.loads(outcome.stdout.splitlines()[-1])
    assert (outcome.returncode, answer["follows"]) == (0, True), outcome
    assert answer["pet_s"] == pytest.approx(sum(one["weight"] * one["mean_s"] for one in answer["phases"]))
    assert [one["weight"] for one in answer["phases"]] == [one["weight"] for one in known["phases"]]
    assert 0 < max(one["seen"] for one in answer["phases"]) < STEPS


@pytest.fixture(scope="module")
def halo(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the signature of a run, and an input file of it."""
    cwd = tmp_path_factory.mktemp("halo")
    (cwd / "input").write_text("as it was\n")
    signed(mpi, cwd, "halo", str(STEPS), "64", "input")
    return cwd


def refused(outcome: subprocess.CompletedProcess[str], *what: str) -> None:
    """The exit status is 3, and one line names what is wrong."""
    lines = [line for line in outcome.stderr.splitlines() if "does not follow the signature" in line]
    assert (outcome.returncode, len(lines)) == (3, 1), outcome
    assert all(one in lines[0] for one in what), lines


@pytest.mark.slow
def test_other_arguments_are_noticed(mpi: Mpi, halo: Path) -> None:
    program = mpi.build("neighbours.c")
    outcome = predicted(mpi, halo, program, "halo", str(STEPS // 2), "64", "input")
    refused(outcome, "arguments", "halo 200 64 input", "halo 400 64 input")
    assert not json.loads(outcome.stdout.splitlines()[-1])["follows"]


@pytest.mark.slow
def test_a_whole_run_of_another_length_is_noticed(mpi: Mpi, halo: Path) -> None:
    """Its beginning is that of the signature, and another number of steps was accepted."""
    program, words = mpi.build("neighbours.c"), ("halo", str(STEPS // 2), "64", "input")
    half = predicted(mpi, halo, program, *words, options=("--full", "--accept", "arguments"))
    refused(half, "calls in the whole run")
    same = predicted(mpi, halo, program, "halo", str(STEPS), "64", "input", options=("--full",))
    assert same.returncode == 0, same


@pytest.mark.slow
def test_other_input_ranks_and_binaries_are_noticed(mpi: Mpi, halo: Path, tmp_path: Path) -> None:
    program = mpi.build("neighbours.c")
    words = ("halo", str(STEPS), "64", "input")
    # Whichever rank the signature is of, also one that such a run does not have.
    signature = json.loads((halo / "a.signature").read_text())
    for rank in range(RANKS):
        (halo / "a.signature").write_text(json.dumps(signature | {"rank": rank}))
        refused(predicted(mpi, halo, program, *words, ranks=RANKS - 1), "2 ranks, but the signature is of 3")
    (halo / "a.signature").write_text(json.dumps(signature))
    # Text has no prediction where nothing was measured.
    command = [*INCPROF, "predict", "a.signature", "-o", halo / "here", "--", *mpi.launch(RANKS - 1, program, *words)]
    outcome = run(command, halo)
    refused(outcome, "2 ranks")
    assert not outcome.stdout
    # Another build of the same source; and other messages, which no argument shows.
    other = tmp_path / program.name
    compiler = f"mpicc.{mpi.name}"
    source = INTEGRATION / "trace_fixtures" / "neighbours.c"
    subprocess.run([compiler, "-g", "-O2", source, "-o", other, "-lpthread"], check=True)
    refused(predicted(mpi, halo, other, *words), "not the signature's build")
    assert predicted(mpi, halo, other, *words, options=("--accept", "binary")).returncode == 0
    shorter = predicted(mpi, halo, program, "halo", str(STEPS), "32", "input", options=("--accept", "arguments"))
    refused(shorter, "moves 32 bytes a call where the signature has 64")
    (halo / "input").write_text("something else\n")
    refused(predicted(mpi, halo, program, *words), "file input")
    assert predicted(mpi, halo, program, *words, options=("--accept", "input")).returncode == 0


@pytest.mark.slow
def test_what_is_wrong_before_the_start_is_not_run(mpi: Mpi, halo: Path) -> None:
    """Under the launcher each rank compares, and rank 0 reports."""
    words = [*INCPROF, "predict", "a.signature", "-o", halo / "here", "--", mpi.build("neighbours.c"), "halo", "10"]
    refused(run(mpi.launch(2, *words), halo), "2 ranks", "3")
    outcome = run(mpi.launch(RANKS, *words), halo)
    refused(outcome, "arguments")
    assert "steps" not in outcome.stdout
    assert run([*INCPROF, "predict", "a.signature", "--accept", "all", "--", "true"], halo).returncode == 2


def until(mpi: Mpi, cwd: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Trace a program that INCPROF_TRACE_UNTIL is to end."""
    shutil.rmtree(cwd / "run", ignore_errors=True)
    return mpi.trace(2, mpi.build("neighbours.c"), *arguments, cwd=cwd, INCPROF_TRACE_UNTIL=text)


def test_all_go_on_where_one_has_no_more_to_do(mpi: Mpi, tmp_path: Path) -> None:
    outcome = until(mpi, tmp_path, "Sendrecv=3,Sendrecv=1000", "alone", "20")
    assert (outcome.returncode, outcome.stdout) == (0, "20 steps\n"), outcome
    assert ENDED not in outcome.stderr
    assert all(len(events) == 23 for events in events_of(tmp_path / "run").values())


@pytest.mark.slow
def test_a_rank_that_never_comes_ends_the_job_after_a_while(mpi: Mpi, tmp_path: Path) -> None:
    outcome = until(mpi, tmp_path, "Send=1,Recv=3", "wave", "20", str(1 << 20))
    assert outcome.returncode != 0
    assert "does not follow the signature" in outcome.stderr


@pytest.mark.slow
def test_an_end_that_makes_no_sense_is_named(tmp_path: Path) -> None:
    """Whatever the MPI is."""
    mpi = mpis(tmp_path)[0]
    for text in ("0", "-1", "x", "Send", "Send=", "Send=0", "Sent=3", "3@", "3@0", "Send=1,,", "Send=1*0", ""):
        outcome = until(mpi, tmp_path, text, "alone", "2")
        assert (outcome.returncode, outcome.stdout) == (0, "2 steps\n"), outcome
        assert (f"INCPROF_TRACE_UNTIL={text}" in outcome.stderr) == bool(text), outcome


@pytest.mark.slow
@pytest.mark.parametrize("text", ["Sendrecv=1*3", "2@3", "Sendrecv=1@2"])
def test_another_number_of_ranks_ends_at_once(mpi: Mpi, tmp_path: Path, text: str) -> None:
    outcome = until(mpi, tmp_path, text, "alone", "20")
    assert (outcome.returncode, outcome.stdout) == (0, ""), outcome
    assert "another number of ranks" in outcome.stderr
