"""The places of steps in an iteration: which of them come once in each, in which order, and where the rare ones come.

m steps of a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from incprof.analysis.options.step_thresholds import StepOptions
from incprof.analysis.steps.called import Called, PhaseCalls
from incprof.analysis.steps.calls_per_iteration import Recurrence
from incprof.analysis.steps.first_step import first_of
from incprof.analysis.steps.lanes import Lanes
from incprof.analysis.steps.levels import Loop
from incprof.analysis.steps.order import Pairs, order_of
from incprof.analysis.steps.rare_steps import place_of
from incprof.analysis.steps.samples import Story, pairs_of, visits_of
from incprof.model import FloatArray, IntArray

# Most samples of a phase that are used for an order.
MOST_SAMPLES = 200_000


def places_of(
    phase: PhaseCalls,
    loop: Loop,
    lanes: Lanes,
    counts: IntArray,
    found: Recurrence,
    period: float,
    above: Called | None,
) -> dict[int, int]:
    """Return the places of steps in an iteration, from 1. above: the step that the loop is part of."""
    if not phase.profile.metadata.ordered:
        return {}
    story, ticks, rate = lanes.story, lanes.ticks, phase.profile.metadata.rate_hz
    outside = None
    if above is not None and above.calls == int(counts[phase.members, found.reference].sum()):
        # An iteration is a call of the step above: the time between two calls shows which step is the first.
        out_of_it = float(story.weight[~lanes.inside].sum())
        if out_of_it >= phase.options.least * float(story.weight.sum()):
            outside = len(ticks)
            story = replace(story, step=np.where(lanes.inside, story.step, outside))
            ticks = np.append(ticks, out_of_it)
    elif above is not None:
        if above.ticks < phase.options.fewest * above.calls:
            return {}
        # Only samples within one call of the step above are useful.
        story = replace(story, weight=np.where(lanes.inside, story.weight, 0))
    pairs = pairs_of(_first(story), counts[:, found.reference], rate, lanes.count, phase.options.late)
    # Samples in no step lie anywhere between steps.
    left = max(1.0 - loop.ticks / max(loop.driver.ticks, 1.0), 0.0)
    pairs = replace(pairs, error=np.hypot(pairs.error, left))
    inlined = [i for i, branch in enumerate(loop.steps) if not branch.called.calls and ticks[i] > 0]
    ends = above is None or outside is not None
    order = _order(found, ticks, pairs, inlined, outside, ends, phase.options)
    return _with_rare(order, found, ticks, story, period, phase.options) if order else {}


def _first(story: Story) -> Story:
    """Return the first samples of a story: if these do not show an order, further ones do not either."""
    some = slice(0, MOST_SAMPLES)
    return Story(**{name: column[some] for name, column in vars(story).items()})


def _order(
    found: Recurrence,
    ticks: FloatArray,
    pairs: Pairs,
    inlined: Sequence[int],
    outside: int | None,
    ends: bool,
    options: StepOptions,
) -> list[int]:
    """Return the steps that come once in an iteration, in their order; empty if unknown.

    Args:
        found: recurrence of the steps.
        ticks: of the steps, and of the time outside.
        pairs: of consecutive samples.
        inlined: steps that are never called; their order shows whether they come once in an iteration.
        outside: number of the time between two iterations.
        ends: whether the ends of intervals lie within iterations.
        options: thresholds.
    """
    m = len(found.every)
    once = np.flatnonzero((found.every == 1) & (found.times == 1) & (ticks[:m] > 0)).tolist()
    if found.reference not in once:
        return []
    others = (found.every == 0) | (found.times > 1)
    one_after_another = len(once) <= 2 and not others.any()
    extra = [*inlined, *([] if outside is None else [outside])]
    those = [found.reference, *(i for i in [*once, *extra] if i != found.reference)]
    number = np.full(len(ticks) + 2, -1)
    number[those] = np.arange(len(those))
    first, second = number[pairs.first], number[pairs.second]
    use = (first >= 0) & (second >= 0)
    # Rare steps are not part of the iterations that most pairs are in.
    common = 1 - ticks[:m][found.every > 1].sum() / ticks.sum()
    ours = Pairs(first[use], second[use], pairs.lag[use] / common, pairs.error[use] / common)
    share = ticks[those] / ticks[those].sum()
    ahead = np.full((len(found.lead), len(those)), -1)
    if ends:
        called = [i for i in those if i != outside]
        ahead[:, [those.index(i) for i in called]] = found.ahead(found.lead)[:, called]
    order = [those[i] for i in order_of(share, ours, ahead, options)]
    # One or two steps are always in turn; as part of more, this is not significant.
    if len([i for i in order if i != outside]) <= 2 and not one_after_another:
        return []
    if outside in order:
        start = order.index(outside)
        return order[start + 1 :] + order[:start]
    start = first_of(order, found)
    return order[start:] + order[:start]


def _with_rare(
    order: Sequence[int], found: Recurrence, ticks: FloatArray, story: Story, period: float, options: StepOptions
) -> dict[int, int]:
    """Return the places of the steps in the iteration, from 1, with those of rare steps that can be placed."""
    m = len(found.every)
    share = ticks[list(order)]
    number = np.full(len(ticks) + 2, -1)
    number[list(order)] = np.arange(len(order))
    behind: dict[int, list[int]] = {}
    whole = set(order) >= set(np.flatnonzero((found.every == 1) & (found.times == 1)).tolist())
    for rare in np.flatnonzero(found.every[:m] > 1).tolist() if whole else []:
        before, gap_before, after, gap_after = visits_of(story, rare)
        lags = gap_before / period, gap_after / period
        place = place_of(share, number[before], lags[0], number[after], lags[1], options)
        if place is not None:
            behind.setdefault(place, []).append(rare)
    line: list[int] = []
    for place, step in enumerate(order, 1):
        line.append(step)
        # Of two rare steps at one place, it is unknown which comes first.
        line += behind.get(place, []) if len(behind.get(place, [])) == 1 else []
    return {step: place for place, step in enumerate(line, 1)}
