"""What alternates below one driver are the steps of its iterations, however long these are.

A solver whose iteration takes several intervals shows one step after another: each is a stretch of its own, and all of
them together are one phase. n intervals, s stretches.
"""

from __future__ import annotations

import numpy as np

from incprof.analysis.options.phases import PHASES, PhaseOptions
from incprof.analysis.phases.inclusive import Inclusive
from incprof.analysis.phases.stretches import Stretches, Sums
from incprof.model import BoolArray


def in_turn_joined(sums: Sums, stretches: Stretches, options: PhaseOptions = PHASES) -> tuple[Stretches, Stretches]:
    """Join stretches that follow one another quickly below one driver, and come again as long as it lives.

    Returns:
        All stretches, and those of them that were joined.
    """
    held = _held(sums.ticks, stretches)
    short = stretches.length <= options.iteration
    drop: list[int] = []
    first, end, at = [], [], 0
    while at < len(stretches):
        common, stop = held[at], at + 1
        if short[at]:
            while stop < len(stretches) and short[stop] and (common & held[stop]).any():
                common, stop = common & held[stop], stop + 1
        if stop - at >= options.turns and common.any() and _come_again(sums, stretches, at, stop, options):
            drop += range(at, stop - 1)
            first.append(stretches.first[at])
            end.append(stretches.end[stop - 1])
            at = stop
        else:
            at += 1
    joined = Stretches(np.array(first, dtype=np.int64), np.array(end, dtype=np.int64))
    return stretches.joined(np.array(drop, dtype=np.int64)), joined


def _come_again(sums: Sums, stretches: Stretches, at: int, stop: int, options: PhaseOptions) -> bool:
    """Tell whether all that some stretches do is done in both halves of them: else they are stages."""
    middle = (at + stop) // 2
    first = np.array([stretches.first[at], stretches.first[middle]])
    end = np.array([stretches.end[middle - 1], stretches.end[stop - 1]])
    share = sums.shares(first, end)
    most = share.max(axis=0)
    return bool((share.min(axis=0) >= options.again * most)[most >= options.named].all())


def _held(ticks: Inclusive, stretches: Stretches) -> BoolArray:
    """Tell which drivers hold nearly all of each interval of a stretch, (s, drivers)."""
    sums = np.vstack([np.zeros(ticks.drives.shape[1]), np.cumsum(ticks.drives, axis=0)])
    inside = sums[stretches.end] - sums[stretches.first]
    result: BoolArray = 2 * inside > stretches.length[:, None]
    return result
