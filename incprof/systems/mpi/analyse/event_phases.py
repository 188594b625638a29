"""Phases of a run's communication: the loops of each process that are repeated alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from incprof.model import BoolArray, FloatArray, IntArray
from incprof.systems.mpi.analyse.call_loops import Loop, LoopFinder, Loops
from incprof.systems.mpi.trace_types import Grammar

Method = Literal["robust", "paper", "global"]


# Upper limits for a cheap signature run: a twentieth of a short run, some seconds of a long one.
MOST, MOST_S = 0.05, 4.0


@dataclass(frozen=True)
class SignatureOptions:
    """Thresholds for finding and measuring phases.

    Attributes:
        similar: Least ratio of the work before two events that count as alike; None: the paper's 0.85 if work was
            counted, and what the noise permits if it is a time.
        relevant: Least share of the run in a phase (the paper's, 0.01).
        warm_up: Occurrences of a phase that are not measured.
        occurrences: Least number of occurrences measured after that.
        least: Least share of the run that is measured, from where the first phase begins.
        precise: Measuring continues until the interval of the prediction is this narrow, relative to it, on each side.
        most: Greatest share of the run that is measured; phases that begin later are omitted. None: limited by MOST and
            MOST_S, but long enough to see every phase.
    """

    similar: float | None = None
    relevant: float = 0.01
    warm_up: int = 1
    occurrences: int = 3
    least: float = 0.005
    precise: float = 0.01
    most: float | None = None

    def most_of(self, aet_s: float) -> float:
        """Return the share of a run of some seconds up to which measuring continues for precision."""
        return self.most if self.most is not None else min(MOST, MOST_S / aet_s) if aet_s > 0 else MOST


DEFAULT = SignatureOptions()


@dataclass(frozen=True)
class EventPhase:
    """A repeated pattern of events in one process.

    Attributes:
        id: From 0, by first appearance.
        kinds: Kinds of the events of its first occurrence, in order, without those of other phases.
        starts: (weight,) first event of each occurrence.
        ends: (weight,) event after the last one of each occurrence.
        time_s: (weight,) time of each occurrence, without that of other phases in it.
        loop: Number of its loop; None for the paper's phases.
        whole: Whether no loop inside it is a phase.
    """

    id: int
    kinds: tuple[int, ...]
    starts: IntArray
    ends: IntArray
    time_s: FloatArray
    loop: int | None = None
    whole: bool = True

    @property
    def weight(self) -> int:
        """Number of occurrences."""
        return len(self.time_s)

    @property
    def seconds(self) -> float:
        """Total time of all occurrences."""
        return float(self.time_s.sum())


@dataclass(frozen=True)
class ProcessPhases:
    """The relevant phases of one process, and the remaining time.

    Attributes:
        phases: By first appearance.
        label: (n,) the phase of each event; -1 for none.
        aet_s: Time of the whole run.
        outside_s: Time in no phase.
        grammar: Grammar of its loops; None for the paper's phases.
    """

    phases: tuple[EventPhase, ...]
    label: IntArray
    aet_s: float
    outside_s: float
    grammar: Grammar | None = None

    @property
    def coverage(self) -> float:
        """Share of the run in phases."""
        return 1.0 - self.outside_s / self.aet_s if self.aet_s > 0 else 0.0


# Select the loops of a process that are phases: the outermost relevant ones whose iterations are always the same.
#
# Loops inside them are phases of their own if their number of iterations varies, as in iterating to convergence, or
# if a few iterations of the outer loop would be much of the run. n events, N iterations of a loop.


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
    for number, loop in reversed(list(enumerate(choice.loops.loops))):
        iterations = choice.open_iterations(loop)
        if choice.seconds(loop, iterations) >= options.relevant * aet_s:
            choice.take(number, iterations, whole=_is_whole(choice, loop, iterations, options, aet_s))
    choice.drop(options.relevant * aet_s)
    return replace(choice.described(kinds, aet_s), grammar=choice.loops.grammar)


def _is_whole(choice: Choice, loop: Loop, iterations: BoolArray, options: SignatureOptions, aet_s: float) -> bool:
    """Return whether no loop inside a loop is a phase of its own: each iteration is the same, and short enough."""
    least = options.relevant * aet_s
    parts = []
    for part in choice.loops.all_inside(loop):
        inner_counts = np.searchsorted(part.starts, loop.ends[iterations]) - np.searchsorted(
            part.starts, loop.starts[iterations]
        )
        inner = (
            choice.open_iterations(part)
            & _marked(loop.starts[iterations], loop.ends[iterations], choice.n)[part.starts]
        )
        if choice.seconds(part, inner) >= least:
            parts.append(bool(inner_counts.min() < inner_counts.max()))
    occurrences = options.warm_up + options.occurrences
    too_long = occurrences * choice.seconds(loop, iterations) / int(iterations.sum()) > least
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
        self._taken: list[SelectedPhase] = []

    def open_iterations(self, loop: Loop) -> BoolArray:
        """Return which iterations, (N,), of a loop may belong to a phase."""
        return ~self._closed[loop.starts]

    def seconds(self, loop: Loop, iterations: BoolArray) -> float:
        """Return the total time of some iterations of a loop."""
        return float((self._until[loop.ends[iterations]] - self._until[loop.starts[iterations]]).sum())

    def take(self, number: int, iterations: BoolArray, *, whole: bool) -> None:
        """Select some iterations of a loop, (N,), as a phase. whole: including everything inside them."""
        loop = self.loops.loops[number]
        inside = _marked(loop.starts[iterations], loop.ends[iterations], self.n) & ~self._closed
        self._label[inside] = len(self._taken)
        self._taken.append(SelectedPhase(loop.starts[iterations], loop.ends[iterations], number, whole))
        if whole:
            self._closed |= inside

    def drop(self, least_s: float) -> None:
        """Drop phases with less than that time remaining, after loops inside them were selected."""
        for place in range(len(self._taken)):
            in_phase = self._label == place
            if self._tick_s[in_phase].sum() < least_s:
                self._label[in_phase] = -1

    def described(self, kinds: IntArray, aet_s: float) -> ProcessPhases:
        """Return the selected phases; kinds: (n,) of events; aet_s: time of the whole run."""
        return described(kinds, self._tick_s, aet_s, self._label, self._taken)


@dataclass(frozen=True)
class SelectedPhase:
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
    kinds: IntArray, tick_s: FloatArray, aet_s: float, label: IntArray, taken: Sequence[SelectedPhase]
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
