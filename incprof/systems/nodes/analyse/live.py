"""The current state of a node, row by row, and its probable next states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray, IntArray
from incprof.systems.nodes.analyse.comparable_rates import UNKNOWN
from incprof.systems.nodes.analyse.node_states import PAUSE_S, Alphabet, Segment


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
        self._places = Places([run.segments for run in alphabet.runs])
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


# Locate a run within the known runs, to predict its next states and when they begin.
#
# Each segment of a known run is a place. A place fits the better the more of the segments before it match those that
# the run has just passed; an additional, missing, or differently long segment worsens the fit. The segments after the
# best places predict the next state, and their lengths, at the pace of this run, predict when it begins.


# Penalty for an additional or missing segment; a matching segment adds 1.
SKIPPED = 1.5
# Greatest penalty for a segment of another length; the penalty is the logarithm of the ratio.
OTHER_LENGTH = 0.5
# Bonus for the beginnings of known runs, for a run that has just begun.
BEGUN = 1.0
# Difference in fit by which the vote of a place decreases by a factor of e.
VOTES = 0.4
# Number of recent segments from which the pace is estimated.
PACE_FROM = 12
ENDED = -2


@dataclass(frozen=True)
class Next:
    """A probable next state.

    Attributes:
        state: Id of the state; `ENDED` if the run ends.
        probability: Its probability.
        in_s: Seconds from now until it begins.
        low_s: Lower end of the interval that contains 80 % of the probability, in seconds.
        high_s: Its upper end, in seconds.
    """

    state: int
    probability: float
    in_s: float
    low_s: float
    high_s: float


class Places:
    """The places of known runs, and how well each fits the run so far."""

    def __init__(self, runs: Sequence[Sequence[Segment]]):
        every = [segment for run in runs for segment in run]
        self._state: IntArray = np.array([segment.state for segment in every], dtype=np.int64)
        self._seconds: FloatArray = np.array([segment.seconds for segment in every])
        first = np.cumsum([0, *(len(run) for run in runs)])[:-1]
        self._first = np.isin(np.arange(len(every)), first)
        self._last = np.append(self._first[1:], True) if every else self._first
        self._fits: FloatArray | None = None
        self._now = UNKNOWN
        self._paces: list[float] = []

    def begin(self, state: int) -> None:
        """Record that a run has begun, in this state."""
        self._fits = np.where(self._state == state, 1.0, -1.0) + BEGUN * self._first
        self._paces, self._now = [], state

    def enter(self, state: int, seconds: float) -> None:
        """Record that a run has entered a state, after `seconds` in the previous one."""
        if self._fits is None:
            self.begin(state)
            return
        ratio = np.log(max(seconds, 1e-3) / np.maximum(self._seconds, 1e-3))
        best = np.flatnonzero((self._fits >= self._fits.max(initial=-np.inf) - VOTES) & (self._state == self._now))
        if len(best):
            self._paces.append(float(np.median(ratio[best])))
        before = self._fits - np.minimum(np.abs(ratio - self._log_pace), OTHER_LENGTH)
        scores = np.maximum(_later(before, 1, self._first), _later(before, 2, self._first) - SKIPPED)
        scores = np.maximum(scores, before - SKIPPED)
        self._fits = np.where(self._state == state, 1.0, -1.0) + np.maximum(scores, 0.0)
        self._now = state

    @property
    def _log_pace(self) -> float:
        """Logarithm of this run's lengths relative to those of known runs; shrunk towards 0 with few segments."""
        recent = self._paces[-PACE_FROM:]
        return float(np.median(recent)) * len(recent) / (len(recent) + 0.5) if recent else 0.0

    def next(self, elapsed_s: float) -> tuple[Next, ...]:
        """Return the probable next states, the most probable first; empty if the current state is in no known run.

        Args:
            elapsed_s: Seconds since the current state was entered.
        """
        places_now = np.flatnonzero(self._state == self._now)
        if self._fits is None or not len(places_now):
            return ()
        fits = self._fits[places_now]
        vote = np.exp((fits - fits.max()) / VOTES)
        seconds = self._seconds[places_now] * np.exp(self._log_pace)
        after = np.where(self._last[places_now], ENDED, np.append(self._state, ENDED)[places_now + 1])
        still = vote * (seconds > elapsed_s)
        vote = still if still.sum() > 0.05 * vote.sum() else vote
        following = []
        for state in np.unique(after):
            own = after == state
            if vote[own].sum() > 1e-6 * vote.sum():
                low, middle, high = weighted_quantiles(seconds[own], vote[own], (0.1, 0.5, 0.9)) - elapsed_s
                share = float(vote[own].sum() / vote.sum())
                following.append(Next(int(state), share, max(middle, 0.0), max(low, 0.0), max(high, 0.0)))
        return tuple(sorted(following, key=lambda each: (-each.probability, each.state)))


def weighted_quantiles(values: FloatArray, weights: FloatArray, at: Sequence[float]) -> FloatArray:
    """Return weighted quantiles of values, interpolated between the middles of their weights."""
    order = np.argsort(values, kind="stable")
    ordered, weight = values[order], weights[order]
    middles = (np.cumsum(weight) - weight / 2) / weight.sum()
    return np.asarray(np.interp(at, middles, ordered))


def _later(fits: FloatArray, by: int, first: np.ndarray) -> FloatArray:
    """Return the fit of the place `by` segments earlier in the same run; very bad if there is none."""
    out = np.full(len(fits), -1e9)
    if len(fits) > by:
        run = np.cumsum(first)
        out[by:] = np.where(run[by:] == run[:-by], fits[:-by], -1e9)
    return out
