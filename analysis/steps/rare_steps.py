"""Place of a step that is called only in each m-th iteration, from the samples around it.

The last sample before the rare step, and the first after it, show between which two of the others it comes. m steps in
their order, r visits of the rare step.
"""

from __future__ import annotations

import numpy as np

from incprof.analysis.options.step_thresholds import STEPS, StepOptions
from incprof.model import FloatArray, IntArray


def place_of(
    share: FloatArray,
    before: IntArray,
    lag_before: FloatArray,
    after: IntArray,
    lag_after: FloatArray,
    options: StepOptions = STEPS,
) -> int | None:
    """Return how many of the m steps come before the rare one (1 to m), None if the samples are inconclusive.

    Args:
        share: (m,) share of an iteration that each step takes, in their order.
        before: (r,) the step sampled before each visit, as a place in the order; -1 for none of these.
        lag_before: (r,) time to the neighbouring sample inside the rare step, in iterations.
        after: (r,) the step sampled after each visit.
        lag_after: (r,) likewise.
        options: thresholds.
    """
    part = share / share.sum()
    edges = np.concatenate([[0.0], np.cumsum(part)])
    seen = np.zeros(len(part))
    for place in range(len(part)):
        border = edges[place + 1]
        back = _side(part, edges, border, before, -lag_before, options.stray)
        seen[place] = back + _side(part, edges, border, after, lag_after, options.stray)
    probability = np.exp(options.weight * (seen - seen.max()))
    best = int(np.argmax(probability))
    return best + 1 if probability[best] >= options.sure * probability.sum() else None


def _side(part: FloatArray, edges: FloatArray, border: float, steps: IntArray, lag: FloatArray, stray: float) -> float:
    """Return the log likelihood of the neighbours on one side, if the rare step is at this boundary of an iteration.

    A neighbour lies anywhere within its lag of the boundary, before it where the lag is negative: the rest of the lag
    is spent in the rare step.
    """
    total = 0.0
    for step, reach in zip(steps.tolist(), np.clip(lag, -1.0, 1.0).tolist(), strict=True):
        if step < 0 or reach == 0:
            continue
        low, high = min(border, border + reach), max(border, border + reach)
        # The iterations before and after follow without a gap.
        common = sum(
            max(0.0, min(high, edges[step + 1] + turn) - max(low, edges[step] + turn)) for turn in (-1.0, 0.0, 1.0)
        )
        total += float(np.log((1 - stray) * common / abs(reach) + stray * part[step]))
    return total
