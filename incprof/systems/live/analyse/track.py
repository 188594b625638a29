"""One process of a running job: its intervals so far, as far as they are needed later."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Sequence

import numpy as np

from incprof.model import FloatArray, Function, IntArray, IntervalProfile, Metadata, Process, overhead_pct
from incprof.systems.live.analyse.job_state import LiveFunction, LiveProcess
from incprof.systems.live.analyse.mixes import FunctionNumbers, Mix, mixes
from incprof.systems.live.analyse.model import NEW, PhaseModel

# Length of the recent time, in seconds (one interval if that is longer).
NOW_S = 10.0
# Greatest number of intervals in the ribbon.
DRAWN = 4096
TOP = 60
# Subtracting replaced intervals may leave rounding errors of this size.
LEAST_S = 1e-9


class Track:
    """The intervals of a process.

    Attributes:
        rows: Profiles of the last intervals, at most `keep`.
        ended: Whether the process has ended.
        killed: Whether it left without an end record.
    """

    def __init__(self, process: Process, numbers: FunctionNumbers, keep: int):
        self.process, self.ended, self.killed = process, False, False
        self.rows: deque[Mix] = deque(maxlen=keep)
        self.metadata: Metadata | None = None
        self._numbers = numbers
        self._labels = array("i")
        self._since_s = 0.0
        self._total: FloatArray = np.zeros(0)
        self._cpu_s = self._own_s = self._cpus = 0.0
        self._samples = self._lost = 0

    @property
    def n(self) -> int:
        """Number of intervals so far."""
        return len(self._labels)

    @property
    def labels(self) -> IntArray:
        """Ids of phases, BETWEEN or NEW, one for each interval: (n,), a copy."""
        return np.array(self._labels, dtype=np.int64)

    @property
    def last_label(self) -> int:
        """Label of the last interval."""
        return self._labels[-1] if self._labels else NEW

    @property
    def end_s(self) -> float:
        """End of the last interval, in seconds since the start of the process."""
        return self.rows[-1].end_s if self.rows else 0.0

    @property
    def start_unix_s(self) -> float:
        """Start of the process in seconds since 1970, 0 if unknown."""
        start = self.metadata.raw.get("start_unix_ns") if self.metadata else None
        return start / 1e9 if isinstance(start, int) and abs(start) < 2**63 else 0.0

    def add(self, profile: IntervalProfile, model: PhaseModel) -> None:
        """Append intervals, at least one."""
        self.metadata = profile.metadata
        for mix in mixes(profile, self._numbers):
            label = model.label(mix)
            if not self._labels or label != self._labels[-1]:
                self._since_s = mix.start_s
            self._labels.append(label)
            self.rows.append(mix)
            self._count(mix)
        counters = profile.counters
        self._cpu_s += float(counters.cpu_s.sum())
        self._own_s += float(counters.own_s.sum())
        self._samples += int(counters.samples.sum())
        self._lost += int(counters.lost.sum())
        length = float(profile.end_s[-1] - profile.start_s[-1])
        self._cpus = float(counters.cpu_s[-1]) / length if length > 0 else 0.0

    def replace(self, first: int, rows: Sequence[Mix]) -> None:
        """Replace the profiles of intervals from `first` on, as far as they are kept."""
        for place, mix in enumerate(rows, first - (self.n - len(self.rows))):
            if place >= 0:
                self._count(self.rows[place], -1.0)
                self.rows[place] = mix
                self._count(mix)

    def again(self, first: int, profile: IntervalProfile, model: PhaseModel) -> None:
        """Replace and relabel intervals from `first` on, now that more of their code is resolved."""
        self.replace(first, mixes(profile, self._numbers))
        self.relabel(np.array([model.label(mix) for mix in list(self.rows)[-(self.n - first) :]], dtype=np.int64))

    def relabel(self, labels: IntArray) -> None:
        """Replace the labels of the last len(labels) intervals."""
        first = self.n - len(labels)
        self._labels[first:] = array("i", labels.tolist())
        every = np.frombuffer(self._labels, dtype=np.int32)
        other = np.flatnonzero(every != every[-1])
        begin = int(other[-1]) + 1 if len(other) else 0
        kept = begin - (self.n - len(self.rows))
        # For intervals before the kept profiles, the start recorded when they arrived is used.
        self._since_s = self.rows[kept].start_s if kept >= 0 else min(self._since_s, self.rows[0].start_s)

    def new_lately(self, last: int) -> int:
        """Return how many of the last intervals fit no phase."""
        return sum(label == NEW for label in self._labels[-last:]) if last else 0

    def _count(self, mix: Mix, times: float = 1.0) -> None:
        """Add an interval's self time to the run's, by function, multiplied by `times`."""
        function, seconds = mix.own()
        missing = len(self._numbers.functions) - len(self._total)
        if missing > 0:
            self._total = np.concatenate([self._total, np.zeros(missing)])
        self._total[function] += times * seconds

    def view(self, front_s: float, steps: tuple[Function, ...], *, full: bool = True) -> LiveProcess:
        """Return the state to show, with functions if `full`.

        front_s: end of the job's most recent data, in seconds since 1970. steps: steps of the last phase.
        """
        assert self.metadata is not None
        functions, now_s = self._hottest() if full else ((), 0.0)
        thin = max(-(-self.n // DRAWN), 1)
        return LiveProcess(
            rank=self.process.rank,
            pid=self.process.pid if self.process.pid is not None else _pid(self.metadata),
            primary=self.process.primary,
            metadata=self.metadata,
            intervals=self.n,
            elapsed_s=self.end_s,
            label=self._labels[-1],
            since_s=self.end_s - self._since_s,
            labels=np.array(self._labels[::thin], dtype=np.int64),
            cpus=self._cpus,
            behind_s=max(front_s - self.start_unix_s - self.end_s, 0.0),
            samples=self._samples,
            lost=self._lost,
            overhead_pct=overhead_pct(self._own_s, self._cpu_s),
            ended=self.ended,
            killed=self.killed,
            step=self._step(steps),
            functions=functions,
            now_s=now_s,
        )

    def _hottest(self) -> tuple[tuple[LiveFunction, ...], float]:
        """Return the functions with most recent self time, and the length of that time."""
        recent: FloatArray = np.zeros(len(self._total))
        begin = self.end_s
        for mix in reversed(self.rows):
            if begin < self.end_s and mix.start_s < self.end_s - NOW_S - 1e-6:
                break
            function, seconds = mix.own()
            np.add.at(recent, function, seconds)
            begin = mix.start_s
        run, lately = max(float(self._total.sum()), 1e-12), max(float(recent.sum()), 1e-12)
        order = np.lexsort((np.arange(len(recent)), -self._total, -recent))[:TOP]
        found = [
            LiveFunction(self._numbers.functions[i], float(recent[i]) / lately, float(self._total[i]) / run)
            for i in order.tolist()
            if self._total[i] > LEAST_S
        ]
        return tuple(found), self.end_s - begin

    def _step(self, steps: tuple[Function, ...]) -> tuple[Function, float] | None:
        """Return the step with the greatest share of the last interval."""
        last = self.rows[-1]
        shares = [(last.inclusive(number), -i) for i, number in enumerate(self._numbers.of(steps).tolist())]
        share, place = max(shares, default=(0.0, 0))
        return (steps[-place], min(round(share, 9), 1.0)) if share > 0 else None


def _pid(metadata: Metadata) -> int | None:
    """Return the recorded process id."""
    pid = metadata.raw.get("pid")
    return pid if isinstance(pid, int) else None
