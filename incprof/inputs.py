"""Opens files that somebody else may have put there.

Only regular files: a pipe would be waited for, a device has no end, and opening one may already do something. What
belongs to a recorded run lies in its directory, and no link leads from there to other files of whoever looks at it.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import stat
import time
from collections.abc import Container, Iterator
from contextlib import contextmanager
from typing import Any

FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
# Reading through a larger hole would take minutes. Nobody who writes a file leaves one.
LARGEST_HOLE = 1 << 30
PIECE = 1 << 16

AnyPath = str | os.PathLike[str]

DIRECTORY = "directory"
# Clocks of file systems stand still for up to 10 ms: what changes within the same tick has the same time.
TICK_NS = 100_000_000
# Of a file: device, inode, size, when it was written and changed. Of a directory: its names. None: it is not there.
State = list[int | str] | None


class Noticed:
    """Files that were looked for, by absolute path, and their states before they were read.

    complete: False where others may have been read, or one changed too short a time ago to see the next change.
    """

    def __init__(self) -> None:
        self.files: dict[str, State] = {}
        self.complete = True


_noticed: Noticed | None = None


@contextmanager
def noticing() -> Iterator[Noticed]:
    """Take note of all files that are looked for while the body runs."""
    global _noticed
    before, _noticed = _noticed, Noticed()
    try:
        yield _noticed
    finally:
        _noticed = before


def notice(*paths: AnyPath) -> None:
    """Take note of files, or of directories whose names matter, that an answer depends on, before they are read."""
    for path in paths if _noticed is not None else ():
        full = os.path.abspath(path)
        if _noticed is not None and full not in _noticed.files:
            state = _noticed.files[full] = state_of(full)
            if state and state[-1] != DIRECTORY and int(state[-1]) > time.time_ns() - TICK_NS:
                _noticed.complete = False


def notice_own(path: AnyPath) -> None:
    """Take note of a file that was written to be read the next time: it changes no answer."""
    if _noticed is not None:
        _noticed.files.pop(os.path.abspath(path), None)


def notice_others() -> None:
    """Record that other processes read files, which are not listed here."""
    if _noticed is not None:
        _noticed.complete = False


def state_of(path: AnyPath) -> State:
    """What changes with a file. Names that begin with a point, and of what is kept (*.json), are no directory's."""
    try:
        found = os.stat(path)
        if stat.S_ISDIR(found.st_mode):
            names = sorted(name for name in os.listdir(path) if not name.startswith(".") and not name.endswith(".json"))
            return [hashlib.sha256(repr(names).encode()).hexdigest(), DIRECTORY]
    except (OSError, ValueError):
        return None
    return [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def open_input(
    path: AnyPath, *, within: AnyPath | None = None, owners: Container[int] | None = None
) -> io.BufferedReader:
    """Open a regular file for reading.

    within: the directory of a run; symbolic links must not lead out of it.
    owners: for a directory that anybody may write to: the users whose file it may be. It is no symbolic link then.

    Raises: OSError, also when it is anything else, or no file can have this name.
    """
    notice(path)
    try:
        real = os.fspath(path) if within is None else _inside(path, within)
        _check_kind(os.stat(real, follow_symlinks=owners is None), path)
        descriptor = os.open(real, FLAGS | (os.O_NOFOLLOW if owners is not None else 0))
    except ValueError as error:  # NUL, or half a character
        raise OSError(errno.EINVAL, "no file can have this name", os.fspath(path)) from error
    try:
        status = os.fstat(descriptor)
        _check_kind(status, path)  # it may be another one by now
        if owners is not None and status.st_uid not in owners:
            raise OSError(errno.EACCES, "another user's file", os.fspath(path))
    except OSError:
        os.close(descriptor)
        raise
    return io.BufferedReader(_File(descriptor, path))


def read_input(
    path: AnyPath, most: int, *, within: AnyPath | None = None, owners: Container[int] | None = None
) -> bytes:
    """Read a regular file of at most so many bytes. within, owners: as of `open_input`.

    Raises: OSError, also when there are more.
    """
    with open_input(path, within=within, owners=owners) as file:
        size = os.fstat(file.fileno()).st_size
        data = b""
        # It may grow meanwhile, and files of the kernel have no size.
        while size <= most and len(data) <= most and (piece := file.read(min(max(size, PIECE), most + 1 - len(data)))):
            data += piece
    if max(size, len(data)) > most:
        limit = f"{most >> 20} MiB" if most >= 1 << 20 else f"{most} bytes"
        raise OSError(errno.EFBIG, f"larger than {limit}", os.fspath(path))
    return data


def open_series(path: AnyPath) -> io.FileIO:
    """Open a file, a pipe or a terminal that the user named to read from as it is written. A pipe waits for a writer.

    Raises: OSError, also for a directory, or when no file can have this name.
    """
    try:
        return io.FileIO(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY))
    except ValueError as error:
        raise OSError(errno.EINVAL, "no file can have this name", os.fspath(path)) from error


def next_data(descriptor: int, offset: int) -> int:
    """Where the first byte lies, from `offset` on, that is not in a hole: the end of the file if there is none.

    File systems that know no holes have data everywhere. The position of the descriptor changes.
    """
    try:
        return os.lseek(descriptor, offset, os.SEEK_DATA)
    except OSError as error:
        return os.fstat(descriptor).st_size if error.errno == errno.ENXIO else offset


def inside(path: AnyPath, directory: AnyPath) -> bool:
    """Whether a path, all links followed, lies in a directory."""
    try:
        base = os.path.realpath(directory)
        return os.path.commonpath([os.path.realpath(path), base]) == base
    except ValueError:
        return False


class _File(io.FileIO):
    """Reading stops with an error where a hole begins that is too large to read through."""

    def __init__(self, descriptor: int, path: AnyPath):
        super().__init__(descriptor)
        self._path = os.fspath(path)

    def readinto(self, buffer: Any, /) -> int | None:
        """Read into a buffer."""
        here = self.tell()
        if os.fstat(self.fileno()).st_size - here > LARGEST_HOLE:
            hole = next_data(self.fileno(), here) - here
            self.seek(here)
            if hole > LARGEST_HOLE:
                raise OSError(errno.EFBIG, f"a hole of {hole >> 30} GiB", self._path)
        return super().readinto(buffer)


def _inside(path: AnyPath, directory: AnyPath) -> str:
    """The file that a path leads to, which lies in the directory."""
    if not inside(path, directory):
        raise OSError(errno.EXDEV, f"a link that leads out of {os.fspath(directory) or '.'}", os.fspath(path))
    return os.path.realpath(path)


def _check_kind(status: os.stat_result, path: AnyPath) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
