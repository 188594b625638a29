"""Reads and writes of a program in the output of `strace -f`: the oracle for what the kernel counts."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.collector import clean_environment

READING = {"read", "pread64", "readv", "preadv", "preadv2"}
WRITING = {"write", "pwrite64", "writev", "pwritev", "pwritev2"}
BOTH = {"sendfile", "copy_file_range"}
# The kernel counts a call once it has a descriptor that can be read or written, and memory for it.
NOT_COUNTED = ("EBADF", "EFAULT", "EINVAL")
LINE = re.compile(r"(\d+)\s+(.*)")
RESUMED = re.compile(r"<\.\.\. (\w+) resumed>(.*)")
RESULT = re.compile(r"= (-?\d+)(?: \(.*\)| E\w+ \(.*\))?$")
# The recording begins with this; its last word before it was read itself.
MARK = '"/proc/self/io"'


@dataclass
class Counted:
    """Bytes and calls."""

    read_b: int = 0
    written_b: int = 0
    reads: int = 0
    writes: int = 0

    def add(self, name: str, result: int) -> None:
        """Add a call that returned `result`; a copy within the kernel counts unless there is nothing to copy."""
        if name == "copy_file_range" and result == 0:
            return
        if name in READING | BOTH:
            self.read_b += max(result, 0)
            self.reads += 1
        if name in WRITING | BOTH:
            self.written_b += max(result, 0)
            self.writes += 1


def traced(command: Sequence[str | Path], place: Path, env: Mapping[str, str]) -> Path:
    """Run a command below strace, and return the log; skip where that cannot be."""
    log = place / "strace.log"
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    words = ["strace", "-f", "-o", str(log), *(word for item in env.items() for word in ("-E", "=".join(item)))]
    done = subprocess.run(
        [*words, *map(str, command)], cwd=place, capture_output=True, text=True, env=clean_environment(), timeout=600
    )
    if "Operation not permitted" in done.stderr or "PTRACE" in done.stderr:
        pytest.skip("strace is not permitted here")
    assert done.returncode == 0, done.stderr
    return log


def calls(log: Path) -> list[tuple[int, str, str, int]]:
    """Return thread, name, text and result of each call, in the order in which they ended."""
    begun: dict[int, str] = {}
    found = []
    for line in log.read_text(errors="replace").splitlines():
        if (match := LINE.fullmatch(line)) is None:
            continue
        tid, text = int(match[1]), match[2]
        if text.endswith("<unfinished ...>"):
            begun[tid] = text.removesuffix("<unfinished ...>")
            continue
        if (resumed := RESUMED.fullmatch(text)) is not None:
            text = begun.pop(tid, "") + resumed[2]
        if (result := RESULT.search(text)) is not None:
            found.append((tid, text.partition("(")[0], text, int(result[1])))
    return found


def of_application(log: Path) -> Counted:
    """Return what the process recorded first has read and written since its recording began.

    Threads of the collector have its name; children, which are processes, are left out.
    """
    found, mine, collectors, main = Counted(), set[int](), set[int](), None
    own_reading = False
    for tid, name, text, result in calls(log):
        if main is None:
            if name == "openat" and MARK in text and "incprof" not in text:
                main, own_reading = tid, True
                mine.add(tid)
            continue
        if name in ("clone", "clone3", "fork", "vfork") and tid in mine and "CLONE_THREAD" in text:
            mine.add(result)
        elif name == "prctl" and "PR_SET_NAME" in text and "incprof" in text:
            # It may say its name before the call that has made it returns.
            collectors.add(tid)
        elif own_reading and tid == main and name == "pread64":
            own_reading = False
        elif tid in mine - collectors and not any(error in text for error in NOT_COUNTED):
            found.add(name, result)
    return found
