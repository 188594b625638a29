"""Result of comparing two runs. Reports read nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from incprof.analysis.compare.noise import Change
from incprof.analysis.diff.measure import Measured, cpu_seconds
from incprof.analysis.phase_result import RunSummary
from incprof.analysis.ranks.ranks_result import PhaseBalance
from incprof.model import FloatArray, IntArray


@dataclass(frozen=True)
class Figure:
    """One side's values of a row; means where the side has several runs.

    Attributes:
        seconds: of a run or a phase (in the time of Comparison.clock); CPU time of a step (with all that it calls) or
            of a function (self time).
        share: of the run (phase, function) or of its phase (step), 0..1.
        calls: None where nothing is called.
        runs: seconds of each run.
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
    """A run, phase, step or function on both sides.

    Attributes:
        kind: `run`, `phase`, `step` or `function`.
        name: The function; of a phase its main site or function, followed by `behind`.
        group: The phase of a step, or the phase in which a function changed most; None for the run.
        a, b: Both sides; zero where a side does not have it.
        ci: Interval at LEVEL of the factor from A to B, and its p-value; None if it cannot be estimated.
        p_adjusted: The p-value adjusted for all rows of the kind.
        verdict: `slower` or `faster` (beyond noise), `same` (within it), `gone` (not in B), `new` (not in A).
        behind: Suffix that distinguishes a phase from others of the same name.
        cpu: The same row by CPU time, where both were compared; None for rows that CPU time does not apply to.
        off_cpu_s: Wall time of A and of B in which no thread can have been on a CPU; None where phases are not measured
            by wall time.
        energy: The same row by the node's energy, where power was sampled with all runs.
        reasons: Of the run and of phases, amounts of the cards that all runs have, which may explain a change.
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
    reasons: tuple[AmountRow, ...] = ()

    @property
    def only_cpu(self) -> Row | None:
        """The row by CPU time if only that is significant: wall time scatters too much to confirm or contradict it."""
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
    """Joules on both sides: the fields named seconds hold joules, and slower means more.

    simulated: whether the power of at least one side comes from a formula.
    """

    simulated: bool = False


@dataclass(frozen=True)
class AmountRow(Row):
    """An amount of a phase on both sides: the fields named seconds hold it, and slower means more.

    Attributes:
        metric: name in a condition, after `phase.`.
        what: its name.
        unit: "s", "B", "J", "count" or "ratio".
        phase_s: duration of the phase in A, seconds.
        difference: interval at LEVEL of what B has more than A, where one of them has nothing, so there is no factor.
    """

    metric: str = ""
    what: str = ""
    unit: str = "s"
    phase_s: float = 0.0
    difference: tuple[float, float] | None = None

    @property
    def change_interval(self) -> tuple[float, float] | None:
        """Interval at LEVEL of what B has more than A, in the unit; None if it cannot be estimated."""
        if self.ci is None:
            return self.difference
        return self.a.seconds * (self.ci.low - 1), self.a.seconds * (self.ci.high - 1)


# Functions with their self time as a share of something, largest first.
Shares = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class PhaseRow(Row):
    """A phase on both sides.

    Attributes:
        members: its ids in each run, those of A first.
        likeness: similarity of the sides, 0..1; None where one has nothing.
        share_error: standard error of the difference of the shares, 0..1.
        steps: its steps, largest first.
        waits: whether it is a phase of waiting.
        elsewhere: only one side has it as a phase, and the other does as much of the work in other phases.
        only: functions that only A runs in it, and those that only B runs, with their shares of the phase, 0..1.
        balance: work of the ranks in it, in each run of A and of B; empty where a run has one rank, or none in it.
    """

    members: tuple[tuple[int, ...], ...] = ()
    likeness: float | None = None
    share_error: float = 0.0
    steps: tuple[Row, ...] = ()
    waits: bool = False
    elsewhere: bool = False
    only: tuple[Shares, Shares] = ((), ())
    balance: tuple[tuple[PhaseBalance, ...], tuple[PhaseBalance, ...]] = ((), ())


@dataclass(frozen=True)
class Side:
    """A run of a side.

    Attributes:
        path: of the recording.
        summary: head of its report.
        labels: (n,) group of each interval, -1 for none.
        end_s: (n,) ends of the intervals, seconds.
        build: build-id, if known.
    """

    path: str
    summary: RunSummary
    labels: IntArray
    end_s: FloatArray
    build: str | None


@dataclass(frozen=True)
class Comparison:
    """Comparison of side B with side A.

    Attributes:
        a, b: the runs of each side.
        run: the whole run.
        phases: in order of time; a group is an index into them.
        between: seconds in no phase, of each side.
        functions: those that take some time, largest change first.
        left_out: number of other functions.
        run_noise: relative scatter from run to run that was assumed; None where several runs show it.
        clock: time that phases and the run are measured in: `wall`, `cpu`, or `both` (wall time, with CPU time beside
            it).
        notes: differences between the runs as such.
        is_noise_assumed: no side has several runs that show the scatter from run to run, and it was not given either.
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


# Differences between compared runs as such, which may explain those between their phases.


# Below this share of time in common functions, two runs are hardly of the same program.
HARDLY = 0.5
# Runs differ if their CPU use differs by more than this share.
BUSY_APART = 0.1
# Longest line of a program's arguments, characters.
LONGEST = 80


def notes(sides: Sequence[Side], runs: Sequence[Measured], first: int) -> tuple[str, ...]:
    """Return the differences between the runs as such, a line each: they may explain those between phases.

    Args:
        sides: the runs, those of A first.
        runs: the same, measured.
        first: number of runs of A.
    """
    lines = []

    def differ(what: str, values: Sequence[object]) -> None:
        a, b = (list(dict.fromkeys(map(str, part))) for part in (values[:first], values[first:]))
        if a != b:
            lines.append(f"{what}: {', '.join(a)} in A, {', '.join(b)} in B")

    summaries = [side.summary for side in sides]
    differ("program", [s.app for s in summaries])
    differ("arguments", [_arguments(run.profile.metadata.raw) for run in runs])
    differ("ranks", [s.ranks for s in summaries])
    differ("rank", [s.rank for s in summaries])
    differ("host", [run.profile.metadata.raw.get("host") or "unknown" for run in runs])
    differ("interval in s", [f"{s.interval_s:g}" for s in summaries])
    differ("samples per second", [f"{s.rate_hz:g}" for s in summaries])
    differ("call paths", ["yes" if run.stack_s is not None else "none" for run in runs])
    busy = [_busy(run) for run in runs]
    a, b = float(np.mean(busy[:first])), float(np.mean(busy[first:]))
    if abs(a - b) > BUSY_APART * max(a, b):
        lines.append(f"CPU seconds per second: {a:.2f} in A, {b:.2f} in B: something else ran, or one of them waited")
    still = [float(run.wall_s[run.stands_still].sum()) for run in runs]
    if max(still) > 0:
        a, b = float(np.mean(still[:first])), float(np.mean(still[first:]))
        lines.append(f"waiting for long, which counts as CPU time in gates: {a:.3g} s in A, {b:.3g} s in B")
    common = _in_common(runs, first)
    if common < HARDLY:
        lines.append(f"the runs have {100 * common:.0f} % of their time in functions that both have: the same program?")
    if len({_recording(run) for run in runs}) < len(runs):
        lines.append("a recording was given more than once: it hides the variation from run to run")
    builds = {side.build for side in sides}
    if len(builds) == 1 and None not in builds:
        lines.append("all runs are of the same build")
    return tuple(lines)


def alike(rows: Sequence[PhaseRow]) -> tuple[str, ...]:
    """Return a line if all phases of both sides changed by the same factor, rather than one of them."""
    both = [row.cpu or row for row in rows if row.ci is not None]
    if len({row.verdict for row in both} - {"same"}) != 1 or sum(row.verdict != "same" for row in both) < 2:
        return ()
    factor = sum(row.b.seconds for row in both) / sum(row.a.seconds for row in both)
    if not all(row.ci is not None and row.ci.low <= factor <= row.ci.high for row in both):
        return ()
    return (
        f"all phases of both changed alike, by {100 * (factor - 1):+.0f} %: the machine, its load, the compiler or the "
        "input, rather than one phase",
    )


def _arguments(raw: Mapping[str, Any]) -> str:
    """Return the arguments of the program in a line, shortened if necessary."""
    argv = raw.get("argv")
    words = [str(word) for word in argv[1:]] if isinstance(argv, list) else []
    line = " ".join(words) or "none"
    return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]}...{line[-LONGEST // 2 :]}"


def _recording(run: Measured) -> object:
    """Return an identity of a recording, as far as its metadata have one."""
    raw = run.profile.metadata.raw
    known = (raw.get("host"), raw.get("pid"), raw.get("start_unix_ns"))
    return id(run) if None in known else repr(known)


def _busy(run: Measured) -> float:
    """Return the CPU time of a run over its wall time."""
    wall = float(np.maximum(run.profile.end_s - run.profile.start_s, 0.0).sum())
    return float(cpu_seconds(run.profile).sum()) / wall if wall > 0 else 0.0


def _in_common(runs: Sequence[Measured], first: int) -> float:
    """Return the share of time in functions that both sides have, of the side that has less of it."""
    total = [np.asarray(run.self_s.sum(axis=0)).ravel() for run in runs]
    a, b = np.sum(total[:first], axis=0), np.sum(total[first:], axis=0)
    both = (a > 0) & (b > 0)
    parts = [float(side[both].sum() / side.sum()) for side in (a, b) if side.sum() > 0]
    return min(parts, default=math.nan)
