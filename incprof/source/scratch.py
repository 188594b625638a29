"""A temporary directory, and source trees in it."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from incprof.errors import IncprofError, UsageError

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
