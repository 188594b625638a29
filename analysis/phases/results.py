"""What the phase analysis answers. Reports read these and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from incprof.analysis.options import OPTIONS, Options
from incprof.model import FloatArray, Function, IntArray
from incprof.model.spent import Spent
from incprof.model.visits import Visits


@dataclass(frozen=True)
class FunctionShare:
    """A function in a phase: self seconds, share of the phase's time (0..1), calls.

    estimated: what samples say of its calls, where nobody has counted them; None where somebody has.
    """

    function: Function
    self_s: float
    share: float
    calls: int
    estimated: Visits | None = None


@dataclass(frozen=True)
class SiteCost:
    """Beats of a body site per second of its phase, the rate factor, and the predicted overhead with it in percent."""

    beats_hz: float
    rate_factor: int
    overhead_pct: float


@dataclass(frozen=True)
class Site:
    """Where a heartbeat goes. `kind` is "body" or "loop".

    phase_pct, app_pct: time in it and below it, percent of its phase and of the run; without call paths, and by the
    paper's method, the intervals that it covers and no site before it does, and as much of the phase's time.

    index: the function's column in the profile. file, line: the loop's hottest line or the function's first one.
    cost: None where it is not known (a loop), or nobody asked.
    """

    heartbeat: int
    index: int
    function: Function
    kind: str
    phase_pct: float
    app_pct: float
    file: str | None = None
    line: int | None = None
    cost: SiteCost | None = None


@dataclass(frozen=True)
class Rest:
    """What the threads of a loop do outside of its steps.

    spent: CPU seconds of an iteration by what they are spent on, as model.spent.SPENT has it. waits: functions of
    libraries that wait, read or write and were seen in the loop, in its steps too, most time first.
    """

    spent: Mapping[str, float]
    waits: tuple[Function, ...] = ()


@dataclass(frozen=True)
class Step:
    """What is called again and again: its share of the phase (0..1) and its calls.

    mean_s: CPU time of a call. driver: the function whose loop calls it. period_s: from one iteration of that loop to
    the next while it runs, the same in all steps that are timed by it. every: it comes in each every-th iteration;
    times: calls in an iteration in which it comes; per_iteration: mean calls in an iteration, where these differ too.
    order: its place in the iteration, from 1. None where that is not known.
    cpu: part of the loop's time that its thread was on the CPU, and rest: what it does outside of steps; None of an
    inner loop.
    estimated: what samples say of its calls, where nobody has counted them: `calls`, and all that follows from these.
    per_call: mean calls for each call of the step above; None where there is none. steps: those that it calls again.
    """

    index: int
    function: Function
    kind: str
    share: float
    calls: int
    mean_s: float
    file: str | None = None
    line: int | None = None
    driver: Function | None = None
    period_s: float | None = None
    every: int | None = None
    times: int | None = None
    order: int | None = None
    per_iteration: float | None = None
    cpu: float | None = None
    rest: Rest | None = None
    per_call: float | None = None
    steps: tuple[Step, ...] = ()
    estimated: Visits | None = None


def all_steps(steps: Iterable[Step]) -> Iterator[Step]:
    """Go through steps and those below them, each before its own."""
    for step in steps:
        yield step
        yield from all_steps(step.steps)


@dataclass(frozen=True)
class Phase:
    """A phase. seconds: wall time of its intervals. app_pct: percent of the run's. clusters: ids before merging.

    off_cpu: nearly no sample has a function of the program on its stack; there is none to instrument.
    confidence: part of the intervals that would be in the phase again (0..1); None where nobody asked.
    mostly: what it is spent on. spent: CPU seconds by what they were spent on, and wall time off the CPU of all threads
    ("off_cpu").
    """

    id: int
    intervals: int
    app_pct: float
    seconds: float
    functions: tuple[FunctionShare, ...]
    sites: tuple[Site, ...]
    steps: tuple[Step, ...] = ()
    clusters: tuple[int, ...] = ()
    off_cpu: bool = False
    confidence: float | None = None
    mostly: Spent = "work"
    spent: Mapping[str, float] = field(default_factory=dict)

    @property
    def outside(self) -> bool:
        """Whether CPU time was used in it, but by nothing that a function of the program is on the stack of."""
        return self.off_cpu and self.mostly not in ("waiting", "openmp")


@dataclass(frozen=True)
class KScore:
    """How well k clusters describe the run; None where a score is not defined.

    noise_ratio: inertia over what sampling noise explains (1 is "nothing left to explain"). misfits: intervals
    beyond that noise. stability: agreement of seeded starts of k-means (adjusted Rand index).
    """

    k: int
    inertia: float
    silhouette: float | None
    calinski_harabasz: float | None
    noise_ratio: float | None
    misfits: int | None
    stability: float | None


JoinRule = Literal["interrupts", "not distinct", "not found again"]


@dataclass(frozen=True)
class Joined:
    """Two groups of intervals that were made one phase, as it was decided.

    rule: the first only interrupts the second; all phases together are no more than a mix that wanders; or the first is
    not found again in most runs drawn from this one, and the second is most like it. one, other:
    the groups (`clusters`). gap: Ashman's D between them, None where infinite. overlap: time in the same functions,
    0..1.
    """

    phase: int
    rule: JoinRule
    one: tuple[int, ...]
    other: tuple[int, ...]
    gap: float | None
    overlap: float


@dataclass(frozen=True)
class Border:
    """A change from one phase to another. interval: the first one of the new phase.

    function: the one that changes most; None: none of the program. share_before, share_after: of it with what it calls,
    0..1. score: how many standard errors these are apart.
    """

    interval: int
    before: int
    after: int
    function: Function | None
    share_before: float
    share_after: float
    score: float


@dataclass(frozen=True)
class Level:
    """A level of the hierarchy: the phases that are one on it, k such groups, each ascending.

    function, difference: what tells the two apart that are one on this level and two on the next finer one.
    """

    k: int
    phases: tuple[tuple[int, ...], ...]
    function: Function | None
    difference: float


@dataclass(frozen=True)
class ShortStretch:
    """What is like no phase, and too short to be one. spans: first interval and one past the last of each time.

    function: the one that has most more of it than of the rest of the run; None: none of the program. share: of it with
    what it calls, 0..1.
    """

    function: Function | None
    share: float
    spans: tuple[tuple[int, int], ...]

    @property
    def intervals(self) -> int:
        """How many intervals it has."""
        return sum(end - first for first, end in self.spans)


@dataclass(frozen=True)
class PhaseResult:
    """The phases of one process.

    k: phases found. k_clusters: clusters before merging. rule: what chose k_clusters. votes: what each rule would
    choose; the elbow is None where no k-means was run. end_s, labels, clusters: (n,) per interval; label -1 is a
    transition or unclassified, cluster ids are before merging.
    dispersion: scatter of the intervals over tick counting, 1 is none. features: functions that were clustered on.
    scatter: usual squared distance of an interval to its phase's mean over what tick counting explains; None: unknown.
    k_again: part of the refits on some of the intervals that give k_clusters again; None where nobody asked.
    beats_pct: predicted overhead of all body sites in the phase where it is largest; None where nobody asked.
    joined: clusters that were made one, in the order in which they were. options: the thresholds that decided.
    borders: what names each change of phase. levels: from k - 1 phases to one, by joining the most alike. in_turn:
    first interval and one past the last of stretches whose steps alternate below one driver. short: what is too short
    for a phase. spent: (n,) what each interval was mostly spent on, indices of model.spent.SPENT; None: unknown.
    paths_estimated: call paths were not recorded, but estimated from counted calls.
    """

    method: str
    k: int
    k_clusters: int
    rule: str
    votes: dict[str, int | None]
    scores: tuple[KScore, ...]
    end_s: FloatArray
    labels: IntArray
    clusters: IntArray
    phases: tuple[Phase, ...]
    dispersion: float
    features: int
    warnings: tuple[str, ...] = ()
    scatter: float | None = None
    k_again: float | None = None
    beats_pct: float | None = None
    joined: tuple[Joined, ...] = ()
    options: Options = OPTIONS
    borders: tuple[Border, ...] = ()
    levels: tuple[Level, ...] = ()
    in_turn: tuple[tuple[int, int], ...] = ()
    short: tuple[ShortStretch, ...] = ()
    spent: IntArray | None = None
    paths_estimated: bool = False

    @property
    def present(self) -> tuple[Phase, ...]:
        """The phases that the intervals hold: of several ranks, one may not go through all phases."""
        return tuple(phase for phase in self.phases if phase.intervals)

    def __repr__(self) -> str:
        """One line: all fields would be pages."""
        return f"<PhaseResult: {self.k} phases in {len(self.labels)} intervals, method {self.method}>"


@dataclass(frozen=True)
class Counted:
    """A function of which many calls were counted; share of all calls, 0..1."""

    name: str
    calls: int
    share: float


@dataclass(frozen=True)
class Counting:
    """What counting calls has cost: call_s each, pct of the program's own CPU time; those that cause most of it."""

    calls: int
    call_s: float
    pct: float
    functions: tuple[Counted, ...]


@dataclass(frozen=True)
class RunSummary:
    """The run that an answer is about, for the head of a report. samples: of the analysed process.

    counted: whether calls were, by -pg; else they are estimated from samples.
    pooled: recorded intervals that are taken as one.
    overhead_pct: by how much recording has raised the CPU time. reached_hz: samples per second of CPU time; counting:
    the calls' part in the overhead; all three None where the recording did not measure it.
    """

    app: str
    ranks: int
    rank: int
    intervals: int
    interval_s: float
    duration_s: float
    rate_hz: float
    samples: int
    overhead_pct: float | None
    off_cpu_s: float
    reached_hz: float | None = None
    pooled: int = 1
    counting: Counting | None = None
    counted: bool = True
