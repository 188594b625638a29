"""Summaries of ranks, and the result of analysing all of them. Reports read nothing else.

n intervals, g pieces, s segments, f functions, k phases, r ranks, b bins of time.
"""

from __future__ import annotations

from dataclasses import dataclass

from incprof.model import FloatArray, IntArray
from incprof.model.joining import Key
from incprof.model.time_use import SPENT

# Pieces of a run that are no segment: a transition, or intervals with nearly no samples.
WAY, IDLE = -1, -2
# Kinds of time; the last one is wall time in which no thread can have been on a CPU.
TIMES: tuple[str, ...] = (*SPENT, "off_cpu")
# An imbalance of fewer standard errors may be noise.
SURE = 3.0
# A rank with this share of its run in no phase does not go through the phases of the others.
UNLIKE = 0.5


@dataclass(frozen=True)
class Mix:
    """Profiles of segments, in ticks; a tick of waiting has a smaller weight.

    Attributes:
        keys: (f,) of the important functions.
        names: (f,) display names.
        own: (s, f) self ticks.
        stack: (s, f) inclusive ticks; zero without call paths.
        total: (s,) all ticks.
    """

    keys: tuple[Key, ...]
    names: tuple[str, ...]
    own: FloatArray
    stack: FloatArray
    total: FloatArray


@dataclass(frozen=True)
class Pieces:
    """A run from its first interval to its last: each piece is a segment, part of one, or none.

    Attributes:
        first: (g,) the first interval.
        end: (g,) one past the last interval.
        segment: (g,) the segment; WAY and IDLE for none.
        start_s: (g,) seconds since the start of the rank's run.
        end_s: (g,) likewise.
        seconds_by_kind: (g, len(TIMES)) seconds.
    """

    first: IntArray
    end: IntArray
    segment: IntArray
    start_s: FloatArray
    end_s: FloatArray
    seconds_by_kind: FloatArray


@dataclass(frozen=True)
class RankSummary:
    """A rank, reduced to what the comparison with others needs.

    Attributes:
        rank: its number.
        host: its node.
        start_unix_ns: its start by its node's clock, ns; None if not recorded.
        pieces: segments of its run.
        mix: profiles of the segments.
        scatter: (f,) factor by which each function's share scatters more than counting explains.
        waits: whether enough of it is waiting to form a phase.
        pooled: number of recorded intervals pooled into one.
        busy: (b,) processors that its functions used.
        busy_end_s: (b,) ends of these bins, seconds.
        off_cpu_s: thread time off the CPU.
        damaged: whether a part of its file was left out.
        warnings: from reading it.
    """

    rank: int
    host: str
    start_unix_ns: int | None
    pieces: Pieces
    mix: Mix
    scatter: FloatArray
    waits: bool
    pooled: int
    busy: FloatArray
    busy_end_s: FloatArray
    off_cpu_s: float
    damaged: bool
    warnings: tuple[str, ...]

    @property
    def wall_s(self) -> float:
        """Duration of its run, seconds."""
        return float(self.pieces.end_s[-1])


@dataclass(frozen=True)
class Part:
    """Source of phases.

    Attributes:
        rank: number of the rank.
        spans: start and end of each part of it, seconds; None for the whole rank.
    """

    rank: int
    spans: tuple[tuple[float, float], ...] | None = None


@dataclass(frozen=True)
class Modes:
    """Modes of phases: a phase may have several.

    Attributes:
        mix: profiles of the modes, (m,).
        label: (m,) the phase of each, -1 if too short for one.
        short: (m,) index of the part that is too short, else -1.
        cluster: (m,) the group that it is.
        of_interval: (n,) the mode of each interval of the run that phases were found in, -1 for none.
        off_cpu: the phase of waiting, if there is one.
    """

    mix: Mix
    label: IntArray
    short: IntArray
    cluster: IntArray
    of_interval: IntArray
    off_cpu: int | None


@dataclass(frozen=True)
class RankLabels:
    """A rank in the phases of all.

    Attributes:
        rank: its number.
        first: (g,) first interval of each piece.
        end: (g,) one past the last interval.
        label: (g,) phase, -1 for none.
        mode: (g,) mode, -1 for none.
        start_s: (g,) seconds since the start of the rank's run.
        end_s: (g,) likewise.
        unexplained: share of its run that is like no phase.
        host, busy, busy_end_s, off_cpu_s, damaged: as in its summary.
    """

    rank: int
    first: IntArray
    end: IntArray
    label: IntArray
    mode: IntArray
    start_s: FloatArray
    end_s: FloatArray
    unexplained: float
    host: str
    busy: FloatArray
    busy_end_s: FloatArray
    off_cpu_s: float
    damaged: bool

    @property
    def intervals(self) -> int:
        """Number of intervals."""
        return int(self.end[-1]) if len(self.end) else 0

    def of_intervals(self, of_piece: IntArray) -> IntArray:
        """Expand values of pieces to intervals, (n,). of_piece: (g,), such as `label`."""
        out: IntArray = of_piece.repeat(self.end - self.first)
        return out


@dataclass(frozen=True)
class Spread:
    """A figure over ranks: minimum, median, maximum and mean."""

    least: float
    median: float
    most: float
    mean: float

    @property
    def imbalance(self) -> float | None:
        """Excess of the largest over the mean, as a share of the mean; None if the mean is zero."""
        return self.most / self.mean - 1.0 if self.mean > 0 else None


@dataclass(frozen=True)
class PhaseBalance:
    """A phase over the ranks that enter it.

    Attributes:
        id: of the phase.
        ranks: number of ranks.
        wall: wall time, seconds.
        work: on the CPU and not waiting, seconds.
        mpi: on the CPU in MPI, seconds.
        slowest: the rank with most work.
        error: standard error of the imbalance of work, as samples are counted; None without work.
    """

    id: int
    ranks: int
    wall: Spread
    work: Spread
    mpi: Spread
    slowest: int
    error: float | None

    @property
    def imbalance(self) -> float | None:
        """Imbalance of work; None without work, or with one rank."""
        return None if self.error is None or self.ranks < 2 else self.work.imbalance

    @property
    def is_significant(self) -> bool:
        """Whether the imbalance is more than sampling noise."""
        return self.error is not None and self.imbalance is not None and self.imbalance >= SURE * self.error


@dataclass(frozen=True)
class Deviation:
    """A function whose share differs between a rank and its peers.

    Attributes:
        function: its name.
        here: share of the rank's time, 0..1.
        there: share of its peers' time, 0..1.
    """

    function: str
    here: float
    there: float


@dataclass(frozen=True)
class Straggler:
    """A rank that works longer in a phase than its peers.

    Attributes:
        rank: its number.
        phase: the phase.
        seconds: its work.
        usual_s: median of its peers.
        sigmas: distance from the median, in standard deviations of its peers.
        why: functions in which it spends more time than its peers, with the excess in seconds, most first.
        waiting_s: median time of its peers in MPI meanwhile, seconds, if that is the evidence; else None.
    """

    rank: int
    phase: int
    seconds: float
    usual_s: float
    sigmas: float
    why: tuple[tuple[str, float], ...]
    waiting_s: float | None = None

    @property
    def excess(self) -> float:
        """Excess of its work over the usual, as a share of the usual."""
        return self.seconds / self.usual_s - 1.0 if self.usual_s > 0 else float("inf")


@dataclass(frozen=True)
class Group:
    """Ranks with the same work for the same share of their time.

    Attributes:
        ranks: ascending.
        typical: the rank nearest to their median.
    """

    ranks: tuple[int, ...]
    typical: int


@dataclass(frozen=True)
class Outlier:
    """A rank that is unlike most.

    Attributes:
        rank: its number.
        distance: from the typical ranks, 0..1.
        why: functions in which it differs, most first.
        unexplained: share of its run in no phase.
    """

    rank: int
    distance: float
    why: tuple[Deviation, ...]
    unexplained: float


@dataclass(frozen=True)
class Clock:
    """A node's clock that is wrong, detected from changes of phase.

    Attributes:
        host: the node.
        late_s: seconds that it is ahead at its start.
        drift: seconds gained per second.
        boundaries: number of changes of phase used.
        before_s: median distance from those of other nodes before the correction, seconds.
        after_s: after the correction.
    """

    host: str
    late_s: float
    drift: float
    boundaries: int
    before_s: float
    after_s: float


@dataclass(frozen=True)
class RanksResult:
    """Comparison of all ranks.

    Attributes:
        ranks: (r,) ascending; all values by rank are in this order.
        labels: each rank in the phases of all.
        parts: that the phases were found in.
        offset_s: (r,) start of each rank after the first start of any, clocks corrected.
        rate: (r,) length of a second of its clock.
        agreement: (r,) with most ranks at the same time, adjusted Rand index; None where undefined.
        spent: (r, k + 1, len(TIMES)) seconds by phase, no phase last.
        wall_s: (r, k + 1) seconds.
        phases: balance of each phase.
        stragglers: the worst first.
        groups: the largest first.
        outliers: ranks unlike most.
        clocks: those that were corrected.
        late: ranks that started late, with their delay in seconds.
    """

    ranks: tuple[int, ...]
    labels: tuple[RankLabels, ...]
    parts: tuple[Part, ...]
    offset_s: FloatArray
    rate: FloatArray
    agreement: tuple[float | None, ...]
    spent: FloatArray
    wall_s: FloatArray
    phases: tuple[PhaseBalance, ...]
    stragglers: tuple[Straggler, ...]
    groups: tuple[Group, ...]
    outliers: tuple[Outlier, ...]
    clocks: tuple[Clock, ...]
    late: tuple[tuple[int, float], ...]

    @property
    def shown(self) -> int:
        """The rank that represents the answer: the lowest that goes through the phases for most of its time."""
        fits = (own.rank for own in self.labels if own.unexplained < UNLIKE)
        return next(fits, self.ranks[0])

    def of_rank(self, rank: int) -> RankLabels:
        """Return one rank in the phases of all."""
        return self.labels[self.ranks.index(rank)]
