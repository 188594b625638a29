"""The profiles of all ranks on one set of functions, in an order that does not depend on the ranks' numbers.

s segments, f functions of all, c = 2 f columns: functions by self time, then by inclusive time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln

from incprof.analysis.ranks.ranks_result import Mix
from incprof.model import FloatArray, IntArray
from incprof.model.reindex import Key

# Half a tick of each column, and of all others, is added to a mode (Jeffreys' prior).
PRIOR = 0.5
# A mode counts for at most this many ticks: shares differ between ranks with the same work.
KNOWN = 200.0
# Functions whose shares differ by less between all modes are ignored.
TELLS = 0.01


@dataclass(frozen=True)
class Columns:
    """Functions of several profiles.

    Attributes:
        keys: (f,) ascending.
        names: (f,) display names.
    """

    keys: tuple[Key, ...]
    names: tuple[str, ...]

    def counts(self, mix: Mix) -> FloatArray:
        """Return ticks of segments on these functions, (s, c); those of other functions are dropped."""
        f = len(self.keys)
        out = np.zeros((len(mix.total), 2 * f))
        here, there = self._places(mix)
        out[:, there] = mix.own[:, here]
        out[:, f + there] = mix.stack[:, here]
        return out

    def scatter(self, mix: Mix, scatter: FloatArray) -> FloatArray:
        """Return scatter over counting on these functions, (c,), 1 where unknown."""
        out = np.ones(len(self.keys))
        here, there = self._places(mix)
        out[there] = scatter[here]
        return np.concatenate([out, out])

    def _places(self, mix: Mix) -> tuple[IntArray, IntArray]:
        """Return which functions of a profile are among these, and their positions."""
        place = {key: number for number, key in enumerate(self.keys)}
        pairs = [(here, place[key]) for here, key in enumerate(mix.keys) if key in place]
        table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return table[:, 0], table[:, 1]


def columns_of(mixes: Sequence[Mix]) -> Columns:
    """Return the functions of several profiles."""
    names: dict[Key, str] = {}
    for mix in mixes:
        for key, name in zip(mix.keys, mix.names, strict=True):
            names.setdefault(key, name)
    keys = tuple(sorted(names))
    return Columns(keys, tuple(names[key] for key in keys))


def likelihood(
    counts: FloatArray, total: FloatArray, modes: FloatArray, of_modes: FloatArray, scatter: FloatArray
) -> FloatArray:
    """Return how well modes explain segments, (s, m): the log-likelihood of their ticks, each column by itself.

    A mode of few ticks may be anything, and explains nothing well: its share is a beta variable, from which the ticks
    of a segment are drawn.

    Args:
        counts: (s, c) ticks.
        total: (s,) all of them.
        modes: (m, c) ticks of the modes.
        of_modes: (m,) all of them.
        scatter: (c,) factor by which each column scatters more than counting explains; ticks are divided by it.
    """
    whole = np.maximum(of_modes, 1e-9)
    share = modes / whole[:, None]
    use = np.flatnonzero(np.ptp(share, axis=0) >= TELLS)
    known = np.minimum(whole, KNOWN)[:, None]
    here = share[:, use] * known + PRIOR
    rest = np.maximum(1.0 - share[:, use], 0.0) * known + PRIOR
    own = counts[:, use] / scatter[use]
    other = np.maximum(total[:, None] - counts[:, use], 0.0) / scatter[use]
    out = np.empty((len(counts), len(modes)))
    for mode in range(len(modes)):
        a, b = here[mode], rest[mode]
        out[:, mode] = (betaln(own + a, other + b) - betaln(a, b)).sum(axis=1)
    return out
