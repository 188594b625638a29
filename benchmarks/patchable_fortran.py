"""Which procedures and loops of real Fortran can have a heartbeat, and whether they still compile with all of them.

usage: python benchmarks/patchable_fortran.py [lapack|espresso]... [--scratch DIR] [--list]

The sources are Debian's, fetched by benchmarks/realworld/common.sh, and copied. How many procedures there are is told
by the compiler's symbols, file by file: one that the parser does not see counts as one without. The parser also sees
those in branches of `#if` that the compiler does not get; nothing is known of how these compile. Files that do not
compile as they are (they lack a library's module) are left out.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from incprof.source.edits import insert
from incprof.source.fortran.insert import fortran_insertions
from incprof.source.fortran.marks import strip_fortran
from incprof.source.fortran.parse import parse_fortran
from incprof.source.languages import language_of
from incprof.source.model import Announcement, Beat, SourceFile

ROOT = Path(__file__).resolve().parent.parent
# Folders with sources, and flags.
PROGRAMS = {
    "lapack": (["SRC", "BLAS"], ["-std=legacy"]),
    "espresso": (["."], ["-cpp", "-D__FFTW", "-fallow-argument-mismatch"]),
}
FETCH = '. "$here/common.sh"; fetch_source "$1"; echo "$source_dir"'
# Text symbols that are no procedure of the source: C's main, and what the compiler makes for types and ENTRY.
_NOT_WRITTEN = re.compile(r"^main$|__copy_|__final_|__deallocate_|^master\.|_omp_fn|_omp_cpyfn|_GLOBAL_")


@dataclass
class Tree:
    """A copy of a program's sources that is compiled file by file; `modules` is where their modules are."""

    root: Path
    flags: list[str]
    modules: Path
    includes: list[str] = field(default_factory=list)

    def compile(self, path: Path, modules: Path | None = None) -> tuple[bool, str]:
        """Whether a file compiles, and what was said; its object file stands beside it.

        modules: where its own modules go instead, so that others can be compiled at the same time.
        """
        words = ["nice", "gfortran", "-w", "-O0", "-c", *self.flags, f"-J{modules or self.modules}", *self.includes]
        words += ["-I", str(path.parent), "-I", str(self.modules), str(path), "-o", str(path) + ".o"]
        done = subprocess.run(words, cwd=path.parent, capture_output=True, text=True, errors="replace", check=False)
        return done.returncode == 0, done.stderr

    def compile_patched(self, path: Path) -> tuple[bool, str]:
        """The same once all modules are there: they stay as they are."""
        with tempfile.TemporaryDirectory() as modules:
            return self.compile(path, Path(modules))

    def compile_all(self, paths: list[Path]) -> tuple[list[Path], dict[Path, str]]:
        """Those that compile, in an order in which they do, and what was said of the others."""
        order: list[Path] = []
        left, said = list(paths), {}
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            while left:
                results = list(pool.map(self.compile, left))
                done = [path for path, (good, _) in zip(left, results, strict=True) if good]
                said = {path: text for path, (good, text) in zip(left, results, strict=True) if not good}
                order += done
                # Another round helps those that lacked a module.
                left = [path for path in said if "Cannot open module file" in said[path]] if done else []
        return order, said


@dataclass
class Count:
    """What became of the places of one program.

    unseen: procedures of a file that its parser did not see. uncompiled: those of a file that only its parser saw.
    """

    procedures: int = 0
    lines: int = 0
    seen: int = 0
    unseen: int = 0
    uncompiled: int = 0
    bodies: Counter[str] = field(default_factory=Counter)
    loops: Counter[str] = field(default_factory=Counter)


def written_procedures(path: Path) -> int:
    """How many procedures the object file of a source has."""
    out = subprocess.run(["nm", f"{path}.o"], capture_output=True, text=True, check=True).stdout
    names = [line.split()[-1] for line in out.splitlines() if line.split()[-2:-1] in (["T"], ["t"])]
    return sum(not _NOT_WRITTEN.search(name) for name in names)


def beats_of(file: SourceFile, functions: Callable[[int], bool]) -> list[Beat]:
    """Every place that takes a heartbeat, in the procedures wanted."""
    beats: list[Beat] = []
    for at, function in enumerate(file.functions):
        places = [(None, function.refusal), *((loop, each.refusal) for loop, each in enumerate(function.loops))]
        if functions(at):
            beats += [Beat(len(beats) + 1, at, loop) for loop, refusal in places if refusal is None]
    return beats


def patch(path: Path, file: SourceFile, functions: Callable[[int], bool]) -> None:
    """Write a file with its heartbeats; what comes out of it again is what went in."""
    beats = beats_of(file, functions)
    main = any(function.is_main and not function.refusal for function in file.functions)
    announce = [Announcement(beat.id, f"place {beat.id}", 10) for beat in beats[:5]] if main else []
    text = insert(file.data, fortran_insertions(file, beats, announce))
    assert strip_fortran(text, fixed=file.language == "fixed") == file.data, path
    path.write_bytes(text)


def failing(tree: Tree, path: Path, file: SourceFile) -> dict[int, str]:
    """The procedures of a file that do not compile with their own heartbeats, and what is said of each."""
    found = {}
    for at in range(len(file.functions)):
        patch(path, file, lambda each, at=at: each == at)  # type: ignore[misc]
        good, said = tree.compile_patched(path)
        if not good:
            found[at] = next((line for line in said.splitlines() if "Error" in line), "it does not compile")
    return found


def count_file(tree: Tree, path: Path, show: bool) -> Count:
    """Put heartbeats everywhere in a file that has been compiled, compile it again, and count."""
    data = path.read_bytes()
    file = parse_fortran(str(path), data, fixed=language_of(path.name, data) == "fixed")
    count = Count(written_procedures(path), data.count(b"\n"), len(file.functions))
    count.unseen = max(count.procedures - count.seen, 0)
    count.uncompiled = max(count.seen - count.procedures, 0)
    patch(path, file, lambda _: True)
    good, said = tree.compile_patched(path)
    if not good:
        print(f"{path}: {said}", file=sys.stderr)
    failed = {} if good else failing(tree, path, file)
    for at, function in enumerate(file.functions):
        count.bodies[what_became(function.refusal, failed.get(at))] += 1
        for loop in function.loops:
            count.loops[what_became(loop.refusal, failed.get(at))] += 1
            if show and loop.refusal:
                print(f"{path}:{loop.line}: loop: {loop.refusal}")
        if show and (function.refusal or at in failed):
            print(f"{path}:{function.line}: {function.name}: {function.refusal or failed[at]}")
    return count


def counted(tree: Tree, paths: list[Path], show: bool) -> Count:
    """The same for all files of a program."""
    total = Count()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for count in pool.map(lambda path: count_file(tree, path, show), paths):
            total.procedures += count.procedures
            total.lines += count.lines
            total.seen += count.seen
            total.unseen += count.unseen
            total.uncompiled += count.uncompiled
            total.bodies += count.bodies
            total.loops += count.loops
    return total


def what_became(refusal: str | None, failure: str | None) -> str:
    """A word, or the reason without its numbers."""
    if refusal:
        return re.sub(r"\bline \d+", "a line", re.sub(r",? (?:of )?line \d+$|,? of line \d+", "", refusal))
    return "failed" if failure else "patched"


def report(name: str, count: Count) -> None:
    print(f"{name}: {count.lines} lines, {count.procedures} procedures for the compiler, {count.seen} for the parser:")
    print(f"  {count.unseen} that it does not see, {count.uncompiled} that the compiler does not get")
    share = 100 * count.bodies["patched"] / max(count.seen + count.unseen, 1)
    print(f"  bodies {count.bodies['patched']} patched, {share:.1f} %; {count.bodies['failed']} failed to compile")
    for reason, number in count.bodies.most_common():
        if reason != "patched":
            print(f"    {number:6} {reason}")
    total = sum(count.loops.values())
    print(f"  loops {count.loops['patched']} of {total} patched, {100 * count.loops['patched'] / max(total, 1):.1f} %")
    for reason, number in count.loops.most_common():
        if reason != "patched":
            print(f"    {number:6} {reason}")


def fetched(name: str, scratch: Path) -> Path:
    """The folder of a program's sources."""
    found = {**os.environ, "here": str(ROOT / "benchmarks/realworld"), "INCPROF_SCRATCH": str(scratch)}
    done = subprocess.run(["sh", "-c", FETCH, "sh", name], env=found, stdout=subprocess.PIPE, text=True, check=True)
    return Path(done.stdout.strip().splitlines()[-1])


def measure(name: str, scratch: Path, show: bool) -> None:
    folders, flags = PROGRAMS[name]
    with tempfile.TemporaryDirectory() as place:
        root, modules = Path(place) / name, Path(place) / "modules"
        shutil.copytree(fetched(name, scratch), root, symlinks=True)
        modules.mkdir()
        appekg = ROOT / "appekg/fortran/appekg.f90"
        subprocess.run(["gfortran", "-c", appekg, f"-J{modules}", "-o", f"{place}/appekg.o"], check=True)
        headers = sorted({path.parent for path in root.rglob("*.h")})
        tree = Tree(root, flags, modules, [word for header in headers for word in ("-I", str(header))])
        paths = sorted(
            {
                path
                for folder in folders
                for path in (root / folder).rglob("*")
                if path.is_file() and language_of(path.name, b"") in ("fortran", "fixed")
            }
        )
        good, said = tree.compile_all(paths)
        print(f"{name}: {len(good)} of {len(paths)} files compile as they are", file=sys.stderr)
        for path, text in sorted(said.items()) if show else ():
            print(f"{path}: {next((line for line in text.splitlines() if 'Error' in line), '')}")
        report(name, counted(tree, good, show))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", choices=PROGRAMS, help="which ones (all)")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    scratch = Path(os.environ.get("INCPROF_SCRATCH") or cache / "incprof-realworld")
    parser.add_argument("--scratch", type=Path, default=scratch, help="where the sources are, or go")
    parser.add_argument("--list", action="store_true", help="print every place without a heartbeat, and why")
    options = parser.parse_args()
    for name in options.programs or PROGRAMS:
        measure(name, options.scratch, options.list)


if __name__ == "__main__":
    main()
