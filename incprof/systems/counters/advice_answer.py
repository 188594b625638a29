"""Advice in a terminal and as JSON, schema incprof.advice/1 (advise.md): the measurements and the advice."""

from __future__ import annotations

from typing import TextIO

from incprof.report.render.json import significant, write
from incprof.report.words.display_names import clean
from incprof.report.words.formatting import SIMULATED, folded, signed
from incprof.systems.counters.advice import Advice, Effect, Rule, Saving, Setting


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
        "effects": [_effect(effect) for effect in advice.effects],
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


def _effect(effect: Effect) -> dict[str, object]:
    """Return the effect of a setting on a phase; `phase` is null for the run."""
    a, b = effect.seconds
    ci = effect.ci
    return {
        "setting": _setting(effect.setting),
        "phase": effect.phase,
        "name": effect.name,
        "baseline_s": significant(a, 9),
        "seconds": significant(b, 9),
        "change_pct": significant(100 * (b / a - 1), 6) if a > 0 else None,
        "interval_pct": None if ci is None else [significant(100 * (value - 1), 6) for value in (ci.low, ci.high)],
        "hardly": effect.hardly,
        "saving": None if effect.saving is None else _saving(effect.saving),
        "advised": effect.advised,
    }


def _saving(saved: Saving) -> dict[str, object]:
    return {
        "of": saved.of,
        "pct": significant(100 * saved.share, 6),
        "interval_pct": [significant(100 * value, 6) for value in (saved.low, saved.high)],
        "simulated": saved.simulated,
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
