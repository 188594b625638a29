"""Text that is read as it grows, until it ends or the user interrupts."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType

from incprof.readers.series.text_tables import growing_lines, opened

# Interrupts this close together count as one: `timeout` signals the program, and then its whole process group.
ONE_S = 1.0


def name_of(path: str) -> str:
    """Return the name of a file in messages; `-` is standard input."""
    return "stdin" if path == "-" else path


@contextmanager
def followed(path: str, idle_s: float) -> Iterator[Iterator[str]]:
    """Yield the lines of a file or a pipe as they arrive, and an empty one whenever no more have arrived yet.

    An interrupt (Ctrl-C) between two lines ends them too; a later one is raised as usual.

    Args:
        path: of a file; `-` is standard input.
        idle_s: a file ends this many seconds after its last line.

    Raises:
        NoDataError: it cannot be read.
    """
    with ExitStack() as stack:
        descriptor = sys.stdin.fileno() if path == "-" else stack.enter_context(opened(path)).fileno()
        interrupts = stack.enter_context(_interrupts())
        yield _until(interrupts, growing_lines(descriptor, name_of(path), idle_s))


def _until(interrupts: list[float], lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if interrupts:
            return
        yield line


@contextmanager
def _interrupts() -> Iterator[list[float]]:
    """Collect the times of interrupts, instead of raising the first ones."""
    interrupts: list[float] = []
    usual = signal.default_int_handler

    def handler(number: int, frame: FrameType | None) -> None:
        interrupts.append(time.monotonic())
        if interrupts[-1] - interrupts[0] > ONE_S:
            usual(number, frame)

    # Only the main thread may set signal handlers; ignored signals stay ignored.
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not usual:
        yield interrupts
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, usual)
