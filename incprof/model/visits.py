"""Estimate from samples alone how often code is called. s samples in time order, thread after thread.

Between a sample outside and a following one inside, of the same thread, there is at least one call; calls that begin
and end between two samples leave no trace. If each sample belonged to another call, code with a share p of its caller's
samples would be left after a share 1 - p of them. The closer the observed share comes to that, the less certain the
count is: if the lengths of calls and pauses are independent and exponential, a share 1 - exp(-distance / length) is
observed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# At an observed share this far below that, calls and pauses last for several samples, and hardly any call is missed.
SELDOM = 0.5
# Standard errors to either side, for values as random as counts: 95 %.
SURE = 1.96


@dataclass(frozen=True)
class Visits:
    """A number of calls, estimated from samples.

    Attributes:
        seen: lower bound.
        high: upper bound; None if there is none.
        likely: estimate; equals `seen` if there is no better one.
    """

    seen: int
    high: float | None
    likely: float | None = None

    @property
    def calls(self) -> int:
        """The best estimate."""
        return self.seen if self.likely is None else round(self.likely)

    @property
    def is_known(self) -> bool:
        """True if the observed calls are about all calls."""
        return self.high is not None

    def is_closer_than(self, other: Visits) -> bool:
        """Return whether the bounds are closer to each other, relative to the calls."""
        if self.high is None or other.high is None:
            return self.high is not None
        return self.high * other.seen < other.high * self.seen


def visits(seen: int, inside: int, around: int, *, bounded: bool = True) -> Visits:
    """Estimate calls and their bounds from observed entries.

    Args:
        seen: samples inside that follow one outside.
        inside: samples in the code.
        around: samples in its caller, including those inside.
        bounded: False if calls may follow one another without any other code in between.
    """
    chance = inside * (1.0 - inside / around) if around else 0.0
    part = seen / chance if chance > 0 else 1.0
    if part >= SELDOM or not bounded:
        return Visits(seen, None)
    return Visits(seen, max(-math.log1p(-part) * chance, seen + 1.0) + SURE * math.sqrt(seen))
