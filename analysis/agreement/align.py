"""Which moment of the heartbeats' run is which moment of the recorded run.

One process has one clock. Two runs of a program differ in speed, as a whole (scale) and from phase to phase (warp).
"""

from __future__ import annotations

import numpy as np

from incprof.analysis.agreement.nearest_phase import FAINT
from incprof.analysis.agreement.results import Alignment, Pieces
from incprof.analysis.agreement.warp import FREE, NEAR, warp_path
from incprof.model import FloatArray, IntArray

MOST_CELLS = 400


def by_clock(offset_s: float, duration_s: float, beats_duration_s: float) -> Alignment:
    """Lay one process's heartbeats over its recording.

    Args:
        offset_s: start of the heartbeats, in seconds since the start of the recording.
        duration_s: of the recording.
        beats_duration_s: of the heartbeats.
    """
    at = np.clip([offset_s, offset_s + beats_duration_s], 0.0, duration_s)
    return Alignment("clock", at, at - offset_s)


def by_scale(expected: Span, seen: Span) -> Alignment:
    """Stretch evenly: the first moment with a heartbeat is the first one in both, and so is the last."""
    stretch = (expected.high - expected.low) / max(seen.high - seen.low, 1e-9)
    ends = np.array([expected.low, expected.high]), np.array([seen.low, seen.high])
    return Alignment("scale", *ends, stretch=stretch)


def by_warp(expected: Span, seen: Span, owner: IntArray, importance: FloatArray) -> Alignment:
    """Stretch each phase by a factor of its own, and every moment a little besides.

    What differs between two runs is how fast each part of the code is: a phase that comes again takes as much longer or
    shorter as before. A free warp (slopes 1/3 to 3), which compares how much of each heartbeat there is with what was
    expected, says how much; only one factor for each phase is taken from it. A second warp, nearly straight (slopes 3/4
    to 4/3), is for what happens on a machine by the way.

    Args:
        expected: heartbeats of the recording.
        seen: of the other run.
        owner: (n,) which phase each recorded interval belongs to, from 0; -1 for none.
        importance: (h,) of the heartbeats.
    """
    cells = int(np.clip(max(expected.inside, seen.inside), 2, MOST_CELLS))
    even = np.linspace(0.0, 1.0, cells + 1)
    wanted = expected.resampled(even)
    free = warp_path(_cost(wanted, seen.resampled(even), importance), FREE) / cells
    factors = _one_factor_each(np.diff(np.interp(even, free[:, 0], free[:, 1])), owner[expected.intervals(even)])
    stretched = np.concatenate([[0.0], np.cumsum(factors) / factors.sum()])
    near = warp_path(_cost(wanted, seen.resampled(stretched), importance), NEAR) / cells
    # Each factor begins and ends at a cell: in between, time goes evenly.
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
    """Return the mean speed of a cell's phase for each cell, (c,); cells of no phase are one, too."""
    _, place = np.unique(owner, return_inverse=True)
    means: FloatArray = (np.bincount(place, weights=speed) / np.bincount(place))[place]
    return means


def _cost(one: FloatArray, other: FloatArray, importance: FloatArray) -> FloatArray:
    """Return how unlike each cell of one is to each of the other, (c, c), 0..1 or so."""
    total = np.zeros((len(one), len(other)))
    for h in range(one.shape[1]):
        total += importance[h] * np.abs(one[:, None, h] - other[None, :, h])
    scaled: FloatArray = total / max(float(importance.sum()), 1e-9)
    return scaled


class Span:
    """A run's heartbeats over time, as expected or as seen: the part from the first one to the last one.

    Attributes:
        low, high: seconds where it begins and ends.
        inside: number of intervals in it.
    """

    def __init__(self, start_s: FloatArray, end_s: FloatArray, parts: FloatArray):
        """Take intervals (n,) and normalised heartbeats (n, h)."""
        active = np.flatnonzero((parts > FAINT).any(axis=1))
        first, last = (int(active[0]), int(active[-1])) if len(active) else (0, len(end_s) - 1)
        self.low, self.high = float(start_s[first]), float(end_s[last])
        self.inside, self._first = last - first + 1, first
        self._edges = np.concatenate([[0.0], np.cumsum((end_s - start_s)[first : last + 1])])
        length = (end_s - start_s)[first : last + 1, None]
        summed = np.cumsum(parts[first : last + 1] * length, axis=0)
        self._sums = np.vstack([np.zeros(parts.shape[1]), summed])

    def resampled(self, edges: FloatArray) -> FloatArray:
        """Return the mean heartbeats between edges (c + 1,), parts of the span from 0 to 1, ascending; shape (c, h)."""
        at = edges * self._edges[-1]
        columns = [np.interp(at, self._edges, column) for column in self._sums.T]
        means: FloatArray = np.diff(np.stack(columns, axis=1), axis=0) / np.maximum(np.diff(at), 1e-12)[:, None]
        return means

    def intervals(self, edges: FloatArray) -> IntArray:
        """Return the interval in the middle between edges, (c,)."""
        middle = (edges[1:] + edges[:-1]) / 2 * self._edges[-1]
        place: IntArray = np.clip(np.searchsorted(self._edges, middle) - 1, 0, self.inside - 1)
        return place + self._first


def cut(alignment: Alignment, recorded: tuple[FloatArray, FloatArray], beats: tuple[FloatArray, FloatArray]) -> Pieces:
    """Cut the recorded run at every edge of an interval of either run: their starts and ends, each in its own time."""
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
    """Return the interval that holds each moment, -1 where none does."""
    place = np.minimum(np.searchsorted(end_s, at, side="right"), len(end_s) - 1)
    inside: IntArray = np.where((at >= start_s[place]) & (at <= end_s[place]), place, -1)
    return inside
