"""Whether two stretches of a run do the same: the function whose share differs most, beyond its own scatter.

m pairs of stretches, c functions (chains with all that they call). Counts are ticks.
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from incprof.analysis.options.phases import PHASES, PhaseOptions
from incprof.model import FloatArray, IntArray

# Half a tick more than was seen: a function with all of a stretch, or nothing, must not claim to be free of noise.
PRIOR = 0.5
# Pairs that are compared at once: what they cost in memory must not grow with the run.
AT_ONCE = 4096
LEAST = 1e-6


def tick_variance(share: FloatArray, ticks: FloatArray) -> FloatArray:
    """Return the variance of one tick of a function with this share of so many."""
    result: FloatArray = np.maximum(share * (1.0 - share), PRIOR / (ticks + 1.0))
    return result


def differences(
    a: FloatArray, a_total: FloatArray, b: FloatArray, b_total: FloatArray, scatter: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return how far each function's share differs, in standard errors and as a share, both (..., c).

    The score is the root of the likelihood ratio: where ticks are few it knows more than the normal approximation, and
    the larger of both counts.

    Args:
        a: (..., c) ticks of each function in one stretch.
        a_total: (...,) all of its ticks.
        b: of the other one.
        b_total: of the other one.
        scatter: (c,) or (..., c) by which factor a function's share scatters more than counting explains.
    """
    na, nb = np.asarray(a_total)[..., None], np.asarray(b_total)[..., None]
    both, ticks = a + b, na + nb
    apart: FloatArray = np.abs(a / na - b / nb)
    normal = apart / np.sqrt(scatter * tick_variance(both / ticks, ticks) * (1.0 / na + 1.0 / nb))
    ratio = 2.0 * (_log_likelihood(a, na) + _log_likelihood(b, nb) - _log_likelihood(both, ticks))
    score: FloatArray = np.maximum(normal, np.sqrt(np.maximum(ratio, 0.0) / scatter))
    return score, apart


def _log_likelihood(count: FloatArray, ticks: FloatArray) -> FloatArray:
    """Return that of the most likely share, for `count` of so many ticks."""
    count = np.minimum(count, ticks)
    share = count / ticks
    result: FloatArray = xlogy(count, share) + xlogy(ticks - count, 1.0 - share)
    return result


def how_different(
    a: FloatArray,
    a_total: FloatArray,
    b: FloatArray,
    b_total: FloatArray,
    scatter: FloatArray,
    options: PhaseOptions = PHASES,
    times: FloatArray | float = 1.0,
) -> FloatArray:
    """Return how different pairs of stretches are, (m,): from 1 on, some function has another share in them.

    It has to differ by `options.named` (for short stretches `times` as much) of the time and by `options.beyond`
    standard errors. The arguments are those of `differences`, with one row for each of m pairs.
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
    """Return how_different for at least one function, of which those that cannot be the most different are not asked.

    A function counts for no more than what its share differs by. So the one whose share differs most is asked first,
    and then all that differ by more than came of that. limit: (m,).
    """

    def told(row: IntArray, column: IntArray) -> FloatArray:
        counts = a[row, column][:, None], b[row, column][:, None]
        score, apart = differences(counts[0], a_total[row], counts[1], b_total[row], scatter[column][:, None])
        # Only what does not differ at all is nothing.
        surely = apart * np.maximum(1.0 - options.surely / np.maximum(score, 1e-9), LEAST)
        result: FloatArray = np.minimum(score[:, 0] / options.beyond, surely[:, 0] / limit[row])
        return result

    apart = np.abs(a / a_total[:, None] - b / b_total[:, None])
    rows, first = np.arange(len(a)), apart.argmax(axis=1)
    most = told(rows, first)
    apart[rows, first] = 0.0  # these have been asked
    row, column = np.nonzero(apart / limit[:, None] > most[:, None])
    if len(row):
        np.maximum.at(most, row, told(row, column))
    return most
