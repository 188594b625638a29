"""Contents of a page on a run. The command collects them; `page_json` and `page_html` write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from incprof.analysis.explain import Explanation
from incprof.analysis.heartbeats.summaries import BeatSummary, BeatTrace
from incprof.analysis.phase_result import PhaseResult, RunSummary
from incprof.analysis.ranks.ranks_result import Group, RankLabels, RanksResult
from incprof.analysis.ranks.summary import on_bins
from incprof.analysis.views.site_rows import SiteRow
from incprof.analysis.views.timed_calltree import DrawnTree
from incprof.analysis.views.tracks import Cells, Entries, SelfSeries, TimeBins
from incprof.model import (
    BROKEN,
    LIBRARY,
    PROFILER,
    ROOT,
    UNKNOWN,
    FloatArray,
    Function,
    IntArray,
    IntervalProfile,
    Metadata,
    Run,
)
from incprof.model.names import is_entry
from incprof.model.section import Section
from incprof.model.time_use import MPI


@dataclass(frozen=True)
class Timed:
    """The run over time.

    Attributes:
        bins: of time.
        series: self time of some functions.
        tree: the call tree.
        cells: bins by phase.
        ticks: samples by cell and node of the tree.
        calls: by cell; a column is an index into `called`.
        called: (m,) the functions' columns in the profile.
    """

    bins: TimeBins
    series: SelfSeries
    tree: DrawnTree
    cells: Cells
    ticks: Entries
    calls: Entries
    called: IntArray


@dataclass(frozen=True)
class RankMap:
    """All ranks.

    Attributes:
        result: the comparison of ranks.
        groups: similar ranks, with their rows.
        agreement: for each rank, the share of its bins in the same phase as the reference.
        start_s: (b,) of the bins, seconds.
        end_s: (b,) likewise.
        reference: the rank that the page is on.
        unread: ranks whose files could not be read.
    """

    result: RanksResult
    groups: tuple[RowGroup, ...]
    agreement: Mapping[int, float | None]
    start_s: FloatArray
    end_s: FloatArray
    reference: int
    unread: tuple[int, ...] = ()


@dataclass(frozen=True)
class BeatLanes:
    """Heartbeats on the run's time axis.

    Attributes:
        directory: of the heartbeats.
        beats: summaries.
        traces: the same over time.
        interval_s: of the heartbeats' own clock.
        same: whether they are of the recorded process.
        offset_s: their start on the axis, seconds.
        left_out: number of heartbeats that are not shown.
        phases: phase that each stands for, None for no phase.
    """

    directory: str
    beats: tuple[BeatSummary, ...]
    traces: tuple[BeatTrace, ...]
    interval_s: float
    same: bool
    offset_s: float
    left_out: int
    phases: tuple[int | None, ...] = ()


@dataclass(frozen=True)
class SystemPart:
    """A part of the page that a system draws itself.

    Attributes:
        template: Name of the template.
        source: Its text, in Jinja; the page has macros for it.
        words: Its contents: `part.words` in the template.
    """

    template: str
    source: str
    words: Mapping[str, Any]


@dataclass(frozen=True)
class PageParts:
    """All parts of a page on a run.

    Attributes:
        run: head of the report.
        metadata: of the recording.
        result: its phases.
        why: the reasons for phases and sites, None without phases.
        explained: the same phases where they were found, which may be another rank.
        functions: all of the profile, with file and line where known.
        timed: the run over time.
        quality: of the recording.
        sites: places in the source.
        refused: sites without a place.
        source: directory of the source, as given.
        ranks: None for a single rank.
        beats: None without heartbeats.
        warnings: for the reader.
        whole: whether nothing was merged.
        libs: how time in libraries is counted.
        inlined: functions, by their columns, that were never called: they have no self time in the profile.
        processes: number of recorded processes of this rank; the page is on the first.
        job: the run, if it holds several programs or processes without a rank.
        directory: of the recording.
        sections: of the systems.
        systems: parts that systems draw.
    """

    run: RunSummary
    metadata: Metadata
    result: PhaseResult
    why: Explanation | None
    explained: PhaseResult
    functions: tuple[Function, ...]
    timed: Timed
    quality: Quality
    sites: tuple[SiteRow, ...]
    refused: tuple[SiteRow, ...]
    source: str | None
    ranks: RankMap | None
    beats: BeatLanes | None
    warnings: tuple[str, ...]
    whole: bool
    libs: str
    inlined: frozenset[int] = frozenset()
    processes: int = 1
    job: Run | None = None
    directory: str = ""
    sections: tuple[Section, ...] = ()
    systems: tuple[SystemPart, ...] = ()


# Quality of a recording: its contents, losses, and the cost of recording itself.


@dataclass(frozen=True)
class Quality:
    """Figures of one process; shares are of samples by weight, 0..1, None without samples.

    Attributes:
        samples: number taken.
        ticks: of the sampling clock that they stand for.
        lost: samples that did not fit into the buffer.
        broken: samples with unknown outer frames, as counted by the collector.
        cpu_s: CPU time without the profiler's thread.
        own_s: CPU time of the profiler.
        off_cpu_s: time that threads were off the CPU.
        expected: number of samples by CPU time and rate, None if the CPU time is not recorded.
        threads: largest number in an interval.
        paths: number of path nodes.
        reach_main: share whose path begins in main.
        complete: share whose path is not cut off.
        outside: share taken in libraries.
        unknown: share in unknown code.
        profiler: share in the profiler itself.
    """

    samples: int
    ticks: int
    lost: int
    broken: int
    cpu_s: float
    own_s: float
    off_cpu_s: float
    expected: float | None
    threads: int
    paths: int
    reach_main: float | None
    complete: float | None
    outside: float | None
    unknown: float | None
    profiler: float | None


def quality(profile: IntervalProfile) -> Quality:
    """Compute the figures of a recording."""
    counters, samples = profile.counters, profile.samples
    cpu_s = float((counters.cpu_s - counters.collector_s).sum())
    taken = int(counters.samples.sum()) or int(np.rint(profile.self_s.sum() * profile.metadata.rate_hz))
    weight = samples.weight.astype(np.float64)
    own = samples.kind != PROFILER
    total = float(weight[own].sum())

    def part(mask: np.ndarray, of: float = total) -> float | None:
        return float(weight[mask].sum()) / of if of > 0 else None

    begins, cut = _beginnings(profile)
    return Quality(
        samples=taken,
        ticks=int(weight.sum()) or taken,
        lost=int(counters.lost.sum()),
        broken=int(counters.broken.sum()),
        cpu_s=cpu_s,
        own_s=float(counters.own_s.sum()),
        off_cpu_s=float(profile.off_cpu_s.sum()),
        expected=cpu_s * profile.metadata.rate_hz if cpu_s > 0 else None,
        threads=int(counters.threads.max(initial=0)),
        paths=len(profile.paths.parent) - 1,
        reach_main=part(own & begins[samples.node]),
        complete=part(own & ~cut[samples.node]),
        outside=part(own & (samples.kind == LIBRARY)),
        unknown=part(own & (samples.kind == UNKNOWN)),
        profiler=part(~own, float(weight.sum())),
    )


def _beginnings(profile: IntervalProfile) -> tuple[np.ndarray, np.ndarray]:
    """Return which path nodes have main on their path, and which have an unknown beginning, both (p,)."""
    chains = profile.tree
    main = np.array([is_entry(f.name) for f in profile.functions] + [False], dtype=np.bool_)
    # Markers are negative: they and the root are no function.
    is_main = main[np.where(chains.function < 0, len(main) - 1, chains.function)]
    is_cut = chains.function == BROKEN
    reached, cut = is_main.tolist(), is_cut.tolist()
    for chain, parent in enumerate(chains.parent.tolist()[1:], start=1):
        reached[chain] = reached[chain] or reached[parent]
        cut[chain] = cut[chain] or cut[parent]
    assert chains.function[0] == ROOT
    return np.array(reached, dtype=np.bool_)[chains.of_node], np.array(cut, dtype=np.bool_)[chains.of_node]


# The phase of every rank over time, as rows of a map. r ranks, b bins.


MOST_BINS = 240
# A row takes at most 1.2 kB of a page.
MOST_ROWS = 1536


@dataclass(frozen=True)
class RankRow:
    """A rank over time, or several; means, if several.

    Attributes:
        ranks: ascending.
        label: (b,) phase in each bin, -1 for none, -2 without an interval.
        busy: (b,) CPU time of its functions over the bin's length.
        cpu_s: CPU time of the whole run.
        off_cpu_s: thread time off the CPU.
        mpi_s: CPU time in MPI.
        wall_s: length of the run.
        damaged: whether a part of its file was left out.
    """

    ranks: tuple[int, ...]
    label: IntArray
    busy: FloatArray
    cpu_s: float
    off_cpu_s: float
    mpi_s: float
    wall_s: float
    damaged: bool = False


@dataclass(frozen=True)
class RowGroup:
    """Similar ranks.

    Attributes:
        row: of all.
        typical: the rank nearest to their median.
        rows: of each, or of a few together.
    """

    row: RankRow
    typical: int
    rows: tuple[RankRow, ...]


def rank_rows(result: RanksResult, reference: int, edges: FloatArray) -> list[RankRow]:
    """Return a row for each rank.

    Args:
        result: all ranks.
        reference: the rank whose start is time 0.
        edges: (b + 1,) of the bins, seconds.
    """
    offset = result.offset_s - result.offset_s[result.ranks.index(reference)]
    label = on_bins(result.labels, offset, result.rate, edges)
    middle = (edges[1:] + edges[:-1]) / 2.0
    rows = []
    mpi = result.spent[:, :, MPI].sum(axis=1).tolist()
    for own, there, start, rate, mpi_s in zip(result.labels, label, offset, result.rate, mpi, strict=True):
        busy = _busy(own, (middle - start) / rate)
        cpu_s = float((own.busy * np.diff(own.busy_end_s, prepend=own.start_s[0])).sum())
        wall_s = float(own.end_s[-1])
        rows.append(RankRow((own.rank,), there, busy, cpu_s, own.off_cpu_s, mpi_s, wall_s, own.damaged))
    return rows


def _busy(own: RankLabels, at_s: FloatArray) -> FloatArray:
    """Return the number of processors a rank used at some times, seconds since its start; 0 where it did not run."""
    place = np.searchsorted(own.busy_end_s, at_s, side="left")
    inside = (place < len(own.busy)) & (at_s >= own.start_s[0])
    result: FloatArray = np.where(inside, own.busy[np.minimum(place, len(own.busy) - 1)], 0.0)
    return result


def agreement(row: RankRow, reference: RankRow) -> float | None:
    """Return the share of bins in which two ranks are in the same phase, 0..1; None without common bins."""
    both = (row.label >= 0) & (reference.label >= 0)
    return float((row.label == reference.label)[both].mean()) if both.any() else None


def groups_of_rows(result: RanksResult, rows: Sequence[RankRow], most: int | None = MOST_ROWS) -> list[RowGroup]:
    """Return the rows of similar ranks together, in the groups of the ranks.

    Args:
        result: all ranks.
        rows: of each.
        most: most rows in all; None for no limit. Beyond it, neighbours in a group share one.
    """
    own = {row.ranks[0]: row for row in rows}
    groups = result.groups or (Group(result.ranks, result.ranks[0]),)
    out = []
    for group in groups:
        members = [own[rank] for rank in group.ranks]
        size = 1 if most is None or len(rows) <= most else -(-len(rows) // most)
        shared = [together(members[i : i + size]) for i in range(0, len(members), size)]
        out.append(RowGroup(together(members), group.typical, tuple(shared)))
    return out


def together(rows: Sequence[RankRow]) -> RankRow:
    """Merge several rows into one.

    It has the label of most of its ranks (the lower one of a tie), and the means of their CPU use and times.
    """
    if len(rows) == 1:
        return rows[0]
    labels = np.array([row.label for row in rows])
    values = np.unique(labels)
    count = np.array([(labels == value).sum(axis=0) for value in values])
    return RankRow(
        ranks=tuple(rank for row in rows for rank in row.ranks),
        label=values[count.argmax(axis=0)],
        busy=np.mean([row.busy for row in rows], axis=0),
        cpu_s=float(np.mean([row.cpu_s for row in rows])),
        off_cpu_s=float(np.mean([row.off_cpu_s for row in rows])),
        mpi_s=float(np.mean([row.mpi_s for row in rows])),
        wall_s=max(row.wall_s for row in rows),
        damaged=any(row.damaged for row in rows),
    )
