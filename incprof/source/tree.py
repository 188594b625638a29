"""Find the file of a source tree that a binary names.

The tree may have moved since the build, the build may have been out of tree, and names may be relative: the match is
the file whose path has the longest common suffix with the recorded one. Of several, it is the one whose whole path
below the root is such a suffix, not a copy of the file further down.
"""

from __future__ import annotations

import os
import posixpath
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from incprof.errors import NoDataError


class SourceTree:
    """The files below a directory. Hidden directories, and links to directories, are skipped.

    Raises: NoDataError if there is no such directory.
    """

    def __init__(self, root: Path):
        if not root.is_dir():
            raise NoDataError(f"{root}: no such directory: give --source the directory that holds the program's source")
        self.root = root
        self._base = os.path.realpath(root)
        self._by_name: defaultdict[str, list[str]] = defaultdict(list)
        for directory, folders, names in os.walk(self._base):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in names:
                self._by_name[name].append(os.path.relpath(os.path.join(directory, name), self._base))

    def files(self) -> Iterator[str]:
        """Yield all files by their path below the root, in order."""
        yield from sorted(path for paths in self._by_name.values() for path in paths)

    def find(self, recorded: str) -> str:
        """Return the path below the root of the file that a binary names.

        Raises: NoDataError if there is none, if several match, or if it is a link that leads out of the tree.
        """
        path = posixpath.normpath(recorded)
        if os.path.isabs(path) and (exact := self._inside(path)) and os.path.isfile(path):
            return exact
        candidates = self._by_name.get(posixpath.basename(path), [])
        best = longest_common_end(path, candidates)
        inside = sorted({real for found in best if (real := self._inside(os.path.join(self._base, found)))})
        if len(inside) == 1:
            return inside[0]
        if inside:
            listed = ", ".join(inside[:4]) + (", ..." if len(inside) > 4 else "")
            raise NoDataError(f"several files could be {recorded}: {listed}; give --source the directory of one")
        if best:
            raise NoDataError(f"{best[0]} is a link that leads out of {self.root}")
        raise NoDataError(f"its source, {recorded}, is not below {self.root}")

    def _inside(self, path: str) -> str | None:
        """Return the real file's path below the root; None if it lies outside it."""
        real = os.path.realpath(path)
        return os.path.relpath(real, self._base) if real.startswith(self._base.rstrip(os.sep) + os.sep) else None


def longest_common_end(path: str, candidates: Sequence[str]) -> list[str]:
    """Return the candidates that share most last parts with a path; empty if they share none."""
    wanted = _parts(path)[::-1]
    shared: dict[int, list[str]] = defaultdict(list)
    for candidate in candidates:
        count = 0
        for one, other in zip(wanted, _parts(candidate)[::-1], strict=False):
            if one != other:
                break
            count += 1
        shared[count].append(candidate)
    most = max(shared, default=0)
    if not most:
        return []
    whole = [candidate for candidate in shared[most] if len(_parts(candidate)) == most]
    return whole or shared[most]


def _parts(path: str) -> list[str]:
    """Return the parts of a path; those that lead out of an unknown directory are dropped."""
    return [part for part in posixpath.normpath(path).split("/") if part not in ("", ".", "..")]
