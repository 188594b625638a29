"""The cost of `record --io`: beside no recording, beside a recording without it, and beside strace -c."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable
from functools import partial

from benchmarks.bed import Bed
from benchmarks.measure import Command, Result, Usage, compare, run
from incprof.record import launch

BAR, ADDED_BAR = 1.02, 1.01
ROWS = 400_000
PYTHON = (
    "import csv\n"
    "with open('data.csv', newline='') as file: rows = sorted(csv.reader(file))\n"
    "with open('copy.csv', 'w', newline='') as file: csv.writer(file).writerows(rows)\n"
)
# Programs that read and write, with what they do in this folder.
PROGRAMS: dict[str, list[str]] = {
    "sort": ["-t,", "-k2n", "-S", "4M", "data.csv", "-o", "sorted.csv"],
    "gzip": ["-kf1", "data.csv"],
    "sqlite3": [":memory:", "create table t(a,b,c);", ".mode csv", ".import data.csv t",
                "select a, sum(b*c) from t group by a order by 2;"],
    "awk": ["-F,", "{ sum[$1] += $2 * $3 } END { for (key in sum) print key, sum[key] > \"sums.txt\" }", "data.csv"],
    "python": ["-E", "-s", "-c", PYTHON],
    "dd": ["if=data.csv", "of=copy.csv", "bs=64"],
}  # fmt: skip


def benchmarks(bed: Bed) -> Iterable[tuple[str, Callable[[], Result | list[Result]]]]:
    """Yield name and measurement of each benchmark."""
    for name in PROGRAMS:
        yield f"io-{name}", partial(of_program, bed, name)


def of_program(bed: Bed, name: str) -> list[Result]:
    """Compare a program recorded with --io with itself alone, recorded without --io, and below strace -c."""
    what = f"record --io, {name}, against"
    path = sys.executable if name == "python" else shutil.which(name)
    if path is None:
        return [Result(f"{what} others", "-", f"not measured: no {name}", None)]
    data = bed.scratch / "data.csv"
    data.write_text("".join(f"{row % 9973},{row * 7919 % 100003},{row * 7 % 1001}\n" for row in range(ROWS)))
    command: Command = [path, *PROGRAMS[name]]
    found = []
    for peer, with_io, bar in (("no recording", None, BAR), ("a recording without it", False, ADDED_BAR)):
        ratio = compare(partial(_cpu_s, bed, command, True), partial(_cpu_s, bed, command, with_io), bed.pairs)
        found.append(Result(f"{what} {peer} (CPU time)", f"at most {bar:g}x", f"{ratio}", ratio.median <= bar))
    strace = shutil.which("strace")
    if strace is None:
        return [*found, Result(f"{what} strace -c", "-", "not measured: no strace", None)]
    traced: Command = [strace, "-f", "-c", "-o", str(bed.scratch / "strace.txt"), *command]
    ratio = compare(partial(_elapsed_s, bed, command, True), partial(_elapsed_s, bed, traced, None), bed.pairs)
    met = max(ratio.of_pairs) < 1
    return [*found, Result(f"{what} strace -c (elapsed)", "less in every pair", f"{ratio}", met)]


def _cpu_s(bed: Bed, command: Command, with_io: bool | None) -> float:
    return _usage(bed, command, with_io).cpu_s


def _elapsed_s(bed: Bed, command: Command, with_io: bool | None) -> float:
    return _usage(bed, command, with_io).elapsed_s


def _usage(bed: Bed, command: Command, with_io: bool | None) -> Usage:
    """Run a command, recorded with or without --io, or not (None)."""
    env = dict(os.environ)
    if with_io is not None:
        collector = launch.find_library(os.environ)
        beside = f":{collector.with_name(launch.IO_LIBRARY)}" if with_io else ""
        env = bed.environment(exe=os.path.realpath(command[0])) | {"LD_PRELOAD": f"{collector}{beside}"}
    return run(command, bed.scratch, env)
