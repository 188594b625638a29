"""Takes what this process writes."""

from __future__ import annotations

import os
import sys
from types import TracebackType


class Capture:
    """Takes what goes to stdout and stderr, also past Python, in memory, as long as its body runs."""

    def __enter__(self) -> Capture:
        self._before = [os.dup(number) for number in (1, 2)]
        self._files = [os.memfd_create(name) for name in ("stdout", "stderr")]
        self._put(self._files)
        # As a program has them that is started where texts are UTF-8.
        self._streams = sys.stdout, sys.stderr
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.stdout.close()
        sys.stderr.close()
        sys.stdout, sys.stderr = self._streams
        self._put(self._before)
        for file in (*self._files, *self._before):
            os.close(file)

    def take(self) -> tuple[bytes, bytes]:
        """What was written since the last call."""
        sys.stdout.flush()
        sys.stderr.flush()
        found = []
        for file in self._files:
            found.append(os.pread(file, os.lseek(file, 0, os.SEEK_CUR), 0))
            os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)
        return found[0], found[1]

    def _put(self, files: list[int]) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, file in enumerate(files, 1):
            os.dup2(file, number)
