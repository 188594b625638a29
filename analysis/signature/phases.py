"""Which of a process's loops are its phases: the outermost that take time, if an iteration always does the same.

Loops inside of it are phases by themselves where they turn now more and now less often, until something has converged,
and where a few iterations of the outer loop would be much of the run. n events, N iterations of a loop.
"""

from __future__ import annotations

import numpy as np

from incprof.analysis.signature.loops import Loop, LoopFinder, Loops
from incprof.analysis.signature.results import EventPhase, ProcessPhases, SignatureOptions
from incprof.model import BoolArray, FloatArray, IntArray


def robust_phases(kinds: IntArray, tick_s: FloatArray, aet_s: float, options: SignatureOptions) -> ProcessPhases:
    """Find the phases of a process by what its events repeat.

    Args:
        kinds: (n,) from 0: events of one kind are alike.
        tick_s: (n,) seconds from the end of the event before to the end of this one.
        aet_s: of the whole run.
        options: thresholds.
    """
    loops = LoopFinder(kinds).find()
    label, taken = _Choice(loops, tick_s, aet_s, options).made()
    return described(kinds, tick_s, aet_s, label, [(loop.starts[mine], loop.ends[mine]) for loop, mine in taken])


class _Choice:
    """Chooses loops, the outermost first; an event belongs to the innermost one of those that it lies in."""

    def __init__(self, loops: Loops, tick_s: FloatArray, aet_s: float, options: SignatureOptions) -> None:
        self._loops, self._options, self._aet_s = loops, options, aet_s
        self._until = np.concatenate([[0.0], np.cumsum(tick_s)])
        self._label = np.full(len(tick_s), -1, dtype=np.int64)
        # Events of a phase whose loops inside are none.
        self._closed = np.zeros(len(tick_s), dtype=np.bool_)
        self._taken: list[tuple[Loop, BoolArray]] = []

    def made(self) -> tuple[IntArray, list[tuple[Loop, BoolArray]]]:
        """Return the place of each event's loop in the list that follows, (n,); loops with their iterations, (N,)."""
        # A loop is found after those inside of it.
        for loop in self._loops.found[::-1]:
            mine = ~self._closed[loop.starts]
            if self._seconds(loop, mine) >= self._options.relevant * self._aet_s:
                self._take(loop, mine)
        return self._label, self._taken

    def _seconds(self, loop: Loop, mine: BoolArray) -> float:
        """Return the time of some of a loop's iterations."""
        return float((self._until[loop.ends[mine]] - self._until[loop.starts[mine]]).sum())

    def _take(self, loop: Loop, mine: BoolArray) -> None:
        """Make a loop a phase."""
        inside = _marked(loop.starts[mine], loop.ends[mine], len(self._label)) & ~self._closed
        self._label[inside] = len(self._taken)
        self._taken.append((loop, mine))
        parts = [part for part in self._parts(loop) if self._matters(part, inside)]
        if not parts or not (self._too_long(loop, mine) or any(_varies(loop, mine, part) for part in parts)):
            self._closed |= inside

    def _parts(self, loop: Loop) -> list[Loop]:
        """Return the loops inside of a loop, and those inside of them."""
        found, left = set[int](), [*self._loops.inside(loop)]
        while left:
            number = left.pop()
            if number not in found:
                found.add(number)
                left += self._loops.inside(self._loops.found[number])
        return [self._loops.found[number] for number in sorted(found)]

    def _matters(self, part: Loop, inside: BoolArray) -> bool:
        """Tell whether a loop takes time within some events."""
        return self._seconds(part, inside[part.starts]) >= self._options.relevant * self._aet_s

    def _too_long(self, loop: Loop, mine: BoolArray) -> bool:
        """Tell whether to see it a few times takes more of the run than what does not matter."""
        seen = self._options.warm_up + self._options.occurrences
        return seen * self._seconds(loop, mine) / int(mine.sum()) > self._options.relevant * self._aet_s


def _varies(loop: Loop, mine: BoolArray, part: Loop) -> bool:
    """Tell whether a loop inside of another turns more often in some of its iterations than in others."""
    turns = np.searchsorted(part.starts, loop.ends[mine]) - np.searchsorted(part.starts, loop.starts[mine])
    return bool(turns.min() < turns.max())


def _marked(starts: IntArray, ends: IntArray, n: int) -> BoolArray:
    """Mark what lies in any of some stretches, (n,)."""
    depth = np.zeros(n + 1, dtype=np.int64)
    np.add.at(depth, starts, 1)
    np.add.at(depth, ends, -1)
    marked: BoolArray = np.cumsum(depth[:-1]) > 0
    return marked


def described(
    kinds: IntArray, tick_s: FloatArray, aet_s: float, label: IntArray, found: list[tuple[IntArray, IntArray]]
) -> ProcessPhases:
    """Return phases with the time of each occurrence.

    Args:
        kinds: (n,) of events.
        tick_s: (n,) seconds from the end of the event before.
        aet_s: of the whole run.
        label: (n,) place of each event's phase in `found`, -1 for none.
        found: starts and ends of each phase's occurrences.
    """
    order = sorted((i for i in range(len(found)) if (label == i).any()), key=lambda i: int(found[i][0][0]))
    new = np.full(len(found) + 1, -1, dtype=np.int64)
    new[order] = np.arange(len(order))
    label = new[label]
    phases = []
    for phase, old in enumerate(order):
        starts, ends = found[old]
        until = np.concatenate([[0.0], np.cumsum(np.where(label == phase, tick_s, 0.0))])
        first = slice(starts[0], ends[0])
        content = tuple(kinds[first][label[first] == phase].tolist())
        phases.append(EventPhase(phase, content, starts, ends, until[ends] - until[starts]))
    return ProcessPhases(tuple(phases), label, aet_s, aet_s - float(tick_s[label >= 0].sum()))
