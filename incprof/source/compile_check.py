"""Check that changed sources still compile, with the compilers of the build, without touching the tree."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from incprof.errors import IncprofError
from incprof.safe.inputs import open_input
from incprof.source.compile_commands import Command, compiler_words, is_fortran, syntax_words
from incprof.source.source_tree import mirror, scratch_directory

TIMEOUT_S = 300
# Sources tried for a header that no changed source includes.
MOST_TRIES = 8
# Variables that make a compiler write a source's dependencies.
WRITING = frozenset({"DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES"})
MOST_OUTPUT = 1 << 20
PLACED = re.compile(r"(?:(?P<path>[^\s:][^:\n]*):(?P<line>\d+)(?::\d+)*:\s*)(?:(?:fatal )?error: (?P<what>.*))?")
INCLUDE = re.compile(rb'^[ \t]*#[ \t]*(?:include|import)[ \t]*["<]([^">\n]+)[">]', re.M)
# Sources of a tree whose text is searched, and the part of each in which includes occur.
MOST_SOURCES = 20_000
MOST_BYTES = 1 << 20


def sources_that_include(header: str, root: str, sources: Sequence[str], most: int) -> list[str]:
    """Return at most so many of the sources (absolute paths) that include the header, directly ones first.

    header: path relative to `root`. An included name matches any file of that name in the tree.
    """
    included: dict[str, set[str]] = {}
    for source in sources[:MOST_SOURCES]:
        for name in _includes(source):
            included.setdefault(name, set()).add(source)
    for path in _headers(root):
        for name in _includes(path):
            included.setdefault(name, set()).add(path)
    candidates, visited = set(sources), {os.path.join(root, header)}
    order: list[str] = []
    level = list(visited)
    while level and len(order) < most:
        users = {user for path in level for user in included.get(os.path.basename(path), ())} - visited
        visited |= users
        order += sorted(users & candidates)
        level = sorted(users - candidates)
    return order[:most]


def _headers(root: str) -> Iterator[str]:
    count = 0
    for place, directories, names in os.walk(root):
        directories[:] = sorted(name for name in directories if not name.startswith("."))
        for name in sorted(names):
            if name.lower().endswith(
                (".h", ".hh", ".hpp", ".hxx", ".inc", ".inl", ".ipp", ".tpp", ".tcc", ".def", ".c")
            ):
                count += 1
                if count > MOST_SOURCES:
                    return
                yield os.path.join(place, name)


def _includes(path: str) -> set[str]:
    try:
        with open_input(path) as stream:
            text = stream.read(MOST_BYTES)
    except OSError:
        return set()
    return {os.path.basename(name.decode("utf-8", "replace")) for name in INCLUDE.findall(text)}


@dataclass(frozen=True)
class Checked:
    """Compilers' results for changed files.

    Attributes:
        errors: (path, message of one line) of refused files.
        unchecked: (path, reason) of files without a result. Paths are those of `changed`, each in at most one of the
            two.
    """

    errors: tuple[tuple[str, str], ...] = ()
    unchecked: tuple[tuple[str, str], ...] = ()


@dataclass
class _Trees:
    """The tree with and without the change, in a scratch directory, and the results so far."""

    root: str
    scratch: Path
    flags: Mapping[bool, Sequence[str]]
    compiled: set[str] = field(default_factory=set)
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
    """Check each changed file with its own compile command; a header through a source that includes it.

    Nothing is written outside a scratch directory of links to the tree, which is removed. A file that does not compile
    without the change either is not checked.

    Args:
        root: The source tree.
        changed: New contents by path relative to `root`.
        commands: From `read_commands`.
        c_flags: Added for C and C++: the directory of appekg.h.
        fortran_flags: Added for Fortran: the directory of appekg's module.

    Raises: UsageError for a tree that is too large; IncprofError if no scratch directory can be created.
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
            if file not in by_file and path not in trees.compiled and path not in trees.errors:
                tried = sources_that_include(path, top, sorted(by_file), MOST_TRIES)
                for source in tried:
                    _try(trees, by_file[source][0], path, changed)
                    if path in trees.compiled or path in trees.errors:
                        break
    unknown = [path for path in files.values() if path not in trees.compiled and path not in trees.errors]
    reasons = ((path, trees.reasons.get(path, "no compile command reads it")) for path in unknown)
    return Checked(tuple(sorted(trees.errors.items())), tuple(reasons))


def _try(trees: _Trees, command: Command, path: str, changed: Mapping[str, bytes]) -> None:
    """Run one command on the new tree, and if it fails, on the old one; record the result for `path`."""
    new = _run(trees, command, "new")
    if isinstance(new, str):
        trees.reasons[path] = new
        return
    status, output, read = new
    if status == 0:
        trees.compiled |= {path for path in read if path in changed}
        return
    old = _run(trees, command, "old")
    named, message = _first_error(output, str(trees.scratch / "new"), status)
    if isinstance(old, str) or old[0] != 0:
        reason = old if isinstance(old, str) else _first_error(old[1], str(trees.scratch / "old"), old[0])[1]
        trees.reasons[path] = f"it does not compile without heartbeats either: {reason}"
        return
    trees.errors[named if named in changed else path] = message


def _run(trees: _Trees, command: Command, tree: str) -> tuple[int, str, set[str]] | str:
    """Return exit status, output, and files of the tree that were read; a str is the reason why it could not run."""
    place = str(trees.scratch / tree)
    if not os.path.isdir(place):
        mirror(Path(trees.root), Path(place), {}, link=True)

    def moved(path: str) -> str:
        real = os.path.realpath(path)
        if real == trees.root or real.startswith(trees.root + os.sep):
            return place + real[len(trees.root) :]
        return path

    compiler_and_words = compiler_words(command)
    if compiler_and_words is None:
        return f"{command.words[0]}: not a known compiler"
    compiler, arguments = compiler_and_words
    fortran = is_fortran(compiler)
    written = trees.scratch / f"{tree}-written"
    written.mkdir(exist_ok=True)
    depends = written / "depends"
    depends.unlink(missing_ok=True)
    words = [compiler, *syntax_words(command, arguments, moved), *trees.flags[fortran], "-fsyntax-only"]
    words += [f"-J{written}"] if fortran else ["-MD", "-MF", str(depends), "-MT", "x"]
    working_directory = moved(command.directory)
    environment = {name: value for name, value in os.environ.items() if name not in WRITING} | {"LC_ALL": "C"}
    try:
        with open(written / "output", "w+b") as output:
            status = subprocess.run(
                [*words, moved(command.file)],
                cwd=working_directory if os.path.isdir(working_directory) else place,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                check=False,
                timeout=TIMEOUT_S,
            ).returncode
            output.seek(0)
            text = output.read(MOST_OUTPUT).decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        return f"{compiler} takes more than {TIMEOUT_S} s"
    except (OSError, ValueError) as error:
        return f"{compiler}: cannot be started: {getattr(error, 'strerror', None) or error}"
    read = {os.path.relpath(moved(command.file), place), *_read_files(depends, place)}
    return status, text, read


def _read_files(depends: Path, place: str) -> set[str]:
    """Return files of the tree in a make rule that the compiler wrote."""
    try:
        rule = depends.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return set()
    words = re.findall(r"(?:\\[ #]|\$\$|[^\s\\]|\\(?!\n))+", rule.replace("\\\n", " "))
    paths = (re.sub(r"\\([ #])", r"\1", word).replace("$$", "$") for word in words)
    return {os.path.relpath(path, place) for path in map(os.path.normpath, paths) if path.startswith(place + os.sep)}


def _first_error(output: str, place: str, status: int) -> tuple[str, str]:
    """Return the file of the first error, and a line on it; Fortran compilers print place and message separately."""
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
    return named, last.replace(place + os.sep, "") or f"the compiler ended with status {status} and printed nothing"


COMMAND_S = 600.0
KEPT_BYTES = 64 << 10
UNPRINTABLE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")


def check_command(
    root: Path, changed: Mapping[str, bytes], command: str, *, timeout_s: float = COMMAND_S
) -> str | None:
    """Run a shell command in a copy of the tree with new contents in some files; remove the copy.

    Args:
        root: The tree; version control repositories in it are not copied.
        changed: New contents by path relative to `root`.
        command: For /bin/sh, in the copy of `root`. It has no input; its output is not shown.
        timeout_s: After this time it is ended, with all processes of its session.

    Returns: None if it ends with 0; else the problem in one line: its last line of output.

    Raises: UsageError for a tree that is too large; IncprofError if the copy or the process cannot be created.
    """
    with scratch_directory() as scratch:
        tree = scratch / "tree"
        mirror(root, tree, changed, link=False)
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", command],
                cwd=tree,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise IncprofError(f"--check {command!r}: cannot be started: {error}") from error
        status, text = _watched(process, timeout_s)
    if status == 0:
        return None
    if status is None:
        return f"{command}: not done after {timeout_s:g} s"
    how = f"ended by signal {-status}" if status < 0 else f"exit code {status}"
    return f"{command}: {how}: {text}" if text else f"{command}: {how}, without output"


def _watched(process: subprocess.Popen[bytes], timeout_s: float) -> tuple[int | None, str]:
    """Return the exit status, None if it had to be ended, and the last line of output."""
    kept = bytearray()
    assert process.stdout is not None
    reader = threading.Thread(target=_keep, args=(process.stdout, kept), daemon=True)
    reader.start()
    status: int | None = None
    try:
        status = process.wait(timeout_s)
        reader.join(0.2)
    except subprocess.TimeoutExpired:
        pass
    finally:
        # Processes that it left running would keep files of the copy, and the pipe, open.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        reader.join(5)
    lines = UNPRINTABLE.sub("", bytes(kept).decode("utf-8", "replace")).splitlines()
    return status, next((line.strip()[:500] for line in reversed(lines) if line.strip()), "")


def _keep(stream: IO[bytes], kept: bytearray) -> None:
    """Read all output, and keep its end."""
    with stream:
        while chunk := os.read(stream.fileno(), 1 << 16):
            kept += chunk
            del kept[:-KEPT_BYTES]
