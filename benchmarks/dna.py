"""What `incprof dna` takes in time and memory, and how well it tells what this machine did: `python -m benchmarks.dna`.

scale: a day of many nodes, a row a second, in Parquet files; some differ, and the rest are links to them.
follow: a row of a live node.
real: this machine under a script of idle time, compiling, compressing, sorting, a copy over loopback and writing.
short: the same with sums, streams through memory, a copy over loopback and writing, 8 to 15 s each.
How often the answers are right on generated nodes: `python -m truth.nodes`.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

from benchmarks.simulated.day import day_of  # noqa: E402
from incprof.analysis.dna.learn import learn  # noqa: E402
from incprof.analysis.dna.live import Live  # noqa: E402
from incprof.analysis.dna.rates import counters_of  # noqa: E402
from truth.nodes.cases import known_program  # noqa: E402

DAY_S = 86400.0


def scale(nodes: int, different: int, seconds: float) -> None:
    """Time and memory of the command on many nodes."""
    with tempfile.TemporaryDirectory() as scratch:
        print(f"making {different} nodes of {seconds:.0f} rows", file=sys.stderr)
        files = [day_of(number, seconds, Path(scratch) / f"day{number:04}.parquet") for number in range(different)]
        paths = [Path(scratch) / f"node{number:04}.parquet" for number in range(nodes)]
        for number, path in enumerate(paths):
            path.symlink_to(files[number % different])
        command = [sys.executable, "-m", "incprof", "dna", "states", *map(str, paths)]
        begun, before = time.perf_counter(), os.times()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after, elapsed = os.times(), time.perf_counter() - begun
        busy = after.children_user + after.children_system - before.children_user - before.children_system
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
        print(f"{nodes} nodes x {seconds:.0f} rows: {elapsed:.1f} s, {busy:.1f} s of processors, {most:.2f} GiB")


def follow() -> None:
    """Time of a row of a live node."""
    known = known_program(0, elsewhere=False)
    alphabet = learn([each.series for each in known.runs], ["a"] * len(known.runs))
    table, times = counters_of(known.run.series, alphabet.scale.names), known.run.series.times
    live, took = Live(alphabet), []
    for at, row in zip(times.tolist(), table, strict=True):
        begun = time.perf_counter()
        live.feed(at, row)
        took.append(time.perf_counter() - begun)
    middle, most = 1e6 * np.quantile(took, [0.5, 0.99])
    print(f"follow: {len(took)} rows, {middle:.0f} us a row in the middle, 99 of 100 below {most:.0f} us")


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dna", description=__doc__)
    parser.add_argument("what", nargs="*", help="scale, follow, real, short (default: scale and follow)")
    parser.add_argument("--nodes", type=int, default=1024)
    parser.add_argument("--different", type=int, default=16, help="nodes that differ; the others are links to them")
    parser.add_argument("--seconds", type=float, default=DAY_S, help="of each node (a day)")
    parser.add_argument("--seed", type=int, default=1, help="of the order in which real and short do things")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where real and short leave what they recorded")
    args = parser.parse_args()
    what = args.what or ["scale", "follow"]
    if "scale" in what:
        scale(args.nodes, args.different, args.seconds)
    if "follow" in what:
        follow()
    from benchmarks.dna_real import real

    for word, day in (("real", "long"), ("short", "short")):
        if word in what:
            real(day, args.seed, args.keep)


if __name__ == "__main__":
    main()
