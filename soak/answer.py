"""Run a command of incprof in this process, and check its output and status."""

from __future__ import annotations

import ctypes
import json
import os
import re
import resource
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from incprof.cli.main import main
from soak.readers import READERS, read


class Capture:
    """Capture stdout and stderr in memory, including output from C, while the body runs."""

    def __enter__(self) -> Capture:
        self._before = [os.dup(number) for number in (1, 2)]
        self._files = [os.memfd_create(name) for name in ("stdout", "stderr")]
        self._put(self._files)
        # As a program has them that is started where texts are UTF-8.
        self._streams = sys.stdout, sys.stderr
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.stdout.close()
        sys.stderr.close()
        sys.stdout, sys.stderr = self._streams
        self._put(self._before)
        for file in (*self._files, *self._before):
            os.close(file)

    def take(self) -> tuple[bytes, bytes]:
        """Return what was written since the last call."""
        sys.stdout.flush()
        sys.stderr.flush()
        found = []
        for file in self._files:
            found.append(os.pread(file, os.lseek(file, 0, os.SEEK_CUR), 0))
            os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)
        return found[0], found[1]

    def _put(self, files: list[int]) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, file in enumerate(files, 1):
            os.dup2(file, number)


LIMIT_MIB, LIMIT_TIMES = 64, 16
LIMIT_CPU_S = 10
M_ARENA_MAX = -8  # of glibc's mallopt


def cpu_used() -> float:
    """Return user and system time of this process, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def one_arena() -> None:
    """Let all threads of this process allocate from one arena.

    Else each new one reserves 64 MiB of addresses, which are no memory, but count as such.
    """
    ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


@contextmanager
def limits(size: int) -> Iterator[None]:
    """Limit memory to 16 times that many bytes plus 64 MiB; end this process by SIGXCPU after 10 s of CPU time."""
    before = {what: resource.getrlimit(what) for what in (resource.RLIMIT_AS, resource.RLIMIT_CPU)}
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft = {
        resource.RLIMIT_AS: mapped + LIMIT_TIMES * size + (LIMIT_MIB << 20),
        resource.RLIMIT_CPU: int(cpu_used()) + LIMIT_CPU_S + 1,
    }
    for what, value in soft.items():
        resource.setrlimit(what, (value, before[what][1]))
    try:
        yield
    finally:
        for what, pair in before.items():
            resource.setrlimit(what, pair)


STATUSES = range(6)  # done, failure, usage, gate, no data, partial data
MOST_LINES, LONGEST_LINE = 12, 8192  # on stderr
# What sets text, and does nothing else.
LAYOUT = re.compile("[\n\t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
# What is written as it is: files for other programs, and patches, which hold the bytes of the user's source.
RAW = {"gprof", "parquet", "instrument"}


@dataclass(frozen=True)
class Answer:
    """status: negative if a signal ended the process. cpu_s: user and system time."""

    words: tuple[str, ...]
    status: int
    out: bytes = b""
    err: bytes = b""
    cpu_s: float = 0.0


def carry_out(words: Sequence[str]) -> int:
    """Run a reader, or a command line."""
    return read(words) if words[0] in READERS else main(list(words))


def run_limited(words: Sequence[str], size: int, capture: Capture) -> Answer:
    """Run a command within the limits for an input of that many bytes, which may end the process."""
    before = cpu_used()
    try:
        with limits(size):
            status = carry_out(words)
    except BaseException as error:
        status = 255
        print(f"Traceback: {type(error).__name__}: {str(error)!a}", file=sys.stderr)
    return Answer(tuple(words), status, *capture.take(), cpu_used() - before)


def _unprintable(text: bytes) -> str:
    """Return what must not be written to a terminal, or an empty text."""
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"no UTF-8: {text[max(error.start - 20, 0) : error.start + 20]!r}"
    bare = LAYOUT.sub("", decoded)
    return "" if bare.isprintable() else ascii(next(c for c in bare if not c.isprintable()))


def _json_trouble(answer: Answer) -> str:
    def refuse(word: str) -> float:
        raise ValueError(f"{word} is no JSON")

    try:
        value = json.loads(answer.out, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        return f"stdout is no JSON: {error}"
    return "" if isinstance(value, dict) and isinstance(value.get("schema"), str) else "no schema in the JSON"


def _stderr_faults(answer: Answer) -> list[str]:
    """Return the faults of stderr."""
    text = answer.err.decode("utf-8", "replace")
    lines = text.splitlines()
    found = []
    for pattern in ("Traceback", "internal error", "not enough memory", r"\b[A-Z]\w*Warning\b"):
        found += [line for line in lines if re.search(pattern, line)][:1]
    if len(lines) > MOST_LINES or any(len(line) > LONGEST_LINE for line in lines):
        found.append(f"{len(lines)} lines on stderr, the longest of {max(map(len, lines))}")
    if answer.status not in (0, 3) and not lines and not answer.out:
        found.append(f"status {answer.status} without a word")
    return found


def troubles(answer: Answer) -> list[str]:
    """Return the faults of an answer, one text each; empty if it is correct."""
    if answer.status < 0:
        return [f"ended by signal {-answer.status}"]
    found = _stderr_faults(answer)
    if not found and answer.status not in STATUSES:
        found.append(f"status {answer.status}")
    if answer.cpu_s > LIMIT_CPU_S:
        found.append(f"more than {LIMIT_CPU_S} s")
    if odd := _unprintable(answer.err):
        found.append(f"stderr is not printable: {odd}")
    if not RAW & set(answer.words) and (odd := _unprintable(answer.out)):
        found.append(f"stdout is not printable: {odd}")
    if "--json" in answer.words and not {"-h", "--help"} & set(answer.words) and answer.status in (0, 5):
        found += filter(None, [_json_trouble(answer)])
    return found
