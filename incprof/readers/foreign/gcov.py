"""A series of gcov's counters: executions of each line, and calls of each function, in each interval.

The counters contain no times, so executed lines stand in for time: an interval's time is divided among functions by the
number of their line executions in it. Calls are as counted.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from incprof.errors import IncprofError, NoDataError
from incprof.readers.foreign.foreign_files import MOST_BYTES, file_contents, in_order, understood
from incprof.readers.foreign.timeline import Frame, Imported, Paths, Timeline, place_series, regular_edges

DEFAULT_INTERVAL_S, TICK_S = 1.0, 0.01
JSON = (".gcov.json", ".gcov.json.gz", ".json", ".json.gz")
TIMEOUT_S = 600


class _Dump:
    """Counters of one dump: executions of lines, and calls of functions."""

    def __init__(self) -> None:
        self.lines: Counter[Frame] = Counter()
        self.calls: Counter[Frame] = Counter()

    def take(self, report: dict[str, Any]) -> None:
        """Add gcov's counters of one object file."""
        for file in report["files"]:
            path = str(file["file"])
            functions = {}
            for each in file["functions"]:
                name = str(each["name"])
                frame = Frame("", name, path, 0, path, int(each["start_line"]))
                functions[name] = frame
                self.calls[frame] += _count(each["execution_count"])
            for line in file["lines"]:
                owner = functions.get(line.get("function_name"))
                if owner is not None:
                    number = int(line["line_number"])
                    self.lines[owner._replace(line=number if 0 < number < 10**9 else 0)] += _count(line["count"])


def _count(value: Any) -> int:
    if not isinstance(value, int | float) or not 0 <= value < 2**63:
        raise ValueError("no count")
    return int(value)


def read_gcov(inputs: Sequence[str], interval_s: float | None, exe: str | None) -> Imported:
    """Read a series of dumps as a timeline: output files of `gcov --json-format`, or directories of .gcda with .gcno.

    interval_s: length of each interval. exe: name of the program.

    Raises: NoDataError if there are no counters; IncprofError if gcov is needed, and missing.
    """
    if len(inputs) == 1 and Path(inputs[0]).is_dir():
        inside = [str(entry) for entry in Path(inputs[0]).iterdir() if not entry.name.startswith(".")]
        parts = [path for path in inside if Path(path).is_dir() or path.endswith(JSON)]
        inputs = parts or inputs
    paths, length = in_order(inputs), interval_s or DEFAULT_INTERVAL_S
    dumps, grown = _differences([_dump(path) for path in paths])
    edges = regular_edges(len(dumps), length)
    timeline = Timeline(exe or "app", Paths(), TICK_S, edges_s=edges, ordered=False, calls={})
    calls: dict[tuple[int, Frame], int] = {}
    for number, dump in enumerate(dumps):
        whole_count = sum(dump.lines.values())
        stacks = [
            (*timeline.paths.add([frame]), length * count / whole_count)
            for frame, count in sorted(dump.lines.items())
            if count
        ]
        place_series(timeline, stacks, number * length, (number + 1) * length)
        calls |= {(number, frame): count for frame, count in dump.calls.items() if count}
    timeline.calls = calls
    if not len(timeline):
        raise NoDataError(f"{paths[0]}: no line was executed")
    notes = [
        f"a dump represents {length:g} s (-i); executed lines represent time, calls were counted",
        "counters grow from dump to dump: each dump counts from the one before"
        if grown
        else "counters restart at each dump",
    ]
    if len(dumps) == 1:
        notes.append("one dump is one interval: in a series each has a directory of its own, with .gcda and .gcno")
    return Imported("gcov-series", [timeline], notes)


def _differences(dumps: list[_Dump]) -> tuple[list[_Dump], bool]:
    """Return the differences between successive dumps, if no counter ever decreases; else the dumps themselves."""
    pairs = list(pairwise(dumps))
    grown = bool(pairs) and all(
        after.lines[key] >= count for before, after in pairs for key, count in before.lines.items()
    )
    if not grown:
        return dumps, False
    differences = [dumps[0]]
    for before, after in pairs:
        dump = _Dump()
        dump.lines, dump.calls = after.lines - before.lines, after.calls - before.calls
        differences.append(dump)
    return differences, True


def _dump(path: str) -> _Dump:
    """Return the counters of one dump."""
    dump = _Dump()
    if not Path(path).is_dir():
        texts = [file_contents(path)]
    else:
        files = sorted(str(entry) for entry in Path(path).rglob("*") if entry.is_file())
        texts = [file_contents(file) for file in files if file.endswith(JSON)]
        counters = [file for file in files if file.endswith(".gcda")]
        texts += [_run_gcov(counters, path)] if counters and not texts else []
    reports = [understood(path, "output of gcov --json-format", lambda t=t: _objects(t)) for t in texts]  # type: ignore[misc]
    for each in (one for several in reports for one in several):
        understood(path, "output of gcov --json-format", lambda each=each: dump.take(each))  # type: ignore[misc]
    if not dump.calls:
        raise NoDataError(f"{path}: contains no counters: give .gcda files beside their .gcno, or what gcov -j wrote")
    return dump


def _objects(text: bytes) -> list[dict[str, Any]]:
    """Return the concatenated JSON objects of a text."""
    objects, at, data = [], 0, text.decode("utf-8", "replace").strip()
    decoder = json.JSONDecoder()
    while at < len(data):
        one, end = decoder.raw_decode(data, at)
        objects.append(one)
        at = end + len(data[end:]) - len(data[end:].lstrip())
    return objects


def _run_gcov(files: Sequence[str], where: str) -> bytes:
    """Return gcov's output for counter files.

    Raises: IncprofError if it is not installed; NoDataError if it fails.
    """
    if shutil.which("gcov") is None:
        raise IncprofError("gcov is not installed: install gcc (the version that built the program)")
    command = ["gcov", "--json-format", "--stdout", *(str(Path(file).resolve()) for file in files)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise NoDataError(f"{where}: gcov could not read it") from error
    if done.returncode or len(done.stdout) > MOST_BYTES:
        messages = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise NoDataError(f"{where}: gcov: {messages[-1] if messages else 'failed'}")
    return done.stdout
