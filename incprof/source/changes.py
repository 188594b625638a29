"""Change files of a source tree, all of them or none: which files change, and their new contents."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

from incprof.errors import IncprofError, NoDataError
from incprof.safe.inputs import open_input
from incprof.source.c.paired_calls import call_insertions
from incprof.source.c.scope import scope_insertions
from incprof.source.fortran.insert import fortran_insertions
from incprof.source.languages import language_of, read_source, strip
from incprof.source.model import Announcement, Beat, Insertion, SourceFile, Style, insert, is_fortran
from incprof.source.python.insert_beats import python_insertions


@dataclass(frozen=True)
class FilePlan:
    """Insertions into one file. announce: all beats, for the file with main; in Python the file's own."""

    file: SourceFile
    beats: tuple[Beat, ...] = ()
    announce: tuple[Announcement, ...] = ()


def insertions(plan: FilePlan, style: Style) -> list[Insertion]:
    """Return the insertions. C++ uses scope guards with every compiler: `style` is for C."""
    if is_fortran(plan.file.language):
        return fortran_insertions(plan.file, plan.beats, plan.announce)
    if plan.file.language == "python":
        return python_insertions(plan.file, plan.beats, plan.announce)
    if style == "calls" and plan.file.language == "c":
        return call_insertions(plan.file, plan.beats, plan.announce)
    return scope_insertions(plan.file, plan.beats, plan.announce)


def with_heartbeats(root: Path, plans: Sequence[FilePlan], style: Style) -> list[Version]:
    """Return the files that change, by path: those of the plans, and those with heartbeats of an earlier plan.

    Raises: IncprofError, NoDataError if a file cannot be read or lies outside the tree.
    """
    new_contents = {plan.file.path: insert(plan.file.data, insertions(plan, style)) for plan in plans}
    return _versions(root, new_contents)


def without_heartbeats(root: Path) -> list[Version]:
    """Return the files with heartbeats of ours, and their contents without them."""
    return _versions(root, {})


def _versions(root: Path, new_contents: Mapping[str, bytes]) -> list[Version]:
    versions = []
    for path in sorted({*new_contents, *_sources(root)}):
        old = read_source(inside(root, path))
        new = new_contents.get(path)
        if new is None:
            language = language_of(path, old)
            new = strip(old, language) if language else old
        if new != old:
            versions.append(Version(path, old, new))
    return versions


def _sources(root: Path) -> Iterator[str]:
    """Yield source files below a directory that could contain heartbeats; hidden directories and links are skipped."""
    for directory, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = os.path.join(directory, name)
            if language_of(name, b"") is None or os.path.islink(path) or not os.path.isfile(path):
                continue
            try:
                if b"incprof" in read_source(Path(path)):
                    yield os.path.relpath(path, root)
            except NoDataError:
                continue


# Change files of a source tree: all of them, or none.
#
# Files outside the tree, write-protected files, and files changed by others meanwhile are never touched. New versions
# are first written beside the old ones, and then replace them one after the other; if one replacement fails, the
# earlier ones are reverted.


@dataclass(frozen=True)
class Version:
    """A file of the tree, by its path below the root with slashes: its bytes when it was read, and the new ones."""

    path: str
    old: bytes
    new: bytes


def replace_all(root: Path, versions: Sequence[Version]) -> None:
    """Write the new versions.

    Raises: IncprofError when any of them cannot be written; then no file has changed.
    """
    targets = [(_target(root, version), version) for version in versions]
    with contextlib.ExitStack() as stack:
        written = [stack.enter_context(_temporary_sibling(target, version)) for target, version in targets]
        done: list[tuple[Path, Version]] = []
        for temporary, (target, version) in zip(written, targets, strict=True):
            try:
                os.replace(temporary, target)
            except OSError as error:
                _put_back(done)
                raise IncprofError(f"{target}: cannot be replaced: {error.strerror}; no file was changed") from error
            done.append((target, version))


def inside(root: Path, path: str) -> Path:
    """Return the file that `path` below `root` resolves to.

    Raises: IncprofError if it lies outside the tree, or does not exist.
    """
    base = root.resolve()
    try:
        target = (base / path).resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise IncprofError(f"{root / path}: cannot be found: was it moved?") from error
    if not target.is_relative_to(base):
        raise IncprofError(f"{root / path} leads out of {root} to {target}: give --source a tree that holds it")
    return target


def _target(root: Path, version: Version) -> Path:
    """Return the file to replace, after every check that can be made beforehand."""
    target = inside(root, version.path)
    try:
        with open_input(target) as file:
            mode = os.fstat(file.fileno()).st_mode
            now = file.read(len(version.old) + 1)
    except OSError as error:
        raise IncprofError(f"{target}: cannot be read: {error.strerror}") from error
    # Root may write to anything, but a read-only file was made so on purpose.
    if not mode & 0o222 or not os.access(target, os.W_OK):
        raise IncprofError(f"{target}: read-only: make it writable, or take the patch")
    if now != version.old:
        raise IncprofError(f"{target}: changed while it was read: try again")
    return target


@contextlib.contextmanager
def _temporary_sibling(target: Path, version: Version) -> Iterator[str]:
    """Provide a file in the same directory with the new bytes and the old one's owner and mode; remove it if unused."""
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    except OSError as error:
        raise IncprofError(f"{target.parent}: cannot be written to: {error.strerror}") from error
    try:
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(version.new)
                _like(target, file.fileno())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise IncprofError(f"{temporary}: cannot be written: {error.strerror}; no file was changed") from error
        yield temporary
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def _like(target: Path, descriptor: int) -> None:
    """Give an open file the owner and mode of another one."""
    status = target.stat()
    with contextlib.suppress(PermissionError):
        os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))


def _put_back(done: Sequence[tuple[Path, Version]]) -> None:
    """Restore files that were replaced."""
    for target, version in done:
        with contextlib.suppress(IncprofError), _temporary_sibling(target, Version("", b"", version.old)) as temporary:
            os.replace(temporary, target)


# Unified differences between two versions of a file, as `git apply` and `patch -p1` accept them.
#
# difflib takes ten seconds for an amalgamated source of 250 000 lines, because it searches for the best alignment. Here
# the versions differ in few places: a short look-ahead finds where they agree again, and difflib compares only the part
# before that.


CONTEXT = 3
SYNC = 3
LOOK_AHEAD = 256
NO_NEWLINE = b"\n\\ No newline at end of file\n"
ESCAPES = {7: b"\\a", 8: b"\\b", 9: b"\\t", 10: b"\\n", 11: b"\\v", 12: b"\\f", 13: b"\\r", 34: b'\\"', 92: b"\\\\"}


class Change(NamedTuple):
    """Lines [old, old_end) become lines [new, new_end)."""

    old: int
    old_end: int
    new: int
    new_end: int


def difference(path: str, old: bytes, new: bytes) -> bytes:
    """Return the difference with a/`path` and b/`path` in its head; empty if there is none. Bytes are unchanged."""
    before, after = _lines(old), _lines(new)
    hunks = [_hunk(group, before, after) for group in _grouped(_changes(before, after))]
    if not hunks:
        return b""
    head = b"--- " + _name(f"a/{path}") + b"\n+++ " + _name(f"b/{path}") + b"\n"
    return head + b"".join(hunks)


def _lines(data: bytes) -> list[bytes]:
    """Split into lines with their newlines; unlike splitlines, a carriage return alone does not end a line."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _changes(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[Change]:
    """Yield the changes, in order."""
    i = j = 0
    while i < len(old) or j < len(new):
        if i < len(old) and j < len(new) and old[i] == new[j]:
            i, j = i + 1, j + 1
            continue
        skip_old, skip_new = _next_equal(old, new, i, j)
        yield from _compared(old[i : i + skip_old], new[j : j + skip_new], i, j)
        i, j = i + skip_old, j + skip_new


def _compared(old: Sequence[bytes], new: Sequence[bytes], i: int, j: int) -> Iterator[Change]:
    """Yield the changes between two pieces, of which one may be empty; they start at lines i and j."""
    if max(len(old), len(new)) > LOOK_AHEAD:
        yield Change(i, i + len(old), j, j + len(new))
        return
    for kind, a, a_end, b, b_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            yield Change(i + a, i + a_end, j + b, j + b_end)


def _next_equal(old: Sequence[bytes], new: Sequence[bytes], i: int, j: int) -> tuple[int, int]:
    """Return how many lines to skip in each so that the next ones are equal; all remaining ones if that is far away."""
    for both in range(1, LOOK_AHEAD):
        for skip in range(both + 1):
            a, b = i + skip, j + both - skip
            if a <= len(old) and b <= len(new) and old[a : a + SYNC] == new[b : b + SYNC]:
                return skip, both - skip
    return len(old) - i, len(new) - j


def _grouped(changes: Iterator[Change]) -> Iterator[list[Change]]:
    """Group changes whose contexts meet into one hunk."""
    group: list[Change] = []
    for change in changes:
        if group and change.old - group[-1].old_end > 2 * CONTEXT:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _hunk(group: Sequence[Change], old: Sequence[bytes], new: Sequence[bytes]) -> bytes:
    """Return one hunk with its context."""
    first, last = group[0], group[-1]
    before = min(CONTEXT, first.old)
    after = min(CONTEXT, len(old) - last.old_end)
    at, end = first.old - before, last.old_end + after
    count = last.new_end + after - (first.new - before)
    parts = [b"@@ -%s +%s @@\n" % (_range(at, end - at), _range(first.new - before, count))]
    for change in group:
        parts += [_line(b" ", line) for line in old[at : change.old]]
        parts += [_line(b"-", line) for line in old[change.old : change.old_end]]
        parts += [_line(b"+", line) for line in new[change.new : change.new_end]]
        at = change.old_end
    return b"".join([*parts, *(_line(b" ", line) for line in old[at:end])])


def _range(start: int, count: int) -> bytes:
    """Return start and length of a side of a hunk; an empty one has the line before it."""
    return b"%d,%d" % (start + (count > 0), count) if count != 1 else b"%d" % (start + 1)


def _line(sign: bytes, line: bytes) -> bytes:
    """Return a line of a hunk."""
    return sign + line if line.endswith(b"\n") else sign + line + NO_NEWLINE


def _name(path: str) -> bytes:
    """Return a file name as git writes it: quoted if it has special bytes, with a tab after it if it has a space."""
    raw = path.encode("utf-8", "surrogateescape")
    if any(byte < 32 or byte > 126 or byte in b'"\\' for byte in raw):
        quoted = (ESCAPES.get(byte) or (bytes([byte]) if 32 <= byte < 127 else b"\\%03o" % byte) for byte in raw)
        return b'"' + b"".join(quoted) + b'"'
    return raw + b"\t" if b" " in raw else raw
