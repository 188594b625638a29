"""The period of what comes again and again, from moments at which its state was seen, however unevenly they lie.

Two moments that are a whole number of periods apart show the same state more often than others do. How much more often
than by chance, for all pairs of moments, is the autocorrelation of the states; around the period it is a wave with its
crest there. Of what changes at random it is none, whichever distance is asked. n moments, b blocks, g periods on trial.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model import BoolArray, FloatArray, IntArray

# Of the autocorrelation, seconds. States shorter than that are not seen by any look.
BIN_S = 0.00025
# Each moment is paired with so many after it. What takes longer than half of them is seen by each of its visits.
AHEAD = 128
# Parts of the moments, in time: each is left out in turn, for the error (jackknife).
BLOCKS = 10
# Periods on trial are so far apart, and so exactly the best is asked for: the wave's crest is wider.
STEP, FINE = 1.02, 41
# Bins of the autocorrelation in a period, for a trial.
ARCS = 16
# Of 288 processes without a period none has a wave so high, so surely; half of each let 4 through.
LEAST_WAVE = 0.15
# In standard errors of the wave.
SURE = 5.0
# In standard errors of a count.
TWICE = 2.0
# A multiple of the period is a period too. The shortest of those that are about as good is the answer.
ABOUT = 0.75
# One state nearly always: too few changes.
MOST_CHANCE = 0.9
# Periods further on are counted as well, for exactness, while the wave is at least so much of the first.
STILL = 0.5
FURTHER = (2, 4, 8)
# Pairs of moments that a trial needs.
FEWEST = 60
# Moments that lie within such a part of a period ask whether a state comes once in it: hardly any visit is missed.
NEAR = (1 / 8, 1 / 4)


@dataclass(frozen=True)
class Period:
    """Of a sequence of states. error: its standard error, relative."""

    seconds: float
    error: float


def period_of(
    time_s: FloatArray, state: IntArray, stretch: IntArray, once: BoolArray, shortest_s: float
) -> Period | None:
    """Find the period of a sequence of states; None where it has none that can be told.

    Args:
        time_s: (n,) moments, ascending within a stretch.
        state: (n,) what was seen, from 0.
        stretch: (n,) only moments of the same stretch are compared.
        once: for each state, whether it comes at most once in a period, and then lasts for a while.
        shortest_s: no shorter period is looked for.
    """
    share = np.bincount(state) / max(len(state), 1)
    chance = float((share**2).sum())
    if len(state) < FEWEST or chance > MOST_CHANCE:
        return None
    correlation = _Autocorrelation.of(time_s, state, stretch, chance)
    longest_s = correlation.reach_s / 1.5
    if longest_s <= shortest_s:
        return None
    trials = shortest_s * STEP ** np.arange(int(np.log(longest_s / shortest_s) / np.log(STEP)) + 1, dtype=np.float64)
    wave, without = correlation.waves(trials, 1)
    lowest = wave - SURE * _error(without)
    if not lowest.max() > 0:
        return None
    best = int(np.flatnonzero(lowest >= ABOUT * lowest.max())[0])
    while best + 1 < len(wave) and wave[best + 1] > wave[best]:
        best += 1
    if not LEAST_WAVE <= wave[best] <= 1.0 + SURE * float(_error(without)[best]):
        return None
    found, height = _crest(correlation, float(trials[best]), 1)
    for periods in FURTHER:
        if (periods + 0.5) * found.seconds > correlation.reach_s:
            break
        further, at = _crest(correlation, found.seconds, periods)
        if at < STILL * height:
            break
        found = further
    return found if _comes_once(time_s, state, stretch, once, found.seconds) else None


def _comes_once(time_s: FloatArray, state: IntArray, stretch: IntArray, once: BoolArray, period_s: float) -> bool:
    """Tell whether states that should come once in a period do not come more often.

    What changes all the time, and more so in one part of a longer rhythm than in another, has that rhythm as well. Of
    two neighbouring moments, the later one is the first in a state as often as a part of the period lies between them.
    """
    gap, same = np.diff(time_s), np.diff(stretch) == 0
    for part in NEAR:
        near = same & (gap <= part * period_s)
        expected = float(gap[near].sum()) / period_s
        share = np.bincount(state[1:][near], minlength=len(once)) / max(int(near.sum()), 1)
        entered = np.bincount(state[1:][near & (np.diff(state) != 0)], minlength=len(once))
        by_chance = float((share * (1 - share) * once).max()) * int(near.sum())
        most = expected + TWICE * expected**0.5
        if by_chance - TWICE * by_chance**0.5 > most:
            return bool((entered[once] <= most).all())
    return False


@dataclass(frozen=True)
class _Autocorrelation:
    """Pairs of moments by the time between them, and those that show the same state, summed up to each bin: (b, bins).

    chance: the part of pairs that show it anyway.
    """

    pairs: FloatArray
    alike: FloatArray
    chance: float

    @classmethod
    def of(cls, time_s: FloatArray, state: IntArray, stretch: IntArray, chance: float) -> _Autocorrelation:
        """Compare each moment with those after it."""
        block = np.arange(len(state)) * BLOCKS // len(state)
        found = []
        for ahead in range(1, min(AHEAD, len(state) - 1) + 1):
            together = np.flatnonzero(stretch[ahead:] == stretch[:-ahead])
            lag = ((time_s[together + ahead] - time_s[together]) / BIN_S).astype(np.int64)
            found.append(np.stack([block[together], lag, state[together + ahead] == state[together]]))
        rows, lags, alike = np.concatenate(found, axis=1)
        size = int(lags.max(initial=0)) + 1
        place = rows * size + lags
        pairs, hits = (_upto(np.bincount(place, weights=w, minlength=BLOCKS * size)) for w in (None, alike))
        return cls(pairs, hits, chance)

    @property
    def reach_s(self) -> float:
        """The longest time between two moments that were compared."""
        return float((self.pairs.shape[1] - 1) * BIN_S)

    def waves(self, trials: FloatArray, periods: int) -> tuple[FloatArray, FloatArray]:
        """Return the height of the wave that each period would make, (g,), and without each of the blocks, (g, b).

        Asked from half a period to half a period beyond so many of them. What the autocorrelation has besides is a
        straight line there. 0 where too few pairs are so far apart.
        """
        edge = 0.5 + np.arange(ARCS * periods + 1) / ARCS
        middle = edge[:-1] + 0.5 / ARCS
        basis = np.stack([np.ones(len(middle)), middle - middle.mean(), np.cos(2 * np.pi * middle)])
        at = np.minimum(np.rint(trials[:, None] * edge / BIN_S).astype(np.int64), self.pairs.shape[1] - 1)
        pairs = np.diff(self.pairs[:, at], axis=2)
        alike = np.diff(self.alike[:, at], axis=2)
        square = _without_each(np.einsum("ia,ja,bga->gbij", basis, basis, pairs, optimize=True))
        across = _without_each(np.einsum("ia,bga->gbi", basis, alike, optimize=True))
        known = (pairs.sum(axis=(0, 2)) >= FEWEST) & (np.linalg.cond(square).max(axis=1) < 1e3)
        out = np.zeros(square.shape[:2])
        out[known] = np.linalg.solve(square[known], across[known][..., None])[..., 2, 0] / (1 - self.chance)
        return out[:, 0], out[:, 1:]


def _upto(counts: FloatArray | IntArray) -> FloatArray:
    """Sums of the counts in the bins of each block up to each one, (b, 1 + bins)."""
    upto = np.cumsum(np.reshape(counts, (BLOCKS, -1)), axis=1, dtype=np.float64)
    return np.concatenate([np.zeros((BLOCKS, 1)), upto], axis=1)


def _without_each(blocks: FloatArray) -> FloatArray:
    """Sums over blocks, (g, b, ...): (g, 1 + b, ...), of all and without each."""
    whole = blocks.sum(axis=1, keepdims=True)
    return np.concatenate([whole, whole - blocks], axis=1)


def _error(without: FloatArray) -> FloatArray:
    """Standard errors, (g,), from values without each of the blocks, (g, b)."""
    squares: FloatArray = ((without - without.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    return np.asarray(np.sqrt((BLOCKS - 1) / BLOCKS * squares))


def _crest(correlation: _Autocorrelation, about_s: float, periods: int) -> tuple[Period, float]:
    """Return the period near another one where the wave is highest, and its height."""
    width = 0.15 / periods
    trials = about_s * np.linspace(1 - width, 1 + width, FINE)
    wave, without = correlation.waves(trials, periods)
    at = trials[without.argmax(axis=0)][None, :]
    seconds = float(trials[wave.argmax()])
    # Two trials next to one another are not told apart.
    blur = about_s * 2 * width / (FINE - 1) / 12**0.5
    return Period(seconds, float(np.hypot(_error(at)[0], blur)) / seconds), float(wave.max())
