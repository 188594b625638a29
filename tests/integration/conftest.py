"""Fixtures: compile a program once, run it alone, run it under the collector."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import pytest

from tests.integration.appekg_build import ekg as ekg  # the heartbeat tests' fixture
from tests.integration.collector import COMPILER_OF, FIXTURES, Outcome, Recording, run, sources, variables
from tests.integration.compiled import Compiled, shared_directory
from tests.integration.hosts import host as host  # the lifecycle tests' fixture


class Build(Protocol):
    """Compiles fixture sources: `build("calls.c", flags="-O2 -pthread")`."""

    def __call__(
        self,
        *names: str | Path,
        flags: str = "-O2",
        compiler: str | None = None,
        pg: bool = True,
        output: str = "program",
    ) -> Path: ...


class Record(Protocol):
    """Runs a program under the collector."""

    def __call__(
        self,
        command: Path | Sequence[str | Path],
        *,
        clock: str = "cpu",
        rate: int = 100,
        interval: float = 0.25,
        env: Mapping[str, str] | None = None,
        status: int | None = 0,
        timeout_s: float = 600,
    ) -> Recording: ...


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compile once per run of the tests and set of options."""
    programs = Compiled(shared_directory(tmp_path_factory, "programs"))

    def compile_sources(
        *names: str | Path, flags: str = "-O2", compiler: str | None = None, pg: bool = True, output: str = "program"
    ) -> Path:
        chosen = compiler or COMPILER_OF[Path(names[0]).suffix]
        words = [chosen, "-g", *(["-pg"] if pg else []), *flags.split(), *map(str, sources(names))]
        # Libraries last; what the fixtures need is the same everywhere.
        return programs.made(output, [*words, "-I", str(FIXTURES), "-lm", "-ldl"])

    return compile_sources


@pytest.fixture
def alone(tmp_path: Path) -> Callable[..., Outcome]:
    """Run a program without the collector."""

    def run_alone(command: Path | Sequence[str | Path], *, timeout_s: float = 600) -> Outcome:
        place = tmp_path / "alone"
        place.mkdir(exist_ok=True)
        words = [command] if isinstance(command, Path) else list(command)
        return run(words, place, {}, timeout_s)

    return run_alone


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Run a program under the collector, in a run directory of its own."""
    count = 0

    def run_recorded(
        command: Path | Sequence[str | Path],
        *,
        clock: str = "cpu",
        rate: int = 100,
        interval: float = 0.25,
        env: Mapping[str, str] | None = None,
        status: int | None = 0,
        timeout_s: float = 600,
    ) -> Recording:
        nonlocal count
        count += 1
        place = tmp_path / f"recorded-{count}"
        place.mkdir()
        directory = place / "run"
        words = [command] if isinstance(command, Path) else list(command)
        environment = {**variables(directory, clock=clock, rate=rate, interval=interval), **(env or {})}
        outcome = run(words, place, environment, timeout_s)
        if status is not None:
            assert outcome.status == status, outcome
        return Recording(outcome, directory)

    return run_recorded


@pytest.fixture(scope="session")
def fast_clock(build: Build, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The clock that delivers the most samples here: perf where it is permitted, else cpu."""
    place = tmp_path_factory.mktemp("clock")
    outcome = run([build("arcs.c")], place, variables(place / "run", clock="perf"))
    return "cpu" if "not permitted" in outcome.stderr else "perf"


@pytest.fixture(params=["cpu", "perf"])
def clock(request: pytest.FixtureRequest, fast_clock: str) -> str:
    """Both clocks, one after the other."""
    if request.param == "perf" and fast_clock != "perf":
        pytest.skip("perf events are not permitted here")
    return str(request.param)
