"""How long a part of the campaign goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random


@dataclass
class Budget:
    """So many seconds, or so many cases where that is given."""

    seconds: float
    cases: int | None = None
    done: int = 0
    start: float = field(default_factory=time.monotonic)

    def begin(self) -> None:
        """Begin now: what was prepared before does not count."""
        self.start = time.monotonic()

    def more(self, wanted: int = 1) -> int:
        """How many of so many more cases there are to be; counts them."""
        if self.cases is None:
            granted = wanted if self.spent_s() < self.seconds else 0
        else:
            granted = min(wanted, self.cases - self.done)
        self.done += granted
        return granted

    def drawn(self, part: str, seed: int, only: str) -> Iterator[tuple[int, Random]]:
        """Go through the cases of a part from now on, with the dice of each. only: the number of the first one."""
        self.begin()
        number = int(only or 0)
        while self.more():
            yield number, Random(f"{seed}/{part}/{number}")
            number += 1

    def stop(self) -> None:
        """Grant no more: the case that is under way is the last one."""
        self.cases = self.done

    def spent_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.start
