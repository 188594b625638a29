"""Find the file of a source tree that a binary names.

The tree may have moved since the build, the build may have been out of tree, and names may be relative: the match is
the file whose path has the longest common suffix with the recorded one. Of several, it is the one whose whole path
below the root is such a suffix, not a copy of the file further down.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from incprof.errors import NoDataError
from incprof.safe.jsonstore import JsonStore
from incprof.source.languages import language_of, read_source, strip
from incprof.source.model import SourceFile


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
        inside = sorted({real for candidate in best if (real := self._inside(os.path.join(self._base, candidate)))})
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
    parts = _parts(path)[::-1]
    shared: dict[int, list[str]] = defaultdict(list)
    for candidate in candidates:
        count = 0
        for one, other in zip(parts, _parts(candidate)[::-1], strict=False):
            if one != other:
                break
            count += 1
        shared[count].append(candidate)
    most = max(shared, default=0)
    if not most:
        return []
    matched = [candidate for candidate in shared[most] if len(_parts(candidate)) == most]
    return matched or shared[most]


def _parts(path: str) -> list[str]:
    """Return the parts of a path; those that lead out of an unknown directory are dropped."""
    return [part for part in posixpath.normpath(path).split("/") if part not in ("", ".", "..")]


# Check whether a source file has changed since the program was compiled.
#
# A recording does not contain the source, so the file's age is used. A file counts as unchanged if it was last
# written before the recording began, or if its text, without inserted heartbeats, equals one that was found unchanged
# before. A file at another place than where it was compiled (a new checkout has new times) is compared with the one
# at the old place, if that still exists; otherwise the names and lines of its functions decide.


# unknown: neither age nor a known text decides; the names and lines of functions must.
Verdict = Literal["unchanged", "changed", "unknown"]

VERSION = 1
STORE = "sources.json"


class KnownSources:
    """The texts of files that were found unchanged, stored in the run directory by the path that was compiled.

    start_ns: start of the recording, nanoseconds since 1970; None if not recorded.
    """

    def __init__(self, directory: str, start_ns: int | None):
        self._store = JsonStore(directory, STORE, VERSION)
        self._start_ns = start_ns
        self._digests = self._store.load(self._understood) or {}
        self._new = False

    def state_of(self, recorded: str, actual: Path, file: SourceFile) -> Verdict:
        """Judge a file. recorded: the path that was compiled. actual: the file that was parsed."""
        digest = hashlib.sha256(file.data).hexdigest()
        known_digest = self._digests.get(recorded)
        if known_digest is not None:
            verdict: Verdict = "unchanged" if known_digest == digest else "changed"
        else:
            verdict = self._by_age(recorded, actual, digest)
        if verdict == "unchanged" and known_digest is None:
            self._digests[recorded] = digest
            self._new = True
        return verdict

    def save(self) -> None:
        """Store new results; do nothing if the directory is not writable."""
        if self._new:
            self._store.save({"start_unix_ns": self._start_ns, "sha256": dict(sorted(self._digests.items()))})

    def _understood(self, stored: dict[str, Any]) -> dict[str, str]:
        """Return texts found unchanged before; none if they are of another recording."""
        if stored["start_unix_ns"] != self._start_ns:
            return {}
        return {str(name): str(digest) for name, digest in stored["sha256"].items()}

    def _by_age(self, recorded: str, actual: Path, digest: str) -> Verdict:
        """Judge a new file by its age, or by the file at the compiled path."""
        if self._old(actual):
            return "unchanged"
        original = Path(recorded)
        if self._start_ns is None or not original.is_file():
            return "unknown"
        if os.path.realpath(original) == os.path.realpath(actual):
            return "changed"
        if not self._old(original):
            return "unknown"
        return "unchanged" if _digest(original) == digest else "changed"

    def _old(self, path: Path) -> bool:
        """Return whether a file was last written before the recording began."""
        try:
            return self._start_ns is not None and path.stat().st_mtime_ns <= self._start_ns
        except OSError:
            return False


def _digest(path: Path) -> str | None:
    """Return the hash of a file's text without heartbeats; None if it cannot be read."""
    try:
        data = read_source(path)
    except NoDataError:
        return None
    language = language_of(str(path), data)
    return hashlib.sha256(strip(data, language) if language else data).hexdigest()
