"""Phases as JSON, schema incprof.phases/1 (docs/use/phases.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TextIO

from incprof.analysis.phase_result import Phase, PhaseResult, Rest, RunSummary, Step, verdict
from incprof.analysis.phases.clustering import Border, KScore, Level, ShortStretch, Stage
from incprof.analysis.ranks.ranks_result import RanksResult
from incprof.model.section import Section
from incprof.model.time_use import SPENT
from incprof.report.json.ranks import with_ranks
from incprof.report.json.writing import write
from incprof.report.render.json import json_section
from incprof.report.words.calls import calls_json
from incprof.report.words.doubts import doubt_lines
from incprof.report.words.run import rounded, run_json
from incprof.report.words.site_evidence import no_site

SCHEMA = "incprof.phases/1"


def write_json(
    run: RunSummary,
    result: PhaseResult,
    out: TextIO,
    *,
    ranks: RanksResult | None = None,
    sections: Sequence[Section] = (),
    **more: Mapping[str, object] | Sequence[object] | None,
) -> None:
    """Write one JSON object and a newline.

    ranks: all ranks. more, sections: each is written under its name, unless it is None.
    """
    answer = as_dict(run, result)
    if ranks is not None:
        answer = with_ranks(answer, ranks)
    answer |= {key: value for key, value in more.items() if value is not None}
    answer |= {section.name: json_section(section) for section in sections}
    write(answer, out, ascii_only=False)


def as_dict(run: RunSummary, result: PhaseResult) -> dict[str, object]:
    """Return the answer in the terms of the schema."""
    return {
        "schema": SCHEMA,
        "run": run_json(run),
        "rank": run.rank,
        "method": result.method,
        "k": result.k,
        "k_clusters": result.k_clusters,
        "rule": result.rule,
        "votes": result.votes,
        "verdict": verdict(result),
        "scatter": rounded(result.scatter),
        "k_again": rounded(result.k_again),
        "beats_pct": rounded(result.beats_pct),
        "paths_estimated": result.paths_estimated,
        "dispersion": rounded(result.dispersion),
        "features": result.features,
        "scores": [_score(score) for score in result.scores],
        "end_s": [rounded(end) for end in result.end_s.tolist()],
        "labels": result.labels.tolist(),
        "mostly": None if result.spent is None else [SPENT[kind] for kind in result.spent.tolist()],
        "clusters": result.clusters.tolist(),
        "phases": [_phase(phase, run.counted) for phase in result.present],
        "borders": [_border(border, result) for border in result.borders],
        "levels": [_level(level) for level in result.levels],
        "short": [_short(stretch) for stretch in result.short],
        "stages": None if result.stages is None else _stage(result.stages),
        "notes": doubt_lines(result),
        "warnings": list(result.warnings),
    }


def _stage(stage: Stage) -> dict[str, object]:
    """Return a part of the run and its children."""
    return {
        "function": None if stage.function is None else stage.function.name,
        "start_s": rounded(stage.start_s),
        "end_s": rounded(stage.end_s),
        "seconds": rounded(stage.seconds),
        "app_pct": rounded(stage.app_pct),
        "episodes": stage.episodes,
        "phase": stage.phase,
        "stages": [_stage(below) for below in stage.stages],
    }


def _short(stretch: ShortStretch) -> dict[str, object]:
    """Return a behaviour too short for a phase."""
    return {
        "function": None if stretch.function is None else stretch.function.name,
        "share": rounded(stretch.share),
        "spans": [list(span) for span in stretch.spans],
    }


def _border(border: Border, result: PhaseResult) -> dict[str, object]:
    """Return a change point and the functions that describe it."""
    return {
        "interval": border.interval,
        "time_s": rounded(float(result.end_s[border.interval - 1]) if border.interval else 0.0),
        "before": border.before,
        "after": border.after,
        "function": None if border.function is None else border.function.name,
        "share_before": rounded(border.share_before),
        "share_after": rounded(border.share_after),
        "score": rounded(border.score),
    }


def _level(level: Level) -> dict[str, object]:
    """Return a level of the phase hierarchy."""
    return {
        "k": level.k,
        "phases": [list(group) for group in level.phases],
        "function": None if level.function is None else level.function.name,
        "difference": rounded(level.difference),
    }


def _score(score: KScore) -> dict[str, object]:
    """Return the scores of one k."""
    return {
        "k": score.k,
        "inertia": rounded(score.inertia),
        "silhouette": rounded(score.silhouette),
        "calinski_harabasz": rounded(score.calinski_harabasz),
        "noise_ratio": rounded(score.noise_ratio),
        "misfits": score.misfits,
        "stability": rounded(score.stability),
    }


def _phase(phase: Phase, counted: bool) -> dict[str, object]:
    """Return one phase.

    counted: whether calls were counted; otherwise the kinds of sites are as certain as the estimates.
    """
    estimated = {} if counted else {"estimated": True}
    return {
        "id": phase.id,
        "intervals": phase.intervals,
        "app_pct": rounded(phase.app_pct),
        "seconds": rounded(phase.seconds),
        "off_cpu": phase.off_cpu and not phase.outside,
        "confidence": rounded(phase.confidence),
        "mostly": phase.mostly,
        "spent": {kind: rounded(seconds) for kind, seconds in phase.spent.items()},
        "clusters": list(phase.clusters),
        "functions": [
            {
                "name": top.function.name,
                "module": top.function.module,
                "self_s": rounded(top.self_s),
                "share": rounded(top.share),
                "calls": top.calls,
            }
            | calls_json(top.estimated)
            for top in phase.functions
        ],
        "sites": [
            {
                "heartbeat": site.heartbeat,
                "function": site.function.name,
                "module": site.function.module,
                "mangled": site.function.mangled,
                "kind": site.kind,
                "phase_pct": rounded(site.phase_pct),
                "app_pct": rounded(site.app_pct),
                "beats_hz": rounded(site.cost.beats_hz) if site.cost else None,
                "rate_factor": site.cost.rate_factor if site.cost else None,
                "overhead_pct": rounded(site.cost.overhead_pct) if site.cost else None,
                "file": site.file,
                "line": site.line,
            }
            | estimated
            for site in phase.sites
        ],
        "no_site": None if phase.sites else no_site(phase),
        "steps": [_step(step) for step in phase.steps],
    }


def _rest(rest: Rest) -> dict[str, object]:
    """Return a loop's CPU time outside of its steps, seconds per iteration, and the functions that may wait in it."""
    spent = {kind: round(seconds, 9) for kind, seconds in rest.spent.items()}
    return {"cpu_s": spent, "waits": [function.name for function in rest.waits]}


def _step(step: Step) -> dict[str, object]:
    """Return a step with those below it."""
    return {
        "function": step.function.name,
        "kind": step.kind,
        "share": rounded(step.share),
        "calls": step.calls,
        "mean_s": round(step.mean_s, 9),
        "file": step.file,
        "line": step.line,
        "driver": step.driver.name if step.driver else None,
        "period_s": None if step.period_s is None else round(step.period_s, 9),
        "every": step.every,
        "times": step.times,
        "order": step.order,
        "per_iteration": rounded(step.per_iteration),
        "per_call": rounded(step.per_call),
        "cpu": rounded(step.cpu),
        "rest": None if step.rest is None else _rest(step.rest),
        "steps": [_step(below) for below in step.steps],
    } | calls_json(step.estimated)
