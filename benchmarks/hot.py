"""Ways to exclude hot functions from -pg: the cost of each recorded, against a build without -pg, unrecorded.

callheavy always; MUSCLE too where `sh benchmarks/realworld/muscle.sh build` has built it.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bed import HERE, Bed
from benchmarks.measure import Command, Result, compare, run
from incprof.cli.main import main

# Work of callheavy: about a second.
ROUNDS = "600"
WAYS = ("-pg", "-mfentry", "patch", "-fno-profile", "-flto")


@dataclass(frozen=True)
class Built:
    """The source of a program.

    Attributes:
        name: its name.
        tree: its source tree.
        hot: the files that hold its hot functions.
        make: builds the tree.
        command: the command to run.
    """

    name: str
    tree: Path
    hot: tuple[str, ...]
    make: Callable[[Path, str, tuple[str, ...]], None]
    command: Callable[[Path], Command]


def benchmarks(bed: Bed) -> Iterable[tuple[str, Callable[[], list[Result]]]]:
    """Yield a measurement for each program."""
    yield "hot-callheavy", lambda: ways(bed, _callheavy(bed))
    muscle = built_muscle()
    if muscle is not None:
        yield "hot-muscle", lambda: ways(bed, muscle)


def ways(bed: Bed, built: Built) -> list[Result]:
    """Measure whole runs of every build, recorded."""
    plain = tree_of(bed, built, "plain")
    built.make(plain, "-O2 -g", ())
    results = []
    for way in WAYS:
        tree = tree_of(bed, built, way.lstrip("-"))
        if way == "patch":
            patched(bed, built, tree)
        flags = {"-mfentry": "-pg -mfentry -O2 -g", "-flto": "-pg -O2 -g -flto"}.get(way, "-pg -O2 -g")
        built.make(tree, flags, built.hot if way == "-fno-profile" else ())

        def recorded(tree: Path = tree) -> float:
            return run(built.command(tree), bed.scratch, bed.environment()).cpu_s

        ratio = compare(recorded, lambda: run(built.command(plain), bed.scratch).cpu_s, bed.pairs)
        what = f"{built.name}, {way}, recorded against built without -pg and unrecorded"
        results.append(Result(what, "", f"{ratio}; {_counted(bed)} calls counted", None))
    return results


def tree_of(bed: Bed, built: Built, name: str) -> Path:
    """Return a copy of the source."""
    tree = bed.scratch / f"{built.name}-{name}"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(built.tree, tree)
    return tree


def patched(bed: Bed, built: Built, tree: Path) -> None:
    """Record the tree's program, and exclude the functions named by `check --hot`."""
    built.make(tree, "-pg -O2 -g", ())
    run(built.command(tree), bed.scratch, bed.environment())
    patch = bed.scratch / "hot.patch"
    words = ["check", "--hot", str(bed.scratch / "run"), "--source", str(tree), "--patch", str(patch), "--force"]
    with contextlib.redirect_stdout(io.StringIO()):
        status = main(words)
    if status != 0:
        raise RuntimeError(f"no patch for {built.name}")
    subprocess.run(["patch", "-p1", "-s", "-i", str(patch)], cwd=tree, check=True)


def _counted(bed: Bed) -> int:
    """Return the calls of the last recording."""
    from incprof.readers import open_run, read_profile

    return int(read_profile(open_run(str(bed.scratch / "run"))).calls.sum())


def _callheavy(bed: Bed) -> Built:
    tree = bed.scratch / "callheavy-source"
    tree.mkdir(exist_ok=True)
    shutil.copy(HERE / "programs" / "callheavy.c", tree)

    def make(folder: Path, flags: str, without: tuple[str, ...]) -> None:
        words = ["gcc", *flags.split(), *(["-fno-profile"] if without else []), "callheavy.c", "-o", "callheavy"]
        subprocess.run(words, cwd=folder, check=True)

    return Built("callheavy", tree, ("callheavy.c",), make, lambda folder: [folder / "callheavy", ROUNDS])


def built_muscle() -> Built | None:
    """Return MUSCLE and its smallest input, if benchmarks/realworld/muscle.sh has built them."""
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "incprof-realworld"
    folder = Path(os.environ.get("INCPROF_SCRATCH", default)) / "muscle"
    families = sorted(folder.glob("families-*.fa"), key=lambda path: path.stat().st_size)
    return _muscle(folder / "tree", families[0]) if (folder / "tree").is_dir() and families else None


def _muscle(tree: Path, families: Path) -> Built:
    def make(folder: Path, flags: str, without: tuple[str, ...]) -> None:
        for path in [*folder.glob("*.o"), folder / "muscle"]:
            path.unlink(missing_ok=True)
        for name in without:
            subprocess.run(["g++", *flags.split(), "-fno-profile", "-c", name], cwd=folder, check=True)
        words = ["make", f"CXXFLAGS={flags}", f"CFLAGS={flags}", f"LDFLAGS={flags}"]
        subprocess.run(words, cwd=folder, check=True, capture_output=True)

    arguments = ["-in", families, "-out", "/dev/null", "-maxiters", "6"]
    return Built("MUSCLE", tree, ("msa.cpp", "scorepp.cpp"), make, lambda folder: [folder / "muscle", *arguments])
