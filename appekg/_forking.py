"""Suppress Python's warning of a fork beside threads if the only other thread is the library's own.

From 3.12 on `os.fork` counts the threads of the process in the kernel, and warns. The library's interval thread is
harmless: it holds no lock of Python's, and the library takes its own locks around a fork.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

# The name of the interval thread in the kernel (appekg/src/interval_thread.c).
NAME = "appekg"


class _OnlyOurThread:
    """Stands for the pattern of a warning filter: checks the text of a warning, and then the running threads."""

    def match(self, text: str) -> bool:
        """Return whether this is that warning, and all other threads but one are the library's."""
        return "is multi-threaded, use of fork" in text and _others() == 1


def _others() -> int:
    """Return the number of threads without the library's; 0 where it is unknown."""
    try:
        tasks = os.listdir("/proc/self/task")
        return sum(Path(f"/proc/self/task/{task}/comm").read_text().strip() != NAME for task in tasks)
    except OSError:
        return 0


def expect() -> None:
    """Suppress the warning of forks beside the library's thread alone; with threads of the program it stays."""
    filters: list[object] = warnings.filters  # type: ignore[assignment]  # any object with match() will do
    filters.insert(0, ("ignore", _OnlyOurThread(), DeprecationWarning, None, 0))
