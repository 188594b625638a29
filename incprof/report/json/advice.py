"""Advice as JSON, schema incprof.advice/1 (docs/advise.md)."""

from __future__ import annotations

from typing import TextIO

from incprof.analysis.advice import Advice, Effect, Saving, Setting
from incprof.report.json.writing import significant, write
from incprof.report.words import advice as say

SCHEMA = "incprof.advice/1"


def write_json(found: Advice, out: TextIO) -> None:
    """Write one JSON object and a newline."""
    answer = {
        "schema": SCHEMA,
        "baseline": _setting(found.baseline),
        "runs": found.runs,
        "tolerance_pct": significant(100 * found.tolerance, 6),
        "effects": [_effect(effect) for effect in found.effects],
        "rules": [
            {"phase": rule.phase, "what": rule.what, "why": rule.why, "measured": False, "said": say.rule_line(rule)}
            for rule in found.rules
        ],
        "advice": [say.advice_line(effect) for effect in found.effects if effect.advised]
        + [say.rule_line(rule) for rule in found.rules],
        "not_measured": list(found.not_measured),
    }
    write(answer, out)


def _setting(setting: Setting) -> dict[str, object]:
    return {"threads": setting.threads, "khz": setting.khz}


def _effect(effect: Effect) -> dict[str, object]:
    """Return what a setting does to a phase; `phase` is null for the run."""
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


def _saving(found: Saving) -> dict[str, object]:
    return {
        "of": found.of,
        "pct": significant(100 * found.share, 6),
        "interval_pct": [significant(100 * value, 6) for value in (found.low, found.high)],
        "simulated": found.simulated,
    }
