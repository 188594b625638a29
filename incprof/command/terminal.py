"""Properties of the terminal, and messages on stderr."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from incprof.safe.printable import say, unfiltered
from incprof.study.phase_options import Listener, Progress


def wants_colour() -> bool:
    """Return whether stdout takes colours: a terminal that is not dumb, unless NO_COLOR is set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def text_width(usual: int = 100) -> int:
    """Return the columns of the terminal; if stdout is none, COLUMNS if that is a sensible number."""
    if sys.stdout.isatty():
        return shutil.get_terminal_size((usual, 24)).columns
    value = os.environ.get("COLUMNS", "")
    return int(value) if value.isdigit() and 40 <= int(value) <= 1000 else usual


class Shown:
    """Callable that shows (done, total) on stderr, when that is a terminal."""

    def __init__(self, what: str, shown: bool):
        self.what, self.shown, self.percent = what, shown, -1

    def __call__(self, done: int, total: int) -> None:
        """Show how far it is."""
        percent = 100 * done // max(total, 1)
        if self.shown and percent != self.percent:
            self.percent = percent
            print(f"\r{self.what} {percent:3d} %", end="", file=unfiltered(sys.stderr), flush=True)


class Stderr(Listener):
    """Prints on stderr: warnings as they come, and progress on a terminal."""

    def warn(self, lines: Iterable[str]) -> None:
        """Print warnings, a line each."""
        for line in lines:
            say(line)

    @contextmanager
    def progress(self, what: str) -> Iterator[Progress]:
        """Show progress while the body runs, and erase it afterwards."""
        shown = Shown(what, sys.stderr.isatty())
        try:
            yield shown
        finally:
            if shown.percent >= 0:
                print("\r\033[K", end="", file=unfiltered(sys.stderr), flush=True)


STDERR = Stderr()
warn = STDERR.warn
