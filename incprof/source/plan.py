"""Plan which files of a tree change when heartbeats are inserted or removed, and their new contents."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from incprof.errors import NoDataError
from incprof.source.c.paired_calls import call_insertions
from incprof.source.c.scope import scope_insertions
from incprof.source.common import insert, is_fortran
from incprof.source.fortran.insert import fortran_insertions
from incprof.source.languages import language_of, read_source, strip
from incprof.source.model import Announcement, Beat, Insertion, SourceFile, Style
from incprof.source.python.insert import python_insertions
from incprof.source.write import Version, inside


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
    wanted = {plan.file.path: insert(plan.file.data, insertions(plan, style)) for plan in plans}
    return _versions(root, wanted)


def without_heartbeats(root: Path) -> list[Version]:
    """Return the files with heartbeats of ours, and their contents without them."""
    return _versions(root, {})


def _versions(root: Path, wanted: Mapping[str, bytes]) -> list[Version]:
    found = []
    for path in sorted({*wanted, *_sources(root)}):
        old = read_source(inside(root, path))
        new = wanted.get(path)
        if new is None:
            language = language_of(path, old)
            new = strip(old, language) if language else old
        if new != old:
            found.append(Version(path, old, new))
    return found


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
