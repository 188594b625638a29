"""Undamaged run directories: made up, so that they are the same everywhere, and recorded ones."""

from __future__ import annotations

import io
import json
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

from soak.mutate_stream import HEADER
from soak.recordings import recorded_trees
from soak.subject import Tree, tree_of
from tests.unit.elfwriter import Symbol, elf_bytes
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


def made(write: Callable[[Path], object], prefix: str = "run/") -> dict[str, bytes]:
    """The files that `write` makes in a directory."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name) / "made"
        directory.mkdir()
        write(directory)
        return tree_of(directory, prefix)


def varied(directory: Path) -> None:
    """A stream with everything in it that a stream may hold."""
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
    """Two ranks, and a process that one of them forked."""
    two_phase_run(directory, intervals=3, ranks=(0, 1))
    writer = StreamWriter(["main", "solve", "write_out"], rank=1, forked=True, pid=4712)
    writer.interval([Sample("main", weight=5)])
    writer.save(directory, "rank-00001.4712.gmon")


def runs() -> list[Tree]:
    """Small runs first: most cases are made of them."""
    small = made(lambda directory: two_phase_run(directory, intervals=4))
    return [small, made(varied), made(ranks), made(lambda directory: two_phase_run(directory, intervals=12))]


def kept_run() -> Tree:
    """The beginning of a recording of zstd."""
    tree = {}
    with tarfile.open(fileobj=io.BytesIO(KEPT.read_bytes())) as archive:
        for member in archive:
            file = archive.extractfile(member)
            tree[f"run/{member.name}"] = file.read() if file is not None else b""
    data, at = tree["run/rank-00000.gmon"], 0
    for _ in range(KEPT_IMAGES):
        at += HEADER.size + HEADER.unpack_from(data, at)[5]
    return tree | {"run/rank-00000.gmon": data[:at]}


def all_runs(scratch: Path) -> list[Tree]:
    """The made ones, a few times each, and those that were recorded here."""
    return [*runs() * 6, kept_run(), *recorded_trees(scratch)]


def with_source(tree: Tree) -> Tree:
    """The run with its source beside it, in src/, and the lines of the code looked up."""
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
    """Files of gmon.out, cumulative, and their program."""
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
