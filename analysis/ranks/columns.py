"""The mixes of all ranks on one set of functions, in one order that does not hang on which rank is called what.

s stretches, f functions of all, c = 2 f columns: functions by their own code, then with all that they call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln

from incprof.analysis.ranks.results import Mix
from incprof.model import FloatArray, IntArray
from incprof.model.reindex import Key

# Half a tick more of everything, and of all else, is added to a mode (Jeffreys' prior).
PRIOR = 0.5
# No mode is known better than so many ticks tell: shares differ between ranks that do the same thing.
KNOWN = 200.0
# Functions that differ by less between any two modes tell none from another.
TELLS = 0.01


@dataclass(frozen=True)
class Columns:
    """Functions of several mixes. keys, names: (f,), ascending by key."""

    keys: tuple[Key, ...]
    names: tuple[str, ...]

    def counts(self, mix: Mix) -> FloatArray:
        """Return ticks of stretches on these functions, (s, c); those of functions that are not among them are lost."""
        f = len(self.keys)
        out = np.zeros((len(mix.total), 2 * f))
        here, there = self._places(mix)
        out[:, there] = mix.own[:, here]
        out[:, f + there] = mix.stack[:, here]
        return out

    def scatter(self, mix: Mix, scatter: FloatArray) -> FloatArray:
        """Return scatter over counting on these functions, (c,), 1 where nothing is known."""
        out = np.ones(len(self.keys))
        here, there = self._places(mix)
        out[there] = scatter[here]
        return np.concatenate([out, out])

    def _places(self, mix: Mix) -> tuple[IntArray, IntArray]:
        """Return which functions of a mix are among these, and where."""
        place = {key: number for number, key in enumerate(self.keys)}
        pairs = [(here, place[key]) for here, key in enumerate(mix.keys) if key in place]
        table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return table[:, 0], table[:, 1]


def columns_of(mixes: Sequence[Mix]) -> Columns:
    """Return the functions of several mixes."""
    names: dict[Key, str] = {}
    for mix in mixes:
        for key, name in zip(mix.keys, mix.names, strict=True):
            names.setdefault(key, name)
    keys = tuple(sorted(names))
    return Columns(keys, tuple(names[key] for key in keys))


def likelihood(
    counts: FloatArray, total: FloatArray, modes: FloatArray, of_modes: FloatArray, scatter: FloatArray
) -> FloatArray:
    """Return how well modes explain stretches, (s, m): the log-likelihood of their ticks, each column by itself.

    A mode of few ticks may be anything, and explains nothing well: its share is a beta variable, and the ticks of a
    stretch are drawn from that.

    Args:
        counts: (s, c) ticks.
        total: (s,) all of them.
        modes: (m, c) ticks of the modes.
        of_modes: (m,) all of them.
        scatter: (c,) by which factor each column scatters more than counting explains: so many ticks are worth one.
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
