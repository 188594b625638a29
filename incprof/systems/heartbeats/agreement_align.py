"""Align the time of the heartbeats' run with that of the recorded run.

One process has one clock. Two runs of a program differ in speed, as a whole (scale) and from phase to phase (warp).
"""

from __future__ import annotations

import numpy as np

from incprof.model import FloatArray, IntArray
from incprof.systems.heartbeats.validation import SILENT, Alignment, Beats, BoolArray, Pieces

# Advances of a step in both series. Each step is a straight line: no time is skipped, or stands still.
Steps = tuple[tuple[int, int], ...]
FREE: Steps = ((1, 1), (1, 2), (2, 1), (1, 3), (3, 1))
NEAR: Steps = ((1, 1), (3, 4), (4, 3))
# Penalty for each cell by which a step leaves the diagonal: a warp must gain more than this.
PENALTY = 0.05


def warp_path(cost: FloatArray, steps: Steps) -> FloatArray:
    """Return the corners of the cheapest path between opposite corners of a square, shape (b, 2).

    Args:
        cost: (c, c) cost of matching a cell of the first series with one of the second.
        steps: Steps allowed; (1, 1) is one of them.
    """
    size = len(cost)
    best = np.full((size + 1, size + 1), np.inf)
    best[0, 0] = 0.0
    taken = np.zeros((size + 1, size + 1), dtype=np.int8)
    along = [_along(cost, *step) for step in steps]
    for i in range(1, size + 1):
        for number, (a, b) in enumerate(steps):
            if i < a or size < b:
                continue
            reached = best[i - a, : size + 1 - b] + along[number][i, b:]
            better = reached < best[i, b:] - 1e-12
            best[i, b:][better] = reached[better]
            taken[i, b:][better] = number
    return _corners(taken, size, steps)


def _along(cost: FloatArray, a: int, b: int) -> FloatArray:
    """Return the cost of step (a, b) by the corner where it ends, shape (c + 1, c + 1): all paths have equal weight."""
    size = len(cost)
    total = np.zeros((size + 1, size + 1))
    cells = max(a, b)
    for k in range(cells):
        back_a, back_b = k * a // cells, k * b // cells
        total[1 + back_a :, 1 + back_b :] += cost[: size - back_a, : size - back_b]
    weighted: FloatArray = total * ((a + b) / 2 / cells) + PENALTY * abs(a - b)
    return weighted


def _corners(taken: IntArray, size: int, steps: Steps) -> FloatArray:
    """Trace the path from the last corner back to the first."""
    at, corners = (size, size), [(size, size)]
    while at != (0, 0):
        a, b = steps[int(taken[at])]
        at = (at[0] - a, at[1] - b)
        corners.append(at)
    return np.array(corners[::-1], dtype=np.float64)


MOST_CELLS = 400


def by_clock(offset_s: float, duration_s: float, beats_duration_s: float) -> Alignment:
    """Align heartbeats with the recording of the same process.

    Args:
        offset_s: Start of the heartbeats, in seconds since the start of the recording.
        duration_s: Duration of the recording.
        beats_duration_s: Duration of the heartbeats.
    """
    at = np.clip([offset_s, offset_s + beats_duration_s], 0.0, duration_s)
    return Alignment("clock", at, at - offset_s)


def by_scale(expected: Span, seen: Span) -> Alignment:
    """Scale evenly: the first times with a heartbeat coincide in both runs, and the last ones."""
    stretch = (expected.high - expected.low) / max(seen.high - seen.low, 1e-9)
    ends = np.array([expected.low, expected.high]), np.array([seen.low, seen.high])
    return Alignment("scale", *ends, stretch=stretch)


def by_warp(expected: Span, seen: Span, owner: IntArray, importance: FloatArray) -> Alignment:
    """Scale each phase by a factor of its own, and allow small local shifts.

    Two runs differ in how fast each part of the code is, so a recurring phase takes longer or shorter by the same
    factor each time. A free warp (slopes 1/3 to 3), which compares observed with expected levels of the heartbeats,
    yields these factors; only one factor for each phase is taken from it. A second warp, nearly straight (slopes 3/4 to
    4/3), follows random disturbances.

    Args:
        expected: Heartbeats expected from the recording.
        seen: Heartbeats of the other run.
        owner: (n,) phase of each recorded interval, from 0; -1 for none.
        importance: (h,) weights of the heartbeats.
    """
    cells = int(np.clip(max(expected.inside, seen.inside), 2, MOST_CELLS))
    even = np.linspace(0.0, 1.0, cells + 1)
    wanted = expected.resampled(even)
    free = warp_path(_cost(wanted, seen.resampled(even), importance), FREE) / cells
    factors = _one_factor_each(np.diff(np.interp(even, free[:, 0], free[:, 1])), owner[expected.intervals(even)])
    stretched = np.concatenate([[0.0], np.cumsum(factors) / factors.sum()])
    near = warp_path(_cost(wanted, seen.resampled(stretched), importance), NEAR) / cells
    # Each factor applies to whole cells; in between, time is interpolated.
    at = np.union1d(near[:, 0], even)
    to = np.interp(np.interp(at, near[:, 0], near[:, 1]), even, stretched)
    off = np.abs(to - at)
    return Alignment(
        "warp",
        expected.low + at * (expected.high - expected.low),
        seen.low + to * (seen.high - seen.low),
        stretch=(expected.high - expected.low) / max(seen.high - seen.low, 1e-9),
        warp_mean=float(np.diff(at) @ (off[1:] + off[:-1]) / 2.0),
        warp_max=float(off.max()),
    )


def _one_factor_each(speed: FloatArray, owner: IntArray) -> FloatArray:
    """Return for each cell the mean speed over its phase, (c,); cells in no phase count as one phase."""
    _, place = np.unique(owner, return_inverse=True)
    means: FloatArray = (np.bincount(place, weights=speed) / np.bincount(place))[place]
    return means


def _cost(one: FloatArray, other: FloatArray, importance: FloatArray) -> FloatArray:
    """Return the difference of each cell of one from each of the other, (c, c), about 0 to 1."""
    total = np.zeros((len(one), len(other)))
    for h in range(one.shape[1]):
        total += importance[h] * np.abs(one[:, None, h] - other[None, :, h])
    scaled: FloatArray = total / max(float(importance.sum()), 1e-9)
    return scaled


class Span:
    """Levels of a run's heartbeats over time, from the first heartbeat to the last.

    Attributes:
        low: Begin, in seconds.
        high: End, in seconds.
        inside: Number of intervals in it.
    """

    def __init__(self, start_s: FloatArray, end_s: FloatArray, parts: FloatArray):
        """Initialise from intervals (n,) and normalised heartbeats (n, h)."""
        active = np.flatnonzero((parts > FAINT).any(axis=1))
        first, last = (int(active[0]), int(active[-1])) if len(active) else (0, len(end_s) - 1)
        self.low, self.high = float(start_s[first]), float(end_s[last])
        self.inside, self._first = last - first + 1, first
        self._edges = np.concatenate([[0.0], np.cumsum((end_s - start_s)[first : last + 1])])
        length = (end_s - start_s)[first : last + 1, None]
        summed = np.cumsum(parts[first : last + 1] * length, axis=0)
        self._sums = np.vstack([np.zeros(parts.shape[1]), summed])

    def resampled(self, edges: FloatArray) -> FloatArray:
        """Return the mean heartbeats between edges (c + 1,), ascending shares of the span from 0 to 1; shape (c, h)."""
        at = edges * self._edges[-1]
        columns = [np.interp(at, self._edges, column) for column in self._sums.T]
        means: FloatArray = np.diff(np.stack(columns, axis=1), axis=0) / np.maximum(np.diff(at), 1e-12)[:, None]
        return means

    def intervals(self, edges: FloatArray) -> IntArray:
        """Return the interval at the middle between neighbouring edges, (c,)."""
        middle = (edges[1:] + edges[:-1]) / 2 * self._edges[-1]
        place: IntArray = np.clip(np.searchsorted(self._edges, middle) - 1, 0, self.inside - 1)
        return place + self._first


def cut(alignment: Alignment, recorded: tuple[FloatArray, FloatArray], beats: tuple[FloatArray, FloatArray]) -> Pieces:
    """Cut the recorded run at the starts and ends of intervals of either run, each given in that run's own time."""
    low, high = alignment.recorded_s[0], alignment.recorded_s[-1]
    inverse = np.concatenate([beats[0], beats[1]])
    inverse = inverse[(inverse >= alignment.beats_s[0]) & (inverse <= alignment.beats_s[-1])]
    mapped = np.interp(inverse, alignment.beats_s, alignment.recorded_s)
    edges = np.unique(np.concatenate([recorded[0], recorded[1], mapped, [low, high]]))
    edges = edges[np.concatenate([[True], np.diff(edges) > 1e-9])]
    begin, end = edges[:-1], edges[1:]
    middle = (begin + end) / 2
    aligned = (middle >= low) & (middle <= high)
    ends = np.interp(end, alignment.recorded_s, alignment.beats_s)
    begins = np.interp(begin, alignment.recorded_s, alignment.beats_s)
    return Pieces(
        recorded=_position(middle, *recorded),
        beats=np.where(aligned, _position((begins + ends) / 2, *beats), -1),
        end_s=end,
        seconds=end - begin,
        beat_seconds=np.where(aligned, ends - begins, 0.0),
    )


def _position(at: FloatArray, start_s: FloatArray, end_s: FloatArray) -> IntArray:
    """Return the interval that contains each time, -1 if there is none."""
    place = np.minimum(np.searchsorted(end_s, at, side="right"), len(end_s) - 1)
    inside: IntArray = np.where((at >= start_s[place]) & (at <= end_s[place]), place, -1)
    return inside


# Find the phase that heartbeats indicate at each time.
#
# The level of each heartbeat is relative to its own mean level while it is active. So a heartbeat that is nearly
# always open, or beats a million times a second, has no more weight than another. Each interval is assigned to the
# phase with the nearest expected levels, according to the recording: an outer loop that is open in all phases is
# expected in all of them, and decides nothing.


# A heartbeat below this share of its usual level is absent.
FAINT = 0.02


def levels(beats: Beats) -> FloatArray:
    """Return the level of each heartbeat in each interval, (m, h): threads inside, or beats per second if untimed."""
    length = np.maximum(beats.length_s, 1e-9)
    timed = beats.busy_s.sum(axis=1) > 0
    amount = np.where(timed[:, None], beats.busy_s, beats.executed)
    shares: FloatArray = (amount / length).T
    return shares


def normalised(values: FloatArray, weight: FloatArray) -> FloatArray:
    """Return values (n, h) relative to their usual nonzero level: the mean, weighted by the value itself.

    Args:
        values: (n, h), not negative.
        weight: (n,) duration of each row.
    """
    total = (values * weight[:, None]).sum(axis=0)
    usual = np.divide((values**2 * weight[:, None]).sum(axis=0), total, out=np.ones_like(total), where=total > 0)
    parts: FloatArray = np.minimum(np.divide(values, usual, out=np.zeros_like(values), where=usual > 0), 2.0)
    return parts


def presence(parts: FloatArray, weight: FloatArray) -> FloatArray:
    """Return each heartbeat's share of active time, (h,), from normalised levels (n, h) and durations (n,)."""
    total = weight.sum()  # 0 in fabricated files
    shares: FloatArray = (np.minimum(parts, 1.0) * weight[:, None]).sum(axis=0) / (total if total > 0 else 1.0)
    return shares


def weights(parts: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the weight of each heartbeat, (h,): from 1 for one that is always active to 2 for a rare one."""
    rarity: FloatArray = 2.0 - presence(parts, weight)
    return rarity


def loops_or_functions(whole: FloatArray, own: FloatArray, seen: FloatArray) -> BoolArray:
    """Return which heartbeats are active only in their own phases, (h,), although their functions run in others too.

    A loop's function may contain other code, and the recording does not distinguish the loop. The total activity of the
    heartbeat in the run does: the nearer expectation is right.

    Args:
        whole: (h,) expected presence of the functions in the whole run.
        own: (h,) their expected presence in the heartbeats' own phases only.
        seen: (h,) observed presence of the heartbeats.
    """
    nearer: BoolArray = np.abs(seen - own) < np.abs(seen - whole)
    return nearer


def profiles(parts: FloatArray, weight: FloatArray, owner: IntArray, classes: int) -> FloatArray:
    """Return the usual heartbeats of each class of phases, (c, h): the mean of its intervals.

    Args:
        parts: (n, h) expected heartbeats, normalised.
        weight: (n,) durations of the intervals.
        owner: (n,) class of each interval, -1 for none.
        classes: c, the number of classes.
    """
    usual = np.zeros((classes, parts.shape[1]))
    for number in range(classes):
        mine = owner == number
        if weight[mine].sum() > 0:
            usual[number] = np.average(parts[mine], axis=0, weights=weight[mine])
    return usual


def name_moments(parts: FloatArray, usual: FloatArray, own: BoolArray, importance: FloatArray) -> IntArray:
    """Return the class of phases of each interval, SILENT if no heartbeat of any class is active; shape (m,).

    Args:
        parts: (m, h) normalised heartbeats.
        usual: (c, h) result of `profiles`.
        own: (c, h) whether the heartbeat belongs to the class.
        importance: (h,) result of `weights`.
    """
    named = np.full(len(parts), SILENT, dtype=np.int64)
    nearest = np.full(len(parts), np.inf)
    for number in range(len(usual)):
        there = (parts[:, own[number]] > FAINT).any(axis=1)
        distance = np.abs(parts - usual[number]) @ importance
        closer = there & (distance < nearest - 1e-12)
        named[closer], nearest[closer] = number, distance[closer]
    return named
