"""Advice from runs under other thread counts and frequencies: which phases hardly depend on them, and what that saves.

Nothing is advised without evidence: an interval that was measured, or a rule, which says that it is one and why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from incprof.analysis.beats.noise import Change
from incprof.analysis.counters.results import Bound
from incprof.analysis.diff.results import Comparison, PhaseRow, Row
from incprof.analysis.phases.results import PhaseResult

# Of what a saving is: the node's energy where power was sampled, else what is reserved, threads times time.
SavingOf = Literal["energy", "processor time"]
# A phase that keeps less than this busy of several threads is serial but for noise.
SERIAL = 1.1
# What a frequency changes little: the processor is not what it waits for.
NOT_BY_FREQUENCY = ("waiting", "io", "memory")


@dataclass(frozen=True)
class Setting:
    """What a program runs under. threads: OMP_NUM_THREADS. khz: the limit to the frequency. None: as it is."""

    threads: int | None = None
    khz: int | None = None

    @property
    def name(self) -> str:
        """What it is called, for people."""
        parts = [] if self.threads is None else [f"{self.threads} thread{'s' * (self.threads != 1)}"]
        parts += [] if self.khz is None else [f"{self.khz / 1e6:.3g} GHz at most"]
        return ", ".join(parts) or "as it is"

    @property
    def slug(self) -> str:
        """A name for files."""
        return f"t{self.threads or 0}" + (f"-f{self.khz}" if self.khz is not None else "")


@dataclass(frozen=True)
class Saving:
    """What a setting saves, a share of what the baseline takes; low, high: its interval. simulated: power was."""

    of: SavingOf
    share: float
    low: float
    high: float
    simulated: bool = False


@dataclass(frozen=True)
class Effect:
    """What a setting does to a phase, or the run (phase None).

    seconds: of the baseline and under the setting. ci: of the factor between them; None where it cannot be told.
    hardly: time surely grows by the tolerance at most. saving: None where none is known.
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
        """Whether it is worth it for sure: hardly slower, and a saving whose interval is above nothing."""
        return self.hardly and self.saving is not None and self.saving.low > 0


@dataclass(frozen=True)
class Rule:
    """What a rule says of a phase without having run it. what: frequency or threads. why: the reason."""

    phase: int
    what: Literal["frequency", "threads"]
    why: str


@dataclass(frozen=True)
class Advice:
    """What was found. baseline: what the effects are held against. runs: of each setting. tolerance: a share.

    rules: for what was not measured, and not_measured why that is.
    """

    baseline: Setting
    runs: int
    tolerance: float
    effects: tuple[Effect, ...]
    rules: tuple[Rule, ...]
    not_measured: tuple[str, ...]


def effects_of(baseline: Setting, setting: Setting, found: Comparison, tolerance: float) -> list[Effect]:
    """Return what a setting does to the run and to each phase that both have; `found` holds it against the baseline."""
    rows = [row for row in found.phases if row.verdict not in ("gone", "new")]
    return [_effect(baseline, setting, row, tolerance) for row in (*rows, found.run)]


def _effect(baseline: Setting, setting: Setting, row: PhaseRow | Row, tolerance: float) -> Effect:
    hardly = row.ci is not None and row.ci.high <= 1 + tolerance
    seconds = row.a.seconds, row.b.seconds
    return Effect(setting, row.group, row.name, seconds, row.ci, hardly, _saving(baseline, setting, row))


def _saving(baseline: Setting, setting: Setting, row: Row) -> Saving | None:
    """Return what a setting saves of the energy; of the processor time where no power is known."""
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
    what: Sequence[str], *, alone: bool,
) -> list[Rule]:  # fmt: skip
    """Return what rules say of phases that were not run otherwise.

    Args:
        result: phases of a recording.
        bounds: what each is bound by, from counters.
        busy: processors that each keeps busy, and threads that it has.
        what: of frequency and threads, what was not measured.
        alone: others surely left the run its processors; else what it did not use, they may have had.
    """
    rules = []
    for phase in result.phases:
        bound, waits = bounds.get(phase.id), phase.off_cpu and not phase.outside
        by = bound.by if bound is not None else "waiting" if phase.mostly == "waiting" or waits else None
        if "frequency" in what and by in NOT_BY_FREQUENCY and (alone or by != "waiting"):
            rules.append(Rule(phase.id, "frequency", {"io": "input and output"}.get(by, by)))
        used, threads = busy.get(phase.id, (0.0, 1.0))
        if alone and "threads" in what and threads >= 1.5 and used <= SERIAL:
            rules.append(Rule(phase.id, "threads", f"{used:.2f} processors busy of {threads:.3g} threads"))
    return rules
