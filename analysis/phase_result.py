"""Results of the phase analysis. Reports read nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from incprof.analysis.phases.clustering import Boundary, KScore, Level, ShortSegment, Stage
from incprof.analysis.thresholds import OPTIONS, Options
from incprof.model import FloatArray, Function, IntArray
from incprof.model.time_use import CallEstimate, Spent


@dataclass(frozen=True)
class FunctionShare:
    """A function in a phase.

    Attributes:
        function: the function.
        self_s: self time, seconds.
        share: of the phase's time, 0..1.
        calls: number of calls.
        estimated: estimate of its calls from samples; None where they were counted.
    """

    function: Function
    self_s: float
    share: float
    calls: int
    estimated: CallEstimate | None = None


@dataclass(frozen=True)
class SiteCost:
    """Predicted cost of a body site.

    Attributes:
        beats_hz: beats per second of its phase.
        rate_factor: 1 beat in so many is recorded.
        overhead_pct: overhead with that factor, percent.
    """

    beats_hz: float
    rate_factor: int
    overhead_pct: float


@dataclass(frozen=True)
class Site:
    """A place for a heartbeat.

    Attributes:
        heartbeat: id of the heartbeat.
        index: the function's column in the profile.
        function: the function.
        kind: "body" or "loop".
        phase_pct: inclusive time, percent of its phase; without call paths, and by the paper's method, the intervals
            that it covers and no site before it does.
        app_pct: the same, percent of the run; of covered intervals, the corresponding part of the phase's time.
        file: of the line.
        line: the loop's hottest line or the function's first one.
        cost: None where it is unknown (a loop), or was not requested.
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
    """Time of a loop's threads outside of its steps.

    Attributes:
        spent: CPU seconds of an iteration by kind of time, as in model.spent.SPENT.
        waits: library functions that wait, read or write and were sampled in the loop, its steps included; most time
            first.
    """

    spent: Mapping[str, float]
    waits: tuple[Function, ...] = ()


@dataclass(frozen=True)
class Step:
    """A function that is called repeatedly in a phase. Attributes are None where they are unknown.

    Attributes:
        index: the function's column in the profile.
        function: the function.
        kind: "body" or "loop".
        share: of the phase, 0..1.
        calls: number of calls.
        mean_s: CPU time of a call, seconds.
        file: of the line.
        line: of the site.
        driver: the function whose loop calls it.
        period_s: duration of an iteration of that loop while it runs, seconds; the same in all steps timed by it.
        every: the step occurs in each every-th iteration.
        times: calls in an iteration in which it occurs.
        order: its position in the iteration, from 1.
        per_iteration: mean calls per iteration, where these vary.
        cpu: share of the loop's time that its thread was on the CPU; None in an inner loop.
        rest: time outside of steps; None in an inner loop.
        per_call: mean calls per call of the step above; None where there is none.
        steps: those that it calls repeatedly.
        estimated: estimate from samples where calls were not counted: of `calls`, and of all that follows from them.
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
    estimated: CallEstimate | None = None


def all_steps(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield steps and those below them, each before its own."""
    for step in steps:
        yield step
        yield from all_steps(step.steps)


@dataclass(frozen=True)
class Phase:
    """A phase.

    Attributes:
        id: from 0.
        intervals: number of its intervals.
        app_pct: percent of the run's wall time.
        seconds: wall time of its intervals.
        functions: those with most self time, largest first.
        sites: where to instrument it.
        steps: functions that are called repeatedly in it.
        clusters: ids before merging.
        off_cpu: nearly no sample has a function of the program on its stack, so there is none to instrument.
        confidence: share of the intervals that would be in the phase again (0..1); None if it was not requested.
        mostly: kind of time that it is mostly spent on.
        spent: CPU seconds by kind of time, and wall time off the CPU of all threads ("off_cpu").
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
        """Whether it used CPU time, but with no function of the program on the stack."""
        return self.off_cpu and self.mostly not in ("waiting", "openmp", "device")


@dataclass(frozen=True)
class PhaseResult:
    """The phases of one process.

    Attributes:
        method: "robust" or "paper".
        k: number of phases.
        k_clusters: number of clusters before merging.
        rule: that chose k_clusters.
        votes: choice of each rule; the elbow is None where k-means was not run.
        scores: of each k.
        end_s: (n,) ends of the intervals, seconds.
        labels: (n,) phases; -1 is a transition or unclassified.
        clusters: (n,) ids before merging.
        phases: the phases.
        dispersion: scatter of the intervals over tick counting; 1 is none.
        features: number of functions that were clustered on.
        warnings: for the reader of the answer.
        scatter: usual squared distance of an interval to its phase's mean over the part that tick counting explains;
            None:
            unknown.
        k_again: share of the refits on some of the intervals that give k_clusters again; None if it was not requested.
        beats_pct: predicted overhead of all body sites in the phase where it is largest; None if it was not requested.
        options: the thresholds in use.
        borders: the function that explains each change of phase.
        levels: from k - 1 phases to one, by merging the most similar ones.
        short: parts that are too short for a phase.
        spent: (n,) kind of time that each interval is mostly spent on, indices of model.spent.SPENT; None: unknown.
        paths_estimated: call paths were not recorded, but estimated from counted calls.
        stages: the hierarchy of the run; None by the paper's method, and of several ranks.
        few: too few samples, or intervals, to show more than one phase.
        origin: of a rank's answer, the one in which the phases of all ranks were found.
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
    options: Options = OPTIONS
    borders: tuple[Boundary, ...] = ()
    levels: tuple[Level, ...] = ()
    short: tuple[ShortSegment, ...] = ()
    spent: IntArray | None = None
    paths_estimated: bool = False
    stages: Stage | None = None
    few: bool = False
    origin: PhaseResult | None = None

    @property
    def model(self) -> PhaseResult:
        """The answer for the run that the phases were found in; of one of several ranks, that for parts of all."""
        return self.origin or self

    @property
    def present(self) -> tuple[Phase, ...]:
        """The phases with intervals: one of several ranks may not go through all phases."""
        return tuple(phase for phase in self.phases if phase.intervals)

    def __repr__(self) -> str:
        """Return one line: all fields would fill pages."""
        return f"<PhaseResult: {self.k} phases in {len(self.labels)} intervals, method {self.method}>"


@dataclass(frozen=True)
class Counted:
    """A function with many counted calls.

    Attributes:
        name: of the function.
        calls: number of calls.
        share: of all calls, 0..1.
    """

    name: str
    calls: int
    share: float


@dataclass(frozen=True)
class Counting:
    """Cost of counting calls.

    Attributes:
        calls: number of calls.
        call_s: cost of each, seconds.
        pct: cost of all, percent of the program's own CPU time.
        functions: those that cause most of it.
    """

    calls: int
    call_s: float
    pct: float
    functions: tuple[Counted, ...]


@dataclass(frozen=True)
class RunSummary:
    """The run of an answer, for the head of a report.

    Attributes:
        app: name of the program.
        ranks: number of ranks.
        rank: the analysed one.
        intervals: number of intervals.
        interval_s: length of an interval.
        duration_s: wall time of the run.
        rate_hz: samples per second of CPU time, as configured.
        samples: of the analysed process.
        overhead_pct: increase of the CPU time by recording; None if it was not measured, as the next two.
        off_cpu_s: time that threads were off the CPU.
        reached_hz: samples per second of CPU time, as reached.
        pooled: number of recorded intervals that are pooled into one.
        counting: contribution of counting calls to the overhead.
        counted: whether calls were counted, by -pg; else they are estimated from samples.
        recorded: number of recorded intervals, from which those of the analysis were pooled and cut; 0: the same.
        own_s: CPU seconds that recording took.
        by_waits: whether phases and functions are by what the program waits for, in wall-clock time.
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
    recorded: int = 0
    own_s: float = 0.0
    by_waits: bool = False

    @property
    def how_cut(self) -> str:
        """How the intervals follow from the recorded ones: " (7 recorded, cut where phases change)"; else empty."""
        if self.pooled > 1:
            return f" ({self.recorded} recorded, {self.pooled} in each)" if self.recorded else ""
        if self.recorded in (0, self.intervals):
            return ""
        return f" ({self.recorded} recorded, cut where phases change)"


# Verdict on an answer of one phase: a steady run, or a run whose intervals have nothing in common.


# With fewer intervals that have enough samples, scatter cannot be judged.
ENOUGH = 4
# With a larger share of time in unresolved code, an answer of one phase means nothing.
NAMELESS = 0.5

Verdict = Literal["phases", "steady", "no_distinct_phases", "too_few_intervals", "nameless", "asked"]


def verdict(result: PhaseResult) -> Verdict:
    """Return the kind of answer that a result is.

    "phases": there are several. "steady": one phase, whose scatter sampling explains. "no_distinct_phases": one phase,
    as the intervals differ but do not separate into groups. "nameless": most of the time is in unresolved code, which
    cannot be told apart. "too_few_intervals": too few to decide. "asked": the user requested one.
    """
    if result.k > 1:
        return "phases"
    if result.rule == "user":
        return "asked"
    if result.few:
        return "too_few_intervals"
    if nameless_part(result) >= NAMELESS:
        return "nameless"
    return (
        "no_distinct_phases"
        if result.scatter is not None and result.scatter > result.options.phases.steady
        else "steady"
    )


def nameless_part(result: PhaseResult) -> float:
    """Return the share of the phases' time that is in unresolved code, 0..1."""
    tops = [top for phase in result.phases for top in phase.functions]
    total = sum(phase.functions[0].self_s / phase.functions[0].share for phase in result.phases if phase.functions)
    return sum(top.self_s for top in tops if top.function.is_nameless) / total if total > 0 else 0.0
