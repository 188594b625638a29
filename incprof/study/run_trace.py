"""The trace of a run: ranks are read one after the other, so that only one is in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from incprof.analysis.views.stacks import ThreadSlices, stack_series, thread_slices
from incprof.analysis.views.tracks import MOST_POINTS, Curve, RankTracks, beat_curves, phase_segments, profile_curves
from incprof.errors import IncprofError, NoDataError, UsageError
from incprof.study.heartbeat_files import load_beats, offset_s, summaries
from incprof.version import __version__

if TYPE_CHECKING:
    from incprof.analysis.views.tracks import SpanTrack
    from incprof.model import IntervalProfile
    from incprof.study.study import Study


# About 120 bytes each.
MOST_SLICES = 100_000


class Trace:
    """The tracks of ranks. damaged: a part of the input other than the study's profile was left out."""

    def __init__(
        self, study: Study, heartbeats: str | None, *, all_ranks: bool,
        others: Callable[[Study, int], Sequence[SpanTrack]] = lambda *_: (),
    ):  # fmt: skip
        """Find the phases, and read the study's own rank.

        Args:
            study: of the rank in which the phases were found.
            heartbeats: a directory of heartbeats to show as well.
            all_ranks: show the others too, relabelled with the same phases.
            others: returns the tracks of systems, with at most so many slices.
        """
        self._others = others
        self.study, self.heartbeats, self.all_ranks = study, heartbeats, all_ranks
        self.damaged = self._beaten = False
        self._own = study.profile.metadata.rank
        every = study.ranks.ranks if study.ranks is not None else (self._own,)
        self._ranks = every if all_ranks else (self._own,)
        self._most = max(MOST_SLICES // len(self._ranks), 100), max(MOST_POINTS // len(self._ranks), 100)
        profile, result = study.profile, study.phases(confidence=False)
        self._first = self._tracks(study, profile, phase_segments(profile, result.labels, self._most[1]))

    @property
    def about(self) -> dict[str, object]:
        """Return the metadata of the file."""
        metadata = self.study.profile.metadata
        return {
            "tool": f"incprof {__version__}", "app": self.study.run.app, "ranks": len(self._ranks),
            "interval_s": metadata.interval_s, "rate_hz": metadata.rate_hz,
            "unordered_within_us": max((thread.span_us for thread in self._first.threads), default=0),
        }  # fmt: skip

    def tracks(self) -> Iterator[RankTracks]:
        """Read rank after rank; an unreadable one is left out with a warning."""
        with self.study.listener.progress("ranks") as report:
            for done, rank in enumerate(self._ranks):
                report(done, len(self._ranks))
                tracks = self._first if rank == self._own else self._tracks_of(rank)
                if tracks is not None:
                    yield tracks

    def _tracks_of(self, rank: int) -> RankTracks | None:
        """Read another rank; None and a warning if it is unreadable."""
        study = self.study
        try:
            other = study.of_rank(rank)
            profile, result = other.profile, other.phases(confidence=False)
        except IncprofError as error:
            self.damaged = True
            study.listener.warn([f"rank {rank} is left out: {error}"])
            return None
        self.damaged |= profile.damaged
        return self._tracks(other, profile, phase_segments(profile, result.labels, self._most[1]))

    def _tracks(self, study: Study, profile: IntervalProfile, phases: list[tuple[float, float, int]]) -> RankTracks:
        """Return the tracks of a rank with known phases."""
        metadata = profile.metadata
        beats = [] if self.heartbeats is None else self._beats(profile, self.heartbeats)
        details = [f"{key} {metadata.raw[key]}" for key in ("host", "pid") if metadata.raw.get(key) is not None]
        title = f"rank {metadata.rank}: {self.study.run.app}" + (f" ({', '.join(details)})" if details else "")
        curves = [*profile_curves(profile, self._most[1]), *beats]
        others = self._others(study, self._most[0])
        return RankTracks(metadata.rank, title, phases, self._threads(profile), curves, others)

    def _threads(self, profile: IntervalProfile) -> tuple[ThreadSlices, ...]:
        """Return the flame charts."""
        series = stack_series(profile, libraries=self.study.libs != "drop")
        return thread_slices(series, profile.metadata.rate_hz, self._most[0])

    def _beats(self, profile: IntervalProfile, directory: str) -> list[Curve]:
        """Return the curves of the rank's heartbeats, at their times if known, else from the start on."""
        try:
            process_beats = load_beats(directory, profile)
        except (NoDataError, UsageError) as error:
            # With all ranks, one without heartbeats is no error; a directory without any is.
            if self.all_ranks and (isinstance(error, UsageError) or self._beaten):
                return []
            raise
        self._beaten = True
        self.study.listener.warn(process_beats.heartbeats.warnings)
        self.damaged |= process_beats.heartbeats.damaged
        offset, interval_s = offset_s(profile, process_beats.process) or 0.0, process_beats.process.interval_s
        beats = summaries(process_beats.only_this_process())
        curves = [beat_curves(beat, interval_s, offset, self._most[1]) for beat in beats]
        return [curve for pair in curves for curve in pair]
