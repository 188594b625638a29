"""Input of plots, tables, traces and files for other tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from incprof.analysis.views.stacks import ThreadSlices, stack_series, thread_slices
from incprof.analysis.views.tracks import MOST_POINTS, Curve, RankTracks, beat_curves, phase_segments, profile_curves
from incprof.errors import IncprofError, NoDataError, UsageError
from incprof.version import __version__

if TYPE_CHECKING:
    import pandas as pd

    from incprof.analysis.thread_roles import ThreadRoles
    from incprof.analysis.views.stacks import StackSeries, StackTree
    from incprof.analysis.views.tracks import SelfSeries, SpanTrack, TimeBins
    from incprof.model import BoolArray, Function, IntervalProfile
    from incprof.study.study import Study


def over_time(study: Study, bins: int, functions: int) -> tuple[TimeBins, SelfSeries, list[Function]]:
    """Return at most that many bins of time, the self time of the largest functions in them, and those functions."""
    from incprof.analysis.views.tracks import self_series, time_bins

    profile, labels = study.profile, study.phases(confidence=False).labels
    time = time_bins(profile, labels, bins)
    series = self_series(profile, labels, time, functions)
    return time, series, [profile.functions[int(i)] for i in series.functions]


def table(study: Study, name: str) -> pd.DataFrame:
    """Return a table of docs/reference/python.md by its name.

    Raises:
        ValueError: no table has that name.
    """
    from incprof.analysis.views.pandas_tables import TABLES, intervals_table, result_table, samples_table

    if name not in TABLES:
        raise ValueError(f"no table {name!r}: there are {', '.join(TABLES)}")
    if name == "profile":
        return study.recorded.to_pandas()
    if name == "samples":
        return samples_table(study.profile, libraries=study.libs != "drop")
    result = study.phases(confidence=name == "phases")
    return intervals_table(study.profile, result) if name == "intervals" else result_table(result, name)


def tree(study: Study, phase: int | None = None) -> StackTree:
    """Return the tree of call stacks with the time of each phase, or of one phase if given.

    Raises:
        NoDataError: there are no samples.
        UsageError: there is no such phase.
    """
    from incprof.analysis.views.stacks import stack_tree

    result = study.phases(confidence=False)
    keep = None if phase is None else _intervals_of(study, phase)
    stacks = stack_tree(study.profile, result.labels, result.k, keep, libraries=study.libs != "drop")
    if not stacks.frames:
        raise NoDataError(f"{study.run.directory}: no samples to export")
    return stacks


def stacks(study: Study, phase: int | None = None) -> StackSeries:
    """Return the samples as stacks in the order of time, or those of one phase if given.

    Raises:
        NoDataError: there are no samples.
        UsageError: there is no such phase.
    """
    keep = None if phase is None else _intervals_of(study, phase)
    series = stack_series(study.profile, keep, libraries=study.libs != "drop")
    if not len(series.stack):
        raise NoDataError(f"{study.run.directory}: no samples to export")
    return series


def gprof(study: Study) -> Callable[[BinaryIO], None]:
    """Return a function that writes the sum of all intervals as the gmon.out of the program itself."""
    from incprof.readers.stream.as_gmon import at_originals, stream_totals, write_gmon
    from incprof.symbols.symbol_files import find_symbols

    totals = stream_totals(study.process, libs=study.libs)
    for module in study.profile.metadata.modules[:1]:
        table = find_symbols(module, study.run.directory, study.exe).table
        totals = at_originals(totals, table, _callers(study.profile, module.name))
    return partial(write_gmon, totals)


def _callers(profile: IntervalProfile, module: str) -> Callable[[int], list[int]]:
    """Return a function from an address of a module to the addresses of the callers, nearest first."""
    import numpy as np

    from incprof.analysis.sites.times import heaviest_callers

    functions, samples = profile.functions, profile.samples
    weight = samples.weight.astype(np.float64)
    own = np.bincount(samples.node, weights=weight, minlength=len(profile.paths.parent)).astype(np.float64)
    at = {f.address: i for i, f in enumerate(functions) if f.module == module and f.address}

    def above(address: int) -> list[int]:
        # A thread begins in its region, without a caller: samples with a caller decide, even if there are few.
        callers = heaviest_callers(profile.paths, own, at[address], part=0.0) if address in at else []
        return [functions[i].address for i in callers if functions[i].module == module]

    return above


def _intervals_of(study: Study, phase: int) -> BoolArray:
    """Mark the intervals of a phase, (n,)."""
    result = study.phases(confidence=False)
    if not 0 <= phase < result.k:
        raise UsageError(f"--phase {phase}: the run has phases 0 to {result.k - 1}")
    mask: BoolArray = result.labels == phase
    return mask


# The roles of a process's threads.


def threads_of(study: Study) -> ThreadRoles:
    """Find the roles of the threads of a study's process.

    Raises:
        NoDataError: the recording does not distinguish threads.
    """
    from incprof.analysis.thread_roles import thread_roles

    roles = thread_roles(study.profile, study.phases())
    if roles is None:
        raise NoDataError(f"{study.run.directory}: --threads: the samples do not name their threads: record a stream")
    return roles


# The trace of a run: ranks are read one after the other, so that only one is in memory.


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
        from incprof.study.heartbeat_files import load_beats, offset_s, summaries

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
