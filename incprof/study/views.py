"""What is drawn, shown on a page or exported of a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from incprof import __version__
from incprof.analysis.heartbeats.phase_beats import match
from incprof.analysis.phase_result import PhaseResult
from incprof.analysis.views.calltree import DrawnTree, drawn_tree
from incprof.analysis.views.page_parts import (
    MOST_BINS,
    MOST_ROWS,
    BeatLanes,
    PageParts,
    RankMap,
    SystemPart,
    Timed,
    agreement,
    groups_of_rows,
    quality,
    rank_rows,
)
from incprof.analysis.views.stacks import ThreadSlices, stack_series, thread_slices
from incprof.analysis.views.tracks import (
    MOST,
    MOST_POINTS,
    Curve,
    RankTracks,
    TimeBins,
    beat_curves,
    calls_by_cell,
    cut,
    phase_stretches,
    profile_curves,
    self_series,
    time_bins,
)
from incprof.errors import IncprofError, NoDataError, UsageError
from incprof.model import Function, IntArray, IntervalProfile, distinct
from incprof.model.section import Section
from incprof.study.heartbeat_files import load_beats, offset_s, summaries
from incprof.study.options import Libs
from incprof.study.sites.store import STORE, TYPICAL, described
from incprof.study.study import Study
from incprof.symbols.source_lines import locate

if TYPE_CHECKING:
    import pandas as pd

    from incprof.analysis.thread_roles import ThreadRoles
    from incprof.analysis.views.stacks import StackSeries, StackTree
    from incprof.analysis.views.tracks import SelfSeries
    from incprof.model import BoolArray


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
    found = stack_tree(study.profile, result.labels, result.k, keep, libraries=study.libs != "drop")
    if not found.frames:
        raise NoDataError(f"{study.run.directory}: no samples to export")
    return found


def stacks(study: Study, phase: int | None = None) -> StackSeries:
    """Return the samples as stacks in the order of time, or those of one phase if given.

    Raises:
        NoDataError: there are no samples.
        UsageError: there is no such phase.
    """
    from incprof.analysis.views.stacks import stack_series

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
        found = heaviest_callers(profile.paths, own, at[address], part=0.0) if address in at else []
        return [functions[i].address for i in found if functions[i].module == module]

    return above


def _intervals_of(study: Study, phase: int) -> BoolArray:
    """Mark the intervals of a phase, (n,)."""
    result = study.phases(confidence=False)
    if not 0 <= phase < result.k:
        raise UsageError(f"--phase {phase}: the run has phases 0 to {result.k - 1}")
    mask: BoolArray = result.labels == phase
    return mask


# The trace of a run: ranks are read one after the other, so that only one is in memory.


# About 120 bytes each.
MOST_SLICES = 100_000


class Trace:
    """The tracks of ranks. damaged: a part of the input other than the study's profile was left out."""

    def __init__(self, study: Study, heartbeats: str | None, *, all_ranks: bool):
        """Find the phases, and read the study's own rank.

        Args:
            study: of the rank in which the phases were found.
            heartbeats: a directory of heartbeats to show as well.
            all_ranks: show the others too, relabelled with the same phases.
        """
        self.study, self.heartbeats, self.all_ranks = study, heartbeats, all_ranks
        self.damaged = self._beaten = False
        self._own = study.profile.metadata.rank
        every = study.ranks.ranks if study.ranks is not None else (self._own,)
        self._ranks = every if all_ranks else (self._own,)
        self._most = max(MOST_SLICES // len(self._ranks), 100), max(MOST_POINTS // len(self._ranks), 100)
        profile, result = study.profile, study.phases(confidence=False)
        self._first = self._tracks(profile, phase_stretches(profile, result.labels, self._most[1]))

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
                tracks = self._first if rank == self._own else self._other(rank)
                if tracks is not None:
                    yield tracks

    def _other(self, rank: int) -> RankTracks | None:
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
        return self._tracks(profile, phase_stretches(profile, result.labels, self._most[1]))

    def _tracks(self, profile: IntervalProfile, phases: list[tuple[float, float, int]]) -> RankTracks:
        """Return the tracks of a rank with known phases."""
        metadata = profile.metadata
        beats = [] if self.heartbeats is None else self._beats(profile, self.heartbeats)
        details = [f"{key} {metadata.raw[key]}" for key in ("host", "pid") if metadata.raw.get(key) is not None]
        title = f"rank {metadata.rank}: {self.study.run.app}" + (f" ({', '.join(details)})" if details else "")
        curves = [*profile_curves(profile, self._most[1]), *beats]
        return RankTracks(metadata.rank, title, phases, self._threads(profile), curves)

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
        self.study.listener.warn(process_beats.found.warnings)
        self.damaged |= process_beats.found.damaged
        offset, interval_s = offset_s(profile, process_beats.process) or 0.0, process_beats.process.interval_s
        beats = summaries(process_beats.alone())
        curves = [beat_curves(beat, interval_s, offset, self._most[1]) for beat in beats]
        return [curve for pair in curves for curve in pair]


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


# The content of a run's page.


# Size limits of a page's tables by time and phase.
MOST_BYTES = 2_200_000
# A function is located in the source from this share of the run on.
LOOKED_UP = 0.005


def page_parts(
    study: Study,
    *,
    beats: BeatLanes | None = None,
    sections: Sequence[Callable[[TimeBins], Sequence[Section]]] = (),
    source: str | None = None,
    allow_changed: bool = False,
    all_ranks: bool = True,
    systems: Sequence[SystemPart] = (),
    whole: bool = False,
) -> PageParts:
    """Collect the content of the page.

    Args:
        study: of the rank that the page describes.
        beats: heartbeats to show beside the phases.
        sections: return the sections of a system, given the time bins of the page for its lanes.
        source: the directory that holds the program's source, for the lines around each site.
        allow_changed: accept files that were changed since the recording.
        all_ranks: read the other ranks too, for the map of ranks.
        systems: parts that systems draw.
        whole: do not summarise.
    """
    profile, result = study.profile, study.phases()
    timed = page_over_time(profile, result, libs=study.libs, whole=whole)
    # The page must not depend on the cost of a heartbeat: measurements of it would make pages differ.
    sites = study.sites(source, TYPICAL, allow_changed=allow_changed)
    answer = described(result, sites, TYPICAL, source)
    return PageParts(
        run=study.summary,
        metadata=profile.metadata,
        result=result,
        why=study.explain() if result.phases else None,
        explained=result.model,
        functions=with_places(study, timed),
        timed=timed,
        quality=quality(profile),
        sites=answer.sites,
        refused=answer.refused,
        source=source,
        ranks=rank_map(study, whole=whole) if all_ranks else None,
        # Heartbeats placed elsewhere than the phases' own sites are recorded in the run directory.
        beats=beats and with_phases(beats, study.as_placed(result, STORE), timed.tree, result.labels),
        sections=tuple(section for of_system in sections for section in of_system(timed.bins)),
        warnings=(*profile.warnings, *result.warnings),
        systems=tuple(systems),
        whole=whole,
        libs=study.libs,
        inlined=never_called(profile),
        directory=os.fspath(study.run.directory),
        processes=sum(process.rank == study.summary.rank for process in study.run.processes),
    )


def page_over_time(profile: IntervalProfile, result: PhaseResult, *, libs: Libs, whole: bool) -> Timed:
    """Summarise a run by time bins, coarse enough to keep the tables small; unchanged if `whole`."""
    labels = result.labels
    bins = time_bins(profile, labels, None if whole else MOST)
    tree = drawn_tree(profile, labels, libraries=libs != "drop", whole=whole)
    called = distinct(tree.frame[tree.frame >= 0])
    step = 1
    while True:
        cells = cut(bins, labels, step)
        ticks, calls = tree.by_cell(cells), calls_by_cell(profile, cells, called)
        small = ticks.written_bytes + calls.written_bytes <= MOST_BYTES
        if whole or small or step >= len(bins.end_s):
            series = self_series(profile, labels, bins)
            return Timed(bins, series, tree, cells, ticks, calls, called)
        step *= 2


def never_called(profile: IntervalProfile) -> frozenset[int]:
    """Return the functions that were inlined everywhere."""
    if profile.inlined is None:
        return frozenset()
    called = set(profile.paths.function.tolist()) | set(profile.calls.tocoo().col.tolist())
    return frozenset(profile.inlined.function.tolist()) - called


def with_phases(beats: BeatLanes, placed: PhaseResult, tree: DrawnTree, labels: IntArray) -> BeatLanes:
    """Assign phases to heartbeats: of several, the one with most of their functions."""
    found = match(placed.phases, [beat.id for beat in beats.beats], [beat.name for beat in beats.beats])
    chosen: list[int | None] = []
    for beat, functions in enumerate(found.functions):
        candidates = [placed.phases[place].id for place, own in enumerate(found.of_phase) if beat in own]
        ticks = tree.below(functions, labels) if len(candidates) > 1 else {}
        chosen.append(max(candidates, key=lambda phase: ticks.get(phase, 0.0), default=None))
    return replace(beats, phases=tuple(chosen))


def with_places(study: Study, timed: Timed) -> tuple[Function, ...]:
    """Return the functions, the relevant ones with file and line."""
    total = timed.tree.total
    large = timed.tree.frame[total >= LOOKED_UP * max(float(total[0]), 1.0)]
    wanted = distinct(np.concatenate([large[large >= 0], timed.series.functions])).tolist()
    found = list(study.profile.functions)
    places = locate(study.run, study.profile, [found[i] for i in wanted], exe=study.exe)
    for place, function in zip(wanted, places, strict=True):
        found[place] = replace(found[place], file=function.file, line=function.line)
    return tuple(found)


# All ranks of a run over time, for the map of a page.


def rank_map(study: Study, *, whole: bool = False) -> RankMap | None:
    """Return the map of all ranks; None where there is one rank only. whole: a row for each rank."""
    found, profile = study.ranks, study.profile
    if found is None:
        return None
    edges = np.linspace(float(profile.start_s[0]), float(profile.end_s[-1]), min(profile.n_intervals, MOST_BINS) + 1)
    reference = profile.metadata.rank
    rows = rank_rows(found, reference, edges)
    own = next(row for row in rows if row.ranks == (reference,))
    unread = study.shared.left_out if study.shared is not None else ()
    return RankMap(
        found=found,
        groups=tuple(groups_of_rows(found, rows, None if whole else MOST_ROWS)),
        agreement={row.ranks[0]: agreement(row, own) for row in rows},
        start_s=edges[:-1],
        end_s=edges[1:],
        reference=reference,
        unread=unread,
    )
