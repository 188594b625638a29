"""What is known of ranks, and what the analysis of all of them answers. Reports read these and nothing else.

n intervals, g pieces, s stretches, f functions, k phases, r ranks, b bins of time.
"""

from __future__ import annotations

from dataclasses import dataclass

from incprof.model import FloatArray, IntArray
from incprof.model.reindex import Key
from incprof.model.spent import SPENT

# A piece of a run that is no stretch: the way from one to another, or intervals with nearly no samples.
WAY, IDLE = -1, -2
# What time is told apart by; the last one is wall time in which surely no thread was on the CPU.
TIMES: tuple[str, ...] = (*SPENT, "off_cpu")
# A rank with so much of its run in no phase does not go through the phases of the others.
UNLIKE = 0.5


@dataclass(frozen=True)
class Mix:
    """What stretches (s,) are made of, in ticks; a tick of waiting counts less.

    keys, names: (f,) the functions that matter. own: (s, f) in the function itself. stack: (s, f) with all that it
    calls; zero without call paths. total: (s,).
    """

    keys: tuple[Key, ...]
    names: tuple[str, ...]
    own: FloatArray
    stack: FloatArray
    total: FloatArray


@dataclass(frozen=True)
class Pieces:
    """A run from its first interval to its last: each piece is a stretch, or a part of one, or none.

    first, end: (g,) the first interval and one past the last. stretch: (g,) WAY and IDLE for none. start_s, end_s: (g,)
    seconds since the start of the rank's run. spent: (g, len(TIMES)) seconds.
    """

    first: IntArray
    end: IntArray
    stretch: IntArray
    start_s: FloatArray
    end_s: FloatArray
    spent: FloatArray


@dataclass(frozen=True)
class RankSummary:
    """A rank as far as the others need to know it.

    start_unix_ns: when it started, by its node's clock; None where nobody wrote that down. scatter: (f,) by which
    factor each function's share scatters more than counting explains. waits: so much of it is waiting that this is a
    phase. pooled: recorded intervals in one. busy, busy_end_s: (b,) the processors that its functions had, and until
    when. off_cpu_s: thread time off the CPU. damaged: a part of its file was left out.
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
        """How long its run took."""
        return float(self.pieces.end_s[-1])


@dataclass(frozen=True)
class Part:
    """What the phases were found in: a rank, whole, or what it did from start to end, seconds, each time."""

    rank: int
    spans: tuple[tuple[float, float], ...] | None = None


@dataclass(frozen=True)
class Modes:
    """What phases are made of: a phase may have several modes.

    mix: of the modes, (m,). label: (m,) the phase of each, -1 for what is too short for one. short: (m,) which of the
    stretches that are too short it is, else -1. cluster: (m,) the group that it is. of_interval: (n,) the mode of each
    interval of the run that phases were found in, -1 for none. off_cpu: the phase of waiting, if there is one.
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

    first, end: (g,) intervals, as its pieces have them. label: (g,) their phase, -1 for none. mode: (g,), -1 for none.
    start_s, end_s: (g,) seconds since the start of the rank's run. unexplained: part of it that is like no phase. host,
    busy, busy_end_s, off_cpu_s, damaged: as in its summary.
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
        """How many there are."""
        return int(self.end[-1]) if len(self.end) else 0

    def of_intervals(self, of_piece: IntArray) -> IntArray:
        """Return for each interval, (n,), what is so for its piece. of_piece: (g,), such as `label`."""
        out: IntArray = of_piece.repeat(self.end - self.first)
        return out


@dataclass(frozen=True)
class Spread:
    """A figure over ranks: the smallest, the middle and the largest, and the mean."""

    least: float
    median: float
    most: float
    mean: float

    @property
    def imbalance(self) -> float | None:
        """Return by how much the largest is above the mean, as a part of it; None where there is nothing."""
        return self.most / self.mean - 1.0 if self.mean > 0 else None


@dataclass(frozen=True)
class PhaseBalance:
    """A phase over the ranks that come into it: so many. wall, work, mpi: seconds of each.

    work: on the CPU and not waiting, for whatever it waits. mpi: on the CPU in MPI. slowest: the rank with most work.
    error: by how much the imbalance of work may be off because samples are counted, standard error; None without work.
    """

    id: int
    ranks: int
    wall: Spread
    work: Spread
    mpi: Spread
    slowest: int
    error: float | None


@dataclass(frozen=True)
class Deviation:
    """A function that a rank has another part of its time in than its peers, 0..1 each."""

    function: str
    here: float
    there: float


@dataclass(frozen=True)
class Straggler:
    """A rank that works longer in a phase than its peers. usual_s: their median. sigmas: how far beyond their scatter.

    why: the functions in which it spends more than its peers, seconds more a function, most first.
    """

    rank: int
    phase: int
    seconds: float
    usual_s: float
    sigmas: float
    why: tuple[tuple[str, float], ...]

    @property
    def excess(self) -> float:
        """Return how much longer it takes, as a part of what is usual."""
        return self.seconds / self.usual_s - 1.0 if self.usual_s > 0 else float("inf")


@dataclass(frozen=True)
class Group:
    """Ranks that do the same for the same part of their time, ascending. typical: the one nearest to their middle."""

    ranks: tuple[int, ...]
    typical: int


@dataclass(frozen=True)
class Outlier:
    """A rank that is unlike most. why: what it does otherwise, most first. unexplained: part of it in no phase."""

    rank: int
    distance: float
    why: tuple[Deviation, ...]
    unexplained: float


@dataclass(frozen=True)
class Clock:
    """A node's clock that goes wrong, as the borders of phases tell. late_s: by how much it is ahead at its start.

    drift: seconds that it gains a second. borders: so many told it. before_s, after_s: how far they are apart from
    those of other nodes (median), before and after it is put right.
    """

    host: str
    late_s: float
    drift: float
    borders: int
    before_s: float
    after_s: float


@dataclass(frozen=True)
class RanksResult:
    """What all ranks together are like.

    ranks: (r,) ascending, and everything by rank in this order. labels: each in the phases of all. parts: what these
    were found in. offset_s: (r,) from the first start of any rank to each rank's own, and rate: (r,) how long a second
    of it is, clocks put right. agreement: (r,) with what most ranks do at the same time, adjusted Rand index; None
    where that is not defined. spent: (r, k + 1, len(TIMES)) seconds by phase, the last one of none. wall_s: (r, k + 1).
    late: ranks that started late, and by how much, seconds.
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
        """The rank that stands for the answer: the lowest that goes through the phases for most of its time."""
        fits = (own.rank for own in self.labels if own.unexplained < UNLIKE)
        return next(fits, self.ranks[0])

    def of_rank(self, rank: int) -> RankLabels:
        """Return one rank in the phases of all."""
        return self.labels[self.ranks.index(rank)]
