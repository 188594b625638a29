"""Select the loops of a process that are phases: the outermost relevant ones whose iterations are always the same.

Loops inside them are phases of their own if their number of iterations varies, as in iterating to convergence, or if a
few iterations of the outer loop would be much of the run. n events, N iterations of a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from incprof.model import BoolArray, FloatArray, IntArray
from incprof.systems.mpi.analyse.call_loops import Loop, LoopFinder, Loops
from incprof.systems.mpi.analyse.event_phases import EventPhase, ProcessPhases, SignatureOptions


def robust_phases(kinds: IntArray, tick_s: FloatArray, aet_s: float, options: SignatureOptions) -> ProcessPhases:
    """Find the phases of a process from the repetitions of its events.

    Args:
        kinds: (n,) from 0: events of one kind are equal.
        tick_s: (n,) seconds from the end of the previous event to the end of this one.
        aet_s: Time of the whole run, in seconds.
        options: Thresholds.
    """
    choice = Choice(LoopFinder(kinds).find(), tick_s)
    # Outer loops are found after those inside them.
    for number, loop in reversed(list(enumerate(choice.loops.found))):
        mine = choice.open_iterations(loop)
        if choice.seconds(loop, mine) >= options.relevant * aet_s:
            choice.take(number, mine, whole=_is_whole(choice, loop, mine, options, aet_s))
    choice.drop(options.relevant * aet_s)
    return replace(choice.described(kinds, aet_s), grammar=choice.loops.grammar)


def _is_whole(choice: Choice, loop: Loop, mine: BoolArray, options: SignatureOptions, aet_s: float) -> bool:
    """Return whether no loop inside a loop is a phase of its own: each iteration is the same, and short enough."""
    least = options.relevant * aet_s
    parts = []
    for part in choice.loops.all_inside(loop):
        turns = np.searchsorted(part.starts, loop.ends[mine]) - np.searchsorted(part.starts, loop.starts[mine])
        within = choice.open_iterations(part) & _marked(loop.starts[mine], loop.ends[mine], choice.n)[part.starts]
        if choice.seconds(part, within) >= least:
            parts.append(bool(turns.min() < turns.max()))
    seen = options.warm_up + options.occurrences
    too_long = seen * choice.seconds(loop, mine) / int(mine.sum()) > least
    return not parts or not (too_long or any(parts))


class Choice:
    """Loops selected as phases, the outermost first; an event belongs to the innermost selected loop around it."""

    def __init__(self, loops: Loops, tick_s: FloatArray) -> None:
        self.loops, self.n = loops, len(tick_s)
        self._tick_s = tick_s
        self._until = np.concatenate([[0.0], np.cumsum(tick_s)])
        self._label = np.full(self.n, -1, dtype=np.int64)
        # Events of a phase inside which no loop is a phase.
        self._closed = np.zeros(self.n, dtype=np.bool_)
        self._taken: list[Taken] = []

    def open_iterations(self, loop: Loop) -> BoolArray:
        """Return which iterations, (N,), of a loop may belong to a phase."""
        return ~self._closed[loop.starts]

    def seconds(self, loop: Loop, mine: BoolArray) -> float:
        """Return the total time of some iterations of a loop."""
        return float((self._until[loop.ends[mine]] - self._until[loop.starts[mine]]).sum())

    def take(self, number: int, mine: BoolArray, *, whole: bool) -> None:
        """Select some iterations of a loop, (N,), as a phase. whole: including everything inside them."""
        loop = self.loops.found[number]
        inside = _marked(loop.starts[mine], loop.ends[mine], self.n) & ~self._closed
        self._label[inside] = len(self._taken)
        self._taken.append(Taken(loop.starts[mine], loop.ends[mine], number, whole))
        if whole:
            self._closed |= inside

    def drop(self, least_s: float) -> None:
        """Drop phases with less than that time remaining, after loops inside them were selected."""
        for place in range(len(self._taken)):
            mine = self._label == place
            if self._tick_s[mine].sum() < least_s:
                self._label[mine] = -1

    def described(self, kinds: IntArray, aet_s: float) -> ProcessPhases:
        """Return the selected phases; kinds: (n,) of events; aet_s: time of the whole run."""
        return described(kinds, self._tick_s, aet_s, self._label, self._taken)


@dataclass(frozen=True)
class Taken:
    """Occurrences of a phase.

    Attributes:
        starts: First event of each.
        ends: Event after the last one of each.
        loop: Number of its loop; None for the paper's phases.
        whole: Whether everything inside belongs to the phase.
    """

    starts: IntArray
    ends: IntArray
    loop: int | None = None
    whole: bool = True


def _marked(starts: IntArray, ends: IntArray, n: int) -> BoolArray:
    """Mark the events in any of some ranges, (n,)."""
    depth = np.zeros(n + 1, dtype=np.int64)
    np.add.at(depth, starts, 1)
    np.add.at(depth, ends, -1)
    marked: BoolArray = np.cumsum(depth[:-1]) > 0
    return marked


def described(
    kinds: IntArray, tick_s: FloatArray, aet_s: float, label: IntArray, taken: Sequence[Taken]
) -> ProcessPhases:
    """Return phases with the time of each occurrence.

    Args:
        kinds: (n,) kinds of events.
        tick_s: (n,) seconds from the end of the previous event.
        aet_s: Time of the whole run, in seconds.
        label: (n,) position of each event's phase in `taken`, -1 for none.
        taken: Occurrences of each phase.
    """
    order = sorted((i for i in range(len(taken)) if (label == i).any()), key=lambda i: int(taken[i].starts[0]))
    new = np.full(len(taken) + 1, -1, dtype=np.int64)
    new[order] = np.arange(len(order))
    label = new[label]
    phases = []
    for phase, one in enumerate(taken[i] for i in order):
        until = np.concatenate([[0.0], np.cumsum(np.where(label == phase, tick_s, 0.0))])
        first = slice(one.starts[0], one.ends[0])
        content = tuple(kinds[first][label[first] == phase].tolist())
        time_s = until[one.ends] - until[one.starts]
        phases.append(EventPhase(phase, content, one.starts, one.ends, time_s, one.loop, one.whole))
    return ProcessPhases(tuple(phases), label, aet_s, aet_s - float(tick_s[label >= 0].sum()))
