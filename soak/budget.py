"""How long a part of the campaign goes on."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class Budget:
    """So many seconds, or so many cases where that is given."""

    seconds: float
    cases: int | None = None
    done: int = 0
    start: float = field(default_factory=time.monotonic)

    def more(self) -> bool:
        """Whether there is another case; counts it."""
        go_on = self.spent_s() < self.seconds if self.cases is None else self.done < self.cases
        self.done += go_on
        return go_on

    def spent_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.start
