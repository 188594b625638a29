"""The places of steps in an iteration: which of them come once in each, in which order, and where the rare ones come.

m steps of a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from incprof.analysis.steps.called import Called, PhaseCalls
from incprof.analysis.steps.step_samples import Pairs, SampleSequence, neighbours_of, order_of, pairs_of
from incprof.analysis.steps.step_tree import Lanes, Loop
from incprof.analysis.thresholds import STEPS, StepOptions
from incprof.model import FloatArray, IntArray

# Most samples of a phase that are used for an order.
MOST_SAMPLES = 200_000


def places_of(
    phase: PhaseCalls,
    loop: Loop,
    lanes: Lanes,
    counts: IntArray,
    recurrence: Recurrence,
    period: float,
    above: Called | None,
) -> dict[int, int]:
    """Return the places of steps in an iteration, from 1. above: the step that the loop is part of."""
    if not phase.profile.metadata.ordered:
        return {}
    sequence, ticks, rate = lanes.sequence, lanes.ticks, phase.profile.metadata.rate_hz
    outside = None
    if above is not None and above.calls == int(counts[phase.members, recurrence.reference].sum()):
        # An iteration is a call of the step above: the time between two calls shows which step is the first.
        out_of_it = float(sequence.weight[~lanes.inside].sum())
        if out_of_it >= phase.options.least * float(sequence.weight.sum()):
            outside = len(ticks)
            sequence = replace(sequence, step=np.where(lanes.inside, sequence.step, outside))
            ticks = np.append(ticks, out_of_it)
    elif above is not None:
        if above.ticks < phase.options.fewest * above.calls:
            return {}
        # Only samples within one call of the step above are useful.
        sequence = replace(sequence, weight=np.where(lanes.inside, sequence.weight, 0))
    pairs = pairs_of(_first(sequence), counts[:, recurrence.reference], rate, lanes.count, phase.options.late)
    # Samples in no step lie anywhere between steps.
    other_share = max(1.0 - loop.ticks / max(loop.driver.ticks, 1.0), 0.0)
    pairs = replace(pairs, error=np.hypot(pairs.error, other_share))
    inlined = [i for i, branch in enumerate(loop.steps) if not branch.called.calls and ticks[i] > 0]
    ends = above is None or outside is not None
    order = _order(recurrence, ticks, pairs, inlined, outside, ends, phase.options)
    return _with_rare(order, recurrence, ticks, sequence, period, phase.options) if order else {}


def _first(sequence: SampleSequence) -> SampleSequence:
    """Return the first samples of a story: if these do not show an order, further ones do not either."""
    some = slice(0, MOST_SAMPLES)
    return SampleSequence(**{name: column[some] for name, column in vars(sequence).items()})


def _order(
    recurrence: Recurrence,
    ticks: FloatArray,
    pairs: Pairs,
    inlined: Sequence[int],
    outside: int | None,
    ends: bool,
    options: StepOptions,
) -> list[int]:
    """Return the steps that come once in an iteration, in their order; empty if unknown.

    Args:
        recurrence: recurrence of the steps.
        ticks: of the steps, and of the time outside.
        pairs: of consecutive samples.
        inlined: steps that are never called; their order shows whether they come once in an iteration.
        outside: number of the time between two iterations.
        ends: whether the ends of intervals lie within iterations.
        options: thresholds.
    """
    m = len(recurrence.every)
    once = np.flatnonzero((recurrence.every == 1) & (recurrence.times == 1) & (ticks[:m] > 0)).tolist()
    if recurrence.reference not in once:
        return []
    others = (recurrence.every == 0) | (recurrence.times > 1)
    one_after_another = len(once) <= 2 and not others.any()
    extra = [*inlined, *([] if outside is None else [outside])]
    members = [recurrence.reference, *(i for i in [*once, *extra] if i != recurrence.reference)]
    number = np.full(len(ticks) + 2, -1)
    number[members] = np.arange(len(members))
    first, second = number[pairs.first], number[pairs.second]
    use = (first >= 0) & (second >= 0)
    # Rare steps are not part of the iterations that most pairs are in.
    common = 1 - ticks[:m][recurrence.every > 1].sum() / ticks.sum()
    scaled_pairs = Pairs(first[use], second[use], pairs.lag[use] / common, pairs.error[use] / common)
    share = ticks[members] / ticks[members].sum()
    called_since = np.full((len(recurrence.lead), len(members)), -1)
    if ends:
        called = [i for i in members if i != outside]
        called_since[:, [members.index(i) for i in called]] = recurrence.called_since(recurrence.lead)[:, called]
    order = [members[i] for i in order_of(share, scaled_pairs, called_since, options)]
    # One or two steps are always in turn; as part of more, this is not significant.
    if len([i for i in order if i != outside]) <= 2 and not one_after_another:
        return []
    if outside in order:
        start = order.index(outside)
        return order[start + 1 :] + order[:start]
    start = first_of(order, recurrence)
    return order[start:] + order[:start]


def _with_rare(
    order: Sequence[int],
    recurrence: Recurrence,
    ticks: FloatArray,
    sequence: SampleSequence,
    period: float,
    options: StepOptions,
) -> dict[int, int]:
    """Return the places of the steps in the iteration, from 1, with those of rare steps that can be placed."""
    m = len(recurrence.every)
    share = ticks[list(order)]
    number = np.full(len(ticks) + 2, -1)
    number[list(order)] = np.arange(len(order))
    rare_after: dict[int, list[int]] = {}
    is_complete = set(order) >= set(np.flatnonzero((recurrence.every == 1) & (recurrence.times == 1)).tolist())
    for rare_step in np.flatnonzero(recurrence.every[:m] > 1).tolist() if is_complete else []:
        before, gap_before, after, gap_after = neighbours_of(sequence, rare_step)
        lags = gap_before / period, gap_after / period
        place = place_of(share, number[before], lags[0], number[after], lags[1], options)
        if place is not None:
            rare_after.setdefault(place, []).append(rare_step)
    line: list[int] = []
    for place, step in enumerate(order, 1):
        line.append(step)
        # Of two rare steps at one place, it is unknown which comes first.
        line += rare_after.get(place, []) if len(rare_after.get(place, [])) == 1 else []
    return {step: place for place, step in enumerate(line, 1)}


# Calls of each step per iteration of its driver's loop, from the calls counted by the ends of intervals.
#
# Counts are exact, so steps of one loop cannot drift apart: of two that are called once in each iteration, one is
# ahead of the other by one call or not at all. n intervals, m steps.


NONE = np.iinfo(np.int64).min // 2


@dataclass(frozen=True)
class Recurrence:
    """The loop behind some steps.

    Attributes:
        reference: the step that represents an iteration.
        every: (m,) see Step, 0 if unknown.
        times: (m,) see Step, 0 if unknown.
        per_iteration: (m,) mean calls per iteration, 0 where the step does not continue as long as the reference.
        lead: (s, m) calls of each step less those of the reference, at the end of each interval of the phase.
        lead_after: (m,) the same at the end of the run.
        low: (m,) the lower of two neighbouring values of a lead: the lead is one higher while a step has been called in
            the current or last iteration of the reference. NONE if it has only one value.
    """

    reference: int
    every: IntArray
    times: IntArray
    per_iteration: FloatArray
    lead: IntArray
    lead_after: IntArray
    low: IntArray

    def called_since(self, lead: IntArray) -> IntArray:
        """Return 1 where a step has been called since the reference was, 0 where not, -1 where unknown."""
        bit = lead - self.low
        return np.where((self.low != NONE) & ((bit == 0) | (bit == 1)), bit, -1)


def find_recurrence(
    counts: IntArray,
    members: IntArray,
    share: FloatArray,
    lanes: int,
    usable: Sequence[bool],
    options: StepOptions = STEPS,
) -> Recurrence | None:
    """Find the loop that calls the steps; None if no step is called often enough.

    Args:
        counts: (n, m) calls in each interval.
        members: (s,) the intervals of the phase, ascending.
        share: (m,) of the steps' time.
        lanes: number of threads that run the loop, each for itself.
        usable: (m,) whether a step recurs for most of the driver's time.
        options: thresholds.
    """
    in_phase = counts[members].sum(axis=0)
    total = np.cumsum(counts, axis=0)
    totals = [total[members], _since_entry(total, members)]
    reference = _reference(totals, in_phase, share, lanes, usable, options)
    if reference is None:
        return None
    m = counts.shape[1]
    every, times, per_iteration = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64), np.zeros(m)
    lead = total - total[:, [reference]]
    low = np.full(m, NONE, dtype=np.int64)
    for step in np.flatnonzero(in_phase).tolist():
        every[step], times[step] = _ratio(totals, in_phase, (step, reference), lanes, options)
        if every[step]:
            per_iteration[step] = times[step] / every[step]
        elif _keep_pace(counts[members][:, [step, reference]], options):
            per_iteration[step] = in_phase[step] / in_phase[reference]
        # With several threads, each may be ahead of the others.
        if every[step] == times[step] == lanes == 1:
            low[step] = _low(lead[members, step])
    return Recurrence(reference, every, times, per_iteration, lead[members], lead[-1], low)


def _since_entry(total: IntArray, members: IntArray) -> IntArray:
    """Return the calls since the last entry into the phase, (s, m), from those since the run began, (n, m)."""
    new = np.diff(members, prepend=-2) > 1
    entered = members[np.flatnonzero(new)[np.cumsum(new) - 1]]
    before: IntArray = np.where((entered > 0)[:, None], total[np.maximum(entered - 1, 0)], 0)
    return total[members] - before


def _reference(
    totals: Sequence[IntArray],
    calls: IntArray,
    share: FloatArray,
    lanes: int,
    usable: Sequence[bool],
    options: StepOptions,
) -> int | None:
    """Return the largest of the equally frequent steps that make up the iteration.

    totals: see _ratio. calls: (m,) in the phase.
    """
    often = [step for step in np.flatnonzero(calls >= options.fewest).tolist() if usable[step]]
    best: tuple[float, float, int] | None = None
    called = int((calls > 0).sum())
    for step in often:
        once = [other for other in often if _ratio(totals, calls, (other, step), lanes, options) == (1, 1)]
        times = [_ratio(totals, calls, (other, step), lanes, options)[1] for other in often if other not in once]
        # A loop is identified by its number of steps, some called several times, and the time of those called once.
        in_step = len(once) + sum(1 < number <= options.several for number in times)
        weight = in_step * (len(once) / called + float(share[once].sum()))
        key = (round(weight, 9), float(share[step]), -step)
        best = key if best is None or key > best else best
    return None if best is None else -best[2]


def _keep_pace(counts: IntArray, options: StepOptions) -> bool:
    """Return whether two steps, (s, 2), go on side by side, however irregularly: neither ends before the other."""
    part = np.cumsum(counts, axis=0) / counts.sum(axis=0)
    return bool(np.abs(part[:, 0] - part[:, 1]).max() <= options.aside + 1 / counts.sum(axis=0).min())


def _ratio(
    totals: Sequence[IntArray], calls: IntArray, pair: tuple[int, int], lanes: int, options: StepOptions
) -> tuple[int, int]:
    """Return (every, times) of a step, (0, 0) if its calls do not keep pace with those of the reference (pair).

    totals: calls up to the ends of the phase's intervals, since the run began and since the phase was entered. A loop
    that starts again may call a step once more; a phase may be cut out of a loop anywhere.
    """
    step, reference = pair
    own, base = int(calls[step]), int(calls[reference])
    times, every = max(round(own / base), 1), max(round(base / own), 1)
    if every > 1 and own < options.fewest:
        return 0, 0
    width = max(times, every) * lanes
    lead = (every * total[:, step] - times * total[:, reference] for total in totals)
    return (every, times) if any(_keeps_within(values, width, options.agree) for values in lead) else (0, 0)


def _keeps_within(values: IntArray, width: int, agree: float) -> bool:
    """Return whether nearly all values lie within a range of this width."""
    ordered = np.sort(values)
    inside = np.searchsorted(ordered, ordered + width, side="right") - np.arange(len(ordered))
    return bool(inside.max() >= agree * len(ordered))


def _low(lead: IntArray) -> int:
    """Return the lower of the two neighbouring values of a lead; NONE if it has only one."""
    values, counts = np.unique(lead, return_counts=True)
    neighbours = np.flatnonzero(np.diff(values) == 1)
    if not len(neighbours):
        return NONE
    return int(values[neighbours[np.argmax(counts[neighbours] + counts[neighbours + 1])]])


# Find the step that an iteration begins with: the one that comes next while the loop is not running.
#
# Before the first call and after the last one, iterations are complete: steps called since the reference are those
# between it and the end of an iteration. m steps.


def first_of(order: Sequence[int], recurrence: Recurrence) -> int:
    """Return the place of the first step in an order that starts with the reference; 0 also if unknown.

    A call before the loop shifts the counts at the start, one after it those at the end. The former is more frequent (a
    solver's first residual), so the end is tried first.
    """
    completed = _with_lows(order, recurrence)
    for lead in (recurrence.lead_after, np.zeros_like(recurrence.lead_after)):
        place = _next(order, completed.called_since(lead))
        if place is not None:
            return place
    return 0


def _next(order: Sequence[int], called_since: IntArray) -> int | None:
    """Return the place of the step that comes next, None if unknown. ahead: (m,)."""
    bits = [int(called_since[step]) for step in order[1:]]
    called = [bit for bit in bits if bit >= 0]
    if not called or called != sorted(called, reverse=True):
        return None
    return bits.index(0) + 1 if 0 in called else 0


def _with_lows(order: Sequence[int], recurrence: Recurrence) -> Recurrence:
    """Derive from the order the lower values of steps whose lead never changed.

    They have not been called if a step before them has not, and have been called if a step after them has.
    """
    called_since = recurrence.called_since(recurrence.lead)[:, list(order)]
    place = np.arange(len(order))
    # Places of the last step that has been called, and of the last that may have been, at each interval's end.
    least = np.where(called_since == 1, place, 0).max(axis=1)
    most = np.where(called_since == 0, place, len(order)).min(axis=1) - 1
    low = recurrence.low.copy()
    for at, step in enumerate(order):
        # Only steps that are called once in an iteration have a meaningful lead.
        if at == 0 or low[step] != NONE or not recurrence.every[step] == recurrence.times[step] == 1:
            continue
        not_yet, called = recurrence.lead[most < at, step], recurrence.lead[least > at, step]
        if len(not_yet) or len(called):
            low[step] = int(np.median(np.concatenate([not_yet, called - 1])))
    return replace(recurrence, low=low)


# Place of a step that is called only in each m-th iteration, from the samples around it.
#
# The last sample before the rare step, and the first after it, show between which two of the others it comes. m steps
# in their order, r visits of the rare step.


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
    likelihood = np.zeros(len(part))
    for place in range(len(part)):
        boundary = edges[place + 1]
        back = _side(part, edges, boundary, before, -lag_before, options.stray)
        likelihood[place] = back + _side(part, edges, boundary, after, lag_after, options.stray)
    probability = np.exp(options.weight * (likelihood - likelihood.max()))
    best = int(np.argmax(probability))
    return best + 1 if probability[best] >= options.sure * probability.sum() else None


def _side(
    part: FloatArray, edges: FloatArray, boundary: float, steps: IntArray, lag: FloatArray, stray: float
) -> float:
    """Return the log likelihood of the neighbours on one side, if the rare step is at this boundary of an iteration.

    A neighbour lies anywhere within its lag of the boundary, before it where the lag is negative: the rest of the lag
    is spent in the rare step.
    """
    total = 0.0
    for step, reach in zip(steps.tolist(), np.clip(lag, -1.0, 1.0).tolist(), strict=True):
        if step < 0 or reach == 0:
            continue
        low, high = min(boundary, boundary + reach), max(boundary, boundary + reach)
        # The iterations before and after follow without a gap.
        common = sum(
            max(0.0, min(high, edges[step + 1] + shift) - max(low, edges[step] + shift)) for shift in (-1.0, 0.0, 1.0)
        )
        total += float(np.log((1 - stray) * common / abs(reach) + stray * part[step]))
    return total
