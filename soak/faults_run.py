"""Run a host program to its end, and collect all that it leaves: processes, files, output."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

SLOT = struct.Struct("<3q40x")
SLOTS = 4096


@dataclass(frozen=True)
class Entry:
    """A program in a process: its calls of `tick`, and its heartbeats."""

    pid: int
    ticks: int
    beats: int


def new_ledger(path: Path) -> None:
    """Create an empty ledger that any user may write."""
    with path.open("wb") as file:
        file.truncate(SLOT.size * SLOTS)
    path.chmod(0o666)


def entries(path: Path) -> Iterator[Entry]:
    """Return the programs in the order in which they started."""
    data = path.read_bytes()
    (taken, _, _) = SLOT.unpack_from(data, 0)
    for number in range(1, min(taken + 1, SLOTS)):
        yield Entry(*SLOT.unpack_from(data, number * SLOT.size))


# What takes longer has hung. Nothing that is run here takes a second by itself.
PATIENCE_S = 90.0
STOPPED_S = 0.02
PR_SET_CHILD_SUBREAPER = 36


@dataclass
class Outcome:
    """Result of a program. status: as of `subprocess`. peak_kib: of the largest process. hung: what it was doing."""

    status: int
    stdout: bytes
    stderr: bytes
    peak_kib: int
    seconds: float
    hung: list[str] = field(default_factory=list)
    pid: int = 0


def adopt_orphans() -> None:
    """Make this process the parent of orphaned descendants, and disable core dumps."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _children() -> list[int]:
    """Return the child processes of this one."""
    found = []
    for path in Path("/proc/self/task").glob("*/children"):
        found += [int(word) for word in path.read_text().split()]
    return found


def _about(pid: int) -> str:
    """Describe what a process and its threads are doing, for the finding."""
    lines = []
    for task in Path(f"/proc/{pid}/task").glob("*"):
        words = [task.name]
        for name in ("comm", "wchan", "syscall", "stack"):
            try:
                words.append((task / name).read_text().strip().replace("\n", " < "))
            except OSError as error:
                words.append(f"{name}: {error.strerror}")
        status = (task / "status").read_text().splitlines()
        words += [" ".join(line.split()) for line in status if line.startswith(("State", "SigBlk", "SigPnd"))]
        lines.append("; ".join(words))
    return "\n".join(lines)


def _wait(pid: int, deadline: float) -> tuple[int, int] | None:
    """Return status and peak memory of a child, or None if it has not ended in time. A stopped child is continued."""
    pause = 0.0005
    while time.monotonic() < deadline:
        done, status, usage = os.wait4(pid, os.WNOHANG | os.WUNTRACED)
        if done == 0:
            time.sleep(pause)
            pause = min(pause * 1.2, 0.01)
        elif os.WIFSTOPPED(status):
            time.sleep(STOPPED_S)
            os.kill(pid, signal.SIGCONT)
        else:
            return os.waitstatus_to_exitcode(status), usage.ru_maxrss
    return None


def _end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def run_host(words: Sequence[str | Path], place: Path, env: Mapping[str, str]) -> Outcome:
    """Run a program in `place` until it and all that it started have ended; kill and report processes that hang."""
    start, hung = time.monotonic(), []
    with (place / "stdout").open("ab") as stdout, (place / "stderr").open("ab") as stderr:
        process = subprocess.Popen(
            [str(word) for word in words],
            cwd=place,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
    ended = _wait(process.pid, start + PATIENCE_S)
    if ended is None:
        hung.append(_about(process.pid))
        _end(process.pid)
    status, peak_kib = ended or (-int(signal.SIGKILL), 0)
    process.returncode = status
    while children := _children():
        left = _wait(children[0], time.monotonic() + PATIENCE_S)
        if left is None:
            hung.append("left behind: " + _about(children[0]))
            _end(children[0])
        else:
            peak_kib = max(peak_kib, left[1])
    out, err = (place / "stdout").read_bytes(), (place / "stderr").read_bytes()
    return Outcome(status, out, err, peak_kib, time.monotonic() - start, hung, process.pid)
