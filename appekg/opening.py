"""Open heartbeat files: regular ones only. A pipe would block, and a device has no end."""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path
from typing import Any

FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
# Reading through a larger hole would take minutes. No writer leaves one.
LARGEST_HOLE = 1 << 30


def open_file(path: Path, *, within: Path | None = None) -> io.BufferedReader:
    """Open a file.

    Args:
        path: The file.
        within: The directory of a run, which links must not leave.

    Raises:
        OSError: it cannot be opened, or is not a regular file.
    """
    try:
        real = str(path) if within is None else _inside(path, within)
        _check_kind(os.stat(real), path)
        descriptor = os.open(real, FLAGS)
    except ValueError as error:  # NUL, or half of a surrogate pair
        raise OSError(errno.EINVAL, "not a valid file name", str(path)) from error
    try:
        _check_kind(os.fstat(descriptor), path)  # it may have been replaced
    except OSError:
        os.close(descriptor)
        raise
    return io.BufferedReader(_File(descriptor, path))


class _File(io.FileIO):
    """A file in which reading fails where a hole begins that is too large to read through."""

    def __init__(self, descriptor: int, path: Path):
        super().__init__(descriptor)
        self._path = os.fspath(path)

    def readinto(self, buffer: Any, /) -> int | None:
        """Read into a buffer."""
        position = self.tell()
        size = os.fstat(self.fileno()).st_size
        if size - position > LARGEST_HOLE:
            try:
                data = os.lseek(self.fileno(), position, os.SEEK_DATA)
            except OSError as error:
                # A file system may not support holes.
                data = size if error.errno == errno.ENXIO else position
            self.seek(position)
            if data - position > LARGEST_HOLE:
                raise OSError(errno.EFBIG, f"a hole of {data - position >> 30} GiB", self._path)
        return super().readinto(buffer)


def _inside(path: Path, directory: Path) -> str:
    """Return the file that a path leads to.

    Raises:
        OSError: it does not lie in the directory.
    """
    real, base = os.path.realpath(path), os.path.realpath(directory)
    if os.path.commonpath([real, base]) != base:
        raise OSError(errno.EXDEV, f"a link that leads out of {directory}", str(path))
    return real


def _check_kind(status: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
