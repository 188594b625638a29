"""The conditions that a recorded host program and its recording must meet."""

from __future__ import annotations

import collections
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import appekg
from incprof.errors import IncprofError, NoDataError
from incprof.model import Process
from incprof.readers.run import open_run, read_profile
from soak.faults_draw import Fault
from soak.faults_run import Entry, Outcome
from soak.faults_scan import Scan, scan

MOST_MORE_KIB = 128 << 10
# Where the host has all locked that is mapped: what is kept for each of its threads is touched.
MOST_LOCKED_KIB = 1024 << 10
# Calls between the library's count and the host's: one of each thread that is at work when all ends.
IN_FLIGHT = 64
# Processes of a run that the reader is asked for; all are scanned.
MOST_READ = 3
OURS = (b"incprof: ", b"appekg: ")


def compare(
    alone: Outcome, recorded: Outcome, killed_by: Sequence[int] = (), more_kib: int = MOST_MORE_KIB
) -> Iterator[str]:
    """Compare the host's own behaviour. killed_by: signals that arrive at a moment that depends on timing."""
    for name, outcome in (("alone", alone), ("recorded", recorded)):
        for what in outcome.hung:
            yield f"hung {name}: {what}"
    if recorded.status in [-number for number in killed_by]:
        if not alone.stdout.startswith(recorded.stdout):
            yield f"stdout is no beginning of what it is alone: {_difference(alone.stdout, recorded.stdout)}"
    elif not recorded.hung:
        if recorded.status != alone.status:
            yield f"status {recorded.status}, alone {alone.status}"
        if recorded.stdout != alone.stdout:
            yield f"stdout differs: {_difference(alone.stdout, recorded.stdout)}"
    if recorded.peak_kib > alone.peak_kib + more_kib:
        yield f"{recorded.peak_kib >> 10} MiB, alone {alone.peak_kib >> 10} MiB"


def _difference(alone: bytes, recorded: bytes) -> str:
    """Return the first line that differs."""
    lines = [text.decode(errors="replace").splitlines() for text in (alone, recorded)]
    for one, other in zip(*lines, strict=False):
        if one != other:
            return f"'{other}' for '{one}'"
    return f"{len(lines[1])} lines for {len(lines[0])}"


def check_stderr(fault: Fault, alone: Outcome, recorded: Outcome, programs: int) -> Iterator[str]:
    """Check that each started program prints at most one line of ours, and one for each invalid setting."""
    lines = recorded.stderr.splitlines()
    ours = [line for line in lines if line.startswith(OURS)]
    theirs = [line for line in lines if not line.startswith(OURS)]
    if any(line not in alone.stderr.splitlines() for line in theirs) and not recorded.hung:
        yield f"stderr: {b' / '.join(theirs)[:300]!r}"
    if fault.setting("INCPROF_LOG") == "debug":
        return
    libraries = fault.build.counted + fault.build.beats
    each = collections.Counter(line for line in ours if b"_" not in line.split(b"=")[0])
    if each.total() > programs * libraries * 2 or any(number > programs * libraries for number in each.values()):
        yield f"{each.total()} lines of {programs} programs: {dict(each)}"
    if not fault.harmed and not fault.settings_speak and each.total() > programs * libraries:
        yield f"lines without a reason: {dict(each)}"


def addresses(program: Path, name: str = "tick") -> tuple[int, int]:
    """Return begin and end of a function."""
    listing = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        words = line.split()
        if words[-1] == name and len(words) == 4:
            return int(words[0], 16), int(words[0], 16) + int(words[1], 16)
    raise RuntimeError(f"soak: {program} has no {name}")


@dataclass
class Recorded:
    """The recording of a process: calls of `tick`, and whether all its files ended cleanly."""

    calls: int = 0
    clean: bool = True
    files: list[str] = field(default_factory=list)


def check_streams(
    fault: Fault, paths: Iterable[Path], killed: bool, tick: tuple[int, int], by_pid: dict[int, Recorded]
) -> Iterator[str]:
    """Check every stream, byte by byte. killed: a process may have been killed in the middle of a write."""
    for path in paths:
        found: Scan = scan(path, continues=fault.starts_programs)
        for wrong in found.wrong:
            yield f"{path.name}: {wrong}"
        if found.loose and not killed:
            yield f"{path.name}: {found.loose} bytes after the last complete interval"
        if found.pid is not None:
            record = by_pid.setdefault(found.pid, Recorded())
            record.calls += sum(count for to, count in found.calls.items() if tick[0] <= to < tick[1])
            record.clean &= found.clean
            record.files.append(path.name)


def check_reader(directory: Path, killed: bool) -> Iterator[str]:
    """Check that incprof reads what the scan has found."""
    if not any(directory.glob("*gmon*")):
        return
    for process in _processes(directory):
        name = Path(process.path).name
        try:
            profile = read_profile(open_run(directory), process=process, nameless=True)
        except IncprofError as error:
            if process.series or scan(Path(process.path)).intervals:
                yield f"{name}: not readable: {error}"
            continue
        if profile.damaged and not killed:
            yield f"{name}: {profile.warnings}"
        if not process.series and profile.n_intervals != len(scan(Path(process.path)).intervals):
            yield f"{name}: {profile.n_intervals} intervals read, {profile.warnings}"


def _processes(directory: Path) -> Sequence[Process]:
    """Return the processes of a run that got as far as their first image."""
    try:
        return open_run(directory).processes[:MOST_READ]
    except NoDataError:
        return ()


def check_calls(
    fault: Fault, ledger: Sequence[Entry], by_pid: Mapping[int, Recorded], orderly: int | None
) -> Iterator[str]:
    """Compare calls with the host's own counts: never more, and all where a process ended normally.

    orderly: pid of a process that must have ended cleanly, and be on record if it did something.
    """
    ticks: collections.Counter[int] = collections.Counter()
    for entry in ledger:
        ticks[entry.pid] += entry.ticks
    for pid, record in by_pid.items():
        if pid not in ticks:
            continue
        if record.calls > ticks[pid] + IN_FLIGHT:
            yield f"{record.calls} calls on record of {ticks[pid]}: {record.files}"
        if record.clean and not fault.loose and not fault.harmed and record.calls != ticks[pid]:
            yield f"{record.calls} calls on record of {ticks[pid]} in {record.files}"
    if orderly is not None and ticks[orderly] > 0:
        if orderly not in by_pid:
            yield "nothing on record"
        elif not by_pid[orderly].clean:
            yield f"no end: {by_pid[orderly].files}"


@dataclass
class Beats:
    """The recorded heartbeats of the processes, by pid, and whether all files of a process ended cleanly."""

    counts: collections.Counter[int] = field(default_factory=collections.Counter)
    clean: dict[int, bool] = field(default_factory=dict)


def read_beats(directory: Path, fault: Fault, found: Beats) -> Iterator[str]:
    """Add the content of a run directory."""
    if not any(directory.glob("*.ekg")):
        return
    try:
        run = appekg.read(directory)
    except appekg.AppekgError as error:
        if any(b"#interval" in path.read_bytes() for path in directory.glob("*.ekg")):
            yield f"{directory.name}: not readable: {error}"
        return
    for number, process in enumerate(run.processes):
        pid = process.metadata["pid"]
        found.counts[pid] += int(run.rows["count"][run.rows["process"] == number].sum())
        found.clean[pid] = found.clean.get(pid, True) and process.clean
    if run.damaged and not fault.harmed:
        yield f"{directory.name}: {run.warnings}"


def check_beats(fault: Fault, ledger: Sequence[Entry], found: Beats, orderly: int | None) -> Iterator[str]:
    """Check that there are as many heartbeats as the host has counted."""
    beats: collections.Counter[int] = collections.Counter()
    for entry in ledger:
        beats[entry.pid] += entry.beats
    if any(word.startswith("execbare") for word in fault.script):
        return  # a program that is not in the ledger has beats, too
    # A program loses its open interval when it execs another one.
    execs = any(action.name == "exec" for action in fault.actions)
    exact = not (execs or fault.loose or fault.harmed or fault.setting("EKG_RATE") or fault.setting("EKG_START"))
    for pid in found.counts.keys() & beats.keys():
        if found.counts[pid] > beats[pid] + IN_FLIGHT or (
            exact and found.clean[pid] and found.counts[pid] != beats[pid]
        ):
            yield f"{found.counts[pid]} heartbeats on record of {beats[pid]}"
    if orderly is not None and beats[orderly] and not found.clean.get(orderly, False):
        yield "no end of the heartbeats"
