"""Analysis of a running job: phases are refitted as it grows, and keep their numbers.

Between two fits each interval is assigned to the nearest phase. Phases are fitted to one process, the lead; intervals
of the other processes are assigned to these phases.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from incprof.analysis.features import WORKS
from incprof.analysis.phase_result import PhaseResult, Step
from incprof.analysis.thresholds import STEPS
from incprof.model import FloatArray, Function, IntArray, IntervalProfile, Metadata, Process, overhead_pct
from incprof.systems.live.job_state import (
    BETWEEN,
    NEW,
    NOTHING_KNOWN,
    FunctionNumbers,
    IntervalProfiles,
    LiveFunction,
    LivePhase,
    LiveProcess,
    LiveView,
    Mix,
    PhaseModel,
    fit_model,
    mixes,
    renumbered,
    with_retired,
)

# Two phases are the same if they share this part of the smaller one's intervals.
COMMON = 0.3


def identities(before: IntArray, after: IntArray, rows: list[Mix], model: PhaseModel, following: int) -> IntArray:
    """Return the id of each phase of a new fit, (k,).

    Args:
        before: (n,) ids of the intervals so far, negative for none.
        after: (n,) their labels 0..k-1 in the new fit, negative for none.
        rows: (n,) their profiles.
        model: The phases so far; one without an interval here may have recurred.
        following: The next unused id.
    """
    k = int(after.max(initial=-1)) + 1
    old = np.unique(before[before >= 0])
    common = np.array([[np.count_nonzero((before == i) & (after == j)) for j in range(k)] for i in old.tolist()])
    ids = np.full(k, -1, dtype=np.int64)
    if common.size:
        from scipy.optimize import linear_sum_assignment  # deferred: keeps the start of a live view cheap for the job

        for i, j in zip(*linear_sum_assignment(common, maximize=True), strict=True):
            least = min(np.count_nonzero(before == old[i]), np.count_nonzero(after == j))
            if common[i, j] >= max(COMMON * least, 1):
                ids[j] = old[i]
    for j in np.flatnonzero(ids < 0).tolist():
        back = _known_before(model, [rows[i] for i in np.flatnonzero(after == j).tolist()])
        if back is not None and back not in ids and back not in old:
            ids[j] = back
        else:
            ids[j] = following
            following += 1
    return ids


def _known_before(model: PhaseModel, rows: list[Mix]) -> int | None:
    """Return the phase of the model that more than half of some intervals fit into; None if there is none."""
    labels = [model.label(row) for row in rows]
    best = max(set(labels), key=lambda label: (labels.count(label), label), default=-1)
    return best if best >= 0 and 2 * labels.count(best) > len(labels) else None


# Least number of intervals for a fit.
FIRST_FIT = 8
# Phases are refitted after this growth of the run, or of the window if that is shorter,
GROWTH = 0.25
# or when this share of it fits no phase.
UNKNOWN, FEWEST_UNKNOWN = 0.05, 5
# Number of interval profiles kept for processes other than the lead.
KEPT_OF_OTHERS = 256


class LiveRun:
    """State of a job.

    window: approximate number of the lead's last intervals that phases are fitted to.
    """

    def __init__(self, window: int):
        self.window = window
        self._tracks: dict[str, Track] = {}
        self._forget()

    def _forget(self) -> None:
        """Reset all phases."""
        self.numbers = FunctionNumbers()
        self.model: PhaseModel = NOTHING_KNOWN
        self.fitted = 0
        self._lead = ""
        self._phases: dict[int, LivePhase] = {}
        self._following = 0

    def add(self, process: Process, profile: IntervalProfile, *, lead: bool) -> None:
        """Add new intervals of a process."""
        if process.path not in self._tracks:
            # One read may extend a reader's window beyond the requested length.
            keep = 2 * self.window if lead else KEPT_OF_OTHERS
            self._tracks[process.path] = Track(process, self.numbers, keep)
        if lead and process.path != self._lead:
            self._lead, self.fitted = process.path, 0
        track = self._tracks[process.path]
        track.process = process
        track.add(profile, self.model)

    def replace_from(self, process: Process, first: int, profile: IntervalProfile) -> None:
        """Replace intervals of a process, from `first` on, now that more of their code is resolved."""
        self._tracks[process.path].replace_from(first, profile, self.model)

    def intervals_of(self, process: Process) -> int:
        """Return the number of intervals of a process."""
        track = self._tracks.get(process.path)
        return track.n if track is not None else 0

    def restart(self, process: Process) -> None:
        """Remove a process whose file was replaced."""
        self._tracks.pop(process.path, None)
        if process.path == self._lead:
            self.fitted = 0
        if not self._tracks:
            self._forget()

    def end(self, process: Process, *, killed: bool = False) -> None:
        """Record that a process has ended. killed: it left without an end record."""
        if process.path in self._tracks:
            track = self._tracks[process.path]
            track.ended, track.killed = True, killed

    def due(self, lead: Process, unseen: int = 0) -> bool:
        """Return whether phases should be refitted. unseen: number of new intervals with mostly unresolved code."""
        track = self._tracks.get(lead.path)
        if track is None or track.n < FIRST_FIT:
            return False
        grown = track.n - self.fitted
        base = min(self.fitted, self.window)
        unknown = max(track.new_lately(min(grown, track.n)), unseen)
        return grown >= max(GROWTH * base, 1) or unknown >= max(UNKNOWN * base, FEWEST_UNKNOWN)

    def has_new_intervals(self, lead: Process) -> bool:
        """Return whether there are intervals after the last fit."""
        track = self._tracks.get(lead.path)
        return track is not None and track.n > self.fitted

    def refit(
        self,
        lead: Process,
        result: PhaseResult,
        end: int,
        expected_ticks: float,
        profiles: IntervalProfiles | None = None,
    ) -> None:
        """Adopt the phases found in the lead's intervals before `end`; `result` covers the last of these.

        Later intervals are assigned to the nearest of these phases. expected_ticks: of an interval of one busy thread.
        profiles: new profiles of those intervals, if more of their code is resolved.
        """
        track = self._tracks[lead.path]
        later = track.n - end
        if profiles is not None:
            track.replace(end - len(profiles.rows), renumbered(profiles.rows, self.numbers.of(profiles.functions)))
        rows = list(track.rows)
        rows, since = rows[: len(rows) - later][-len(result.labels) :], rows[len(rows) - later :]
        after = result.labels[len(result.labels) - len(rows) :].astype(np.int64)
        before = track.labels[end - len(rows) : end]
        ids = identities(before, after, rows, self.model, self._following)
        labels = np.append(ids, BETWEEN)[np.maximum(after, -1)]
        self._following = max(self._following, int(ids.max(initial=-1)) + 1)
        off_cpu = next((int(ids[phase.id]) for phase in result.phases if phase.off_cpu and phase.id < len(ids)), None)
        model = fit_model(rows, labels, off_cpu, expected_ticks, result.dispersion)
        recent = frozenset([*track.labels[: end - len(rows)].tolist(), *labels.tolist()])
        self.model = with_retired(model, self.model, recent)
        self.fitted = end
        track.relabel(np.concatenate([labels, self._labels(since)]))
        self._describe(track.labels, result, ids, recent)
        for other in self._tracks.values():
            if other is not track and other.rows:
                other.relabel(self._labels(other.rows))

    def _labels(self, rows: Iterable[Mix]) -> IntArray:
        """Return the phase of each interval according to the model."""
        return np.array([self.model.label(row) for row in rows], dtype=np.int64)

    def _describe(self, labels: IntArray, result: PhaseResult, ids: IntArray, recent: frozenset[int]) -> None:
        """Store the phases found, and keep the last description of those that did not occur recently."""
        current = {int(ids[phase.id]): phase for phase in result.phases if phase.id < len(ids)}
        before = {number: phase.description for number, phase in self._phases.items() if number in recent}
        self._phases = {
            number: LivePhase(number, int(np.count_nonzero(labels == number)), phase)
            for number, phase in sorted((before | current).items())
        }

    def view(self, lead: Process) -> LiveView | None:
        """Return the state to show; None before the lead's first interval."""
        tracks = sorted(self._tracks.values(), key=lambda t: (t.process.rank, not t.process.primary, t.process.path))
        if lead.path not in self._tracks:
            return None
        front_s = max(track.start_unix_s + track.end_s for track in tracks)
        counts = np.bincount(np.maximum(self._tracks[lead.path].labels, -1) + 1, minlength=self._following + 1)
        phases = tuple(LivePhase(p.id, int(counts[p.id + 1]), p.description) for p in self._phases.values())
        return LiveView(
            processes=tuple(
                track.view(front_s, self._steps(track), full=track.process.path == lead.path) for track in tracks
            ),
            lead=next(i for i, track in enumerate(tracks) if track.process.path == lead.path),
            phases=phases,
            fitted=self.fitted,
        )

    def _steps(self, track: Track) -> tuple[Function, ...]:
        """Return the steps of the phase that a process is in."""
        phase = self._phases.get(track.last_label)
        return tuple(step.function for step in _in_order(phase.description.steps)) if phase else ()


def _in_order(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield the steps of a phase; a step with nearly all of it is replaced by its own steps."""
    for step in steps:
        if step.steps and step.share >= STEPS.holds:
            yield from _in_order(step.steps)
        else:
            yield step


# One process of a running job: its intervals so far, as far as they are needed later.


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
        length = profile.end_s - profile.start_s
        # The last interval of a process may be too short to tell.
        usual = np.flatnonzero((length > 0) & (length >= profile.metadata.interval_s / 2))
        if len(usual) or self.n == profile.n_intervals:
            last = usual[-1] if len(usual) else int(length.argmax())
            self._cpus = float(counters.cpu_s[last] / length[last]) if length[last] > 0 else 0.0

    def replace(self, first: int, rows: Sequence[Mix]) -> None:
        """Replace the profiles of intervals from `first` on, as far as they are kept."""
        for place, mix in enumerate(rows, first - (self.n - len(self.rows))):
            if place >= 0:
                self._count(self.rows[place], -1.0)
                self.rows[place] = mix
                self._count(mix)

    def replace_from(self, first: int, profile: IntervalProfile, model: PhaseModel) -> None:
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
            own_s=self._own_s if self._cpu_s < WORKS * self.end_s else 0.0,
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
        functions = [
            LiveFunction(self._numbers.functions[i], float(recent[i]) / lately, float(self._total[i]) / run)
            for i in order.tolist()
            if self._total[i] > LEAST_S
        ]
        return tuple(functions), self.end_s - begin

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
