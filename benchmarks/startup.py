"""Start-up times of the command line: its help, the delay added by `incprof record`, answers about a short run."""

from __future__ import annotations

import functools
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks.bed import Bed
from benchmarks.measure import Command, Result, run
from benchmarks.report import write_run

INCPROF = Path(sys.executable).with_name("incprof")
FEWEST_PAIRS = 21
HELP_MS, RECORD_MS, ANSWER_MS = 150, 60, 1000
# A run of a minute. RUN stands for its directory.
MINUTE = 60
ANSWERS = {
    "phases": ["phases", "RUN"],
    "sites": ["sites", "RUN"],
    "top": ["top", "RUN", "--once"],
    "report": ["report", "RUN", "-o", "page.html", "--force"],
    "diff": ["diff", "RUN", "RUN"],
}


def benchmarks(bed: Bed) -> Iterable[tuple[str, Callable[[], Result | list[Result]]]]:
    """Yield name and measurement of each benchmark."""
    yield "start-help", lambda: _help(bed)
    yield "start-record", lambda: _record(bed)
    yield "start-collector", lambda: [_collector(bed), _collector(bed, "lmp")]
    for verb in ANSWERS:
        yield f"start-{verb}", functools.partial(_answer, bed, verb)


def _help(bed: Bed) -> Result:
    """Compare the help with the same interpreter doing nothing."""
    ours, bare = _pairs(bed, [INCPROF, "--help"], [sys.executable, "-c", ""])
    reached = f"{_spread(ours)}; Python that does nothing {_spread(bare)}"
    return Result("`incprof --help`", f"under {HELP_MS} ms", reached, statistics.median(ours) < HELP_MS)


def _record(bed: Bed) -> Result:
    """Measure the delay before the program starts, pair by pair."""
    ours, bare = _pairs(bed, [INCPROF, "record", "--", "true"], ["true"])
    added = [a - b for a, b in zip(ours, bare, strict=True)]
    reached = f"{_spread(added)} more than `true` alone"
    return Result(
        "`incprof record -- true`", f"adds under {RECORD_MS} ms", reached, statistics.median(added) < RECORD_MS
    )


def _collector(bed: Bed, like: str | None = None) -> Result:
    """Measure the CPU time of an empty program, recorded and not; linked to the libraries of another one."""
    source = bed.scratch / f"nothing-{like or 'alone'}.c"
    source.write_text("int main(void) { return 0; }\n")
    libraries = _libraries(like) if like is not None else []
    program = bed.compile(source, "-Wl,--no-as-needed", *libraries, pg=False)
    ours: list[float] = []
    bare: list[float] = []
    for pair in range(-1, max(bed.pairs, FEWEST_PAIRS)):
        alone = run([program], bed.scratch).cpu_s
        recorded = run([program], bed.scratch, bed.environment(exe="*", log="quiet")).cpu_s
        if pair >= 0:
            bare.append(1e3 * alone)
            ours.append(1e3 * (recorded - alone))
    what = (
        f"the collector's start and end, {f'{len(libraries) + 1} libraries' if libraries else 'libc alone'}, CPU time"
    )
    return Result(what, "-", f"{_spread(ours)}; the program alone {_spread(bare)}", None)


def _libraries(program: str) -> list[str]:
    """Return the paths of the libraries loaded for a program; empty where it is not installed."""
    path = shutil.which(program)
    listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout if path else ""
    found = (line.split() for line in listed.splitlines())
    return [words[2] for words in found if len(words) > 2 and words[2].startswith("/") and "libc.so" not in words[2]]


def _answer(bed: Bed, verb: str) -> Result:
    """Compare a whole answer with an interpreter that imports numpy."""
    directory = bed.scratch / "minute"
    shutil.rmtree(directory, ignore_errors=True)
    write_run(directory, MINUTE)
    words = [str(directory) if word == "RUN" else word for word in ANSWERS[verb]]
    ours, numpy = _pairs(bed, [INCPROF, *words], [sys.executable, "-c", "import numpy"], what="cpu_s")
    reached = f"{_spread(ours)}; Python that imports numpy {_spread(numpy)}"
    what = f"`incprof {' '.join(ANSWERS[verb])}` of a run of {MINUTE} intervals, CPU time"
    return Result(what, f"under {ANSWER_MS} ms", reached, statistics.median(ours) < ANSWER_MS)


def _pairs(bed: Bed, ours: Command, bare: Command, what: str = "elapsed_s") -> tuple[list[float], list[float]]:
    """Return milliseconds of two commands in turn, after one unmeasured run of each; the order alternates."""
    commands = (ours, bare)
    taken: tuple[list[float], list[float]] = ([], [])
    for pair in range(-1, max(bed.pairs, FEWEST_PAIRS)):
        for side in (0, 1) if pair % 2 == 0 else (1, 0):
            usage = run(commands[side], bed.scratch)
            if pair >= 0:
                taken[side].append(1e3 * getattr(usage, what))
    return taken


def _spread(values: list[float]) -> str:
    """Return `47.1 ms (46.0-52.3, 21 pairs)`: median, least, greatest."""
    return f"{statistics.median(values):.1f} ms ({min(values):.1f}-{max(values):.1f}, {len(values)} pairs)"
