"""Check whether a source file has changed since the program was compiled.

A recording does not contain the source, so the file's age is used. A file counts as unchanged if it was last written
before the recording began, or if its text, without inserted heartbeats, equals one that was found unchanged before. A
file at another place than where it was compiled (a new checkout has new times) is compared with the one at the old
place, if that still exists; otherwise the names and lines of its functions decide.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any, Literal

from incprof.errors import NoDataError
from incprof.safe.jsonstore import JsonStore
from incprof.source.languages import language_of, read_source, strip
from incprof.source.model import SourceFile

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
        self._known = self._store.load(self._understood) or {}
        self._new = False

    def state_of(self, recorded: str, actual: Path, file: SourceFile) -> Verdict:
        """Judge a file. recorded: the path that was compiled. actual: the file that was parsed."""
        digest = hashlib.sha256(file.data).hexdigest()
        known = self._known.get(recorded)
        if known is not None:
            found: Verdict = "unchanged" if known == digest else "changed"
        else:
            found = self._by_age(recorded, actual, digest)
        if found == "unchanged" and known is None:
            self._known[recorded] = digest
            self._new = True
        return found

    def save(self) -> None:
        """Store new results; do nothing if the directory is not writable."""
        if self._new:
            self._store.save({"start_unix_ns": self._start_ns, "sha256": dict(sorted(self._known.items()))})

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
