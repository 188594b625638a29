"""Change files of a source tree: all of them, or none.

Files outside the tree, write-protected files, and files changed by others meanwhile are never touched. New versions are
first written beside the old ones, and then replace them one after the other; if one replacement fails, the earlier ones
are reverted.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from incprof.errors import IncprofError
from incprof.safe.inputs import open_input


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
        written = [stack.enter_context(_beside(target, version)) for target, version in targets]
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
def _beside(target: Path, version: Version) -> Iterator[str]:
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
        with contextlib.suppress(IncprofError), _beside(target, Version("", b"", version.old)) as temporary:
            os.replace(temporary, target)
