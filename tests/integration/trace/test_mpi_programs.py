"""The MPI programs of examples/mpi: right numbers, the calls that their communication has, and the loops in these."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from incprof.cli.main import main
from tests.integration.mpi_traces import Mpi, events_of, mpis, run
from tests.paths import ROOT
from tests.variants import mostly_slow

SOURCES = ROOT / "examples" / "mpi"
STEPS, POINTS, EVERY, TASKS = 20, 12, 5, 50


@dataclass(frozen=True)
class Program:
    """A program with small arguments.

    Attributes:
        words: command line, without the directory of the program.
        checksum: of these arguments, for any number of ranks.
        broken: text in the source that is replaced by the next one, so that a message is not used.
    """

    words: str
    checksum: float
    broken: tuple[str, str]

    @property
    def name(self) -> str:
        return self.words.split()[0]


LINES = ("is_first)\n                memset", "1)\n                memset")
PROGRAMS = {
    "bt": Program(f"adi bt {POINTS} {STEPS}", 2.7133124665e01, LINES),
    "sp": Program(f"adi sp {POINTS} {STEPS}", 3.2422107781e01, ("d, -HALO, up, 0)", "d, -HALO, up, 1)")),
    "wavefront": Program(f"wavefront {POINTS} {STEPS} {EVERY}", 6.7708507164e03, ("r(:, along, 1:lines, k) = ", "! ")),
    "nbody": Program(
        f"nbody 201 {STEPS}",
        1.4817609808,
        (
            "        MPI_Allgather(x, 3 * own, MPI_DOUBLE, everybody",
            "        MPI_Allgather(x, 3 * own, MPI_DOUBLE, malloc(24 * all)",
        ),
    ),
    "stencil": Program(
        f"stencil 60 {STEPS} {EVERY}", 9.2801427908e02, ("&requests[2]);", "&requests[2]), now[1] = 0;")
    ),
    "workers": Program(f"workers 1000 {TASKS}", 3.1415926536, ("= result[1]", "= result[0]")),
}
SQUARE_SIDE = {1: 1, 4: 2, 9: 3}
GRID = {1: (1, 1), 4: (2, 2), 9: (3, 3)}


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mpi-programs")


@pytest.fixture
def mpi(request: pytest.FixtureRequest, built: Path) -> Mpi:
    one: Mpi = mpis(built)[request.param]
    return one


def make(mpi: Mpi, program: Program, sources: Path = SOURCES, build: Path | None = None) -> Path:
    """Build a program by its Makefile, once for each MPI; return its path."""
    build = build or mpi.built / mpi.name
    target = build / program.name
    if not target.exists():
        compilers = [f"MPICC=mpicc.{mpi.name}", f"MPIF90=mpif90.{mpi.name}"]
        subprocess.run(["make", "-s", "-C", sources, f"BUILD={build}", *compilers, str(target)], check=True)
    return target


def counts(name: str, ranks: int, rank: int) -> Counter[str]:
    """The exact number of calls of each function by a rank."""
    once = Counter(Init=1, Finalize=1)
    if name in ("bt", "sp"):
        between = SQUARE_SIDE[ranks] - 1
        step = Counter(Irecv=6, Isend=6, Waitall=1) if between else Counter[str]()
        sweep = Counter(Irecv=1, Isend=1, **({"Wait": 2} if name == "bt" else {"Waitall": 1}))
        for call, number in sweep.items():
            step[call] += 6 * between * number
        once += Counter(Bcast=1, Barrier=1, Allreduce=2)
    elif name == "wavefront":
        rows, lines = GRID[ranks]
        row, line = divmod(rank, lines)
        before, after = (row > 0) + (line > 0), (row < rows - 1) + (line < lines - 1)
        beside = before + after
        step = Counter(Irecv=beside, Wait=beside, Send=beside + POINTS * beside, Recv=POINTS * beside)
        once += Counter(Barrier=1, Allreduce=2 + STEPS // EVERY)
    elif name == "nbody":
        step = Counter(Allgather=1)
        once += Counter(Allgather=1, Allreduce=3)
    else:
        step = Counter(Irecv=4, Isend=4, Waitall=1)
        once += Counter(Allreduce=2 + STEPS // EVERY)
    return +Counter({call: once[call] + STEPS * step[call] for call in once | step})


def checked(output: str, program: Program) -> None:
    """Compare the last line of a program with what is known of it."""
    match = re.fullmatch(r"(\w+(?: \w+)?): checksum (\S+), error \S+: verified\n", output)
    assert match, output
    assert match[1] == " ".join(program.words.split()[: 1 + program.words.startswith("adi")])
    assert float(match[2]) == pytest.approx(program.checksum, rel=1e-9)


def traced(mpi: Mpi, name: str, ranks: int, cwd: Path) -> dict[int, Counter[str]]:
    """Run a program with its calls traced, check its numbers, and count the calls of each rank."""
    program = PROGRAMS[name]
    outcome = mpi.trace(ranks, make(mpi, program), *program.words.split()[1:], cwd=cwd)
    assert outcome.returncode == 0, outcome
    checked(outcome.stdout, program)
    return {rank: Counter(event.call.function for event in events) for rank, events in events_of(cwd / "run").items()}


RANKS = pytest.mark.parametrize(
    ("mpi", "ranks"),
    [
        pytest.param(0, 4, id="openmpi-4"),
        pytest.param(0, 1, id="openmpi-1", marks=pytest.mark.slow),
        pytest.param(0, 9, id="openmpi-9", marks=pytest.mark.slow),
        # Nine ranks that spin would wait for each other's turns.
        pytest.param(1, 4, id="mpich-4", marks=pytest.mark.slow),
    ],
    indirect=["mpi"],
)


@RANKS
@pytest.mark.parametrize("name", mostly_slow(1, ["wavefront", "bt", "sp", "nbody", "stencil"]))
def test_numbers_and_calls_are_exact(
    mpi: Mpi, name: str, ranks: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = traced(mpi, name, ranks, tmp_path)
    assert calls == {rank: counts(name, ranks, rank) for rank in range(ranks)}
    # The loop over the steps is a phase with that weight. The others are what a step has inside of it: sweeps in two
    # directions along three axes (adi), planes from below and from above (wavefront).
    if ranks == 4:
        inner = {"bt": 6, "sp": 6, "wavefront": 2 * POINTS}.get(name, 1)
        weights = [phase["weight"] for phase in signature(tmp_path, capsys)["phases"]]
        assert STEPS in weights
        assert all(weight <= inner * STEPS for weight in weights), weights


def signature(cwd: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """All loops of a traced run, however little time they take."""
    assert main(["signature", str(cwd / "run"), "--relevant", "0", "--jobs", "1", "--json"]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


@RANKS
def test_workers_share_all_tasks(mpi: Mpi, ranks: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calls = traced(mpi, "workers", ranks, tmp_path)
    workers = ranks - 1
    assert calls[0] == Counter(Init=1, Bcast=1, Finalize=1) + Counter(
        {"Send": workers + TASKS, "Recv": TASKS} if workers else {}
    )
    for rank in range(1, ranks):
        done = calls[rank]["Send"]
        assert calls[rank] == +Counter(Init=1, Bcast=1, Finalize=1, Recv=done + 1, Send=done)
    assert sum(calls[rank]["Send"] for rank in range(1, ranks)) == (TASKS if workers else 0)
    if ranks == 4:
        answer = signature(tmp_path, capsys)
        turns = calls[answer["rank"]]["Send" if answer["rank"] else "Recv"]
        # The rank that stands for the run may be a worker that came too late for more than a task.
        weights = [phase["weight"] for phase in answer["phases"]]
        assert turns < 3 or max(weights) in (turns - 1, turns)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_message_that_is_not_used_is_noticed(built: Path, name: str, tmp_path: Path) -> None:
    mpi, program = mpis(built)[0], PROGRAMS[name]
    right, wrong = program.broken
    for path in SOURCES.iterdir():
        if path.is_file():
            text = path.read_text()
            if path.stem == program.name:
                assert right in text
                text = text.replace(right, wrong)
            (tmp_path / path.name).write_text(text)
    broken = make(mpi, program, tmp_path, tmp_path / "build")
    outcome = run(mpi.launch(4, broken, *program.words.split()[1:]), tmp_path)
    assert outcome.returncode == 1
    assert ": WRONG\n" in outcome.stdout


@pytest.mark.parametrize(
    "words",
    ["adi", "adi ab 12 3", "adi bt 12", "adi bt 1 3", "nbody 0 1", "stencil 1x 3", "workers 5", "wavefront 4 -1"],
)
@pytest.mark.slow
def test_wrong_arguments_are_refused_in_one_line(built: Path, words: str, tmp_path: Path) -> None:
    name, *arguments = words.split()
    program = make(mpis(built)[0], Program(name, 0, ("", "")))
    outcome = run([program, *arguments], tmp_path)
    assert outcome.returncode == 2
    assert (outcome.stdout, len(outcome.stderr.splitlines())) == ("", 1)
