"""Text that is read as it grows, until it ends or the user has seen enough."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType

from incprof.readers.series.growing import growing_lines, opened


def name_of(path: str) -> str:
    """Return what messages call a file; `-` is standard input."""
    return "stdin" if path == "-" else path


@contextmanager
def followed(path: str, idle_s: float) -> Iterator[Iterator[str]]:
    """Give the lines of a file or a pipe as they come, and an empty one whenever no more have come yet.

    They end with the first interrupt (Ctrl-C) too, between two lines; a second one is raised as usual.

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


def _until(told: list[int], lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if told:
            return
        yield line


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Collect the first interrupt, where it would be raised."""
    told: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield told
        return
    before = signal.getsignal(signal.SIGINT)

    def hear(number: int, _frame: FrameType | None) -> None:
        told.append(number)
        signal.signal(signal.SIGINT, before)

    if before is signal.default_int_handler:  # else somebody ignores it
        signal.signal(signal.SIGINT, hear)
    try:
        yield told
    finally:
        if before is signal.default_int_handler:
            signal.signal(signal.SIGINT, before)
