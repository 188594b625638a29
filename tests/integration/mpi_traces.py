"""MPI programs of tests/integration/trace_fixtures, built by each MPI, and their traces in words."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from incprof.systems.mpi.trace_file import Trace, find_traces
from incprof.systems.mpi.trace_types import Message, MpiEvent, TraceEnd
from tests.integration.command_line import incprof

FIXTURES = Path(__file__).parent / "trace_fixtures"
QUIET = {
    "OMPI_MCA_plm_rsh_agent": "",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}
INCPROF = (sys.executable, "-m", "incprof")


@dataclass(frozen=True)
class Mpi:
    """An MPI's compilers and launcher. flags: what a container's root with few cores needs."""

    name: str
    built: Path
    flags: tuple[str, ...]

    def build(self, source: str, *flags: str) -> Path:
        """The program made of a file of trace_fixtures; once."""
        path = FIXTURES / source
        program = self.built / "".join((path.stem, *flags, f"-{self.name}")).replace("/", "_")
        if not program.exists():
            compiler = {".c": "mpicc", ".cpp": "mpicxx", ".F90": "mpif90"}[path.suffix] + f".{self.name}"
            if shutil.which(compiler) is None:
                pytest.skip(f"{compiler} is not installed")
            subprocess.run([compiler, "-g", "-O1", *flags, path, "-o", program, "-lpthread"], check=True)
        return program

    def launch(self, ranks: int, *command: str | Path) -> list[str | Path]:
        """The command line that starts so many processes."""
        return [f"mpirun.{self.name}", *self.flags, "-n", str(ranks), *command]

    def trace(self, ranks: int, *command: str | Path, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run a command with its calls traced into cwd/run."""
        words = self.launch(ranks, *INCPROF, "trace", "-o", cwd / "run", "--", *command)
        return run(words, cwd, **environ)


def run(words: list[str | Path], cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    env = {**os.environ, **QUIET, **environ}
    if tuple(words[: len(INCPROF)]) == INCPROF:
        return incprof(*words[len(INCPROF) :], cwd=cwd, env=env)
    return subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, timeout=600, check=False)


def mpis(built: Path) -> list[Mpi]:
    """Both of them."""
    return [Mpi("openmpi", built, ("--oversubscribe", "--allow-run-as-root")), Mpi("mpich", built, ())]


def events_of(directory: Path) -> dict[int, list[MpiEvent]]:
    """All events of each rank."""
    return {rank: events for rank, (events, _) in traces_of(directory).items()}


def traces_of(directory: Path) -> dict[int, tuple[list[MpiEvent], TraceEnd]]:
    """All events of each rank, and how its trace ends."""
    found = {}
    for path in find_traces(str(directory)):
        with Trace(path) as trace:
            assert trace.metadata.rank not in found
            found[trace.metadata.rank] = (list(trace.events()), trace.end)
    return found


def words(message: Message | None) -> str:
    """Partner, tag and bytes."""
    if message is None:
        return ""
    partner = {"none": "", "any": " *", "root": " root", "": f" {message.distance:+d}"}[message.instead]
    tag = "" if message.tag is None else f" t{message.tag}"
    return f"{partner}{tag}" + ("" if message.bytes is None else f" {message.bytes}")


def said(event: MpiEvent) -> str:
    """What a call is but its time and its place: as `Recv@2 * t5 800 < +1 t5 800`; `@2` is an object but the first."""
    call = event.call
    text = call.function
    if call.where is not None and call.where.number != 1:
        text += f"@{call.where.number}"
    text += words(call.message)
    text += f" |{words(call.other)}" if call.other else ""
    text += f" <{words(call.actual)}" if call.actual else ""
    text += "".join(f" [{c.age if c.lane is None else 'other'}{words(c.message)}]" for c in call.completed)
    text += "" if call.value is None else f" ={call.value}"
    return text + (f" !{call.started}" if call.started else "")


def sequence(events: list[MpiEvent]) -> list[str]:
    """All calls between MPI_Init and MPI_Finalize, but for tests that found nothing."""
    assert [event.call.function for event in (events[0], events[-1])] in (
        ["Init", "Finalize"],
        ["Init_thread", "Finalize"],
    )
    return [
        said(event) for event in events[1:-1] if not (event.call.kind in ("test", "probe") and event.call.value == 0)
    ]


def counted(events: list[MpiEvent]) -> Counter[str]:
    """How often there is which call."""
    return Counter(said(event) for event in events)
