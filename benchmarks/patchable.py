"""Which functions and loops of real programs can have a heartbeat, and whether they still compile with all of them.

usage: python benchmarks/patchable.py [zstd|sqlite3|hmmer|lammps]... [--scratch DIR] [--list]

The sources are those that benchmarks/realworld has fetched and built; they are copied. Which functions there are is
told by the compiler (benchmarks/patchable_compiled.py), not by the parser that puts heartbeats in: a function that the
parser does not see counts as one without.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.patchable_compiled import PROGRAMS, Unit, compile_unit, compiled_functions, units_of
from incprof.source.c.parse import parse_c
from incprof.source.c.scope import scope_insertions
from incprof.source.c.text import read_text
from incprof.source.c.view import without
from incprof.source.edits import insert
from incprof.source.languages import language_of
from incprof.source.locate import body_line
from incprof.source.model import Announcement, Beat, Insertion, SourceFile

_ERROR = re.compile(r"^(\S+?):(\d+):\d+: (?:fatal )?error: (.*)$", re.M)
_LOOP = re.compile(rb"\b(?:for|while)\b(?=\s*\()")
ROUNDS = 4


@dataclass
class Patched:
    """A file with a heartbeat wherever one can be. failed: functions that did not compile, and what was said."""

    path: Path
    file: SourceFile
    failed: dict[int, str] = field(default_factory=dict)
    insertions: list[Insertion] = field(default_factory=list)
    heads: dict[int, list[int]] = field(default_factory=dict)

    def write(self) -> None:
        beats: list[Beat] = []
        for i, function in enumerate(self.file.functions):
            if i in self.failed:
                continue
            if function.refusal is None:
                beats.append(Beat(len(beats), i))
            beats += [Beat(len(beats) + k, i, j) for k, j in enumerate(_open_loops(self.file, i))]
        named = [Announcement(beat.id, f"{beat.id}") for beat in beats[:3]]
        announce = named if any(function.is_main for function in self.file.functions) else []
        self.insertions = scope_insertions(self.file, beats, announce)
        self.path.write_bytes(insert(self.file.data, self.insertions))

    def at(self, line: int) -> list[int]:
        """The functions whose name, for a compiler, stands on a line."""
        if not self.heads:
            for i, function in enumerate(self.file.functions):
                for each in range(function.line, body_line(self.file, i) + 1):
                    self.heads.setdefault(each, []).append(i)
        return self.heads.get(line, [])

    def is_call(self, line: int, name: str) -> bool:
        """Whether a line holds a call of a macro, and not the name of the function that comes from it."""
        text = self.file.data.split(b"\n", line)[line - 1] if line else b""
        call = re.match(rb"\s*(\w+)\s*\(", text)
        return call is not None and call[1] != name.encode()

    def function_at(self, patched_line: int) -> int | None:
        """The innermost function of the original file on a line of the patched one."""
        line, added = patched_line, 0
        for insertion in self.insertions:
            if self.file.data.count(b"\n", 0, insertion.offset) + 1 + added > patched_line:
                break
            added += insertion.text.count(b"\n")
        line -= added
        holding = [i for i, f in enumerate(self.file.functions) if f.line <= line <= f.last_line]
        return max(holding, key=lambda i: self.file.functions[i].line, default=None)


def _open_loops(file: SourceFile, function: int) -> list[int]:
    return [j for j, loop in enumerate(file.functions[function].loops) if loop.refusal is None]


def patch_all(root: Path) -> dict[Path, Patched]:
    """Put heartbeats into all sources below a directory."""
    found = {}
    for path in sorted(root.rglob("*")):
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        language = language_of(path.name, data)
        if data and language in ("c", "c++"):
            found[path] = Patched(path, parse_c(str(path), data, cpp=language == "c++"))
            found[path].write()
    return found


def compile_all(units: list[Unit], files: dict[Path, Patched]) -> list[str]:
    """Compile, take out what does not, and again. Returns what cannot be said of any function."""
    left: list[str] = []
    for _ in range(ROUNDS):
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            outputs = [text for text in pool.map(compile_unit, units) if text is not None]
        left, again = [], set()
        for path, line, message in {match for text in outputs for match in _ERROR.findall(text)}:
            patched = files.get(Path(path))
            at = patched.function_at(int(line)) if patched else None
            if patched is None or at is None or at in patched.failed:
                left.append(f"{path}:{line}: {message}")
            else:
                patched.failed[at] = message
                again.add(patched.path)
        for path in again:
            files[path].write()
        if not again:
            break
    return left


def report(name: str, scratch: Path, *, listed: bool) -> None:
    """Copy, count, patch and compile one program; print the figures."""
    with tempfile.TemporaryDirectory(prefix="patchable-") as folder:
        root = Path(folder).resolve() / name
        shutil.copytree(scratch / PROGRAMS[name].tree, root, symlinks=True)
        units = units_of(name, root)
        compiled = compiled_functions(name, units, root, scratch)
        files = patch_all(root)
        for line in compile_all(units, files):
            print(f"  not of a function: {line}")
        reasons: Counter[str] = Counter()
        for path, line, function in sorted(compiled):
            verdict = _verdict(files.get(Path(path)), line, function)
            reasons[verdict] += 1
            if listed and verdict != "patched":
                print(f"  {os.path.relpath(path, root)}:{line}: {function}: {verdict}")
        used = {path for path, _, _ in compiled}
        loops, loop_words = _loops({path: each for path, each in files.items() if str(path) in used})
    total, made = sum(reasons.values()), reasons["made by a macro"]
    print(f"{name}: {len(units)} compiled files, {total} functions: {_share(reasons['patched'], total)}")
    print(f"  of {total - made} that are written, not made by a macro: {_share(reasons['patched'], total - made)}")
    print(*(f"  {count:5} {reason}" for reason, count in reasons.most_common()), sep="\n")
    print(f"  loops: {loop_words} by their keywords: {_share(loops['patched'], loop_words)}")
    loops["not seen"] += loop_words - sum(loops.values())
    print(*(f"  {count:5} {reason}" for reason, count in loops.most_common()), sep="\n", flush=True)


def _share(count: int, total: int) -> str:
    return f"{count} patched and compiled, {100 * count / max(total, 1):.1f} %"


def _verdict(patched: Patched | None, line: int, name: str) -> str:
    """What became of a function that the compiler has seen."""
    if patched is None:
        return "not seen: in no file of a known name"
    file = patched.file
    # By its line: a macro may give it another name.
    for i in patched.at(line):
        if i in patched.failed:
            return f"does not compile: {patched.failed[i]}"
        refusal = file.functions[i].refusal
        return f"refused: {refusal}" if refusal else "patched"
    return "made by a macro" if patched.is_call(line, name) else "not seen"


def _loops(files: dict[Path, Patched]) -> tuple[Counter[str], int]:
    """What became of the loops of these files, and how many keywords of loops the files have."""
    found: Counter[str] = Counter()
    words = 0
    for patched in files.values():
        file = patched.file
        cpp = file.language == "c++"
        # Branches that no compiler sees are left out; of those that exclude each other, all count.
        text = read_text(file.data, cpp=cpp)
        dead = [branch for each in text.conditionals for branch in each.branches if branch.dead]
        words += len(_LOOP.findall(without(text.bare, [(branch.start, branch.end) for branch in dead])))
        for i, function in enumerate(file.functions):
            for loop in function.loops:
                compiled = f"refused: {loop.refusal}" if loop.refusal else "patched"
                found["does not compile" if i in patched.failed else compiled] += 1
    return found, words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", default=list(PROGRAMS), help="default: all")
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "incprof-realworld"
    parser.add_argument("--scratch", type=Path, default=Path(os.environ.get("INCPROF_SCRATCH", default)))
    parser.add_argument("--list", action="store_true", help="each function that has no heartbeat")
    arguments = parser.parse_args()
    for name in arguments.programs:
        if not (arguments.scratch / PROGRAMS[name].tree).is_dir():
            sys.exit(f"{arguments.scratch / PROGRAMS[name].tree}: not there: run benchmarks/realworld/run.sh build")
        report(name, arguments.scratch, listed=arguments.list)


if __name__ == "__main__":
    main()
