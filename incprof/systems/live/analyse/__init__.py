"""Analysis of a running job: phases are refitted as it grows, and keep their numbers.

Between two fits each interval is assigned to the nearest phase. Phases are fitted to one process, the lead; intervals
of the other processes are assigned to these phases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from incprof.analysis.options.step_thresholds import STEPS
from incprof.analysis.phase_result import PhaseResult, Step
from incprof.model import Function, IntArray, IntervalProfile, Process
from incprof.systems.live.analyse.job_state import LivePhase, LiveView
from incprof.systems.live.analyse.mixes import FunctionNumbers, MadeOf, Mix, renumbered
from incprof.systems.live.analyse.model import BETWEEN, NOTHING_KNOWN, PhaseModel, fit_model, with_retired
from incprof.systems.live.analyse.track import Track

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
KEPT_BESIDE = 256


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
            keep = 2 * self.window if lead else KEPT_BESIDE
            self._tracks[process.path] = Track(process, self.numbers, keep)
        if lead and process.path != self._lead:
            self._lead, self.fitted = process.path, 0
        track = self._tracks[process.path]
        track.process = process
        track.add(profile, self.model)

    def again(self, process: Process, first: int, profile: IntervalProfile) -> None:
        """Replace intervals of a process, from `first` on, now that more of their code is resolved."""
        self._tracks[process.path].again(first, profile, self.model)

    def known(self, process: Process) -> int:
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

    def behind(self, lead: Process) -> bool:
        """Return whether there are intervals after the last fit."""
        track = self._tracks.get(lead.path)
        return track is not None and track.n > self.fitted

    def refit(
        self, lead: Process, found: PhaseResult, end: int, expected_ticks: float, made_of: MadeOf | None = None
    ) -> None:
        """Adopt the phases found in the lead's intervals before `end`; `found` covers the last of these.

        Later intervals are assigned to the nearest of these phases. expected_ticks: of an interval of one busy thread.
        made_of: new profiles of those intervals, if more of their code is resolved.
        """
        track = self._tracks[lead.path]
        later = track.n - end
        if made_of is not None:
            track.replace(end - len(made_of.rows), renumbered(made_of.rows, self.numbers.of(made_of.functions)))
        rows = list(track.rows)
        rows, since = rows[: len(rows) - later][-len(found.labels) :], rows[len(rows) - later :]
        after = found.labels[len(found.labels) - len(rows) :].astype(np.int64)
        before = track.labels[end - len(rows) : end]
        ids = identities(before, after, rows, self.model, self._following)
        labels = np.append(ids, BETWEEN)[np.maximum(after, -1)]
        self._following = max(self._following, int(ids.max(initial=-1)) + 1)
        off_cpu = next((int(ids[phase.id]) for phase in found.phases if phase.off_cpu and phase.id < len(ids)), None)
        model = fit_model(rows, labels, off_cpu, expected_ticks, found.dispersion)
        alive = frozenset([*track.labels[: end - len(rows)].tolist(), *labels.tolist()])
        self.model = with_retired(model, self.model, alive)
        self.fitted = end
        track.relabel(np.concatenate([labels, self._labels(since)]))
        self._describe(track.labels, found, ids, alive)
        for other in self._tracks.values():
            if other is not track and other.rows:
                other.relabel(self._labels(other.rows))

    def _labels(self, rows: Iterable[Mix]) -> IntArray:
        """Return the phase of each interval according to the model."""
        return np.array([self.model.label(row) for row in rows], dtype=np.int64)

    def _describe(self, labels: IntArray, found: PhaseResult, ids: IntArray, alive: frozenset[int]) -> None:
        """Store the phases found, and keep the last description of those that did not occur recently."""
        current = {int(ids[phase.id]): phase for phase in found.phases if phase.id < len(ids)}
        before = {number: phase.found for number, phase in self._phases.items() if number in alive}
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
        phases = tuple(LivePhase(p.id, int(counts[p.id + 1]), p.found) for p in self._phases.values())
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
        return tuple(step.function for step in _in_turn(phase.found.steps)) if phase else ()


def _in_turn(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield the steps of a phase; a step with nearly all of it is replaced by its own steps."""
    for step in steps:
        if step.steps and step.share >= STEPS.holds:
            yield from _in_turn(step.steps)
        else:
            yield step
