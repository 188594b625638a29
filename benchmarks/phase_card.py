"""The cost of all that a phase's card is made of: `record --all`, `--io` and `--memory` on real programs.

usage: python benchmarks/phase_card.py [--pairs N] [--only WORD] [--repeat N] [--flag=--io] [--alone]

Programs run in turn, with and without, and the ratio of each pair is taken: of the CPU time of all threads, the
recorder's included, and of the elapsed time. Then follow the
medians over the programs. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.bed import Bed
from benchmarks.measure import Command, Ratio, run
from incprof.record import launch
from incprof.record.settings import switched_on

NOTHING, WITHOUT = "no recording", "a recording without it"
# Against what each is measured, and the bar.
BARS = {("--all", NOTHING): 1.02, ("--all", WITHOUT): 1.02, ("--io", WITHOUT): 1.01, ("--memory", WITHOUT): 1.02}
BASELINES: dict[str, dict[str, str] | None] = {NOTHING: None, WITHOUT: {}}
# The programs of the first bar: each runs some seconds, as the budget of a recording is for.
FIVE = ("compiler", "json", "sqlite3", "stencil", "numpy")
ROWS = 200_000
PIPELINE = (
    "import csv, json, sys\n"
    "for _ in range(int(sys.argv[1])):\n"
    "    with open('data.csv', newline='') as file: rows = sorted(csv.reader(file), key=lambda row: row[1])\n"
    "    groups = {}\n"
    "    for key, value, other in rows: groups.setdefault(key, []).append(float(value) * float(other))\n"
    "    with open('groups.json', 'w') as file: json.dump(groups, file)\n"
)
JSON = (
    "import json, sys\n"
    "text = json.dumps([{'key': i, 'name': str(i) * 3, 'values': list(range(20))} for i in range(300)])\n"
    "for _ in range(1000 * int(sys.argv[1])): text = json.dumps(json.loads(text))\n"
    "print(len(text))\n"
)
NUMPY = (
    "import sys, numpy as np\n"
    "rows = np.loadtxt('data.csv', delimiter=',', max_rows=50_000)\n"
    "for step in range(120 * int(sys.argv[1])):\n"
    "    order = np.argsort(rows[:, 1], kind='stable')\n"
    "    keys, group = np.unique(rows[order, 0], return_inverse=True)\n"
    "    sums = np.bincount(group, weights=rows[order, 1] * rows[order, 2])\n"
    "    waves = np.fft.rfft(rows[:, 1].reshape(-1, 500), axis=1)\n"
    "    left, values, right = np.linalg.svd(rows[:2000], full_matrices=False)\n"
    "    smooth = np.convolve(rows[:, 2], np.ones(50) / 50, 'same')\n"
    "    np.save('sums.npy', sums)\n"
    "print(sums.sum(), abs(waves).max(), values, smooth.mean())\n"
)
SQL = (
    "create table t(a,b,c);\n.mode csv\n.import data.csv t\n"
    "select a, sum(b * c) from t group by a order by 2 limit 3;\ncreate index i on t(b);\n"
    "select count(distinct b), max(length(a || b || c)) from t;\n"
)


def programs(bed: Bed, repeat: int) -> dict[str, Command | None]:
    """Return the commands, each of some seconds; None for programs that are not installed."""
    (bed.scratch / "data.csv").write_text(
        "".join(f"{row % 9973},{row * 7919 % 100003},{row * 7 % 1001}\n" for row in range(ROWS))
    )
    source = "#include <map>\n#include <string>\n" + "".join(
        f"std::map<std::string, int> m{i}; int f{i}() {{ return ++m{i}[std::to_string({i})]; }}\n"
        for i in range(100 * repeat)
    )
    (bed.scratch / "source.cpp").write_text(source)
    (bed.scratch / "script.sql").write_text(
        2 * repeat * SQL.replace("create table t", "drop table if exists t;create table t")
    )
    compiler = (
        shutil.which("g++")
        and subprocess.run(
            ["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True
        ).stdout.strip()
    )
    if compiler:
        subprocess.run(["g++", "-E", "source.cpp", "-o", "source.ii"], cwd=bed.scratch, check=True)
    paths = {name: shutil.which(name) for name in ("sqlite3", "sort", "xz")}
    return {
        "compiler": compiler and [compiler, "-quiet", "-O2", "-fpreprocessed", "source.ii", "-o", "source.s"],
        "json": [sys.executable, "-E", "-s", "-c", JSON, str(repeat)],
        "numpy": [sys.executable, "-E", "-s", "-c", NUMPY, str(repeat)],
        "stencil": [str(bed.compile("stencil.c", pg=False)), "1000", str(500 * repeat)],
        "python": [sys.executable, "-E", "-s", "-c", PIPELINE, str(repeat)],
        "sqlite3": paths["sqlite3"] and [paths["sqlite3"], ":memory:", ".read script.sql"],
        "sort": paths["sort"] and [paths["sort"], "-t,", "-k2n", "-S4M", *repeat * ["data.csv"], "-osorted.csv"],
        "xz": paths["xz"] and [paths["xz"], "-kfT2", "--block-size=1MiB", f"-{min(repeat, 6)}", "data.csv"],
    }  # fmt: skip


FLAGS = {"--all": switched_on({}), "--io": {"io": "1"}, "--memory": {"memory": "512K"}}


def environment(bed: Bed, command: Command, flags: Mapping[str, str] | None) -> dict[str, str]:
    """Return the variables with which a command records itself; None: it does not."""
    shutil.rmtree(bed.scratch / "run", ignore_errors=True)
    if flags is None:
        return dict(os.environ)
    own = {"INCPROF_DIR": str(bed.scratch / "run"), "INCPROF_EXE": os.path.realpath(command[0])}
    return {**os.environ, **launch.recording_variables(flags, os.environ), **own}


def measure(bed: Bed, command: Command, flag: str, baseline: Mapping[str, str] | None) -> tuple[Ratio, Ratio]:
    """Compare a recording with a flag with the baseline, by CPU time and by elapsed time; the order alternates."""
    sides = FLAGS[flag], baseline
    times = [list[tuple[float, float]](), list[tuple[float, float]]()]
    for pair in range(-1, bed.pairs):  # the first is not measured
        for side in (0, 1) if pair % 2 == 0 else (1, 0):
            usage = run(command, bed.scratch, environment(bed, command, sides[side]))
            if pair >= 0:
                times[side].append((usage.cpu_s, usage.elapsed_s))
    return tuple(
        Ratio(tuple(ours[of] / theirs[of] for ours, theirs in zip(*times, strict=True)),
              min(each[of] for each in times[0]) / min(each[of] for each in times[1]))
        for of in (0, 1)
    )  # fmt: skip


def main() -> int:
    """Print a Markdown table; exit code 0 even if a bar is missed: the number is the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=7, help="pairs per ratio (default 7)")
    parser.add_argument("--only", default="", help="programs whose name contains this word")
    parser.add_argument("--repeat", type=int, default=4, help="how often programs repeat their work (default 4)")
    parser.add_argument("--flag", choices=list(FLAGS), help="this one only")
    parser.add_argument("--alone", action="store_true", help="against no recording only")
    args = parser.parse_args()
    print("| recording | program | against | CPU time | elapsed |\n|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        bed = Bed(Path(scratch).resolve(), args.pairs)
        commands = {name: command for name, command in programs(bed, args.repeat).items() if args.only in name}
        for (flag, peer), bar in BARS.items():
            if args.flag not in (None, flag) or (args.alone and peer != NOTHING):
                continue
            medians = list[float]()
            for name, command in commands.items():
                if peer == NOTHING and name not in FIVE:
                    continue
                if command is None:
                    print(f"| `{flag}` | {name} | {peer} | not installed | - |", flush=True)
                    continue
                cpu, elapsed = measure(bed, command, flag, BASELINES[peer])
                medians.append(cpu.median)
                print(f"| `{flag}` | {name} | {peer} | {cpu.text(4)} | {elapsed.text(4)} |", flush=True)
            median = statistics.median(medians)
            verdict = "met" if median <= bar else "**missed**"
            print(f"| `{flag}` | median | {peer} | {median:.4g}x; at most {bar:g}x: {verdict} | |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
