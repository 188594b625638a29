"""Which phase the heartbeats of a moment speak of.

Each heartbeat is measured by what it has when it has something, so that one that is nearly always open, or beats a
million times a second, has no more to say than another. A moment is then given to the phase whose usual heartbeats, as
the recording has them, are the nearest: an outer loop that is open in all phases is expected in all of them and decides
nothing.
"""

from __future__ import annotations

import numpy as np

from incprof.analysis.agreement.results import SILENT, Beats, BoolArray
from incprof.model import FloatArray, IntArray

# A heartbeat that has less than this part of its usual level is not there.
FAINT = 0.02


def levels(beats: Beats) -> FloatArray:
    """Return what each heartbeat did in each interval, (m, h): threads inside; beats per second without durations."""
    length = np.maximum(beats.length_s, 1e-9)
    timed = beats.busy_s.sum(axis=1) > 0
    amount = np.where(timed[:, None], beats.busy_s, beats.executed)
    shares: FloatArray = (amount / length).T
    return shares


def normalised(values: FloatArray, weight: FloatArray) -> FloatArray:
    """Return values (n, h) as parts of their usual level where they are not 0: the mean, weighted by the value itself.

    Args:
        values: (n, h), not negative.
        weight: (n,), how long each row lasts.
    """
    total = (values * weight[:, None]).sum(axis=0)
    usual = np.divide((values**2 * weight[:, None]).sum(axis=0), total, out=np.ones_like(total), where=total > 0)
    parts: FloatArray = np.minimum(np.divide(values, usual, out=np.zeros_like(values), where=usual > 0), 2.0)
    return parts


def presence(parts: FloatArray, weight: FloatArray) -> FloatArray:
    """Return for which part of the time each heartbeat is there, (h,), of normalised ones (n, h) and (n,) lengths."""
    total = weight.sum()  # 0 in files that somebody made
    shares: FloatArray = (np.minimum(parts, 1.0) * weight[:, None]).sum(axis=0) / (total if total > 0 else 1.0)
    return shares


def weights(parts: FloatArray, weight: FloatArray) -> FloatArray:
    """Return what each heartbeat's word counts, (h,): from 1 for one that is always there to 2 for a rare one."""
    rarity: FloatArray = 2.0 - presence(parts, weight)
    return rarity


def loops_or_functions(whole: FloatArray, own: FloatArray, seen: FloatArray) -> BoolArray:
    """Say which heartbeats are there only in their own phases, (h,), although their functions run in others as well.

    A loop's function may hold other code; the recording does not tell when it is in the loop. How much of the
    heartbeat there is in the whole run does: whatever is nearer to that, whenever it was.

    Args:
        whole: (h,) presence that is expected of the functions.
        own: (h,) the same in their own phases only.
        seen: (h,) presence of the heartbeats.
    """
    nearer: BoolArray = np.abs(seen - own) < np.abs(seen - whole)
    return nearer


def profiles(parts: FloatArray, weight: FloatArray, owner: IntArray, classes: int) -> FloatArray:
    """Return the usual heartbeats of each class of phases, (c, h): the mean of its intervals.

    Args:
        parts: (n, h) expected heartbeats, normalised.
        weight: (n,) how long the intervals last.
        owner: (n,) class of each interval, -1 for none.
        classes: c.
    """
    usual = np.zeros((classes, parts.shape[1]))
    for number in range(classes):
        mine = owner == number
        if weight[mine].sum() > 0:
            usual[number] = np.average(parts[mine], axis=0, weights=weight[mine])
    return usual


def name_moments(parts: FloatArray, usual: FloatArray, own: BoolArray, importance: FloatArray) -> IntArray:
    """Return the class of phases of each moment, SILENT where no heartbeat of any is there; shape (m,).

    Args:
        parts: (m, h) normalised heartbeats.
        usual: (c, h) of `profiles`.
        own: (c, h) whether the heartbeat belongs to the class.
        importance: (h,) of `weights`.
    """
    named = np.full(len(parts), SILENT, dtype=np.int64)
    nearest = np.full(len(parts), np.inf)
    for number in range(len(usual)):
        there = (parts[:, own[number]] > FAINT).any(axis=1)
        distance = np.abs(parts - usual[number]) @ importance
        closer = there & (distance < nearest - 1e-12)
        named[closer], nearest[closer] = number, distance[closer]
    return named
