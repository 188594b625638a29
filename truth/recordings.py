"""The programs of truth/programs: built, recorded once, and their intervals labelled by their own log."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from incprof.model import FloatArray, IntArray, IntervalProfile
from incprof.readers.run import open_run, read_profile
from truth.places import PROGRAMS, programs_scratch
from truth.story import true_labels
from truth.truths import Truth, phase_from

SOURCES = (".c", ".cpp", ".f90")
LONGEST_S = 600


class NotRecorded(Exception):
    """A program could not be built or run here; the message is one line."""


@dataclass(frozen=True)
class Program:
    """A program and its truth.

    Attributes:
        name: its name.
        source: its source file.
        split: its half.
        kinds: as listed in its toml file.
        truth: the truth about its run.
        settings: its toml file.
    """

    name: str
    source: Path
    split: str
    kinds: tuple[str, ...]
    truth: Truth
    settings: dict[str, object]

    def words(self, key: str) -> list[str]:
        """Return a setting that is a list of words, empty where it is missing."""
        value = self.settings.get(key, [])
        return [str(word) for word in value] if isinstance(value, list) else []

    def number(self, key: str, default: float) -> float:
        """Return a setting that is a number."""
        value = self.settings.get(key, default)
        return float(value) if isinstance(value, int | float) else default


def all_programs(split: str | None = None, folder: Path = PROGRAMS) -> list[Program]:
    """Read the truths of all programs, or of one half, in the order of their names."""
    programs = []
    for path in sorted(folder.glob("*.toml")):
        settings = tomllib.loads(path.read_text())
        source = next((path.with_suffix(s) for s in SOURCES if path.with_suffix(s).exists()), None)
        if source is None:
            raise ValueError(f"{path}: there is no program of that name")
        phases = tuple(phase_from(phase) for phase in settings["phase"])
        kinds = tuple(str(kind) for kind in settings.get("kinds", []))
        program = Program(path.stem, source, settings["split"], kinds, Truth(phases, (len(phases),)), settings)
        if split in (None, program.split):
            programs.append(program)
    return programs


def recorded(program: Program, *, pg: bool = True) -> tuple[IntervalProfile, IntArray]:
    """Return a program's recording and its true labels (n,), from an earlier run if nothing has changed.

    pg: whether it is built with -pg.

    Raises:
        NotRecorded: its compiler or launcher is missing, or it failed.
    """
    folder = folder_of(program, pg=pg)
    fingerprint = folder / "made-of"
    if not fingerprint.exists() or fingerprint.read_text() != _fingerprint(program):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        binary = _build(program, folder, pg)
        _record(program, binary, folder)
        fingerprint.write_text(_fingerprint(program))
    profile = read_profile(open_run(folder / "run"), libs="named", inlined=True)
    return profile, label(profile, log_of(program, pg=pg), [phase.name for phase in program.truth.phases])


def folder_of(program: Program, *, pg: bool) -> Path:
    """Return the folder of a program's recording and its log."""
    return programs_scratch() / (program.name if pg else f"{program.name}-without-pg")


def log_of(program: Program, *, pg: bool) -> str:
    """Return the log in which a recorded program reported its phases."""
    return (folder_of(program, pg=pg) / ("log.0" if program.number("ranks", 1) > 1 else "log")).read_text()


def label(profile: IntervalProfile, log: str, names: list[str]) -> IntArray:
    """Return the phase that fills at least 90 % of each interval by the log, else -1, shape (n,).

    Raises:
        ValueError: the log names a phase that is missing from the truth.
    """
    start = _start_s(profile)
    seconds = np.zeros((profile.n_intervals, len(names)))
    for line in log.splitlines():
        begin, end, name = line.split(maxsplit=2)
        if name not in names:
            raise ValueError(f"the log has a phase {name!r} that the truth does not know")
        low = np.maximum(profile.start_s, float(begin) - start)
        high = np.minimum(profile.end_s, float(end) - start)
        seconds[:, names.index(name)] += (high - low).clip(0.0)
    none: FloatArray = (profile.end_s - profile.start_s) - seconds.sum(axis=1)
    labels = true_labels(np.column_stack([seconds, none.clip(0.0)]))
    return np.where(labels == len(names), -1, labels)


def _start_s(profile: IntervalProfile) -> float:
    """Return when the recording started, in seconds of CLOCK_MONOTONIC."""
    start = profile.metadata.raw["start_mono_ns"]
    assert isinstance(start, int)
    return start * 1e-9


def _fingerprint(program: Program) -> str:
    """Return a digest of everything that affects how a program runs: sources and settings, but not its sites."""
    digest = hashlib.sha256()
    for path in (program.source, PROGRAMS / "truth_log.h", PROGRAMS / "truth_log.f90"):
        digest.update(path.read_bytes())
    for key in ("build", "libs", "run", "interval", "ranks", "threads"):
        digest.update(repr((key, program.settings.get(key))).encode())
    return digest.hexdigest()


def _build(program: Program, folder: Path, pg: bool) -> Path:
    """Compile a program with -g, and with -pg if its calls are to be counted."""
    binary = folder / program.name
    compiler, *flags = program.words("build")
    command = [compiler, *(["-pg"] if pg else []), "-g", *flags]
    if program.source.suffix == ".f90":
        log = folder / "truth_log.o"
        _run(["gfortran", "-O2", "-J", str(folder), "-c", str(PROGRAMS / "truth_log.f90"), "-o", str(log)], folder)
        command += ["-J", str(folder), "-I", str(folder), str(program.source), str(log)]
    else:
        command += ["-I", str(PROGRAMS), str(program.source)]
    _run([*command, *program.words("libs"), "-o", str(binary)], folder)
    return binary


def _record(program: Program, binary: Path, folder: Path) -> None:
    """Run a program under incprof record."""
    ranks, threads = int(program.number("ranks", 1)), int(program.number("threads", 1))
    command = [str(binary), *program.words("run")]
    if ranks > 1:
        command = ["mpirun", "--oversubscribe", "--allow-run-as-root", "-n", str(ranks), *command]
    interval = str(program.number("interval", 0.2))
    record = [sys.executable, "-m", "incprof", "record", "--log", "quiet", "-i", interval, "-o", str(folder / "run")]
    record += ["--", *command]
    work = folder / "work"
    work.mkdir()
    environment = {**os.environ, "TRUTH_LOG": str(folder / "log"), "OMP_NUM_THREADS": str(threads)}
    _run(record, work, environment)
    shutil.rmtree(work)


def _run(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> None:
    """Run a command quietly."""
    if shutil.which(command[0]) is None:
        raise NotRecorded(f"{command[0]} is not installed")
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LONGEST_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise NotRecorded(f"{command[0]} took longer than {LONGEST_S} s") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise NotRecorded(f"{Path(command[0]).name} failed with {done.returncode}: {last}")
