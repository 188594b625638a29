"""A running job, as far as it has come: phases are found again when it has grown, and keep their numbers.

Between two fits an interval belongs to the phase that it is nearest to. Phases are fitted to one process, the lead; the
intervals of the others are laid beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from incprof.analysis.live.identity import identities
from incprof.analysis.live.mixes import FunctionNumbers, MadeOf, Mix, renumbered
from incprof.analysis.live.model import BETWEEN, NOTHING_KNOWN, PhaseModel, fit_model, with_retired
from incprof.analysis.live.results import LivePhase, LiveView
from incprof.analysis.live.track import Track
from incprof.analysis.options.steps import STEPS
from incprof.analysis.phases.results import PhaseResult, Step
from incprof.model import Function, IntArray, IntervalProfile, Process

# Fewer intervals say little.
FIRST_FIT = 8
# Phases are found again when there is so much more of the run, or of the window if that is shorter,
GROWTH = 0.25
# or when so much of it fits no phase.
UNKNOWN, FEWEST_UNKNOWN = 0.05, 5
# Mixes that are kept of processes that no phases are fitted to.
KEPT_BESIDE = 256


class LiveRun:
    """What is known of a job.

    window: phases are found in about so many of the lead's last intervals. libraries: time in them is their callers'.
    """

    def __init__(self, window: int, *, libraries: bool = True):
        self.window, self._libraries = window, libraries
        self._tracks: dict[str, Track] = {}
        self._forget()

    def _forget(self) -> None:
        """Know no phases."""
        self.numbers = FunctionNumbers()
        self.model: PhaseModel = NOTHING_KNOWN
        self.fitted = 0
        self._lead = ""
        self._phases: dict[int, LivePhase] = {}
        self._following = 0

    def add(self, process: Process, profile: IntervalProfile, *, lead: bool) -> None:
        """Take new intervals of a process."""
        if process.path not in self._tracks:
            # A reader's window may be longer than asked for by what it reads at once.
            keep = 2 * self.window if lead else KEPT_BESIDE
            self._tracks[process.path] = Track(process, self.numbers, keep, libraries=self._libraries)
        if lead and process.path != self._lead:
            self._lead, self.fitted = process.path, 0
        track = self._tracks[process.path]
        track.process = process
        track.add(profile, self.model)

    def again(self, process: Process, first: int, profile: IntervalProfile) -> None:
        """Take intervals of a process anew, from `first` on: more is known of them than when they came."""
        self._tracks[process.path].again(first, profile, self.model)

    def known(self, process: Process) -> int:
        """Return how many intervals of a process there are."""
        track = self._tracks.get(process.path)
        return track.n if track is not None else 0

    def restart(self, process: Process) -> None:
        """Forget a process: its file was replaced."""
        self._tracks.pop(process.path, None)
        if process.path == self._lead:
            self.fitted = 0
        if not self._tracks:
            self._forget()

    def end(self, process: Process, *, killed: bool = False) -> None:
        """Note that nothing comes any more from a process. killed: it left without an end."""
        if process.path in self._tracks:
            track = self._tracks[process.path]
            track.ended, track.killed = True, killed

    def due(self, lead: Process, unseen: int = 0) -> bool:
        """Say whether phases should be found again. unseen: new intervals of which too little is known."""
        track = self._tracks.get(lead.path)
        if track is None or track.n < FIRST_FIT:
            return False
        grown = track.n - self.fitted
        base = min(self.fitted, self.window)
        unknown = max(track.new_lately(min(grown, track.n)), unseen)
        return grown >= max(GROWTH * base, 1) or unknown >= max(UNKNOWN * base, FEWEST_UNKNOWN)

    def behind(self, lead: Process) -> bool:
        """Say whether there are intervals that the last fit did not see."""
        track = self._tracks.get(lead.path)
        return track is not None and track.n > self.fitted

    def refit(
        self, lead: Process, found: PhaseResult, end: int, expected_ticks: float, made_of: MadeOf | None = None
    ) -> None:
        """Take the phases that were found in the lead's intervals before `end`, as many as `found` has.

        Those that have come since belong to the nearest of these phases. expected_ticks: of an interval of one busy
        thread. made_of: what those intervals are made of, if more is known than when they came.
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
        """Return what phase each interval is in, by the model."""
        return np.array([self.model.label(row) for row in rows], dtype=np.int64)

    def _describe(self, labels: IntArray, found: PhaseResult, ids: IntArray, alive: frozenset[int]) -> None:
        """Keep what was found of each phase, and of those that were not seen lately what was found before."""
        current = {int(ids[phase.id]): phase for phase in found.phases if phase.id < len(ids)}
        before = {number: phase.found for number, phase in self._phases.items() if number in alive}
        self._phases = {
            number: LivePhase(number, int(np.count_nonzero(labels == number)), phase)
            for number, phase in sorted((before | current).items())
        }

    def view(self, lead: Process) -> LiveView | None:
        """Return what there is to see; None before the lead's first interval."""
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
        """Return what the phase that a process is in repeats."""
        phase = self._phases.get(track.last_label)
        return tuple(step.function for step in _in_turn(phase.found.steps)) if phase else ()


def _in_turn(steps: Iterable[Step]) -> Iterator[Step]:
    """Go through the steps that share a phase: of one that has nearly all of it, those that it calls."""
    for step in steps:
        if step.steps and step.share >= STEPS.holds:
            yield from _in_turn(step.steps)
        else:
            yield step
