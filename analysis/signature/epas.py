"""Phases of one process as in EPAS: the local logical trace, cut where a type of communication comes again.

The paper's Sections 4.2 and 4.3. An event's logical time is that of the one before it in its process plus one, so the
ticks of a process are its events in order. A phase's structure takes ticks until one has the type of a tick that it
holds; it is the same phase as an earlier one if their types are equal, tick for tick, and their work is similar, tick
for tick. n ticks, s segments.
"""

from __future__ import annotations

import numpy as np

from incprof.analysis.signature.modes import modes
from incprof.model import FloatArray, IntArray

# The paper's similarity of two ticks: the smaller amount of work over the larger one.
SIMILAR = 0.85


def segments_of(kinds: IntArray) -> IntArray:
    """Return the borders of segments in each of which no kind comes twice, (s + 1,). kinds: (n,) from 0."""
    n = len(kinds)
    order = np.argsort(kinds, kind="stable")
    before = np.full(n, -1, dtype=np.int64)
    again = kinds[order][1:] == kinds[order][:-1]
    before[order[1:][again]] = order[:-1][again]
    # A segment that begins at i ends before the first tick whose kind was last seen at i or later.
    end = np.searchsorted(np.maximum.accumulate(before), np.arange(n), side="left").tolist()
    borders, at = [0], 0
    while at < n:
        at = end[at]
        borders.append(at)
    return np.array(borders, dtype=np.int64)


def same_phase(
    kinds: IntArray, work: FloatArray, borders: IntArray, similar: float = SIMILAR, *, noisy: bool = False
) -> IntArray:
    """Return the phase of each segment, (s,), numbered from 0 as they first appear.

    Args:
        kinds: (n,) of communication.
        work: (n, w) amounts of work before each event, of one process or of several; 0 where there is none.
        borders: (s + 1,) of segments.
        similar: least ratio of two amounts for which they count as equal; two zeros do.
        noisy: the work is a time: occurrences are told apart by its modes, not by single ratios.
    """
    first, length = borders[:-1], np.diff(borders)
    phase = np.full(len(first), -1, dtype=np.int64)
    alike: dict[int, IntArray] = {}
    for size in np.unique(length).tolist():
        mine = np.flatnonzero(length == size)
        rows = kinds[first[mine][:, None] + np.arange(size)]
        _, which = np.unique(rows, axis=0, return_inverse=True)
        for group in range(int(which.max()) + 1):
            members = mine[which.ravel() == group]
            alike[int(members[0])] = members
    # A segment is the first phase saved that it is similar to, or a new one.
    for members in alike.values():
        left = members
        if noisy:
            place = first[members][:, None] + np.arange(int(length[members[0]]))
            which = modes(work[place].sum(axis=2), similar)
            _, opens = np.unique(which, return_index=True)
            phase[members] = members[opens][which]
            continue
        while len(left):
            place = first[left][:, None] + np.arange(int(length[left[0]]))
            near = _similar(work[place], work[place[0]], similar)
            phase[left[near]] = left[0]
            left = left[~near]
    _, numbered = np.unique(phase, return_inverse=True)
    return numbered.ravel().astype(np.int64)


def _similar(work: FloatArray, pattern: FloatArray, least: float) -> np.ndarray:
    """Tell which segments, (s, ticks, w), do as much in every tick as another one, (ticks, w)."""
    less, more = np.minimum(work, pattern), np.maximum(work, pattern)
    return np.asarray((less >= least * more).all(axis=(1, 2)))


def epas(
    kinds: IntArray, work: FloatArray, similar: float = SIMILAR, *, noisy: bool = False
) -> tuple[IntArray, IntArray]:
    """Return the borders of segments, (s + 1,), and the phase of each, (s,). See `same_phase`."""
    borders = segments_of(kinds)
    return borders, same_phase(kinds, work, borders, similar, noisy=noisy)
