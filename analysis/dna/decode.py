"""Which state a node is in, row by row: the most probable sequence of states that stay as they are (Viterbi).

A row is held against all states by how far its levels are from theirs, in their scatter. To leave a state costs as
much as a change is rare. Counters move together, so that they do not all bear witness for themselves: levels are turned
into coordinates that are independent of each other within a state (whitening).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incprof.analysis._native import ffi, native
from incprof.model import FloatArray, IntArray

UNKNOWN = -1
# Rows are held against the states so many at once: it fits into the caches.
BATCH = 4096
# What one row can say against a state, in units of what leaving a state costs.
ALONE = 0.9


@dataclass(frozen=True)
class Emissions:
    """What rows of each state look like.

    whitening (counters, counters): of levels into coordinates. means, scatters: coordinates (states, counters).
    stay: what leaving a state costs. strange: a row whose sum of squares is more for all states is of none of them.
    """

    whitening: FloatArray
    means: FloatArray
    scatters: FloatArray
    stay: float
    strange: float

    def evidence(self, levels: FloatArray, *, unknown: bool = False) -> npt.NDArray[np.float32]:
        """Log likelihood (rows, states) of levels (rows, counters). unknown: with a column for none of them."""
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
        # A last column: a state that is none of the known ones.
        if unknown:
            normal = float(np.max(-np.log(self.scatters).sum(axis=1)))
            out[:, -1] = normal - 0.5 * self.strange
        # A row alone, a mixture of two states or one in which the system did something else, is no state.
        np.maximum(out, out.max(axis=1, keepdims=True) - np.float32(ALONE * self.stay), out=out)
        return out


def most_probable(evidence: npt.NDArray[np.float32], stay: float) -> IntArray:
    """The most probable states (rows,) where each change costs `stay`; evidence (rows, states)."""
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
    """The same in numpy: what the kernel is held against."""
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
