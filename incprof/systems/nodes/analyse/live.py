"""The current state of a node, row by row, and its probable next states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray
from incprof.systems.nodes.analyse.decode import UNKNOWN
from incprof.systems.nodes.analyse.node_states import Alphabet
from incprof.systems.nodes.analyse.place import Next, Places
from incprof.systems.nodes.analyse.state_segments import PAUSE_S


@dataclass(frozen=True)
class Now:
    """State of a node after a row.

    Attributes:
        time_s: End of the row.
        state: Id of the state; -1 if it is unknown.
        since_s: When the state was entered.
        changed: Whether this row is the first with the new state.
        next: Probable next states, the most probable first.
    """

    time_s: float
    state: int
    since_s: float
    changed: bool
    next: tuple[Next, ...]


class Live:
    """Processes rows as they arrive. The time per row is proportional to the number of states times counters."""

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
        """Process a row.

        Args:
            time_s: Its end.
            rates: (counters,) in the order of `alphabet.scale.names`; NaN repeats the value of the previous row.
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
        """Record that another state was entered; a run begins after a pause."""
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
