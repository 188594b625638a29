"""Messages of a study: warnings and progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext

# Called with (done, total) repeatedly.
Progress = Callable[[int, int], object]


def _nothing(done: int, total: int) -> None:
    """Do nothing."""


class Listener:
    """Receives warnings and progress. This one ignores them; that of the commands writes to stderr."""

    def warn(self, lines: Iterable[str]) -> None:
        """Receive warnings, a line each."""

    def progress(self, what: str) -> AbstractContextManager[Progress]:
        """Receive progress while the body runs."""
        return nullcontext(_nothing)


SILENT = Listener()
