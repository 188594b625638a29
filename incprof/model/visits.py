"""What samples alone say of how often code is called. s samples in time order, thread after thread.

A sample inside after one outside, of the same thread, has at least one call between them; calls that began and ended
between two samples leave no mark. Were each sample of another call, code with a part p of the samples of what calls it
would be left after 1 - p of them. The nearer what is seen comes to that, the less is known: of calls and pauses whose
lengths are drawn independently (exponentially), a part 1 - exp(-distance / length) is seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# Seen so much less often than that, calls and pauses last for several samples, and hardly any is missed.
SELDOM = 0.5
# Standard errors to either side, of what is as random as counts: 95 %.
SURE = 1.96


@dataclass(frozen=True)
class Visits:
    """Calls as far as samples tell.

    seen: at least so many. high: at most, None where there may be any number more. likely: so many; as were seen where
    nothing better is known.
    """

    seen: int
    high: float | None
    likely: float | None = None

    @property
    def calls(self) -> int:
        """The best that is known."""
        return self.seen if self.likely is None else round(self.likely)

    @property
    def is_known(self) -> bool:
        """Whether what was seen is about what there was."""
        return self.high is not None

    def is_closer_than(self, other: Visits) -> bool:
        """Whether the bounds are nearer to one another, as parts of the calls."""
        if self.high is None or other.high is None:
            return self.high is not None
        return self.high * other.seen < other.high * self.seen


def visits(seen: int, inside: int, around: int, *, bounded: bool = True) -> Visits:
    """Judge what was seen.

    Args:
        seen: samples inside after one outside.
        inside: samples of the code.
        around: samples of what calls it, those inside included.
        bounded: False where calls may follow one another without any other code in between.
    """
    chance = inside * (1.0 - inside / around) if around else 0.0
    part = seen / chance if chance > 0 else 1.0
    if part >= SELDOM or not bounded:
        return Visits(seen, None)
    return Visits(seen, max(-math.log1p(-part) * chance, seen + 1.0) + SURE * math.sqrt(seen))
