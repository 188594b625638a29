"""The mixes of all ranks on one set of functions, in one order that does not hang on which rank is called what.

s stretches, f functions of all, c = 2 f columns: functions by their own code, then with all that they call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.analysis.ranks.results import Mix
from incprof.model import FloatArray, IntArray
from incprof.model.reindex import Key

# A mode of few ticks says little: half a tick more of everything, and of all else, is added to it.
PRIOR = 0.5
# Less of the time than this tells nothing: a function that one rank alone has a bit of must not outweigh all others.
LEAST = 0.005


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
    """Return how well modes explain stretches, (s, m): log-likelihood of the ticks, each column by itself.

    Args:
        counts: (s, c) ticks.
        total: (s,) all of them.
        modes: (m, c) ticks of the modes.
        of_modes: (m,) all of them.
        scatter: (c,) by which factor each column scatters more than counting explains: so much less it says.
    """
    share = np.clip((modes + PRIOR) / (of_modes[:, None] + 2.0 * PRIOR), LEAST, 1.0 - LEAST)
    rest = np.maximum(total[:, None] - counts, 0.0)
    result: FloatArray = (counts / scatter) @ np.log(share).T + (rest / scatter) @ np.log1p(-share).T
    return result
