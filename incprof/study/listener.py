"""What a study says while it works: warnings, and how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext

# Told (done, total) again and again.
Progress = Callable[[int, int], object]


def _nothing(done: int, total: int) -> None:
    """Say nothing."""


class Listener:
    """Hears of it. This one says nothing; a command's own writes to stderr."""

    def warn(self, lines: Iterable[str]) -> None:
        """Pass warnings on, a line each."""

    def progress(self, what: str) -> AbstractContextManager[Progress]:
        """Tell how far something is while the body runs."""
        return nullcontext(_nothing)


SILENT = Listener()
