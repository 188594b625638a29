"""The length of a part of the campaign, in seconds or in cases."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random


@dataclass
class Budget:
    """A number of seconds, or a number of cases if that is given."""

    seconds: float
    cases: int | None = None
    done: int = 0
    start: float = field(default_factory=time.monotonic)

    def begin(self) -> None:
        """Begin now, so that preparation does not count."""
        self.start = time.monotonic()

    def more(self, wanted: int = 1) -> int:
        """Return how many of that many further cases may run, and count them."""
        if self.cases is None:
            granted = wanted if self.elapsed_s() < self.seconds else 0
        else:
            granted = min(wanted, self.cases - self.done)
        self.done += granted
        return granted

    def drawn(self, part: str, seed: int, only: str) -> Iterator[tuple[int, Random]]:
        """Yield the cases of a part from now on, each with its random generator. only: the number of the first one."""
        self.begin()
        number = int(only or 0)
        while self.more():
            yield number, Random(f"{seed}/{part}/{number}")
            number += 1

    def stop(self) -> None:
        """Stop after the current case."""
        self.cases = self.done

    def elapsed_s(self) -> float:
        """Return the seconds since the start."""
        return time.monotonic() - self.start
