"""Source trees: find the file that a binary names, and mirror a tree in a temporary directory.

The tree may have moved since the build, the build may have been out of tree, and names may be relative: the match is
the file whose path has the longest common suffix with the recorded one. Of several, it is the one whose whole path
below the root is such a suffix, not a copy of the file further down.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import shutil
import signal
import stat
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from incprof.errors import IncprofError, NoDataError, UsageError
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


MOST_BYTES = 8 << 30
MOST_FILES = 500_000
LEFT_OUT = frozenset({".git", ".hg", ".svn"})
Handler = Callable[[int, FrameType | None], Any] | int | None
ENDS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def scratch_directory() -> Iterator[Path]:
    """Create a directory that is removed in any case except SIGKILL: SIGTERM and SIGHUP become SystemExit meanwhile.

    Raises: IncprofError if it cannot be created.
    """
    try:
        directory = Path(tempfile.mkdtemp(prefix="incprof-check-")).resolve()
    except OSError as error:
        raise IncprofError(
            f"{tempfile.gettempdir()}: no directory to check in: {error.strerror}: set TMPDIR"
        ) from error
    before: dict[int, Handler] = {}
    try:
        before = _ended_by_exit()
        yield directory
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _remove(directory)


def mirror(root: Path, target: Path, changed: Mapping[str, bytes], *, link: bool) -> None:
    """Make a tree of `root` at `target`, with other bytes in the files of `changed` (paths relative to `root`).

    link: other files are symbolic links to those of `root`, so nothing may write to them; else they are copies. Links
    that lead into `root` lead into the new tree. Version control repositories, sockets and devices are left out.

    Raises: UsageError for a tree of more than 500 000 files or 8 GiB; IncprofError if it cannot be read or written.
    """
    top, files, bytes_left = os.path.realpath(root), 0, MOST_BYTES
    try:
        for place, directories, names in os.walk(top):
            # If TMPDIR is in the old tree, the new one lies in it.
            own_name = target.parent.name if place == str(target.parent.parent) else None
            directories[:] = [name for name in directories if name not in LEFT_OUT and name != own_name]
            target_path = os.path.join(target, os.path.relpath(place, top))
            os.makedirs(target_path, exist_ok=True)
            links = [name for name in directories if os.path.islink(os.path.join(place, name))]
            files += len(directories) + len(names)
            if files > MOST_FILES:
                raise UsageError(f"{root}: more than {MOST_FILES} files: check a smaller tree")
            for name in [*names, *links]:
                if os.path.relpath(os.path.join(place, name), top) not in changed:
                    bytes_left -= _link_or_copy(
                        os.path.join(place, name),
                        os.path.join(target_path, name),
                        top,
                        target,
                        link=link,
                        bytes_left=bytes_left,
                    )
        for path, data in changed.items():
            _write(target / path, data, Path(top, path))
    except OSError as error:
        raise IncprofError(f"{error.filename or root}: cannot be copied to be checked: {error.strerror}") from error


def _link_or_copy(path: str, target_path: str, top: str, target: Path, *, link: bool, bytes_left: int) -> int:
    """Link or copy one file; return the bytes that the copy takes."""
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        aim = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
        inside = aim == top or aim.startswith(top + os.sep)
        os.symlink(os.path.join(target, os.path.relpath(aim, top)) if inside else aim, target_path)
        return 0
    if not stat.S_ISREG(status.st_mode):
        return 0
    if link:
        os.symlink(path, target_path)
        return 0
    if status.st_size > bytes_left:
        raise UsageError(f"{top}: more than {MOST_BYTES >> 30} GiB: check a smaller tree")
    shutil.copy2(path, target_path, follow_symlinks=False)
    return status.st_size


def _write(path: Path, data: bytes, original: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    if original.is_file():
        shutil.copymode(original, path)


def _ended_by_exit() -> dict[int, Handler]:
    """Make signals that end the process unwind it; return their old handlers. Outside the main thread, do nothing."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before: dict[int, Handler] = {}
    for number in ENDS:
        if signal.getsignal(number) == signal.SIG_DFL:
            try:
                before[number] = signal.signal(number, leave)
            except ValueError:
                return {}
    return before


def _remove(directory: Path) -> None:
    """Remove the directory, even if a command in it made directories unwritable."""

    def retry_writable(function: object, path: str, error: object) -> None:
        try:
            os.chmod(os.path.dirname(path), 0o700)
            os.chmod(path, 0o700, follow_symlinks=False) if os.path.islink(path) else os.chmod(path, 0o700)
            shutil.rmtree(path, ignore_errors=True) if os.path.isdir(path) else os.unlink(path)
        except OSError:
            pass

    shutil.rmtree(directory, onerror=retry_writable)
