"""Advice from runs under other thread counts and frequencies: which phases hardly depend on them, and the saving.

All advice rests on evidence: a measured confidence interval, or a rule, which is marked as one and gives its reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TextIO

from incprof.analysis.compare.noise import Change
from incprof.analysis.diff.diff_result import Comparison, PhaseRow, Row
from incprof.analysis.phase_result import PhaseResult
from incprof.report.render.json import fields, significant, write
from incprof.report.words.display_names import clean
from incprof.report.words.formatting import SIMULATED, folded, signed
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


# Advice in a terminal and as JSON, schema incprof.advice/1 (advise.md): the measurements and the advice.


def write_text(advice: Advice, out: TextIO, *, width: int) -> None:
    """Write the effects of each setting, and the advice."""
    if advice.effects:
        runs = f"{advice.runs} run{'s' * (advice.runs != 1)} of each"
        out.write(f"measured against {advice.baseline.name}, {runs}, 95 % intervals\n")
    setting = None
    for effect in advice.effects:
        if effect.setting != setting:
            setting = effect.setting
            out.write(f"\n{setting.name}\n")
        hardly = "; hardly depends on it" if effect.hardly else ""
        for line in folded(f"{subject(effect)}: {change(effect)}{hardly}", width, "  ", "    "):
            out.write(line + "\n")
        for line in folded(f"saves {saving(effect.saving)}", width, "    ", "    ") if effect.saving else ():
            out.write(line + "\n")
    if advice.effects:
        out.write("\n")
    lines = [advice_line(effect) for effect in advice.effects if effect.advised]
    lines += [rule_line(rule) for rule in advice.rules]
    for text in lines or [no_advice(advice)]:
        for line in folded(text, width, "advice: ", "        "):
            out.write(line + "\n")
    for text in advice.not_measured:
        for line in folded(text, width, "note: ", "      "):
            out.write(line + "\n")


SCHEMA = "incprof.advice/1"


def write_json(advice: Advice, out: TextIO) -> None:
    """Write one JSON object and a newline."""
    answer = {
        "schema": SCHEMA,
        "baseline": _setting(advice.baseline),
        "runs": advice.runs,
        "tolerance_pct": significant(100 * advice.tolerance, 6),
        "effects": [_effect_json(effect) for effect in advice.effects],
        "rules": [
            {"phase": rule.phase, "what": rule.what, "why": rule.why, "measured": False, "said": rule_line(rule)}
            for rule in advice.rules
        ],
        "advice": [advice_line(effect) for effect in advice.effects if effect.advised]
        + [rule_line(rule) for rule in advice.rules],
        "not_measured": list(advice.not_measured),
    }
    write(answer, out)


def _setting(setting: Setting) -> dict[str, object]:
    return {"threads": setting.threads, "khz": setting.khz}


def _effect_json(effect: Effect) -> dict[str, object]:
    """Return the effect of a setting on a phase; `phase` is null for the run."""
    a, b = effect.seconds
    ci, saved = effect.ci, effect.saving
    return {
        "setting": _setting(effect.setting),
        **fields(effect, "phase name"),
        "baseline_s": significant(a, 9),
        "seconds": significant(b, 9),
        "change_pct": significant(100 * (b / a - 1), 6) if a > 0 else None,
        "interval_pct": None if ci is None else [significant(100 * (value - 1), 6) for value in (ci.low, ci.high)],
        "hardly": effect.hardly,
        "saving": saved
        and {
            "of": saved.of,
            "pct": significant(100 * saved.share, 6),
            "interval_pct": [significant(100 * value, 6) for value in (saved.low, saved.high)],
            "simulated": saved.simulated,
        },
        "advised": effect.advised,
    }


def subject(effect: Effect) -> str:
    """Return the subject of an effect."""
    return "the whole run" if effect.phase is None else f"phase {effect.phase} ({clean(effect.name, 60)})"


def change(effect: Effect) -> str:
    """Return the change of time, with its interval."""
    a, b = effect.seconds
    if effect.ci is None or not a > 0:
        return "not available"
    low, high = (signed(100 * (value - 1)) for value in (effect.ci.low, effect.ci.high))
    return f"{signed(100 * (b / a - 1))} % of time ({low} to {high} %)"


def saving(value: Saving | None) -> str:
    """Return the saving, with its interval; `-` where it is unknown."""
    if value is None:
        return "-"
    mark = f" ({SIMULATED})" if value.simulated else ""
    return f"{100 * value.share:.3g} % of {value.of}{mark} ({100 * value.low:.3g} to {100 * value.high:.3g} %)"


def advice_line(effect: Effect) -> str:
    """Return a piece of measured advice."""
    return f"{effect.setting.name} for {subject(effect)}: saves {saving(effect.saving)}, {change(effect)}"


def rule_line(rule: Rule) -> str:
    """Return a piece of advice by rule, marked as not measured."""
    if rule.what == "frequency":
        return (
            f"by rule: a lower frequency should cost phase {rule.phase} little: it is bound by {rule.why}; not measured"
        )
    return f"by rule: more threads should not help phase {rule.phase}: {rule.why}; not measured"


def no_advice(advice: Advice) -> str:
    """Return the reason why nothing is advised."""
    if not advice.effects:
        return "no advice: no rule applies"
    return (
        f"no advice from {advice.runs} run{'s' * (advice.runs != 1)} of each: no setting certainly saves and takes "
        f"at most {100 * advice.tolerance:g} % more time (--runs, --tolerance)"
    )
