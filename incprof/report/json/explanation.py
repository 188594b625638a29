"""The reasons for phases and sites as JSON: the key `explain` of incprof.phases/1 (docs/use/phases.md)."""

from __future__ import annotations

from dataclasses import asdict

from incprof.analysis.explain import Explanation
from incprof.analysis.phase_result import PhaseResult
from incprof.report.words.explanation import phase_lines, run_lines, told_of
from incprof.report.words.phase_names import names_of
from incprof.report.words.run import rounded
from incprof.report.words.site_evidence import site_lines


def explain_dict(result: PhaseResult, why: Explanation) -> dict[str, object]:
    """Return the numbers, and under `text` the sentences of the text output."""
    names = names_of(result, told_of(why))
    phases = []
    for phase, evidence, sites in zip(result.phases, why.phases, why.sites, strict=True):
        known = [{**_plain(asdict(site)), "text": site_lines(site, result.options.sites, names)} for site in sites]
        phases.append({**_plain(asdict(evidence)), "text": phase_lines(result, phase, evidence, names), "sites": known})
    run = {**_plain(asdict(why.run)), "text": run_lines(result, why.run, names)}
    thresholds = {f"{room}.{one.name}": one.value for room, one in result.options.listed()}
    return {"run": run, "phases": phases, "thresholds": thresholds}


def _plain(values: dict[str, object]) -> dict[str, object]:
    """Round the numbers as in the rest of the output."""
    rounded_values = _rounded(values)
    assert isinstance(rounded_values, dict)
    return rounded_values


def _short(value: object) -> object:
    """Round the duration of a call, which may be nanoseconds."""
    return round(value, 12) if isinstance(value, float) else value


def _rounded(value: object) -> object:
    """Round a value, or all values nested in it."""
    if isinstance(value, dict):
        return {str(key): _short(inner) if key == "call_s" else _rounded(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(inner) for inner in value]
    return rounded(value) if isinstance(value, float) else value
