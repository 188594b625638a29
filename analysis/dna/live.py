"""The state of a node now, row by row, and what comes next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.dna.decode import UNKNOWN
from incprof.analysis.dna.place import Next, Places
from incprof.analysis.dna.results import Alphabet
from incprof.analysis.dna.stretches import PAUSE_S
from incprof.model import FloatArray


@dataclass(frozen=True)
class Now:
    """time_s: the end of the row. state: -1 where it is none that is known. since_s: when it was entered.

    changed: this row is the first that says so. next: what may come, the most probable first.
    """

    time_s: float
    state: int
    since_s: float
    changed: bool
    next: tuple[Next, ...]


class Live:
    """Takes rows as they come. A row takes as many steps as there are states, and counters."""

    def __init__(self, alphabet: Alphabet):
        self._alphabet = alphabet
        self._idle = alphabet.idle
        self._places = Places([run.stretches for run in alphabet.runs])
        self._score: FloatArray | None = None
        self._since: FloatArray = np.zeros(len(alphabet.states) + 1)
        self._state, self._entered, self._time = UNKNOWN - 1, 0.0, 0.0
        self._before = np.zeros(len(alphabet.scale.names))
        self._quiet_since: float | None = None

    def feed(self, time_s: float, rates: FloatArray) -> Now:
        """Take a row.

        Args:
            time_s: its end.
            rates: (counters,), as `alphabet.scale.names` has them; NaN is as in the row before.
        """
        rates = np.where(np.isnan(rates), self._before, rates)
        self._before = rates
        emissions = self._alphabet.emissions
        evidence = emissions.evidence(self._alphabet.scale.levels(rates[None]), unknown=True)[0]
        begins = self._time if self._score is not None else time_s - 1.0
        if self._score is None:
            self._score, self._since = evidence.astype(np.float64), np.full(len(evidence), begins)
        else:
            best = int(self._score.argmax())
            moved = self._score[best] - emissions.stay
            self._since = np.where(moved > self._score, begins, self._since)
            self._score = np.maximum(self._score, moved) - self._score[best] + evidence
        self._time = time_s
        state = int(self._score.argmax())
        since = float(self._since[state])
        state = UNKNOWN if state == len(evidence) - 1 else state
        changed = state != self._state
        if changed:
            self._change(state, since)
        following = () if state in self._idle else self._places.next(time_s - self._entered)
        return Now(time_s, state, self._entered, changed, following)

    def _change(self, state: int, since: float) -> None:
        """Take it that another state was entered: a run begins after a pause."""
        busy = state not in self._idle
        if self._state in self._idle or self._state < UNKNOWN:
            paused = self._quiet_since is None or since - self._quiet_since >= PAUSE_S
            if busy and paused:
                self._places.begin(state)
            elif busy:
                self._places.enter(state, since - self._entered)
        elif busy:
            self._places.enter(state, since - self._entered)
        if not busy and self._state not in self._idle:
            self._quiet_since = since
        self._state, self._entered = state, since
