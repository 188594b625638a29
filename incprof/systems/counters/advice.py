"""Advice from runs under other thread counts and frequencies: which phases hardly depend on them, and the saving.

All advice rests on evidence: a measured confidence interval, or a rule, which is marked as one and gives its reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from incprof.analysis.compare.noise import Change
from incprof.analysis.diff.diff_result import Comparison, PhaseRow, Row
from incprof.analysis.phase_result import PhaseResult
from incprof.systems.counters.analyse import Bound

# What a saving is a share of: the node's energy where power was sampled, else reserved threads times time.
SavingOf = Literal["energy", "processor time"]
# A phase that keeps fewer processors than this busy, of several threads, is serial up to noise.
SERIAL = 1.1
# Bounds that frequency changes little: the phase does not wait for the processor.
NOT_BY_FREQUENCY = ("waiting", "io", "memory")


@dataclass(frozen=True)
class Setting:
    """Settings that a program runs under; None leaves a setting unchanged.

    Attributes:
        threads: OMP_NUM_THREADS.
        khz: frequency limit, kHz.
    """

    threads: int | None = None
    khz: int | None = None

    @property
    def name(self) -> str:
        """Label for users."""
        parts = [] if self.threads is None else [f"{self.threads} thread{'s' * (self.threads != 1)}"]
        parts += [] if self.khz is None else [f"{self.khz / 1e6:.3g} GHz at most"]
        return ", ".join(parts) or "as it is"

    @property
    def slug(self) -> str:
        """Label for file names."""
        return f"t{self.threads or 0}" + (f"-f{self.khz}" if self.khz is not None else "")


@dataclass(frozen=True)
class Saving:
    """What a setting saves, as a share of the baseline's consumption.

    Attributes:
        of: energy or processor time.
        share: the saving, of 1.
        low: lower end of its confidence interval.
        high: upper end.
        simulated: whether the power was simulated.
    """

    of: SavingOf
    share: float
    low: float
    high: float
    simulated: bool = False


@dataclass(frozen=True)
class Effect:
    """Effect of a setting on a phase, or on the run.

    Attributes:
        setting: the setting.
        phase: id of the phase; None for the run.
        name: of the phase.
        seconds: of the baseline, and under the setting.
        ci: confidence interval of the factor between the two; None if it cannot be estimated.
        hardly: whether time grows by at most the tolerance, even at the upper end of `ci`.
        saving: None where it cannot be estimated.
    """

    setting: Setting
    phase: int | None
    name: str
    seconds: tuple[float, float]
    ci: Change | None
    hardly: bool
    saving: Saving | None

    @property
    def advised(self) -> bool:
        """Whether the setting is worthwhile beyond doubt: hardly slower, and a saving whose interval is above zero."""
        return self.hardly and self.saving is not None and self.saving.low > 0


@dataclass(frozen=True)
class Rule:
    """A rule's prediction for a phase, without a run under another setting.

    Attributes:
        phase: id of the phase.
        what: frequency or threads.
        why: the reason.
    """

    phase: int
    what: Literal["frequency", "threads"]
    why: str


@dataclass(frozen=True)
class Advice:
    """Effects of the settings that were run, and rules for the others.

    Attributes:
        baseline: the setting that effects are compared with.
        runs: number of runs of each setting.
        tolerance: accepted slowdown, a share.
        effects: measured effects.
        rules: predictions for what was not measured.
        not_measured: reasons why it was not.
    """

    baseline: Setting
    runs: int
    tolerance: float
    effects: tuple[Effect, ...]
    rules: tuple[Rule, ...]
    not_measured: tuple[str, ...]


def effects_of(baseline: Setting, setting: Setting, comparison: Comparison, tolerance: float) -> list[Effect]:
    """Return the effect of a setting on the run and each phase of both sides. comparison: setting against baseline."""
    rows = [row for row in comparison.phases if row.verdict not in ("gone", "new")]
    return [_effect(baseline, setting, row, tolerance) for row in (*rows, comparison.run)]


def _effect(baseline: Setting, setting: Setting, row: PhaseRow | Row, tolerance: float) -> Effect:
    hardly = row.ci is not None and row.ci.high <= 1 + tolerance
    seconds = row.a.seconds, row.b.seconds
    return Effect(setting, row.group, row.name, seconds, row.ci, hardly, _saving(baseline, setting, row))


def _saving(baseline: Setting, setting: Setting, row: Row) -> Saving | None:
    """Return the energy that a setting saves; the processor time where power is not available."""
    if row.energy is not None:
        ratio, ci = row.energy.ratio, row.energy.ci
        if ratio is None or ci is None:
            return None
        return Saving("energy", 1 - ratio, 1 - ci.high, 1 - ci.low, row.energy.simulated)
    if (
        setting.threads is None
        or not baseline.threads
        or setting.khz is not None
        or row.ratio is None
        or row.ci is None
    ):
        return None
    part = setting.threads / baseline.threads
    return Saving("processor time", 1 - part * row.ratio, 1 - part * row.ci.high, 1 - part * row.ci.low)


def by_rule(
    result: PhaseResult, bounds: Mapping[int, Bound | None], busy: Mapping[int, tuple[float, float]],
    what: Sequence[str], *, measured_alone: bool,
) -> list[Rule]:  # fmt: skip
    """Return the rules that apply to phases which were not run under other settings.

    Args:
        result: phases of a recording.
        bounds: what each phase is bound by, from counters.
        busy: processors that each phase keeps busy, and the threads that it has.
        what: frequency, threads or both: what was not measured.
        measured_alone: whether no other process competed for the processors; else it may have used those that were
            idle here.
    """
    rules = []
    for phase in result.phases:
        bound, waits = bounds.get(phase.id), phase.off_cpu and not phase.outside
        by = bound.by if bound is not None else "waiting" if phase.mostly == "waiting" or waits else None
        if "frequency" in what and by in NOT_BY_FREQUENCY and (measured_alone or by != "waiting"):
            rules.append(Rule(phase.id, "frequency", {"io": "input and output"}.get(by, by)))
        used, threads = busy.get(phase.id, (0.0, 1.0))
        if measured_alone and "threads" in what and threads >= 1.5 and used <= SERIAL:
            rules.append(Rule(phase.id, "threads", f"{used:.2f} processors busy of {threads:.3g} threads"))
    return rules
