"""Python's warning of a fork beside threads, where there is none but the library's own.

From 3.12 on `os.fork` counts what the kernel has of threads, and warns. The library's interval thread is no reason: it
has no lock of Python's, and the library takes its own around a fork.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

# As the kernel shows the interval thread (appekg/src/interval_thread.c).
NAME = "appekg"


class _BesideOurThreadOnly:
    """Stands for the pattern of a filter: what a warning says is looked at, and then who is there."""

    def match(self, text: str) -> bool:
        """Whether this is that warning, and all other threads but one are the library's."""
        return "is multi-threaded, use of fork" in text and _others() == 1


def _others() -> int:
    """How many threads there are without the library's; 0 where that cannot be told."""
    try:
        tasks = os.listdir("/proc/self/task")
        return sum(Path(f"/proc/self/task/{task}/comm").read_text().strip() != NAME for task in tasks)
    except OSError:
        return 0


def expect() -> None:
    """No warning from here on of forks beside the library's thread alone; beside the program's they stay."""
    filters: list[object] = warnings.filters  # type: ignore[assignment]  # any object with match() will do
    filters.insert(0, ("ignore", _BesideOurThreadOnly(), DeprecationWarning, None, 0))
