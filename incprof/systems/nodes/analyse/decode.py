"""Estimate the state of a node, row by row: the most probable sequence of states that persist (Viterbi).

Each row is compared with all states: the distance of its levels from theirs, relative to their scatter. Leaving a state
costs the more the rarer changes are. Since counters are correlated, levels are first transformed into coordinates that
are independent of each other within a state (whitening).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incprof.analysis._native import ffi, native
from incprof.model import FloatArray, IntArray

UNKNOWN = -1
# Number of rows compared with the states at once: it fits into the caches.
BATCH = 4096
# Greatest evidence of one row against a state, as a share of the cost of leaving a state.
ALONE = 0.9


@dataclass(frozen=True)
class Emissions:
    """Distribution of the rows of each state.

    Attributes:
        whitening: (counters, counters) transforms levels into coordinates.
        means: (states, counters) coordinates.
        scatters: (states, counters) coordinates.
        stay: Cost of leaving a state.
        strange: Sum of squares above which a row belongs to no state.
    """

    whitening: FloatArray
    means: FloatArray
    scatters: FloatArray
    stay: float
    strange: float

    def evidence(self, levels: FloatArray, *, unknown: bool = False) -> npt.NDArray[np.float32]:
        """Return the log likelihood (rows, states) of levels (rows, counters). unknown: add a column for none."""
        weight = 1 / self.scatters**2
        linear = (weight * self.means).T.astype(np.float32)
        square = (-0.5 * weight).T.astype(np.float32)
        fixed = (-0.5 * (weight * self.means**2).sum(axis=1) - np.log(self.scatters).sum(axis=1)).astype(np.float32)
        whitening = self.whitening.astype(np.float32)
        states = len(self.means)
        out = np.empty((len(levels), states + unknown), dtype=np.float32)
        for at in range(0, len(levels), BATCH):
            part = np.asarray(levels[at : at + BATCH], dtype=np.float32) @ whitening
            out[at : at + BATCH, :states] = part @ linear + (part * part) @ square + fixed
        # The last column is a state that is none of the known ones.
        if unknown:
            normal = float(np.max(-np.log(self.scatters).sum(axis=1)))
            out[:, -1] = normal - 0.5 * self.strange
        # A single odd row, a mixture of two states or other activity of the system, is not a state.
        np.maximum(out, out.max(axis=1, keepdims=True) - np.float32(ALONE * self.stay), out=out)
        return out


def most_probable(evidence: npt.NDArray[np.float32], stay: float) -> IntArray:
    """Return the most probable states (rows,) if each change costs `stay`; evidence (rows, states)."""
    rows, states = evidence.shape
    table = np.ascontiguousarray(evidence, dtype=np.float32)
    out = np.zeros(rows, dtype=np.int32)
    if rows:
        done = native().incprof_states(
            ffi.cast("const float *", table.ctypes.data), rows, states, stay, ffi.cast("int32_t *", out.ctypes.data)
        )
        if done != 0:
            raise MemoryError
    return out


def plain_most_probable(evidence: npt.NDArray[np.float32], stay: float) -> IntArray:
    """Return the same, in numpy: the reference for the kernel."""
    rows, states = evidence.shape
    came = np.zeros((rows, states), dtype=np.int64)
    score = np.asarray(evidence[0], dtype=np.float32)
    for row in range(1, rows):
        best = int(score.argmax())
        top = score[best]
        moved = np.float32(top - np.float32(stay))
        came[row] = np.where(moved > score, best, np.arange(states))
        score = np.maximum(score, moved) - top + evidence[row]
    out = np.zeros(rows, dtype=np.int64)
    out[-1] = score.argmax()
    for row in range(rows - 1, 0, -1):
        out[row - 1] = came[row, out[row]]
    return out
