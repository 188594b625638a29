"""What comparing two runs answers. Reports read these and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from incprof.analysis.beats.noise import Change
from incprof.analysis.phases.results import RunSummary
from incprof.model import FloatArray, IntArray

LEVEL = 0.95


@dataclass(frozen=True)
class Figure:
    """What one side has of something; means where it has several runs.

    seconds: of a run or a phase (Comparison.clock says which), CPU time of a step (with all that it calls) or a
    function (its own). share: part of the run (phase, function) or of its phase (step), 0..1. calls: None where nothing
    is called. runs: seconds of each run.
    """

    seconds: float
    share: float
    calls: float | None
    runs: tuple[float, ...]

    @property
    def mean_s(self) -> float | None:
        """Seconds per call; None without calls."""
        return self.seconds / self.calls if self.calls else None


@dataclass(frozen=True)
class Row:
    """Something on both sides.

    Attributes:
        kind: `run`, `phase`, `step` or `function`.
        name: The function; of a phase its main site or function, and `behind` that what tells it from others of it.
        group: The phase of a step, and in which a function changed most; None for the run.
        a, b: Both sides; zero where a side does not have it.
        ci: Interval at LEVEL of the factor from A to B, and its p-value; None if that cannot be told.
        p_adjusted: The p-value in view of all rows of the kind.
        verdict: `slower` or `faster` (beyond noise), `same` (within it), `gone` (not in B), `new` (not in A).
        cpu: The same by CPU time, where it was compared by both; None for what CPU time says nothing of.
        off_cpu_s: Wall time of A and of B in which surely no thread was on the CPU; None where phases are not measured
            by wall time.
        energy: The same of the node's energy, where power was sampled beside all runs.
    """

    kind: str
    name: str
    group: int | None
    a: Figure
    b: Figure
    ci: Change | None = None
    p_adjusted: float | None = None
    verdict: str = "same"
    behind: str = ""
    cpu: Row | None = None
    off_cpu_s: tuple[float, float] | None = None
    energy: EnergyRow | None = None

    @property
    def only_cpu(self) -> Row | None:
        """The row by CPU time where that alone is sure: wall time scatters too much to speak for or against it."""
        cpu = self.cpu
        if cpu is None or cpu.ratio is None or self.ci is None or self.verdict != "same" or cpu.verdict == "same":
            return None
        return cpu if self.ci.low <= cpu.ratio <= self.ci.high else None

    @property
    def disagrees(self) -> bool:
        """Whether wall and CPU time lead to different verdicts."""
        return self.cpu is not None and self.cpu.verdict != self.verdict and self.only_cpu is None

    @property
    def change_s(self) -> float:
        """Seconds more in B than in A."""
        return self.b.seconds - self.a.seconds

    @property
    def ratio(self) -> float | None:
        """B over A; None where A has nothing."""
        return self.b.seconds / self.a.seconds if self.a.seconds > 0 else None


@dataclass(frozen=True)
class EnergyRow(Row):
    """Joules of something on both sides: what is called seconds is joules, and slower is more.

    simulated: power comes from a formula, on one side at least.
    """

    simulated: bool = False


@dataclass(frozen=True)
class PhaseRow(Row):
    """A phase on both sides.

    members: its ids in each run, those of A first. likeness: how alike the sides are, 0..1; None where one has nothing.
    share_error: standard error of the difference of the shares, 0..1.
    steps: what it does, largest first. waits: it is one of waiting. elsewhere: only one side has it as a phase, and the
    other does as much of the work elsewhere.
    """

    members: tuple[tuple[int, ...], ...] = ()
    likeness: float | None = None
    share_error: float = 0.0
    steps: tuple[Row, ...] = ()
    waits: bool = False
    elsewhere: bool = False


@dataclass(frozen=True)
class Side:
    """A run of a side. labels: (n,) group of each interval, -1 for none. end_s: (n,). build: build-id, if known."""

    path: str
    summary: RunSummary
    labels: IntArray
    end_s: FloatArray
    build: str | None


@dataclass(frozen=True)
class Comparison:
    """Side B against side A.

    run: the whole run. phases: in order of time; a group is a place among them. between: seconds in no phase.
    functions: those that take some time, largest change first. left_out: how many more there are.
    run_noise: the relative scatter from run to run that was assumed; None where several runs show it.
    clock: what phases and the run are measured by: `wall` or `cpu` time, or `both`: wall time, and beside it CPU time.
    notes: how the runs differ as such. is_noise_assumed: neither several runs of a side show the scatter from run to
    run, nor was it given.
    """

    a: tuple[Side, ...]
    b: tuple[Side, ...]
    run: Row
    phases: tuple[PhaseRow, ...]
    between: tuple[float, float]
    functions: tuple[Row, ...]
    left_out: int
    run_noise: float | None
    clock: str = "wall"
    notes: tuple[str, ...] = ()
    is_noise_assumed: bool = False

    @property
    def rows(self) -> list[Row]:
        """All rows: the run, phases with their steps, functions."""
        return [self.run, *self.phases, *(step for phase in self.phases for step in phase.steps), *self.functions]
