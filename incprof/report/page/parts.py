"""All that a page on a run is made of. The command gathers it; `page_json` and `page_html` write it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from incprof.analysis.beats.results import BeatSummary
from incprof.analysis.beats.traces import BeatTrace
from incprof.analysis.counters.lanes import CounterLane
from incprof.analysis.counters.results import CountersUnder
from incprof.analysis.dna.results import Alphabet, NodeStates
from incprof.analysis.dna.under import PhaseOnNode
from incprof.analysis.explain import Explanation
from incprof.analysis.phases.results import PhaseResult, RunSummary
from incprof.analysis.ranks.results import RanksResult
from incprof.analysis.views.calltree import DrawnTree
from incprof.analysis.views.communication import Communication
from incprof.analysis.views.quality import Quality
from incprof.analysis.views.rankmap import RowGroup
from incprof.analysis.views.self_time import SelfSeries
from incprof.analysis.views.timebins import TimeBins
from incprof.analysis.views.timecells import Cells, Entries
from incprof.model import FloatArray, Function, IntArray, Metadata
from incprof.report.sites_answer import RefusedRow, SiteRow


@dataclass(frozen=True)
class Timed:
    """The run over time. ticks: samples by cell and node of the tree.

    calls: by cell; a column is a place in `called`, (m,), which has the functions' columns in the profile.
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
    """All ranks. groups: those that are alike, with their rows. start_s, end_s: (b,) the bins of these.

    reference: the rank that the page is on. agreement: for each rank, the part of its bins that are in the same phase
    as the reference's. unread: ranks whose files could not be read.
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
    """Heartbeats on the run's time axis. same: they are of the recorded process; offset_s: their start on the axis.

    left_out: heartbeats that are not shown. interval_s: of the heartbeats' own clock.
    phases: the phase that each stands for, None where it stands for none.
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
class CounterParts:
    """Counters by phase, and over the bins of the page."""

    under: CountersUnder
    lanes: tuple[CounterLane, ...]


@dataclass(frozen=True)
class NodeParts:
    """The node that the run was on: power and states of each phase, and what the states are called."""

    phases: tuple[PhaseOnNode, ...]
    alphabet: Alphabet
    node: NodeStates


@dataclass(frozen=True)
class MpiParts:
    """MPI calls of the run. within: the profile's phases that those of the communication lie in, where it is known."""

    found: Communication
    within: tuple[tuple[int, float] | None, ...] | None


@dataclass(frozen=True)
class PageParts:
    """What there is to say about a run. functions: all of the profile, with their places where they are known.

    why: the reasons for phases and sites, None where there are no phases. explained: the same phases in what they were
    found in, which may be another rank. libs: how time in libraries is counted.
    whole: nothing was summed up. inlined: functions, by their columns, that were never called: they have no self time
    of their own in the profile. processes: of this rank that were recorded; the page is on the first.
    directory: of the recording.
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
    counters: CounterParts | None
    node: NodeParts | None
    warnings: tuple[str, ...]
    whole: bool
    libs: str
    inlined: frozenset[int] = frozenset()
    processes: int = 1
    directory: str = ""
    mpi: MpiParts | None = None
