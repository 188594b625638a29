"""What may stand in the place of a file, and limits for tests that would wait for it if something opened it."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from types import FrameType

# Far more than anything here takes: only what would wait for ever comes so far.
PATIENCE_S = 300


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_directory(path: Path) -> None:
    path.mkdir()


def a_socket(path: Path) -> None:
    with chdir(path.parent), socket.socket(socket.AF_UNIX) as server:
        server.bind(path.name)


def a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_circle(path: Path) -> None:
    path.symlink_to(path.name)


def a_hole(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


PLACES: tuple[Callable[[Path], None], ...] = (a_pipe, a_directory, a_socket, a_device, a_circle, a_hole)


def put(place: Callable[[Path], None], path: Path) -> Path:
    """Put something in the place of a file."""
    path.unlink(missing_ok=True)
    place(path)
    return path


@contextmanager
def patience() -> Iterator[None]:
    """Fail where the body waits for ever."""

    def give_up(number: int, frame: FrameType | None) -> None:
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
