"""Recording compared with other profilers: the same programs, in rounds in which every profiler has its turn.

CPU is that of all processes, user and system, as a ratio to the unrecorded run of the same round; bytes are those of
the first round's files; an answer is the profiler's own text, from the end of the run to the end of its output.
"""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.bed import Bed
from benchmarks.measure import Command, Result
from benchmarks.profilers_programs import PROGRAMS, Program
from benchmarks.profilers_tools import NO_PG, TOOLS, Tool

PR_SET_CHILD_SUBREAPER = 36
# Rounds: of all tools, of those that take many times as long, and of answers.
MOST_ROUNDS, FEW = 5, 3
LONGEST_S = 120
# Exit code of answers about a recording with gaps, as on a busy machine.
PARTIAL = 5


class Failed(Exception):
    """A profiler does not work here; the message is its own."""


@dataclass
class Row:
    """The measurements of a profiler.

    Attributes:
        tool: the profiler.
        cpu: CPU seconds of the recorded run, by round.
        bare: CPU seconds of the unrecorded run, by round.
        answers: seconds of the answer, by round.
        bytes_run: size of the recording.
        bytes_kept: size of what it copies of the program.
        trouble: the reason why it failed, or empty.
    """

    tool: Tool
    cpu: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)
    bytes_run: int = 0
    bytes_kept: int = 0
    trouble: str = ""

    def ratio(self) -> float:
        """The median over the rounds."""
        return statistics.median(self._ratios())

    def all_bytes(self) -> int:
        """The size including the copies of the program."""
        return self.bytes_run + self.bytes_kept

    def _ratios(self) -> list[float]:
        return [a / b for a, b in zip(self.cpu, self.bare, strict=True)]

    def __str__(self) -> str:
        """Return `1.02x (1.01-1.03, 5 rounds); 47.6 kB; 0.4 s; paths; no phases`."""
        if self.trouble:
            return f"not measured: {self.trouble}"
        low, high = min(self._ratios()), max(self._ratios())
        kept = f" and {_size(self.bytes_kept)} of {self.tool.kept_content}" if self.bytes_kept else ""
        run = f" of a run of {statistics.median(self.bare):.2g} s" if self.tool.slow else ""
        return (
            f"{self.ratio():.4g}x ({low:.4g}-{high:.4g}, {len(self.cpu)} rounds); {_size(self.bytes_run)}{kept}{run}; "
            f"answer in {statistics.median(self.answers):.2g} s; {self.tool.support}"
        )


def benchmarks(bed: Bed) -> Iterable[tuple[str, Callable[[], list[Result]]]]:
    """Yield the measurements by name, a program each."""
    for name, build in PROGRAMS.items():
        yield f"profilers-{name}", functools.partial(_compare, bed, build)


def _compare(bed: Bed, build: Callable[[Bed], Program | str]) -> list[Result]:
    program = build(bed)
    if isinstance(program, str):
        return [Result("profilers side by side", "-", f"not measured: {program}", None)]
    # From here on, this process adopts orphans, so that their CPU time is counted.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    rows = [Row(tool, trouble=_why_not(tool, program)) for tool in TOOLS]
    for number in range(min(bed.pairs, MOST_ROUNDS)):
        bare: dict[tuple[bool, bool], float] = {}
        for row in rows if number % 2 == 0 else reversed(rows):
            if not row.trouble and (not row.tool.slow or number < FEW):
                _run_one(bed, program, row, bare)
    return [Result(f"{program.name}: {row.tool.name}", "-", str(row), None) for row in rows] + _bars(program, rows)


def _why_not(tool: Tool, program: Program) -> str:
    return tool.missing() or (NO_PG if tool.pg and program.counted is None else "")


def _run_one(bed: Bed, program: Program, row: Row, bare: dict[tuple[bool, bool], float]) -> None:
    """Run one turn of a profiler. `bare`: seconds of this round's unrecorded runs, one for each kind of program."""
    tool = row.tool
    at = bed.scratch / "profile"
    kind = tool.pg, tool.slow
    command = program.command(*kind)
    try:
        if kind not in bare:
            empty(at)
            alone = {**os.environ, **(program.bare_environment if tool.pg else {})}
            bare[kind] = cpu_s(program.bare_command(*kind), at, alone)
        empty(at)
        recorded = cpu_s(tool.record(at, command), at, tool.recording(at, command))
        if not row.cpu:
            row.bytes_kept = bytes_in(at / tool.kept) if tool.kept else 0
            row.bytes_run = bytes_in(at) - row.bytes_kept
        if len(row.answers) < FEW:
            began = time.perf_counter()
            cpu_s(tool.answer(at, command), at, dict(os.environ))
            row.answers.append(time.perf_counter() - began)
    except Failed as error:
        row.trouble = str(error)
        return
    row.cpu.append(recorded)
    row.bare.append(bare[kind])


def cpu_s(command: Command, cwd: Path, env: dict[str, str]) -> float:
    """Return the CPU seconds of a command and of all its descendants, including orphans; raise Failed."""
    words = [str(word) for word in command]
    with (cwd.parent / "profiler.out").open("w+b") as out:
        process = subprocess.Popen(words, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        total = usage.ru_utime + usage.ru_stime
        deadline = time.monotonic() + LONGEST_S
        while time.monotonic() < deadline:
            try:
                _, _, usage = os.wait4(-1, 0)
            except ChildProcessError:
                break
            total += usage.ru_utime + usage.ru_stime
        if process.returncode not in (0, PARTIAL):
            out.seek(0)
            text = out.read().decode(errors="replace").strip().splitlines() or ["no message"]
            raise Failed(f"{words[0]}: exit code {process.returncode}: {text[-1].strip()}")
    return total


def _bars(program: Program, rows: list[Row]) -> list[Result]:
    """Check that recording without -pg costs and writes least among profilers with call paths, at full length."""
    with_paths = [row for row in rows if row.tool.paths and not row.trouble]
    ours = next((row for row in with_paths if row.tool is TOOLS[0]), None)
    others = [row for row in with_paths if "incprof" not in row.tool.name and not row.tool.slow]
    if ours is None or not others:
        return []
    cpu = min(others, key=Row.ratio)
    recording = min(others, key=lambda row: row.bytes_run)
    copies = min(others, key=Row.all_bytes)
    what = f"{program.name}: %s, incprof record beside the least of the others that know paths"
    return [
        Result(
            what % "CPU",
            "least",
            f"{ours.ratio():.4g}x; {cpu.ratio():.4g}x ({cpu.tool.name})",
            ours.ratio() <= cpu.ratio(),
        ),
        Result(
            what % "bytes of the recording",
            "least",
            f"{_size(ours.bytes_run)}; {_size(recording.bytes_run)} ({recording.tool.name})",
            ours.bytes_run <= recording.bytes_run,
        ),
        Result(
            what % "bytes with copies of symbols or programs",
            "least",
            f"{_size(ours.all_bytes())}; {_size(copies.all_bytes())} ({copies.tool.name})",
            ours.all_bytes() <= copies.all_bytes(),
        ),
    ]


def bytes_in(directory: Path) -> int:
    """Return the size of all files in a directory tree."""
    return sum(path.lstat().st_size for path in directory.rglob("*") if path.is_file())


def _size(count: int) -> str:
    return f"{count / 1e3:.3g} kB" if count < 1e6 else f"{count / 1e6:.3g} MB"


def empty(directory: Path) -> None:
    """Make an empty directory."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
