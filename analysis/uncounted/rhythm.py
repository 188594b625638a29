"""The period of a recurring sequence of states, from moments at which the state is known, however unevenly they lie.

Two moments that are a whole number of periods apart show the same state more often than others do. The excess over
chance, for all pairs of moments, is the autocorrelation of the states; near the period it is a wave with its crest
there. States that change at random have no such wave at any distance. n moments, b blocks, g periods on trial.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model import BoolArray, FloatArray, IntArray

# Bin of the autocorrelation, seconds. Dense samples miss shorter states.
BIN_S = 0.00025
# Number of later moments that each is paired with. For periods longer than half of them, each occurrence is seen.
LATER_MOMENTS = 128
# Blocks of moments, in time: each is left out in turn, for the error (jackknife).
BLOCKS = 10
# Ratio of neighbouring periods on trial, and number of trials around the best: the wave's crest is wider.
STEP, FINE = 1.02, 41
# Bins of the autocorrelation in a period, for a trial.
ARCS = 16
# None of 288 processes without a period has a wave this high with this significance; half of each limit let 4 pass.
LEAST_WAVE = 0.15
# In standard errors of the wave.
SURE = 5.0
# In standard errors of a count.
TWICE = 2.0
# A multiple of the period is a period too. The shortest of those that are about as good is returned.
ABOUT = 0.75
# One state nearly always: too few changes.
MOST_CHANCE = 0.9
# Later periods are used as well, for precision, while the wave has at least this share of the first one's height.
STILL = 0.5
FURTHER = (2, 4, 8)
# Pairs of moments that a trial needs.
FEWEST = 60
# Distances of moments, as shares of a period, for testing whether a state comes once in it: they hardly miss one.
TEST_DISTANCES = (1 / 8, 1 / 4)


@dataclass(frozen=True)
class Period:
    """Period of a sequence of states.

    Attributes:
        seconds: the period.
        error: its standard error, relative.
    """

    seconds: float
    error: float


def period_of(
    time_s: FloatArray, state: IntArray, segment: IntArray, once: BoolArray, shortest_s: float
) -> Period | None:
    """Find the period of a sequence of states; None if there is none, or it is not significant.

    Args:
        time_s: (n,) moments, ascending within a segment.
        state: (n,) state at each moment, from 0.
        segment: (n,) only moments of the same segment are compared.
        once: for each state, whether it comes at most once in a period, and then lasts for a while.
        shortest_s: shortest period to try.
    """
    share = np.bincount(state) / max(len(state), 1)
    chance = float((share**2).sum())
    if len(state) < FEWEST or chance > MOST_CHANCE:
        return None
    correlation = _Autocorrelation.of(time_s, state, segment, chance)
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
    period, height = _crest(correlation, float(trials[best]), 1)
    for periods in FURTHER:
        if (periods + 0.5) * period.seconds > correlation.reach_s:
            break
        further, at = _crest(correlation, period.seconds, periods)
        if at < STILL * height:
            break
        period = further
    return period if _comes_once(time_s, state, segment, once, period.seconds) else None


def _comes_once(time_s: FloatArray, state: IntArray, segment: IntArray, once: BoolArray, period_s: float) -> bool:
    """Return whether states that should come once in a period do not come more often.

    States that change all the time, and more so in one part of a longer rhythm than in another, have that rhythm as
    well. Of two neighbouring moments, the later one is the first in a state as often as a part of the period lies
    between them.
    """
    gap, same = np.diff(time_s), np.diff(segment) == 0
    for part in TEST_DISTANCES:
        within_part = same & (gap <= part * period_s)
        expected = float(gap[within_part].sum()) / period_s
        share = np.bincount(state[1:][within_part], minlength=len(once)) / max(int(within_part.sum()), 1)
        entered = np.bincount(state[1:][within_part & (np.diff(state) != 0)], minlength=len(once))
        by_chance = float((share * (1 - share) * once).max()) * int(within_part.sum())
        most = expected + TWICE * expected**0.5
        if by_chance - TWICE * by_chance**0.5 > most:
            return bool((entered[once] <= most).all())
    return False


@dataclass(frozen=True)
class _Autocorrelation:
    """Pairs of moments by the time between them, summed up to each bin.

    Attributes:
        pairs: (b, bins) all pairs.
        equal: (b, bins) pairs with the same state.
        chance: share of pairs with the same state by chance.
    """

    pairs: FloatArray
    equal: FloatArray
    chance: float

    @classmethod
    def of(cls, time_s: FloatArray, state: IntArray, segment: IntArray, chance: float) -> _Autocorrelation:
        """Compare each moment with those after it."""
        block = np.arange(len(state)) * BLOCKS // len(state)
        columns = []
        for offset in range(1, min(LATER_MOMENTS, len(state) - 1) + 1):
            together = np.flatnonzero(segment[offset:] == segment[:-offset])
            lag = ((time_s[together + offset] - time_s[together]) / BIN_S).astype(np.int64)
            columns.append(np.stack([block[together], lag, state[together + offset] == state[together]]))
        rows, lags, equal = np.concatenate(columns, axis=1)
        size = int(lags.max(initial=0)) + 1
        place = rows * size + lags
        pairs, hits = (_upto(np.bincount(place, weights=w, minlength=BLOCKS * size)) for w in (None, equal))
        return cls(pairs, hits, chance)

    @property
    def reach_s(self) -> float:
        """Longest time between two moments that were compared, seconds."""
        return float((self.pairs.shape[1] - 1) * BIN_S)

    def waves(self, trials: FloatArray, periods: int) -> tuple[FloatArray, FloatArray]:
        """Return the height of the wave of each period, (g,), and without each of the blocks, (g, b).

        Fitted from half a period to half a period beyond `periods` of them; the rest of the autocorrelation is assumed
        to be a straight line there. 0 if too few pairs are so far apart.
        """
        edge = 0.5 + np.arange(ARCS * periods + 1) / ARCS
        middle = edge[:-1] + 0.5 / ARCS
        basis = np.stack([np.ones(len(middle)), middle - middle.mean(), np.cos(2 * np.pi * middle)])
        at = np.minimum(np.rint(trials[:, None] * edge / BIN_S).astype(np.int64), self.pairs.shape[1] - 1)
        pairs = np.diff(self.pairs[:, at], axis=2)
        equal = np.diff(self.equal[:, at], axis=2)
        square = _without_each(np.einsum("ia,ja,bga->gbij", basis, basis, pairs, optimize=True))
        across = _without_each(np.einsum("ia,bga->gbi", basis, equal, optimize=True))
        solvable = (pairs.sum(axis=(0, 2)) >= FEWEST) & (np.linalg.cond(square).max(axis=1) < 1e3)
        out = np.zeros(square.shape[:2])
        out[solvable] = np.linalg.solve(square[solvable], across[solvable][..., None])[..., 2, 0] / (1 - self.chance)
        return out[:, 0], out[:, 1:]


def _upto(counts: FloatArray | IntArray) -> FloatArray:
    """Return the sums of each block's counts up to each bin, (b, 1 + bins)."""
    upto = np.cumsum(np.reshape(counts, (BLOCKS, -1)), axis=1, dtype=np.float64)
    return np.concatenate([np.zeros((BLOCKS, 1)), upto], axis=1)


def _without_each(blocks: FloatArray) -> FloatArray:
    """Return sums over blocks, (g, b, ...): (g, 1 + b, ...), of all and without each."""
    total = blocks.sum(axis=1, keepdims=True)
    return np.concatenate([total, total - blocks], axis=1)


def _error(without: FloatArray) -> FloatArray:
    """Return standard errors, (g,), from values without each of the blocks, (g, b)."""
    squares: FloatArray = ((without - without.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    return np.asarray(np.sqrt((BLOCKS - 1) / BLOCKS * squares))


def _crest(correlation: _Autocorrelation, about_s: float, periods: int) -> tuple[Period, float]:
    """Return the period near a given one where the wave is highest, and its height."""
    width = 0.15 / periods
    trials = about_s * np.linspace(1 - width, 1 + width, FINE)
    wave, without = correlation.waves(trials, periods)
    at = trials[without.argmax(axis=0)][None, :]
    seconds = float(trials[wave.argmax()])
    # Two neighbouring trials are not distinguished.
    blur = about_s * 2 * width / (FINE - 1) / 12**0.5
    return Period(seconds, float(np.hypot(_error(at)[0], blur)) / seconds), float(wave.max())
