"""Open files that somebody else may have placed there.

Only regular files are opened: a pipe could block, a device has no end, and opening one may have side effects. The files
of a recorded run lie in its directory; links that lead out of it are refused.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import stat
import time
import tokenize
from collections.abc import Container, Iterator
from contextlib import contextmanager
from typing import Any

FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
# Reading through a larger hole would take minutes. No honest writer leaves one.
LARGEST_HOLE = 1 << 30
PIECE = 1 << 16

AnyPath = str | os.PathLike[str]

# Raised by numpy for a file that is not in its format.
HOSTILE: tuple[type[Exception], ...] = (
    ValueError, OSError, EOFError, SyntaxError, MemoryError, OverflowError, TypeError, RecursionError,
    tokenize.TokenError,
)  # fmt: skip

DIRECTORY = "directory"
# File system clocks advance in steps of up to 10 ms: changes within one step have the same time.
TICK_NS = 100_000_000
# Of a file: device, inode, size, times of modification and change. Of a directory: its names. None: it does not exist.
State = list[int | str] | None


class RecordedInputs:
    """Files that were looked for, by absolute path, and their states before they were read.

    Attributes:
        own: files written meanwhile, for a later call to read.
        complete: False if other files may have been read, or one changed too recently for a further change to be
            detected.
    """

    def __init__(self) -> None:
        self.files: dict[str, State] = {}
        self.own: set[str] = set()
        self.complete = True


_recorder: RecordedInputs | None = None


@contextmanager
def recording_inputs() -> Iterator[RecordedInputs]:
    """Record all files that are looked for while the body runs."""
    global _recorder
    before, _recorder = _recorder, RecordedInputs()
    try:
        yield _recorder
    finally:
        _recorder = before


def record_input(*paths: AnyPath) -> None:
    """Record files, or directories whose names matter, that an answer depends on, before they are read."""
    for path in paths if _recorder is not None else ():
        full = os.path.abspath(path)
        if _recorder is not None and full not in _recorder.files and full not in _recorder.own:
            state = _recorder.files[full] = state_of(full)
            if state and state[-1] != DIRECTORY and int(state[-1]) > time.time_ns() - TICK_NS:
                _recorder.complete = False


def notice_own(path: AnyPath) -> None:
    """Record a file that was written for a later call to read: it changes no answer."""
    if _recorder is not None:
        full = os.path.abspath(path)
        _recorder.files.pop(full, None)
        _recorder.own.add(full)


def notice_others() -> None:
    """Record that other processes read files, which are not listed here."""
    if _recorder is not None:
        _recorder.complete = False


def state_of(path: AnyPath) -> State:
    """Return a file's state, which changes with it; a directory's omits hidden names and stored answers (*.json)."""
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            names = sorted(name for name in os.listdir(path) if not name.startswith(".") and not name.endswith(".json"))
            return [hashlib.sha256(repr(names).encode()).hexdigest(), DIRECTORY]
    except (OSError, ValueError):
        return None
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def open_input(
    path: AnyPath, *, within: AnyPath | None = None, owners: Container[int] | None = None
) -> io.BufferedReader:
    """Open a regular file for reading.

    within: the directory of a run; symbolic links must not lead out of it. owners: for a directory that anybody may
    write to: the users who may own the file, which then must not be a symbolic link.
    Raises: OSError, also if it is not a regular file, or if the file name is not valid.
    """
    record_input(path)
    try:
        real = os.fspath(path) if within is None else _inside(path, within)
        _check_kind(os.stat(real, follow_symlinks=owners is None), path)
        descriptor = os.open(real, FLAGS | (os.O_NOFOLLOW if owners is not None else 0))
    except ValueError as error:  # NUL, or an unpaired surrogate
        raise OSError(errno.EINVAL, "not a valid file name", os.fspath(path)) from error
    try:
        status = os.fstat(descriptor)
        _check_kind(status, path)  # it may have been replaced by now
        if owners is not None and status.st_uid not in owners:
            raise OSError(errno.EACCES, "another user's file", os.fspath(path))
    except OSError:
        os.close(descriptor)
        raise
    return io.BufferedReader(_File(descriptor, path))


def read_input(
    path: AnyPath, most: int, *, within: AnyPath | None = None, owners: Container[int] | None = None
) -> bytes:
    """Read a regular file of at most `most` bytes. within, owners: see `open_input`.

    Raises: OSError, also if the file is larger.
    """
    with open_input(path, within=within, owners=owners) as file:
        size = os.fstat(file.fileno()).st_size
        data = b""
        # The file may grow meanwhile, and files of the kernel report no size.
        while size <= most and len(data) <= most and (piece := file.read(min(max(size, PIECE), most + 1 - len(data)))):
            data += piece
    if max(size, len(data)) > most:
        limit = f"{most >> 20} MiB" if most >= 1 << 20 else f"{most} bytes"
        raise OSError(errno.EFBIG, f"larger than {limit}", os.fspath(path))
    return data


def open_series(path: AnyPath) -> io.FileIO:
    """Open a file, a pipe or a terminal that the user named, to read it while it is written. A pipe waits for a writer.

    Raises: OSError, also for a directory, or if the file name is not valid.
    """
    try:
        return io.FileIO(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY))
    except ValueError as error:
        raise OSError(errno.EINVAL, "not a valid file name", os.fspath(path)) from error


def next_data(descriptor: int, offset: int) -> int:
    """Return the offset of the first byte from `offset` on that is not in a hole; the end of the file if there is none.

    File systems without holes report data everywhere. The position of the descriptor changes.
    """
    try:
        return os.lseek(descriptor, offset, os.SEEK_DATA)
    except OSError as error:
        return os.fstat(descriptor).st_size if error.errno == errno.ENXIO else offset


def inside(path: AnyPath, directory: AnyPath) -> bool:
    """Return whether a path lies in a directory once all links are followed."""
    try:
        base = os.path.realpath(directory)
        return os.path.commonpath([os.path.realpath(path), base]) == base
    except ValueError:
        return False


class _File(io.FileIO):
    """A file whose reading stops with an error at a hole that is too large to read through."""

    def __init__(self, descriptor: int, path: AnyPath):
        super().__init__(descriptor)
        self._path = os.fspath(path)

    def readinto(self, buffer: Any, /) -> int | None:
        """Read into a buffer."""
        position = self.tell()
        if os.fstat(self.fileno()).st_size - position > LARGEST_HOLE:
            hole = next_data(self.fileno(), position) - position
            self.seek(position)
            if hole > LARGEST_HOLE:
                raise OSError(errno.EFBIG, f"a hole of {hole >> 30} GiB", self._path)
        return super().readinto(buffer)


def _inside(path: AnyPath, directory: AnyPath) -> str:
    """Return the file that a path leads to, which lies in the directory."""
    if not inside(path, directory):
        raise OSError(errno.EXDEV, f"a link that leads out of {os.fspath(directory) or '.'}", os.fspath(path))
    return os.path.realpath(path)


def _check_kind(status: os.stat_result, path: AnyPath) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
