"""Text that is read as it grows, until it ends or the user has seen enough."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType

from incprof.readers.series.growing import growing_lines, opened

# Interrupts that come together are one: `timeout` sends its own to the program, and then to all of its group.
ONE_S = 1.0


def name_of(path: str) -> str:
    """Return what messages call a file; `-` is standard input."""
    return "stdin" if path == "-" else path


@contextmanager
def followed(path: str, idle_s: float) -> Iterator[Iterator[str]]:
    """Give the lines of a file or a pipe as they come, and an empty one whenever no more have come yet.

    They end with an interrupt (Ctrl-C) too, between two lines; one that comes later than that is raised as usual.

    Args:
        path: of a file; `-` is standard input.
        idle_s: a file ends so long after a line.

    Raises:
        NoDataError: it cannot be read.
    """
    with ExitStack() as stack:
        descriptor = sys.stdin.fileno() if path == "-" else stack.enter_context(opened(path)).fileno()
        told = stack.enter_context(_interrupts())
        yield _until(told, growing_lines(descriptor, name_of(path), idle_s))


def _until(told: list[float], lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if told:
            return
        yield line


@contextmanager
def _interrupts() -> Iterator[list[float]]:
    """Collect when interrupts came, where the first ones would be raised."""
    told: list[float] = []
    usual = signal.default_int_handler

    def hear(number: int, frame: FrameType | None) -> None:
        told.append(time.monotonic())
        if told[-1] - told[0] > ONE_S:
            usual(number, frame)

    # Only the main thread may ask for signals, and where somebody ignores them they stay ignored.
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not usual:
        yield told
        return
    signal.signal(signal.SIGINT, hear)
    try:
        yield told
    finally:
        signal.signal(signal.SIGINT, usual)
