"""Compare two segments of a run: the function whose share differs most, beyond its own scatter.

m pairs of segments, c functions (call paths with all that they call). Counts are ticks.
"""

from __future__ import annotations

import numpy as np

from incprof.analysis.options.phase_thresholds import PHASES, PhaseOptions
from incprof.analysis.phases.likelihood import ratio, variance
from incprof.model import FloatArray, IntArray

# Pairs that are compared at once: bounds the memory, which must not grow with the run.
AT_ONCE = 4096
LEAST = 1e-6


def differences(
    a: FloatArray, a_total: FloatArray, b: FloatArray, b_total: FloatArray, scatter: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return how far each function's share differs, in standard errors and as a share, both (..., c).

    The score is the root of the likelihood ratio, which is more exact than the normal approximation where ticks are
    few; the larger of both counts.

    Args:
        a: (..., c) ticks of each function in one segment.
        a_total: (...,) all of its ticks.
        b: of the other segment.
        b_total: of the other segment.
        scatter: (c,) or (..., c) factor by which a function's share scatters more than counting explains.
    """
    na, nb = np.asarray(a_total)[..., None], np.asarray(b_total)[..., None]
    both, ticks = a + b, na + nb
    apart: FloatArray = np.abs(a / na - b / nb)
    normal = apart / np.sqrt(scatter * variance(both / ticks, ticks) * (1.0 / na + 1.0 / nb))
    gain = 2.0 * ratio(np.minimum(a, na), na, np.minimum(b, nb), nb)
    score: FloatArray = np.maximum(normal, np.sqrt(np.maximum(gain, 0.0) / scatter))
    return score, apart


def how_different(
    a: FloatArray,
    a_total: FloatArray,
    b: FloatArray,
    b_total: FloatArray,
    scatter: FloatArray,
    options: PhaseOptions = PHASES,
    times: FloatArray | float = 1.0,
) -> FloatArray:
    """Return how different pairs of segments are, (m,): from 1 on, some function's share differs between them.

    It must differ by `options.named` (for short segments `times` as much) of the time and by `options.beyond` standard
    errors. The arguments are those of `differences`, with one row for each of m pairs.
    """
    wide = np.broadcast_to(np.asarray(times, dtype=np.float64), (len(a),))
    out = np.zeros(len(a))
    for first in range(0, len(a) if a.shape[1] else 0, AT_ONCE):
        part = slice(first, first + AT_ONCE)
        limit = options.named * wide[part]
        out[part] = _most(a[part], a_total[part], b[part], b_total[part], scatter, options, limit)
    return out


def _most(
    a: FloatArray,
    a_total: FloatArray,
    b: FloatArray,
    b_total: FloatArray,
    scatter: FloatArray,
    options: PhaseOptions,
    limit: FloatArray,
) -> FloatArray:
    """Return how_different for at least one function, skipping functions that cannot be the most different.

    A function scores at most the difference of its share. So the function whose share differs most is scored first,
    then all whose difference exceeds that score. limit: (m,).
    """

    def told(row: IntArray, column: IntArray) -> FloatArray:
        counts = a[row, column][:, None], b[row, column][:, None]
        score, apart = differences(counts[0], a_total[row], counts[1], b_total[row], scatter[column][:, None])
        # Only a difference of zero scores zero.
        surely = apart * np.maximum(1.0 - options.surely / np.maximum(score, 1e-9), LEAST)
        result: FloatArray = np.minimum(score[:, 0] / options.beyond, surely[:, 0] / limit[row])
        return result

    apart = np.abs(a / a_total[:, None] - b / b_total[:, None])
    rows, first = np.arange(len(a)), apart.argmax(axis=1)
    most = told(rows, first)
    apart[rows, first] = 0.0  # already scored
    row, column = np.nonzero(apart / limit[:, None] > most[:, None])
    if len(row):
        np.maximum.at(most, row, told(row, column))
    return most
