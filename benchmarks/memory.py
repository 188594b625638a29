"""The cost of `record --memory`: per allocation, of whole programs, and beside heaptrack and memray."""

from __future__ import annotations

import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import partial

from benchmarks.bed import HERE, Bed
from benchmarks.measure import Command, Result, compare, run
from incprof.record import launch

BAR = 1.02
PAIR_BAR_NS = 2.0
TIMES = "20000000"
# With so much work in each iteration it takes 100 ns: 10 million allocations a second.
ITERATION_NS = 100
PYTHON = (
    "import json\n"
    "rows = [{'key': i, 'name': str(i), 'values': [i, i * .5, str(i) * 3]} for i in range(60000)]\n"
    "for _ in range(3): rows = json.loads(json.dumps(rows))\n"
    "words = ' '.join(row['name'] for row in rows).split()\n"
    "lines = [bytearray(1 + i % 3000) for i in range(200000)]\n"
)
SQL = (
    "with recursive t(a) as (select 1 union all select a + 1 from t where a < 300000) "
    "select count(*), sum(length(b)) from (select distinct a * 7919 % 100003 as k, printf('%d-%d', a, a * a) as b "
    "from t) group by k % 1000 order by 2 desc limit 3;"
)
SOURCE = "#include <algorithm>\n#include <map>\n#include <regex>\n#include <string>\n#include <vector>\n" + "\n".join(
    f"std::map<std::string, std::vector<int>> m{i}; int f{i}() {{ m{i}[std::string(\"a\")].push_back({i}); "
    f"std::sort(m{i}[\"a\"].begin(), m{i}[\"a\"].end()); return (int)m{i}.size(); }}"
    for i in range(40)
)  # fmt: skip


def benchmarks(bed: Bed) -> Iterable[tuple[str, Callable[[], Result | list[Result]]]]:
    """Yield name and measurement of each benchmark."""
    for how in ("malloc", "calloc", "realloc", "new"):
        yield f"memory-pair-{how}", partial(pair, bed, how)
    yield "memory-rate", partial(rate, bed)
    for name in ("python", "compiler", "sqlite3"):
        yield f"memory-{name}", partial(of_program, bed, name)


def _environment(bed: Bed, command: Command, with_memory: bool | None) -> dict[str, str]:
    """Return the variables for a command that is recorded with or without --memory, or not (None)."""
    if with_memory is None:
        return dict(os.environ)
    collector = launch.find_library(os.environ)
    beside = f":{collector.with_name(launch.MEMORY_LIBRARY)}" if with_memory else ""
    return bed.environment(exe=os.path.realpath(command[0])) | {"LD_PRELOAD": f"{collector}{beside}"}


def _program(bed: Bed) -> str:
    program = bed.scratch / "allocations"
    source = HERE / "programs" / "allocations.cpp"
    subprocess.run(["g++", "-O2", "-g", "-fno-builtin", str(source), "-o", str(program)], check=True)
    return str(program)


def _iteration_ns(bed: Bed, command: Command, with_memory: bool | None) -> float:
    return float(run(command, bed.scratch, _environment(bed, command, with_memory)).output)


def pair(bed: Bed, how: str) -> Result:
    """Measure what a pair of an allocation and a release of some 50 bytes adds, samples included."""
    command = [_program(bed), how, TIMES, "0"]
    alone, recorded = list[float](), list[float]()
    for turn in range(bed.pairs):
        for with_memory in (None, True) if turn % 2 == 0 else (True, None):
            (alone if with_memory is None else recorded).append(_iteration_ns(bed, command, with_memory))
    added = [ours - theirs for ours, theirs in zip(recorded, alone, strict=True)]
    median = statistics.median(added)
    reached = f"{median:.2f} ns ({min(added):.2f} to {max(added):.2f}); alone {statistics.median(alone):.1f} ns"
    return Result(f"record --memory, a pair of {how} and its release", f"adds at most {PAIR_BAR_NS:g} ns", reached,
                  median <= PAIR_BAR_NS)  # fmt: skip


def rate(bed: Bed) -> list[Result]:
    """Compare a program that allocates 10 million times a second with itself recorded without --memory, and alone."""
    program, work = _program(bed), 1000
    alone_ns, with_work_ns = (
        _iteration_ns(bed, [program, "malloc", "1000000", each], None) for each in ("0", str(work))
    )
    work = round(work * (ITERATION_NS - alone_ns) / (with_work_ns - alone_ns))
    command = [program, "malloc", TIMES, str(work)]
    found = []
    for peer, with_memory in (("a recording without it", False), ("no recording", None)):
        ratio = compare(
            partial(_iteration_ns, bed, command, True), partial(_iteration_ns, bed, command, with_memory), bed.pairs
        )
        what = f"record --memory, 10 million allocations a second, against {peer}"
        found.append(Result(what, f"at most {BAR:g}x", f"{ratio.text(4)}", ratio.median <= BAR))
    return found


def _command(bed: Bed, name: str) -> Command | None:
    if name == "python":
        return [sys.executable, "-E", "-s", "-c", PYTHON]
    if name == "sqlite3":
        path = shutil.which(name)
        return None if path is None else [path, ":memory:", SQL]
    source, text = bed.scratch / "source.cpp", bed.scratch / "source.ii"
    source.write_text(SOURCE)
    compiler = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True)
    subprocess.run(["g++", "-E", str(source), "-o", str(text)], check=True)
    return [compiler.stdout.strip(), "-quiet", "-O1", "-fpreprocessed", str(text), "-o", "source.s"]


def of_program(bed: Bed, name: str) -> list[Result]:
    """Compare a program recorded with --memory with itself alone, recorded without it, and below other recorders."""
    command = _command(bed, name)
    if command is None:
        return [Result(f"record --memory, {name}", "-", f"not measured: no {name}", None)]
    found = []
    for peer, with_memory in (("no recording", None), ("a recording without it", False)):
        ratio = compare(partial(_cpu_s, bed, command, True), partial(_cpu_s, bed, command, with_memory), bed.pairs)
        what = f"record --memory, {name}, against {peer} (CPU time)"
        found.append(Result(what, f"at most {BAR:g}x", f"{ratio}", ratio.median <= BAR))
    return [*found, *_compare_recorders(bed, name, command)]


def _compare_recorders(bed: Bed, name: str, command: Command) -> Iterable[Result]:
    """Compare CPU times, those of their helpers included, with heaptrack's and, of a Python program, memray's."""
    peers: dict[str, Command | None] = {}
    heaptrack = shutil.which("heaptrack")
    peers["heaptrack"] = heaptrack and [heaptrack, "-o", str(bed.scratch / "heaptrack"), *command]
    if name == "python":
        script = bed.scratch / "program.py"
        script.write_text(PYTHON)
        memray = [sys.executable, "-m", "memray", "run", "-q", "-f", "-o", str(bed.scratch / "memray.bin"), str(script)]
        peers["memray"] = memray if importlib.util.find_spec("memray") else None
    for peer, traced in peers.items():
        what = f"record --memory, {name}, against {peer} (CPU time)"
        if traced is None:
            yield Result(what, "-", f"not measured: no {peer}", None)
            continue
        ratio = compare(partial(_cpu_s, bed, command, True), partial(_cpu_s, bed, traced, None), bed.pairs)
        yield Result(what, "less in every pair", f"{ratio}", max(ratio.of_pairs) < 1)


def _cpu_s(bed: Bed, command: Command, with_memory: bool | None) -> float:
    return run(command, bed.scratch, _environment(bed, command, with_memory)).cpu_s
