"""Undamaged inputs of every kind: generated ones, the same everywhere, and ones built or recorded here once."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from incprof.cli.main import main
from incprof.record.launch import find_library
from soak.mutate_stream import HEADER
from soak.places import lay_out
from soak.subject import Tree, tree_of
from tests.unit.ekgfiles import EkgFile, beats, simple_run
from tests.unit.elfwriter import Symbol, elf_bytes
from tests.unit.incprof.readers.series.test_series import PERF, PERF_X
from tests.unit.incprof.systems.openmp.test_loop_file import RECORDS, TEXT
from tests.unit.profiles import two_phase_run
from tests.unit.streamwriter import (
    BASE,
    BROKEN,
    BUILD_ID,
    ELIDED,
    LIBRARY,
    MODULES,
    PROFILER,
    STEP,
    UNKNOWN,
    Sample,
    StreamWriter,
    arc,
    histogram,
    image,
    module,
)
from tests.unit.tracefile import BARRIER, KNOWN, Coder, Timed, block, counts, end, metadata, send, steady, trace

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "tests/recordings/zstd.tar.xz"
KEPT_IMAGES = 30
SOURCE = """#include <stdio.h>
#define TWICE(x) ((x) + (x))
static int solve(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        if (i % 3 == 0)
            continue;
        sum += TWICE(i);
    }
    return sum;
}
void write_out(int n) { do { printf("%d\\n", n); } while (--n > 0); }
int main(void)
{
    while (solve(3) < 0)
        write_out(2);
    return 0;
}
"""
PLUS = """#include <stdexcept>
#include <vector>
namespace mesh {
template <class T> inline T apply(const std::vector<T> &v) { T s{}; for (auto x : v) s += x; return s; } }
int main(int n, char **) { try { throw std::runtime_error("x"); } catch (const std::exception &) {}
    return static_cast<int>(mesh::apply(std::vector<double>(n, 1.5)) + mesh::apply(std::vector<int>(n, 2))); }
"""
BUILDS = (
    ("app.c", SOURCE, "gcc -O2 -g -pg"),
    ("app.c", SOURCE, "gcc -O0 -gdwarf-4 -pg -mfentry -no-pie"),
    ("app.c", SOURCE, "gcc -O2 -g -gz -shared -fPIC -pg"),
    ("app.c", SOURCE, "gcc -O2 -s -fno-asynchronous-unwind-tables"),
    ("app.cpp", PLUS, "g++ -O1 -g -pg"),
)
FORTRAN = b"""program main
  implicit none
  integer :: i
  do i = 1, 3
    call solve(i)
  end do
contains
  subroutine solve(n)
    integer, intent(in) :: n
    integer :: j
    outer: do j = 1, n
      if (j == 2) cycle outer
      print *, j
    end do outer
  end subroutine solve
end program main
"""
SAMPLES, LARGEST_SOURCE = 120, 20_000
SECONDS = 1.5
# source, how it is built, settings of the recording
EXAMPLES: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("phases.c", "gcc -O2 -g -pg {} -lm", {}),
    ("phases.c", "gcc -O0 -gdwarf-4 -gz -pg {} -lm", {"INCPROF_FORMAT": "gmon"}),
    ("mesh.cpp", "g++ -O2 -g -pg -std=c++17 {}", {}),
    ("heat.f90", "gfortran -O2 -g -pg {}", {}),
    ("omp.c", "gcc -O2 -g -pg -fopenmp {} -lm", {"INCPROF_CLOCK": "perf", "INCPROF_RATE": "1000"}),
)


def made(write: Callable[[Path], object], prefix: str = "run/") -> dict[str, bytes]:
    """Return the files that `write` creates in a directory."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name) / "made"
        directory.mkdir()
        write(directory)
        return tree_of(directory, prefix)


def varied(directory: Path) -> None:
    """Return a stream with every element of the format."""
    writer = StreamWriter(["main", "solve", "io", "_ZN4mesh5applyIdEEvRKSt6vectorIT_SaIS2_EE"], ranks=2)
    late = module(9, "/opt/libplugin.so", "ab" * 20, app=True)
    deep = ((0, writer.address("main")), (ELIDED, 0), *((0, writer.address("solve", i % 60)) for i in range(70)))
    for number in range(3):
        if number == 1:
            writer.data += image(MODULES, json.dumps([late]).encode(), interval=1)
        samples = [
            Sample("main;solve", weight=40 + number),
            Sample("main;io", LIBRARY, weight=10),
            Sample("main;solve;_ZN4mesh5applyIdEEvRKSt6vectorIT_SaIS2_EE", weight=7, thread=1),
            Sample("main;solve", PROFILER, weight=1),
            Sample("", UNKNOWN, weight=2),
            Sample(((BROKEN, 0), (0, writer.address("io")), (9, 0x40)), weight=3),
            Sample(deep, weight=5),
        ]
        arcs = {("main", "solve"): 5 << 31, ("", "main"): 1, ("solve", "solve"): 3}
        writer.interval(samples, arcs=arcs, duration_s=0.5 + number / 10)
    writer.end()
    writer.save(directory)


def ranks(directory: Path) -> None:
    """Return two ranks, and a process that one of them forked."""
    two_phase_run(directory, intervals=3, ranks=(0, 1))
    writer = StreamWriter(["main", "solve", "write_out"], rank=1, forked=True, pid=4712)
    writer.interval([Sample("main", weight=5)])
    writer.save(directory, "rank-00001.4712.gmon")


def runs() -> list[Tree]:
    """Return runs, small ones first, because most cases use these."""
    small = made(lambda directory: two_phase_run(directory, intervals=4))
    return [small, made(varied), made(ranks), made(lambda directory: two_phase_run(directory, intervals=12))]


def zstd_run() -> Tree:
    """Return the beginning of a recording of zstd."""
    tree = {}
    with tarfile.open(fileobj=io.BytesIO(KEPT.read_bytes())) as archive:
        for member in archive:
            file = archive.extractfile(member)
            tree[f"run/{member.name}"] = file.read() if file is not None else b""
    data, at = tree["run/rank-00000.gmon"], 0
    for _ in range(KEPT_IMAGES):
        at += HEADER.size + HEADER.unpack_from(data, at)[5]
    return tree | {"run/rank-00000.gmon": data[:at]}


def _record(number: int, place: Path) -> None:
    """Build an example and record its first moments. Leaves no files if no compiler for it is installed."""
    source, build, settings = EXAMPLES[number]
    program = place / "app"
    words = build.format(ROOT / "examples" / source).split()
    place.mkdir(parents=True)
    done = subprocess.run([*words, "-o", program], cwd=place, capture_output=True, check=False)
    if done.returncode != 0:
        return
    library = {
        "LD_PRELOAD": str(find_library(os.environ)),
        "INCPROF_DIR": str(place / "run"),
        "INCPROF_INTERVAL": "0.1",
    }
    with subprocess.Popen(
        [program], cwd=place, env=os.environ | library | settings, stdout=subprocess.DEVNULL
    ) as process:
        time.sleep(SECONDS)
        process.terminate()


def recorded_trees(scratch: Path) -> list[Tree]:
    """Return the recordings, with their program as `app`."""
    found = []
    for number, (source, _, _) in enumerate(EXAMPLES):
        place = scratch / "recordings" / f"{number}-{Path(source).stem}"
        if not place.exists():
            print(f"soak: recording {source}", file=sys.stderr)
            _record(number, place)
        if (place / "run").is_dir():
            found.append(tree_of(place))
    return found


def all_runs(scratch: Path) -> list[Tree]:
    """Return the generated runs, a few times each, and those recorded here."""
    return [*runs() * 6, zstd_run(), *recorded_trees(scratch)]


def with_source(tree: Tree) -> Tree:
    """Return the run with its source in src/, and the lines of its code looked up."""
    places = {f"{BASE + STEP * i + at:#x}": (name, line) for i, (name, line) in
              enumerate((("main", 16), ("solve", 6), ("write_out", 13))) for at in (0, 4, 0x10)}  # fmt: skip
    chains = {at: [["inner", "src/inner.h", 3], [name, "src/app.c", line]] for at, (name, line) in places.items()}
    stores = {
        f"run/symbols/{BUILD_ID}.json": json.dumps({"version": 2, "chains": chains}).encode(),
        "run/beat-cost.json": b'{"version": 1, "host": "here", "pair_ns": 40.0, "skipped_ns": 3.0}',
        "run/sources.json": json.dumps({"version": 1, "start_unix_ns": 0, "sha256": {"src/app.c": "00" * 32}}).encode(),
    }
    return {**tree, **stores, "src/app.c": SOURCE.encode(), "src/inner.h": b"static int inner(void) { return 3; }\n"}


def gmon_trees() -> list[Tree]:
    """Return gmon.out files, cumulative, and their program."""
    head = b"gmon" + (1).to_bytes(4, "little") + bytes(12)
    symbols = [Symbol(name, BASE + STEP * i) for i, name in enumerate(("main", "solve", "io"))]
    program = elf_bytes(symbols, build_id=BUILD_ID, text=(BASE, BASE + 3 * STEP))
    trees = []
    for width in (4, 2):
        tree: dict[str, bytes] = {"app": program}
        for number in range(3):
            counts = [(i * (number + 1)) % 500 for i in range(3 * STEP // width)]
            calls = arc(BASE + 0x11, BASE + STEP + 4, 7 * number) + b"\2" + (1).to_bytes(4, "little") + bytes(16)
            tree[f"run/gmon-{number}"] = head + histogram(BASE, counts, width=width) + calls
        trees.append(tree)
    meta = json.dumps(StreamWriter(["main", "solve", "io"], exe="app").metadata).encode()
    ours = {f"{path}.0" if path != "app" else path: data for path, data in trees[0].items()}
    return [*trees, {**ours, "run/gmon-meta.0.json": meta}]


def varied_beats(directory: Path) -> None:
    """Return a heartbeat file with every element of the format."""
    file = EkgFile(0, metadata={"pair_ns": 40.5, "skipped_ns": 3.0, "host": "node1", "argv": ["app", "-x"]})
    file.beat(1, "assemble:body").beat(2**32 - 1).thread(0, 4711).thread(7, 4712)
    file.interval(
        beats(0, 1, [5, 7, 10**8], pulses=3, nested_ns=4, running=(10**9, 3)), dropped=3, unmatched=1, clock="tsc"
    )
    file.interval()
    file.beat(1, "renamed", 10)
    file.interval(beats(7, 2**32 - 1, [2**40]), beats(0, 1, [1]), length_ns=123, lost_intervals=2, enabled=False)
    file.save(directory / "rank-00000.ekg")


def beat_runs() -> list[Tree]:
    """Return run directories in ekg/."""
    one = made(lambda directory: simple_run(directory, intervals=3), "ekg/")
    two = made(lambda directory: simple_run(directory, ranks=2, intervals=20), "ekg/")
    least = made(lambda directory: simple_run(directory, intervals=1), "ekg/")
    return [one, made(varied_beats, "ekg/"), least, two]


def loop_runs() -> list[Tree]:
    """Return loops of parallel regions, in sa/ and in one/."""
    more = "".join(json.dumps(record) + "\n" for record in [*RECORDS, *RECORDS[1:]]).encode()
    return [{"sa/rank-00000.sa": text, "one/rank-00000.sa": TEXT} for text in (TEXT, more)]


def history(directory: Path) -> None:
    """Return a history of three runs, as the command line stores it."""
    for number in range(3):
        lay_out(beat_runs()[0], directory / f"{number}")
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            status = main(["heartbeats", str(directory / f"{number}/ekg"), "--history", str(directory / "history")])
        if status != 0:
            raise RuntimeError(f"no history: {status}")
    for path in directory.rglob("*"):
        if path.is_file() and path.name != "history":
            os.unlink(path)


def _values() -> list[float]:
    dice = random.Random(1)
    return [round(1 + (i % 12 > 6) + dice.gauss(0, 0.03), 4) for i in range(SAMPLES)]


def texts() -> list[Tree]:
    """Return tables of text, and output of perf."""
    values = _values()
    tables = (
        "".join(f"{v}\n" for v in values),
        "time,ipc,cpu\n" + "".join(f"{i * 0.005:.3f},{v},{i % 3}\n" for i, v in enumerate(values)),
        "# made up\nt;a\n" + "".join(f"{i},0;{str(v).replace('.', ',')}\n" for i, v in enumerate(values)),
        "time_s\tx y\n" + "".join(f"{i}\t{v} 3\n" for i, v in enumerate(values[:20])),
        PERF * 20,
        PERF_X * 20,
    )
    return [{"series.csv": text.encode()} for text in tables]


def arrays() -> list[Tree]:
    """Return arrays of numpy."""
    values, trees = np.array(_values()), []
    for array in (
        values,
        values.astype(np.float32),
        np.stack([values, values]).T,
        (values * 9).astype("<i4"),
        values > 1.5,
    ):
        out = io.BytesIO()
        np.save(out, array)
        trees.append({"series.npy": out.getvalue()})
    return trees


def tables() -> list[Tree]:
    """Return Parquet files, if pyarrow is installed."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        return []
    trees = []
    columns = {"time": [i * 0.005 for i in range(SAMPLES)], "ipc": _values(), "name": ["x"] * SAMPLES}
    for compression in ("none", "snappy"):
        out = io.BytesIO()
        parquet.write_table(pa.table(columns), out, compression=compression)
        trees.append({"series.parquet": out.getvalue()})
    return trees


def programs(scratch: Path) -> list[Tree]:
    """Return small programs, built once on this machine."""
    symbols = [Symbol("main", 0x1000), Symbol("mcount", 0, 0), Symbol("_ZN4mesh5applyEv", 0x1100)]
    trees: list[Tree] = [{"app": elf_bytes(symbols, build_id="ab" * 20, text=(0x1000, 0x2000))}]
    for number, (name, source, build) in enumerate(BUILDS):
        place = scratch / "programs" / str(number)
        if not (place / "app").exists():
            place.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(source)
            done = subprocess.run([*build.split(), name, "-o", "app"], cwd=place, capture_output=True, check=False)
            if done.returncode != 0:
                print(f"soak: cannot be built here: {build}", file=sys.stderr)
                continue
        trees.append({"app": (place / "app").read_bytes()})
    return trees


def sources(pattern: str) -> list[bytes]:
    """Return sources of the examples, of the programs with known phases, and of the tests."""
    rooms = ("examples", "truth/programs", "tests/integration/instrument_fixtures", "tests/integration/fixtures")
    paths = [path for room in rooms for path in sorted((ROOT / room).rglob(pattern))]
    return [path.read_bytes() for path in paths if path.stat().st_size <= LARGEST_SOURCE]


def placed(texts: Sequence[bytes], suffix: str) -> list[Tree]:
    """Return sources, each with a run whose functions it contains, and with possible heartbeats."""
    base = with_source(runs()[0])
    trees = []
    for text in texts:
        tree = {path: data.replace(b"src/app.c", b"src/app" + suffix.encode()) for path, data in base.items()}
        del tree["src/app.c"]
        trees.append({**tree, f"src/app{suffix}": text})
    return trees


def traces() -> list[Tree]:
    """Return a trace of a steady loop, one without any repetition, and one with counts."""
    mixed = [
        Timed(send(1, 7**i % 9001) if i % 3 else BARRIER, 900 * i, 900 * i + 13**i % 800, 5) for i in range(1, 200)
    ]
    seeds: list[Tree] = [
        {f"run/rank-{rank:05}.mpi": trace(events, rank=rank) for rank in range(2)} for events in (steady(50), mixed)
    ]
    counted = metadata(counters=["instructions", "cache-misses"], ranks=1) + block(2, 0, KNOWN + Coder().events(mixed))
    counted += counts(0, 0, [(None, None), *((7**i % 10**9, i) for i in range(198))])
    seeds.append({"run/rank-00000.mpi": counted + end(uncounted=1)})
    return seeds
