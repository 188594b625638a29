"""Contents of a page on a run. The command collects them; `page_json` and `page_html` write them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from incprof.analysis.explain import Explanation
from incprof.analysis.heartbeats.summaries import BeatSummary
from incprof.analysis.heartbeats.traces import BeatTrace
from incprof.analysis.phase_result import PhaseResult, RunSummary
from incprof.analysis.ranks.ranks_result import RanksResult
from incprof.analysis.views.calltree import DrawnTree
from incprof.analysis.views.quality import Quality
from incprof.analysis.views.rankmap import RowGroup
from incprof.analysis.views.self_time import SelfSeries
from incprof.analysis.views.site_rows import RefusedRow, SiteRow
from incprof.analysis.views.timebins import TimeBins
from incprof.analysis.views.timecells import Cells, Entries
from incprof.model import FloatArray, Function, IntArray, Metadata
from incprof.model.section import Section


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
        found: the comparison of ranks.
        groups: similar ranks, with their rows.
        agreement: for each rank, the share of its bins in the same phase as the reference.
        start_s: (b,) of the bins, seconds.
        end_s: (b,) likewise.
        reference: the rank that the page is on.
        unread: ranks whose files could not be read.
    """

    found: RanksResult
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
    refused: tuple[RefusedRow, ...]
    source: str | None
    ranks: RankMap | None
    beats: BeatLanes | None
    warnings: tuple[str, ...]
    whole: bool
    libs: str
    inlined: frozenset[int] = frozenset()
    processes: int = 1
    directory: str = ""
    sections: tuple[Section, ...] = ()
    systems: tuple[SystemPart, ...] = ()
