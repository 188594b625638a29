"""Where to put heartbeats without call paths: the cheapest functions that together cover a phase.

A function covers an interval if it is called in it, or has enough of its time. Functions that run in other phases cost
more, and so do those that are called more often: each call is a beat. So the outermost functions that belong to a phase
win, even without self time. n intervals, f functions, k phases.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.composition.separation import evenly
from incprof.analysis.sites import NONE, Activity, Choice
from incprof.analysis.sites.set_cover import cover
from incprof.model import BoolArray, FloatArray, IntArray, IntervalProfile

# Limits of the work: number of intervals and of candidate functions.
MOST_INTERVALS = 4000
MOST_CANDIDATES = 200
# If more are needed, none of them represents the phase: the largest are returned.
MOST_SITES = 20


@dataclass(frozen=True)
class Presence:
    """Presence of functions.

    Attributes:
        there: sparse (n, f), functions of the program that are called in an interval or have enough of its time.
        called: sparse (n, f), functions that are called.
        part: (k, f) share of each phase's intervals with any time in which a function is present.
        weight: (k, f) cost of choosing it.
    """

    there: csr_array
    called: csr_array
    part: FloatArray
    weight: FloatArray


def presence(profile: IntervalProfile, act: Activity, labels: IntArray, k: int) -> Presence:
    """Compute the presence of functions in each phase. labels: (n,) phase ids from 0, -1 for none."""
    library = np.array([function.is_library for function in profile.functions], dtype=np.bool_)
    code = ~library & np.array([function.is_code for function in profile.functions], dtype=np.bool_)
    called = csr_array((act.calls > 0).astype(np.float64))
    called.data *= code[called.indices]
    called.eliminate_zeros()
    there = csr_array(((act.active.astype(np.float64) + called) > 0).astype(np.float64))
    use = np.flatnonzero(labels >= 0)
    gather = csr_array((np.ones(len(use)), (labels[use], use)), shape=(k, len(labels)))
    count = np.maximum(np.bincount(labels[use], minlength=k), 1)
    part = (gather @ there).toarray() / count[:, None]
    wall = np.asarray(gather @ (profile.end_s - profile.start_s)).ravel()
    beats = (gather @ act.calls.astype(np.float64)).toarray() / np.maximum(wall, 1e-9)[:, None]
    specific = part / np.maximum(part.sum(axis=0), 1e-12)
    # Functions of the compiler's libraries are as much a last resort as those that run everywhere.
    options = act.options
    weight = 1.0 + options.unspecific * (1.0 - specific + library) + options.beats * np.log1p(beats)
    time = (gather @ act.share).toarray() / count[:, None]
    return Presence(there, called, part, weight + options.time * (1.0 - time))


def sites_by_cover(
    act: Activity, found: Presence, members: IntArray, phase: int, excluded: Set[tuple[int, str]] = NONE
) -> list[Choice]:
    """Choose the sites of a phase, the one that covers most intervals first.

    Args:
        act: activity of the whole run.
        found: of the same run.
        members: (m,) the phase's intervals, ascending.
        phase: its number.
        excluded: (function, kind) of sites that are not available.
    """
    busy = members[np.diff(act.active.indptr)[members] > 0]
    rows = busy[evenly(len(busy), MOST_INTERVALS)]
    if not len(rows):
        return []
    functions = _candidates(found, phase)
    covers = found.there[rows][:, functions].toarray() > 0
    # Called in more than half of the intervals in which it is present: a beat for each call.
    often = 2 * (found.called[rows][:, functions].toarray() > 0).sum(axis=0) > covers.sum(axis=0)
    kinds = {f: "body" if body else "loop" for f, body in zip(functions.tolist(), often.tolist(), strict=True)}
    able = np.array([(f, kind) not in excluded for f, kind in kinds.items()], dtype=np.bool_)
    functions, covers = functions[able], covers[:, able]
    need = int(np.ceil(act.options.coverage * len(rows)))
    chosen = cover(covers, found.weight[phase, functions], need)
    scale = len(busy) / len(rows)
    return [Choice(int(functions[c]), kinds[int(functions[c])], new * scale) for c, new in _in_order(covers, chosen)]


def _candidates(found: Presence, phase: int) -> IntArray:
    """Return the candidate functions of a phase, ascending: those that cover most for their weight."""
    worth = found.part[phase] / found.weight[phase]
    order = np.lexsort((np.arange(len(worth)), -np.round(worth, 12)))[:MOST_CANDIDATES]
    return np.sort(order[worth[order] > 0]).astype(np.int64)


def _in_order(covers: BoolArray, chosen: IntArray) -> list[tuple[int, int]]:
    """Return the chosen candidates, the one that covers most first, with the intervals that no earlier one covers."""
    left = np.ones(len(covers), dtype=np.bool_)
    out: list[tuple[int, int]] = []
    rest = chosen.tolist()
    while rest and len(out) < MOST_SITES:
        gain = covers[np.ix_(left, rest)].sum(axis=0)
        best = rest.pop(int(np.argmax(gain)))
        out.append((best, int(gain.max())))
        left &= ~covers[:, best]
    return out
