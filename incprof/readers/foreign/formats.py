"""Detect the format of an input, and call its reader."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from incprof.errors import IncprofError, NoDataError, UsageError
from incprof.readers.foreign.firefox import read_firefox
from incprof.readers.foreign.foreign_files import (
    LONGEST_LINE,
    head_of,
    in_order,
    is_packed,
    lines_of,
    on_disk,
    series_of,
)
from incprof.readers.foreign.gcov import read_gcov
from incprof.readers.foreign.jfr import EVENTS, MOST_FRAMES, read_jfr
from incprof.readers.foreign.nsys import MAGIC as SQLITE
from incprof.readers.foreign.nsys import read_nsys
from incprof.readers.foreign.perf import TIME, read_perf_script
from incprof.readers.foreign.pprof import is_legacy, read_pprof
from incprof.readers.foreign.rocprof import is_kernel_trace, read_rocprof
from incprof.readers.foreign.simpleperf import MAGIC, read_simpleperf
from incprof.readers.foreign.speedscope import read_folded, read_speedscope
from incprof.readers.foreign.timeline import Imported
from incprof.readers.foreign.trace_events import read_cpuprofile, read_trace_events
from incprof.readers.run import CLASSIC, SERIES

PERF_FIELDS = "comm,pid,tid,time,period,event,ip,sym,dso"


@dataclass(frozen=True)
class ImportRequest:
    """Options of the user.

    Attributes:
        interval_s: length of an interval, seconds.
        rate_hz: samples per second of CPU time.
        exe: the program.
    """

    interval_s: float | None = None
    rate_hz: float | None = None
    exe: str | None = None


def _perf_script(inputs: Sequence[str], request: ImportRequest) -> Imported:
    with lines_of(inputs[0]) as lines:
        return read_perf_script(lines, inputs[0])


def _perf_data(inputs: Sequence[str], request: ImportRequest) -> Imported:
    package = "linux-perf (Debian), linux-tools (Ubuntu) or perf (Fedora)"
    # Otherwise perf looks up inlined functions at each address, which may take hours.
    options = ["--no-inline", "--no-demangle", "--show-lost-events", "-F", PERF_FIELDS]
    with (
        on_disk(inputs[0]) as path,
        _output_lines(["perf", "script", "-i", path, *options], package, inputs[0]) as lines,
    ):
        return read_perf_script(lines, inputs[0])


def _jfr(inputs: Sequence[str], request: ImportRequest) -> Imported:
    if not head_of(inputs[0]).startswith(b"FLR\0"):
        return read_jfr(inputs[0])
    command = ["jfr", "print", "--json", "--stack-depth", MOST_FRAMES, "--events", ",".join(EVENTS), inputs[0]]
    package = "a JDK, such as default-jdk-headless (Debian, Ubuntu) or java-latest-openjdk-devel (Fedora)"
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8", errors="surrogateescape") as file:
        with _output_lines(command, package, inputs[0]) as lines:
            file.writelines(lines)
        file.flush()
        return read_jfr(file.name, inputs[0])


@contextmanager
def _output_lines(command: Sequence[str], package: str, where: str) -> Iterator[Iterator[str]]:
    """Yield the output of a tool by the line.

    Raises: IncprofError if it is not installed; NoDataError if it fails.
    """
    if shutil.which(command[0]) is None:
        raise IncprofError(f"{where}: {command[0]} is needed to read it: install {package}")
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints, stdin=subprocess.DEVNULL)
        out = process.stdout
        assert out is not None
        try:
            lines = iter(lambda: out.readline(LONGEST_LINE), b"")
            try:
                yield (line.decode("utf-8", "surrogateescape") for line in lines)
            except NoDataError as error:
                if not process.wait():
                    raise
                raise NoDataError(f"{where}: {command[0]}: {_last_line(complaints)}") from error
        finally:
            out.close()
            process.kill()
            process.wait()


def _last_line(file: IO[bytes]) -> str:
    file.seek(0)
    lines = file.read(1 << 16).decode("utf-8", "replace").strip().splitlines()
    return lines[-1].strip() if lines else "it failed"


# Reader of each format, and whether the input is a series of files.
READERS: dict[str, tuple[Callable[[Sequence[str], ImportRequest], Imported], bool]] = {
    "perf-script": (_perf_script, False),
    "perf.data": (_perf_data, False),
    "folded-intervals": (lambda inputs, request: read_folded(inputs, request.interval_s, request.rate_hz), True),
    "pprof-series": (lambda inputs, request: read_pprof(inputs, request.interval_s, request.exe), True),
    "gcov-series": (lambda inputs, request: read_gcov(inputs, request.interval_s, request.exe), True),
    "jfr": (_jfr, False),
    "speedscope": (lambda inputs, request: read_speedscope(inputs[0], request.rate_hz), False),
    "cpuprofile": (lambda inputs, request: read_cpuprofile(inputs[0]), False),
    "trace-events": (lambda inputs, request: read_trace_events(inputs[0]), False),
    "simpleperf": (lambda inputs, request: read_simpleperf(inputs[0]), False),
    "firefox": (lambda inputs, request: read_firefox(inputs[0]), False),
    "nsys": (lambda inputs, request: read_nsys(inputs[0]), False),
    "rocprofv3": (lambda inputs, request: read_rocprof(*series_of(inputs)), True),
}
FORMATS = (*READERS, "gmon-dir")
FOLDED = re.compile(r"\S[^\n]* \d+(\.\d+)?\s*(\n|\Z)")
FRAME_BELOW = re.compile(r"\s+[0-9a-f]{1,16} \S")


def read(inputs: Sequence[str], kind: str, request: ImportRequest) -> Imported:
    """Read inputs of one format.

    Raises: UsageError for several inputs if the format takes one; NoDataError if they do not have this format.
    """
    reader, series = READERS[kind]
    if len(inputs) > 1 and not series:
        raise UsageError(f"{kind}: one file is one run; import {inputs[1]} into a directory of its own")
    return reader(inputs, request)


def detect_format(inputs: Sequence[str]) -> str:
    """Return the format of the first input, by its contents.

    Raises: UsageError if the format is unknown; NoDataError if the input cannot be read.
    """
    first = inputs[0]
    if first == "-":
        return "perf-script"
    if Path(first).is_dir():
        return _of_directory(Path(first), first)
    if Path(first).name.endswith(".gcda"):
        raise UsageError(f"{first}: give the directories that hold the counters, one for each dump")
    kind = _of_bytes(first)
    if kind is None:
        raise UsageError(f"{first}: it does not begin like any of these formats: {', '.join(FORMATS)} (see --from)")
    return kind


def _of_directory(path: Path, shown: str) -> str:
    names = sorted(entry.name for entry in path.iterdir())
    if any(SERIES.fullmatch(name) or CLASSIC.fullmatch(name) for name in names):
        return "gmon-dir"
    if any(name.endswith((".gcda", ".gcov.json", ".gcov.json.gz")) for name in names):
        return "gcov-series"
    files = in_order([str(path / name) for name in names if not name.startswith(".")])
    if files and Path(files[0]).is_dir():
        return _of_directory(Path(files[0]), shown)
    kind = _of_bytes(files[0]) if files else None
    if kind is None:
        raise UsageError(f"{shown}: contains none of the formats {', '.join(FORMATS)}: see --from")
    return kind


def _of_bytes(path: str) -> str | None:
    """Return the format of a file."""
    head = head_of(path)
    if head.startswith((b"PERFILE2", b"2ELIFREP")):
        return "perf.data"
    if head.startswith(b"FLR\0"):
        return "jfr"
    if head.startswith(SQLITE):
        return "nsys"
    if head.startswith(MAGIC):
        return "simpleperf"
    if is_legacy(head):
        return "pprof-series"
    if head.lstrip().startswith((b"{", b"[")):
        return _of_json(path, head)
    if head[:1] != b"\x0a" and b"\0" not in head and (kind := _of_text(head.decode("utf-8", "replace"))):
        return kind
    return "pprof-series" if is_packed(path) or head[:1] == b"\x0a" else None


def _of_text(text: str) -> str | None:
    """Return the format of a text: perf's has a time in the head of a sample, and frames below; or at least frames."""
    if is_kernel_trace(text):
        return "rocprofv3"
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if any(TIME.search(line) or FRAME_BELOW.match(line) for line in lines[:8]):
        return "perf-script"
    return "folded-intervals" if FOLDED.match(text) else None


def _of_json(path: str, head: bytes) -> str | None:
    """Return the format of a JSON file, by the words at its beginning, then by those further on."""
    for text in (head, head_of(path, 1 << 20)):
        for kind, words in (
            ("speedscope", (b"speedscope.app/file-format-schema",)),
            ("firefox", (b'"preprocessedProfileVersion"', b'"stackTable"', b'"gcpoison"')),
            ("trace-events", (b'"traceEvents"', b'"ph"')),
            ("jfr", (b'"jdk.',)),
            ("cpuprofile", (b'"functionName"',)),
            ("gcov-series", (b'"gcc_version"',)),
            ("speedscope", (b'"shared"',)),
        ):
            if any(word in text for word in words):
                return kind
    return None
