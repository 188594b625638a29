"""Where in the known runs a run is, and so what comes next and when.

Each stretch of a known run is a place. A place is the better the more of the stretches before it are those that the
run has just gone through; a stretch too many or too few, or of another length, makes it worse. What follows the best
places is what comes next, and their lengths, at the pace of this run, say when.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.analysis.dna.decode import UNKNOWN
from incprof.analysis.dna.results import Stretch
from incprof.model import FloatArray, IntArray

# What a stretch too many or too few makes a place worse by; a stretch that is the same makes it better by 1.
SKIPPED = 1.5
# A stretch of another length makes it worse by the logarithm of the ratio, and by this at most.
OTHER_LENGTH = 0.5
# A run that has just begun is at the beginning of known ones.
BEGUN = 1.0
# A place that is worse by this has a vote that is smaller by a factor of e.
VOTES = 0.4
# Stretches whose lengths the pace is from.
PACE_FROM = 12
ENDED = -2


@dataclass(frozen=True)
class Next:
    """What may come.

    state: that comes next, `ENDED` where a run ends. probability: of it. in_s: seconds until then, from now. low_s,
    high_s: between which 80 % lie.
    """

    state: int
    probability: float
    in_s: float
    low_s: float
    high_s: float


class Places:
    """The places of known runs, and how well each fits what has been seen."""

    def __init__(self, runs: Sequence[Sequence[Stretch]]):
        every = [stretch for run in runs for stretch in run]
        self._state: IntArray = np.array([stretch.state for stretch in every], dtype=np.int64)
        self._seconds: FloatArray = np.array([stretch.seconds for stretch in every])
        first = np.cumsum([0, *(len(run) for run in runs)])[:-1]
        self._first = np.isin(np.arange(len(every)), first)
        self._last = np.append(self._first[1:], True) if every else self._first
        self._fits: FloatArray | None = None
        self._now = UNKNOWN
        self._paces: list[float] = []

    def begin(self, state: int) -> None:
        """Take it that a run has begun, with this state."""
        self._fits = np.where(self._state == state, 1.0, -1.0) + BEGUN * self._first
        self._paces, self._now = [], state

    def enter(self, state: int, seconds: float) -> None:
        """Take it that a run has gone on to a state, after so many seconds in the one before."""
        if self._fits is None:
            self.begin(state)
            return
        ratio = np.log(max(seconds, 1e-3) / np.maximum(self._seconds, 1e-3))
        best = np.flatnonzero((self._fits >= self._fits.max(initial=-np.inf) - VOTES) & (self._state == self._now))
        if len(best):
            self._paces.append(float(np.median(ratio[best])))
        before = self._fits - np.minimum(np.abs(ratio - self._log_pace), OTHER_LENGTH)
        came = np.maximum(_later(before, 1, self._first), _later(before, 2, self._first) - SKIPPED)
        came = np.maximum(came, before - SKIPPED)
        self._fits = np.where(self._state == state, 1.0, -1.0) + np.maximum(came, 0.0)
        self._now = state

    @property
    def _log_pace(self) -> float:
        """The logarithm of this run's lengths over those of known ones; a few of them are not believed wholly."""
        recent = self._paces[-PACE_FROM:]
        return float(np.median(recent)) * len(recent) / (len(recent) + 0.5) if recent else 0.0

    def next(self, elapsed_s: float) -> tuple[Next, ...]:
        """What may come next, the most probable first; nothing where the present state is in no known run.

        Args:
            elapsed_s: seconds since the present state was entered.
        """
        here = np.flatnonzero(self._state == self._now)
        if self._fits is None or not len(here):
            return ()
        fits = self._fits[here]
        vote = np.exp((fits - fits.max()) / VOTES)
        seconds = self._seconds[here] * np.exp(self._log_pace)
        after = np.where(self._last[here], ENDED, np.append(self._state, ENDED)[here + 1])
        still = vote * (seconds > elapsed_s)
        vote = still if still.sum() > 0.05 * vote.sum() else vote
        found = []
        for state in np.unique(after):
            own = after == state
            if vote[own].sum() > 1e-6 * vote.sum():
                low, middle, high = weighted_quantiles(seconds[own], vote[own], (0.1, 0.5, 0.9)) - elapsed_s
                share = float(vote[own].sum() / vote.sum())
                found.append(Next(int(state), share, max(middle, 0.0), max(low, 0.0), max(high, 0.0)))
        return tuple(sorted(found, key=lambda each: (-each.probability, each.state)))


def weighted_quantiles(values: FloatArray, weights: FloatArray, at: Sequence[float]) -> FloatArray:
    """Quantiles of values that weigh differently, between the middles of their weights."""
    order = np.argsort(values, kind="stable")
    ordered, weight = values[order], weights[order]
    middles = (np.cumsum(weight) - weight / 2) / weight.sum()
    return np.asarray(np.interp(at, middles, ordered))


def _later(fits: FloatArray, by: int, first: np.ndarray) -> FloatArray:
    """The fit of the place so many stretches before, in the same run; very bad where there is none."""
    out = np.full(len(fits), -1e9)
    if len(fits) > by:
        run = np.cumsum(first)
        out[by:] = np.where(run[by:] == run[:-by], fits[:-by], -1e9)
    return out
