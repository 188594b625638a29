"""Segments of a pattern on different levels, such as those that wait for memory (paper, Figure 3 and section VI)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from incprof.model import FloatArray
from incprof.systems.periods.patterns.pattern_result import Pattern

Level = Literal["low", "middle", "high"]
# A segment is low or high if its mean differs from the pattern's by this number of the pattern's standard deviations.
APART = 0.5
# Least share of the pattern's variance that a change of level removes, and the least number of points in a segment.
LEAST_GAIN, SHORTEST = 0.01, 2


@dataclass(frozen=True)
class Segment:
    """A segment of a pattern.

    Attributes:
        begin: Its first point.
        end: The point after its last.
        mean: Mean of its values.
        share: Share of the pattern's points.
        level: Whether the mean is low, middle or high within the pattern.
    """

    begin: int
    end: int
    mean: float
    share: float
    level: Level


def segments_of(pattern: Pattern) -> tuple[Segment, ...]:
    """Cut a pattern at changes of its level; neighbouring segments of one level are merged."""
    values = pattern.values
    length, mean, spread = len(values), float(values.mean()), float(values.std())
    if not spread > 0:
        return (Segment(0, length, mean, 1.0, "middle"),)
    edges = [0, *level_changes(values), length]
    found: list[Segment] = []
    for begin, end in pairwise(edges):
        level = _level(float(values[begin:end].mean()), mean, spread)
        if found and found[-1].level == level:
            begin = found.pop().begin
        found.append(Segment(begin, end, float(values[begin:end].mean()), (end - begin) / length, level))
    return tuple(found)


def _level(value: float, mean: float, spread: float) -> Level:
    """Return the level of a segment from its mean, and the mean and deviation of the pattern."""
    if abs(value - mean) < APART * spread:
        return "middle"
    return "low" if value < mean else "high"


def level_changes(values: FloatArray) -> list[int]:
    """Return the points at which the level changes, ascending: binary segmentation by least squares.

    A pattern is the average of many instances. Its noise is small, so the threshold for a change is a share of its
    variance, not a multiple of the noise.
    """
    sums = np.concatenate([[0.0], np.cumsum(values - values.mean())])
    least = LEAST_GAIN * float(((values - values.mean()) ** 2).sum())
    open_parts, changes = [(0, len(values))], []
    while open_parts:
        begin, end = open_parts.pop()
        at = np.arange(begin + SHORTEST, end - SHORTEST + 1)
        if not len(at):
            continue
        left = (sums[at] - sums[begin]) / (at - begin)
        right = (sums[end] - sums[at]) / (end - at)
        gain = (left - right) ** 2 * (at - begin) * (end - at) / (end - begin)
        best = int(gain.argmax())
        if gain[best] > least:
            changes.append(int(at[best]))
            open_parts += [(begin, int(at[best])), (int(at[best]), end)]
    return sorted(changes)
