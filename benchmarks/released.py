"""The libraries of the wheel beside those that this machine's compiler has made: calls, samples, heartbeats, kernels.

usage: python benchmarks/released.py WHEEL [--pairs N]
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from appekg import _library
from benchmarks.bed import HERE, Bed
from benchmarks.measure import compare, run
from incprof import launch
from incprof.readers import open_run, read_profile

KERNEL = """
import time
import numpy as np
from incprof.analysis.patterns import dtw
packed = dtw.pack([np.sin(np.arange(300.0) * (1 + i / 50)) for i in range(60)])
left, right = np.triu_indices(60, 1)
started = time.process_time()
dtw.distances(packed, left, right)
print(time.process_time() - started)
"""


def _recorded(bed: Bed, collector: Path, *command: str | Path, **settings: object) -> str:
    env = {**bed.environment(**settings), "LD_PRELOAD": str(collector)}
    return run(command, bed.scratch, env).output


def call(bed: Bed, program: Path, collector: Path) -> float:
    """Nanoseconds of a call, as the program says."""
    return float(_recorded(bed, collector, program, "20000000", "1"))


def sample(bed: Bed, program: Path, collector: Path) -> float:
    """Nanoseconds of the handler per sample, 20 frames deep."""
    _recorded(bed, collector, program, "20", "300", rate=200)
    profile = read_profile(open_run(str(bed.scratch / "run")))
    return float(profile.counters.handler_s.sum()) / len(profile.samples.time_s)


def pair(bed: Bed, program: Path, heartbeats: Path) -> float:
    """A pair of begin and end, in reads of the counter."""
    shutil.rmtree(bed.scratch / "ekg", ignore_errors=True)
    env = {**os.environ, "EKG_DIR": str(bed.scratch / "ekg"), "EKG_OVERHEAD": "0"}
    output = run([program, "reads", "60"], bed.scratch, {**env, "LD_LIBRARY_PATH": str(heartbeats.parent)}).output
    rows = [[float(word) for word in line.split()] for line in output.splitlines()]
    return statistics.median(ours / reads for reads, ours in rows)


def distances(bed: Bed, kernels: Path) -> float:
    """CPU seconds of 1 770 alignments."""
    env = {**os.environ, "INCPROF_NATIVE_LIB": str(kernels)}
    return float(run([sys.executable, "-c", KERNEL], bed.scratch, env).output)


def main() -> None:
    """Print a table of ratios: the wheel's against this machine's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--pairs", type=int, default=9)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        bed = Bed(Path(scratch), args.pairs)
        with zipfile.ZipFile(args.wheel) as wheel:
            wheel.extractall(bed.scratch / "wheel")
        given = bed.scratch / "wheel"
        collector, found = launch.find_library({}), _library.find(os.environ)
        calls, deep = bed.compile("calls.c"), bed.compile("deep.c", "-O1")
        beats = bed.scratch / "beats"
        include = f"-I{given / 'appekg' / 'include'}"
        source = str(HERE / "programs" / "beats_pairs.c")
        words = ["gcc", "-O2", "-g", include, source, str(found.library), "-o", str(beats), "-lpthread"]
        subprocess.run(words, check=True)
        rows: list[tuple[str, Callable[[Path], float], Path, Path]] = [
            ("a call", lambda library: call(bed, calls, library), Path("incprof/_lib/libincprof.so"), collector),
            ("a sample", lambda library: sample(bed, deep, library), Path("incprof/_lib/libincprof.so"), collector),
            ("a beat", lambda library: pair(bed, beats, library), Path("appekg/_lib/libappekg.so.1"), found.library),
            (
                "1 770 alignments",
                lambda library: distances(bed, library),
                Path("incprof/_lib/libincprof_native.so"),
                collector.with_name("libincprof_native.so"),
            ),
        ]
        print("| what | the wheel's against this compiler's |\n|---|---|")
        for what, measure, ours, peer in rows:
            ratio = compare(lambda m=measure, o=ours: m(given / o), lambda m=measure, p=peer: m(p), args.pairs)
            print(f"| {what} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
