"""Signals, stops and the end of a program below incprof sample and incprof record --external: as alone."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.mpi_traces import Mpi, mpis
from tests.integration.sampling import Programs
from tests.integration.sampling import sampled as sampled

# Those that cannot be handled, the one that the kernel sends by itself, the one that takes pending ones away, and the
# one that ends the fixture.
ALONE = {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, signal.SIGCONT, signal.SIGRTMAX}
PASSED = sorted(signal.valid_signals() - ALONE)
TIMEOUT_S = 600
VERBS = {"sample": ["sample", "-o", "run.csv"], "external": ["record", "-o", "run", "--external"]}


def words(verb: str, *command: str | Path) -> list[str]:
    return [sys.executable, "-m", "incprof", *VERBS[verb], "--", *map(str, command)]


@pytest.fixture(params=VERBS, scope="module")
def verb(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A verb that starts a program and watches it; skip where the kernel refuses."""
    name, place = str(request.param), tmp_path_factory.mktemp("permitted")
    done = subprocess.run(words(name, "true"), cwd=place, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(done.stderr.strip())
    return name


@contextmanager
def started(command: list[str], place: Path, **how: object) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """What watches, and the number of the program, which runs."""
    with subprocess.Popen(  # type: ignore[call-overload]
        command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **how
    ) as process:
        try:
            yield process, int(process.stdout.readline())
        finally:
            process.kill()


def end(process: subprocess.Popen[str]) -> list[str]:
    """What the program has seen until SIGRTMAX, which ends it with its own status."""
    process.send_signal(signal.SIGRTMAX)
    text = process.communicate(timeout=TIMEOUT_S)[0]
    assert process.returncode == 6
    return sorted(text.split("\n")[:-1], key=lambda line: int(line.split()[0]))


def test_each_signal_to_the_recorder_reaches_the_program_once(verb: str, sampled: Programs, tmp_path: Path) -> None:
    with started(words(verb, sampled.compile("signals.c")), tmp_path) as (process, _):
        for number in PASSED:
            process.send_signal(number)
        assert end(process) == [f"{int(number)} 0" for number in PASSED]


@pytest.mark.parametrize("how", [{"process_group": 0}, {"start_new_session": True}], ids=["group", "session"])
def test_a_signal_to_the_group_reaches_the_program_once(
    verb: str, how: dict[str, object], sampled: Programs, tmp_path: Path
) -> None:
    # Those that end or stop what has no handler for them would do so with the verb's own children too.
    numbers = sorted([signal.SIGINT, signal.SIGUSR1, signal.SIGTERM, signal.SIGCONT, signal.SIGRTMIN + 3])
    with started(words(verb, sampled.compile("signals.c")), tmp_path, **how) as (process, _):
        for number in numbers:
            os.killpg(process.pid, number)
        assert end(process) == [f"{int(number)} 0" for number in numbers]


def test_a_signal_to_each_process_reaches_the_program_once(verb: str, sampled: Programs, tmp_path: Path) -> None:
    """As schedulers do, the oldest one first."""
    with started(words(verb, sampled.compile("signals.c")), tmp_path) as (process, _):
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert len(children) == 2
        for pid in (process.pid, *map(int, children)):
            os.kill(pid, signal.SIGUSR2)
        assert end(process) == [f"{int(signal.SIGUSR2)} 0"]


def test_the_value_of_a_signal_stays(verb: str, sampled: Programs, tmp_path: Path) -> None:
    kill = shutil.which("kill")
    if kill is None:
        pytest.skip("kill is not installed")
    with started(words(verb, sampled.compile("signals.c")), tmp_path) as (process, _):
        for value in (7, 8):
            subprocess.run([kill, "-s", "RTMIN", "-q", str(value), str(process.pid)], check=True)
        assert end(process) == [f"{int(signal.SIGRTMIN)} 7", f"{int(signal.SIGRTMIN)} 8"]


def test_a_signal_to_the_parent_reaches_the_one_that_started_it(verb: str, tmp_path: Path) -> None:
    # A shell that is waiting for a program in the background handles signals.
    shell = "trap 'echo told; touch told' USR1; \"$@\" & wait; wait $!; echo $?"
    program = ["sh", "-c", "kill -USR1 $PPID; until test -e told; do sleep 0.02; done; exit 4"]
    done = subprocess.run(
        ["sh", "-c", shell, "sh", *words(verb, *program)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
    )
    assert done.stdout == "told\n4\n"


@pytest.mark.parametrize("number", [signal.SIGTSTP, signal.SIGTTIN])
def test_the_job_stops_and_goes_on_with_the_program(verb: str, number: signal.Signals, tmp_path: Path) -> None:
    program = ["sh", "-c", "echo $$; read line; exit 6"]
    with started(words(verb, *program), tmp_path, process_group=0, stdin=subprocess.PIPE) as (process, pid):
        assert process.stdin is not None
        for target in (process.pid, pid):
            os.kill(target, number)
            stopped = os.waitpid(process.pid, os.WUNTRACED)[1]
            assert os.WIFSTOPPED(stopped)
            assert os.WSTOPSIG(stopped) == number
            os.killpg(process.pid, signal.SIGCONT)
        process.communicate("go\n", timeout=TIMEOUT_S)
        assert process.returncode == 6


def test_a_program_that_was_stopped_alone_may_go_on_alone(verb: str, sampled: Programs, tmp_path: Path) -> None:
    with started(words(verb, sampled.compile("signals.c")), tmp_path) as (process, pid):
        os.kill(pid, signal.SIGSTOP)
        os.kill(pid, signal.SIGCONT)
        assert end(process) == [f"{int(signal.SIGCONT)} 0"]


def test_what_kills_the_recorder_kills_the_program(verb: str, sampled: Programs, tmp_path: Path) -> None:
    """Its output ends, which no other process holds."""
    with started(words(verb, sampled.compile("signals.c")), tmp_path) as (process, _):
        process.kill()
        assert process.communicate(timeout=TIMEOUT_S)[0] == ""


@pytest.mark.parametrize("name", ["openmpi", pytest.param("mpich", marks=pytest.mark.slow)])
def test_a_launchers_signal_reaches_each_rank_once(verb: str, name: str, sampled: Programs, tmp_path: Path) -> None:
    mpi = next(mpi for mpi in mpis(tmp_path) if mpi.name == name)
    if shutil.which(f"mpirun.{name}") is None:
        pytest.skip(f"mpirun.{name} is not installed")
    command = launched(mpi, verb, sampled.compile("signals.c"))
    with started(command, tmp_path) as (process, pid):
        assert process.stdout is not None
        ranks = [pid, int(process.stdout.readline())]
        process.send_signal(signal.SIGUSR1)
        lines = [process.stdout.readline() for _ in ranks]
        for rank in ranks:
            os.kill(rank, signal.SIGRTMAX)
        rest = process.communicate(timeout=TIMEOUT_S)[0]
    assert lines == [f"{int(signal.SIGUSR1)} 0\n"] * 2
    assert lines[0] not in rest.splitlines(keepends=True)


def launched(mpi: Mpi, verb: str, program: Path) -> list[str]:
    """Two ranks, each of which writes its own file."""
    rank = "${PMIX_RANK:-$PMI_RANK}"
    script = f'exec {sys.executable} -m incprof sample -o "run.{rank}.csv" -- "$0"'
    if verb == "external":
        return [str(word) for word in mpi.launch(2, *words(verb, program))]
    return [str(word) for word in mpi.launch(2, "sh", "-c", script, program)]
