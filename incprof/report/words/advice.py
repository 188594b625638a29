"""What is said of advice, for people and in JSON."""

from __future__ import annotations

from incprof.analysis.advice import Advice, Effect, Rule, Saving
from incprof.report.words.beats_compare import signed
from incprof.report.words.counters import SIMULATED
from incprof.report.words.names import clean


def subject(effect: Effect) -> str:
    """Return what an effect is on."""
    return "the whole run" if effect.phase is None else f"phase {effect.phase} ({clean(effect.name, 60)})"


def change(effect: Effect) -> str:
    """Return by how much time changes, with its interval."""
    a, b = effect.seconds
    if effect.ci is None or not a > 0:
        return "not available"
    low, high = (signed(100 * (value - 1)) for value in (effect.ci.low, effect.ci.high))
    return f"{signed(100 * (b / a - 1))} % of time ({low} to {high} %)"


def saving(found: Saving | None) -> str:
    """Return what is saved, with its interval; `-` where that is not known."""
    if found is None:
        return "-"
    mark = f" ({SIMULATED})" if found.simulated else ""
    return f"{100 * found.share:.3g} % of {found.of}{mark} ({100 * found.low:.3g} to {100 * found.high:.3g} %)"


def advice_line(effect: Effect) -> str:
    """Return a piece of advice that was measured."""
    return f"{effect.setting.name} for {subject(effect)}: saves {saving(effect.saving)}, {change(effect)}"


def rule_line(rule: Rule) -> str:
    """Return a piece of advice by rule: it says that nobody measured it."""
    if rule.what == "frequency":
        return (
            f"by rule: a lower frequency should cost phase {rule.phase} little: it is bound by {rule.why}; not measured"
        )
    return f"by rule: more threads should not help phase {rule.phase}: {rule.why}; not measured"


def no_advice(found: Advice) -> str:
    """Return why nothing is advised."""
    if not found.effects:
        return "nothing is advised: no rule applies"
    return (
        f"nothing is advised from {found.runs} run{'s' * (found.runs != 1)} of each: no setting surely saves and takes "
        f"at most {100 * found.tolerance:g} % more time (--runs, --tolerance)"
    )
