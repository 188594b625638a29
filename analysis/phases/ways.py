"""Ways from one stretch to the next: what lies between two stretches, and is a mixture of them, is neither.

An interval in which a change falls is a bit of both; a program that turns slowly from one thing to another is on its
way for several intervals. s stretches, c functions.
"""

from __future__ import annotations

import numpy as np

from incprof.analysis.options.phases import PHASES, PhaseOptions
from incprof.analysis.phases.difference import tick_variance
from incprof.analysis.phases.stretches import Stretches, Sums
from incprof.model import FloatArray, IntArray

# A way may itself have been cut into so many stretches.
PIECES = 4
# Nearer to an end of the way is that end; off the line by more is something else.
NEAR, OFF, OFF_SCORE = 0.03, 0.12, 3.5


def without_ways(sums: Sums, stretches: Stretches, options: PhaseOptions = PHASES) -> Stretches:
    """Leave out stretches, up to four in a row, that are the way from the one before to the one after."""
    while True:
        found = _a_round(sums, stretches, options)
        if len(found) == len(stretches):
            return stretches
        stretches = found


def _a_round(sums: Sums, stretches: Stretches, options: PhaseOptions) -> Stretches:
    """Go through the run once, the widest ways first."""
    for pieces in range(PIECES, 0, -1):
        drop: list[int] = []
        last = -1
        for at in _possible(sums, stretches, pieces, options).tolist():
            # Each end of a way is looked at once in a round.
            if at > last and _is_way(sums, stretches, at, at + pieces + 1, options):
                drop += range(at + 1, at + pieces + 1)
                last = at + pieces
        stretches = stretches.without(np.array(drop, dtype=np.int64))
    return stretches


def _possible(sums: Sums, stretches: Stretches, pieces: int, options: PhaseOptions) -> IntArray:
    """Return the stretches behind which there may be a way of so many pieces, by what is at its ends."""
    at = np.arange(max(len(stretches) - pieces - 1, 0))
    to = at + pieces + 1
    length = stretches.end[to - 1] - stretches.first[at + 1] if len(at) else at
    smaller = np.minimum(stretches.length[at], stretches.length[to])
    larger = np.maximum(stretches.length[at], stretches.length[to])
    short = length <= options.short_visit
    at = at[np.where(short, larger > 1, length <= options.way * smaller)]
    return at[sums.apart(stretches, at, at + pieces + 1, options) >= 1.0]


def _is_way(sums: Sums, stretches: Stretches, before: int, after: int, options: PhaseOptions) -> bool:
    """Tell whether what lies between two stretches is on the line from one to the other, and moves along it."""
    first = np.array([stretches.first[before], stretches.end[before], stretches.first[after]])
    end = np.array([stretches.end[before], stretches.first[after], stretches.end[after]])
    a, x, b = sums.shares(first, end)
    ticks = float(sums.total(first[1:2], end[1:2])[0])
    line = b - a
    weight = 1.0 / (sums.scatter * tick_variance((a + b + x) / 3.0, np.full(len(a), ticks)))
    along = float((weight * (x - a) * line).sum() / (weight * line * line).sum())
    if not NEAR < along < 1.0 - NEAR:
        return False
    noise = np.sqrt(sums.scatter * tick_variance(x, np.full(len(a), ticks)) / ticks)
    limit = np.maximum(OFF * np.abs(line).max(), OFF_SCORE * noise)
    if not (np.abs(x - a - along * line) < limit).all():
        return False
    return end[1] - first[1] <= options.short_visit or _moves(sums, int(first[1]), int(end[1]), line, options)


def _moves(sums: Sums, first: int, end: int, line: FloatArray, options: PhaseOptions) -> bool:
    """Tell whether intervals go along a line as time goes on."""
    at = np.arange(first, end)
    place = sums.shares(at, at + 1) @ line
    return bool(place.std() > 0 and np.corrcoef(place, at)[0, 1] >= options.trend)
