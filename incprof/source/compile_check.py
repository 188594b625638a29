"""Whether changed sources still compile, asked of the compilers that the build uses, without touching the tree."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from incprof.source.compile_commands import Command
from incprof.source.compile_words import compiler_words, is_fortran, syntax_words
from incprof.source.includers import sources_that_include
from incprof.source.scratch import mirror, scratch_directory

TIMEOUT_S = 300
# Sources that are tried for a header that none of the changed ones includes.
MOST_TRIES = 8
# Variables that make a compiler write what a source depends on.
WRITING = frozenset({"DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES"})
MOST_OUTPUT = 1 << 20
PLACED = re.compile(r"(?:(?P<path>[^\s:][^:\n]*):(?P<line>\d+)(?::\d+)*:\s*)(?:(?:fatal )?error: (?P<what>.*))?")


@dataclass(frozen=True)
class Checked:
    """What compilers say of changed files.

    errors: (path, message of one line) where one is refused. unchecked: (path, reason) of files that nothing is known
    of. Paths are those of `changed`, each in one of the two at most.
    """

    errors: tuple[tuple[str, str], ...] = ()
    unchecked: tuple[tuple[str, str], ...] = ()


@dataclass
class _Trees:
    """The tree as it will be and as it is, in a scratch directory, and what is known so far."""

    root: str
    scratch: Path
    flags: Mapping[bool, Sequence[str]]
    seen: set[str] = field(default_factory=set)
    errors: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)


def syntax_check(
    root: Path,
    changed: Mapping[str, bytes],
    commands: Sequence[Command],
    *,
    c_flags: Sequence[str] = (),
    fortran_flags: Sequence[str] = (),
) -> Checked:
    """Let each changed file be read by its own compile command; a header through a source that includes it.

    Nothing is written outside a scratch directory of links to the tree, which is removed. A file that does not
    compile without the change either is not checked.

    Args:
        root: The source tree.
        changed: New contents by path relative to `root`.
        commands: From `read_commands`.
        c_flags: Added for C and C++: where appekg.h is.
        fortran_flags: Added for Fortran: where appekg's module is.

    Raises: UsageError for a tree that is too large; IncprofError when there is no place for a scratch directory.
    """
    top = os.path.realpath(root)
    files = {os.path.join(top, path): path for path in sorted(changed)}
    by_file: dict[str, list[Command]] = {}
    for command in commands:
        by_file.setdefault(command.file, []).append(command)
    with scratch_directory() as scratch:
        trees = _Trees(top, scratch, {False: c_flags, True: fortran_flags})
        mirror(root, scratch / "new", changed, link=True)
        for file, path in files.items():
            for command in dict.fromkeys(by_file.get(file, [])):
                _try(trees, command, path, changed)
        for file, path in files.items():
            if file not in by_file and path not in trees.seen and path not in trees.errors:
                tried = sources_that_include(path, top, sorted(by_file), MOST_TRIES)
                for source in tried:
                    _try(trees, by_file[source][0], path, changed)
                    if path in trees.seen or path in trees.errors:
                        break
    unknown = [path for path in files.values() if path not in trees.seen and path not in trees.errors]
    reasons = ((path, trees.reasons.get(path, "no compile command reads it")) for path in unknown)
    return Checked(tuple(sorted(trees.errors.items())), tuple(reasons))


def _try(trees: _Trees, command: Command, path: str, changed: Mapping[str, bytes]) -> None:
    """Run one command on the new tree, and if it fails on the old one; note what that says of `path`."""
    new = _run(trees, command, "new")
    if isinstance(new, str):
        trees.reasons[path] = new
        return
    status, output, read = new
    if status == 0:
        trees.seen |= {path for path in read if path in changed}
        return
    old = _run(trees, command, "old")
    named, message = _first_error(output, str(trees.scratch / "new"), status)
    if isinstance(old, str) or old[0] != 0:
        said = old if isinstance(old, str) else _first_error(old[1], str(trees.scratch / "old"), old[0])[1]
        trees.reasons[path] = f"it does not compile without heartbeats either: {said}"
        return
    trees.errors[named if named in changed else path] = message


def _run(trees: _Trees, command: Command, tree: str) -> tuple[int, str, set[str]] | str:
    """Exit status, output, and files of the tree that were read; a str says why nothing could be run."""
    place = str(trees.scratch / tree)
    if not os.path.isdir(place):
        mirror(Path(trees.root), Path(place), {}, link=True)

    def moved(path: str) -> str:
        real = os.path.realpath(path)
        if real == trees.root or real.startswith(trees.root + os.sep):
            return place + real[len(trees.root) :]
        return path

    found = compiler_words(command)
    if found is None:
        return f"{command.words[0]}: no compiler that is known here"
    compiler, given = found
    fortran = is_fortran(compiler)
    written = trees.scratch / f"{tree}-written"
    written.mkdir(exist_ok=True)
    depends = written / "depends"
    depends.unlink(missing_ok=True)
    words = [compiler, *syntax_words(command, given, moved), *trees.flags[fortran], "-fsyntax-only"]
    words += [f"-J{written}"] if fortran else ["-MD", "-MF", str(depends), "-MT", "x"]
    here = moved(command.directory)
    environment = {name: value for name, value in os.environ.items() if name not in WRITING} | {"LC_ALL": "C"}
    try:
        with open(written / "output", "w+b") as output:
            status = subprocess.run(
                [*words, moved(command.file)],
                cwd=here if os.path.isdir(here) else place,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                check=False,
                timeout=TIMEOUT_S,
            ).returncode
            output.seek(0)
            said = output.read(MOST_OUTPUT).decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        return f"{compiler} takes more than {TIMEOUT_S} s"
    except (OSError, ValueError) as error:
        return f"{compiler}: cannot be started: {getattr(error, 'strerror', None) or error}"
    read = {os.path.relpath(moved(command.file), place), *_read_files(depends, place)}
    return status, said, read


def _read_files(depends: Path, place: str) -> set[str]:
    """Files of the tree in a rule that the compiler wrote for make."""
    try:
        rule = depends.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return set()
    words = re.findall(r"(?:\\[ #]|\$\$|[^\s\\]|\\(?!\n))+", rule.replace("\\\n", " "))
    paths = (re.sub(r"\\([ #])", r"\1", word).replace("$$", "$") for word in words)
    return {os.path.relpath(path, place) for path in map(os.path.normpath, paths) if path.startswith(place + os.sep)}


def _first_error(output: str, place: str, status: int) -> tuple[str, str]:
    """The file of the first error, and one line about it; Fortran compilers say where and what in different lines."""
    named, where = "", ""
    for line in output.splitlines():
        match = PLACED.match(line)
        if match:
            named = os.path.normpath(os.path.join(place, match["path"])).removeprefix(place + os.sep)
            where = f"{named}:{match['line']}"
            if match["what"]:
                return named, f"{where}: {match['what'].strip()}"
        elif line.startswith(("Error: ", "Fatal Error: ")):
            return named, f"{where}: {line.split(': ', 1)[1].strip()}".removeprefix(": ")
    last = next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "")
    return named, last.replace(place + os.sep, "") or f"the compiler ends with {status} and says nothing"
