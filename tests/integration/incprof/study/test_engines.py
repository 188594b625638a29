"""Ranks read by processes of this machine, by Dask and by MPI: the same answer, and no hang where one is killed."""

from __future__ import annotations

import gc
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.simulate_ranks import simulate
from benchmarks.simulated.story import Options
from incprof.cli.main import main
from incprof.errors import IncprofError
from incprof.study import rank_engines
from incprof.study.phase_options import StudyOptions
from tests.integration.command_line import incprof
from tests.integration.engine_work import events_or_die, read_or_die, results
from tests.paths import ROOT
from tests.unit.tracefile import write_run

RANKS = Options(ranks=8, intervals=100, truncated=(3,), foreign=(5,), missing=(6,))
# Open MPI refuses to start more processes than there are processors, or as root, without an option.
MPIRUN = ["mpirun", "--oversubscribe", "--allow-run-as-root", "-n", "3", sys.executable, "-m", "mpi4py.futures"]

mpi = pytest.mark.skipif(shutil.which("mpirun") is None, reason="needs mpirun")


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def of_incprof(stderr: str) -> list[str]:
    """Return the lines that this program wrote."""
    return [line for line in stderr.splitlines() if line.startswith("incprof:")]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a run of several ranks lies in `run`."""
    out = tmp_path_factory.mktemp("engines") / "simulated"
    simulate(out, RANKS)
    return out


def signature(cwd: Path, *words: str, launch: list[str] | None = None) -> tuple[int, bytes, list[str]]:
    """The same of incprof signature."""
    command = [*(launch or [sys.executable]), "-m", "incprof", "signature", "traced", "--json", *words]
    done = subprocess.run(command, cwd=cwd, env=environment(), capture_output=True, timeout=600, check=False)
    assert b"Traceback" not in done.stderr
    return done.returncode, done.stdout, of_incprof(done.stderr.decode())


def phases(directory: Path, *words: str, launch: list[str] | None = None) -> tuple[int, bytes, list[str]]:
    """Exit code, stdout and stderr of incprof phases. Nothing is kept from the call before."""
    (directory / "run" / "ranks.json").unlink(missing_ok=True)
    command = [*(launch or [sys.executable]), "-m", "incprof", "phases", "run", "--json", *words]
    done = subprocess.run(command, cwd=directory, env=environment(), capture_output=True, timeout=600, check=False)
    assert b"Traceback" not in done.stderr
    return done.returncode, done.stdout, of_incprof(done.stderr.decode())


@pytest.fixture(scope="module")
def expected(directory: Path) -> tuple[int, bytes, list[str]]:
    """The answer of one process."""
    done = incprof("phases", "run", "--json", "--jobs", "1", cwd=directory, env=environment())
    answer = (done.returncode, done.stdout.encode(), of_incprof(done.stderr))
    assert answer[0] == 5
    assert [line.partition(":")[2][:7] for line in answer[2]] == [" rank 5", " rank 6", " rank 3"]
    return answer


@contextmanager
def dask_scheduler(place: Path, *, workers: int, threads: int) -> Iterator[str]:
    """The address of a Dask scheduler with so many workers, which live elsewhere and are started again when killed."""
    pytest.importorskip("distributed")
    where, started = place / "scheduler.json", []
    shared = [f"--scheduler-file={where}", "--no-dashboard"]
    for words in (["scheduler", "--host=127.0.0.1", "--port=0"], *[["worker", f"--nthreads={threads}"]] * workers):
        with (place / f"{len(started)}.log").open("wb") as log:
            command = [sys.executable, "-m", "dask", *words, *shared]
            started.append(subprocess.Popen(command, cwd=place, env=environment(), stdout=log, stderr=log))
    while not where.exists() or not where.read_text():
        assert started[0].poll() is None, (place / "0.log").read_text()
        time.sleep(0.1)
    try:
        yield json.loads(where.read_text())["address"]
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(600)


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with dask_scheduler(tmp_path_factory.mktemp("dask"), workers=2, threads=1) as address:
        yield address


def test_two_processes(directory: Path, expected: tuple[int, bytes, list[str]]) -> None:
    assert phases(directory, "--jobs", "2") == expected


@pytest.mark.slow
def test_dask(directory: Path, expected: tuple[int, bytes, list[str]], scheduler: str) -> None:
    assert phases(directory, "--dask", scheduler) == expected


@pytest.mark.slow
@mpi
def test_mpi(directory: Path, expected: tuple[int, bytes, list[str]]) -> None:
    pytest.importorskip("mpi4py")
    assert phases(directory, launch=MPIRUN) == expected


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[int, bytes, list[str]]]:
    """Return a directory with traces of three ranks, one of them invalid, and the answer of one process."""
    cwd = tmp_path_factory.mktemp("signature")
    write_run(cwd / "traced", 3)
    (cwd / "traced" / "rank-00001.mpi").write_bytes(b"none")
    done = incprof("signature", "traced", "--json", "--jobs", "1", cwd=cwd, env=environment())
    answer = (done.returncode, done.stdout.encode(), of_incprof(done.stderr))
    assert (answer[0], len(answer[2])) == (5, 1)
    assert "rank-00001.mpi: not an MPI trace" in answer[2][0]
    return cwd, answer


@pytest.mark.slow
def test_traces_by_two_processes(traced: tuple[Path, tuple[int, bytes, list[str]]]) -> None:
    cwd, expected = traced
    assert signature(cwd, "--jobs", "2") == expected


@pytest.mark.slow
def test_traces_by_dask(traced: tuple[Path, tuple[int, bytes, list[str]]], scheduler: str) -> None:
    cwd, (status, answer, lines) = traced
    # Its workers are somewhere else: paths are whole.
    assert signature(cwd, "--dask", scheduler) == (
        status,
        answer,
        [x.replace("traced", f"{cwd}/traced") for x in lines],
    )


@pytest.mark.slow
@mpi
def test_traces_by_mpi(traced: tuple[Path, tuple[int, bytes, list[str]]]) -> None:
    pytest.importorskip("mpi4py")
    cwd, expected = traced
    assert signature(cwd, launch=MPIRUN) == expected


def test_a_trace_whose_reader_dies(
    traced: tuple[Path, tuple[int, bytes, list[str]]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("incprof.systems.mpi.run_signature.process_events", events_or_die)
    assert main(["signature", str(traced[0] / "traced"), "--jobs", "2"]) == 5
    assert "rank-00002.mpi: left out: the process that read it was killed" in capsys.readouterr().err


def test_a_process_that_is_killed_once_costs_nothing(tmp_path: Path) -> None:
    items = [(i, "once" if i == 2 else "", str(tmp_path / "there")) for i in range(6)]
    found, said = results(items, StudyOptions(jobs=2))
    assert found == [i * i for i in range(6)]
    assert len(said) == 1
    assert "was killed" in said[0]


def test_what_kills_each_process_is_lost_and_the_rest_is_done() -> None:
    found, _ = results([(i, "kill" if i in (1, 4) else "", "") for i in range(6)], StudyOptions(jobs=2))
    assert found == [0, -1, 4, 9, -4, 25]


def test_a_rank_whose_reader_dies(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("incprof.study.shared_phases.read_rank", read_or_die)
    (directory / "run" / "ranks.json").unlink(missing_ok=True)
    assert main(["phases", str(directory / "run"), "--jobs", "2"]) == 5
    assert "rank 2 is left out: the process that read it was killed" in capsys.readouterr().err
    # It is not kept: the next worker may live.
    assert not (directory / "run" / "ranks.json").exists()


@pytest.mark.slow
def test_dask_workers_that_are_killed(scheduler: str, tmp_path: Path) -> None:
    items = [(i, {2: "once", 5: "kill"}.get(i, ""), str(tmp_path / "there")) for i in range(8)]
    found, said = results(items, StudyOptions(dask=scheduler))
    assert found == [0, 1, 4, 9, 16, -5, 36, 49]
    assert not said


@pytest.mark.slow
def test_what_was_done_where_dask_workers_are_killed(tmp_path: Path) -> None:
    # One worker that does both at a time: each time it is killed, it was doing the slow one as well.
    with dask_scheduler(tmp_path, workers=1, threads=2) as address:
        found, said = results([(2, "kill", ""), (3, "slow", "")], StudyOptions(dask=address))
    assert found == [-2, 9]
    assert not said


@pytest.mark.slow
def test_a_dask_scheduler_without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(rank_engines, "WORKERS_S", 1)
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0") as cluster:
        found, said = results([(2, "", "")], StudyOptions(dask=cluster.scheduler_address))
    assert found == [-2]
    assert "all workers are gone" in said[0]


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://x", "tcp://", "127.0.0.1:9:9"])
def test_no_dask_scheduler(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(rank_engines, "ANSWER_S", 1)
    with pytest.raises(IncprofError, match=r"--dask .*: no scheduler answers: ") as raised:
        results([(2, "", "")], StudyOptions(dask=address))
    assert "\n" not in str(raised.value)


def test_no_garbage_is_collected_while_a_client_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was given up would close itself, and wait for the lock of the one that starts: for ever."""
    distributed = pytest.importorskip("distributed")
    collecting: list[bool] = []

    def asked(*_words: object, **_more: object) -> None:
        collecting.append(gc.isenabled())
        raise OSError("no answer")

    monkeypatch.setattr(distributed, "Client", asked)
    with pytest.raises(IncprofError, match="no answer"):
        results([(2, "", "")], StudyOptions(dask="tcp://127.0.0.1:1"))
    assert (collecting, gc.isenabled()) == ([False], True)


def test_an_event_loop_of_dask_that_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")

    def late(*_words: object, **_more: object) -> None:
        raise AssertionError

    monkeypatch.setattr(distributed, "Client", late)
    with pytest.raises(IncprofError, match="no scheduler answers: AssertionError"):
        results([(2, "", "")], StudyOptions(dask="tcp://127.0.0.1:1"))


def test_without_dask_one_line_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(IncprofError, match=r"pip install 'incprof\[dask\]'"):
        results([(2, "", "")], StudyOptions(dask="tcp://127.0.0.1:1"))


@pytest.mark.slow
@mpi
def test_mpi_ranks_that_are_killed_end_the_job() -> None:
    pytest.importorskip("mpi4py")
    command = [*MPIRUN, str(ROOT / "tests/integration/engine_work.py")]
    done = subprocess.run(command, env=environment(), capture_output=True, timeout=600, check=False)
    assert done.returncode != 0
    assert b"Traceback" not in done.stderr
    assert not done.stdout
