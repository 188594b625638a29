"""Find the phase that heartbeats indicate at each time.

The level of each heartbeat is relative to its own mean level while it is active. So a heartbeat that is nearly always
open, or beats a million times a second, has no more weight than another. Each interval is assigned to the phase with
the nearest expected levels, according to the recording: an outer loop that is open in all phases is expected in all of
them, and decides nothing.
"""

from __future__ import annotations

import numpy as np

from incprof.model import FloatArray, IntArray
from incprof.systems.heartbeats.agreement.validation import SILENT, Beats, BoolArray

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
