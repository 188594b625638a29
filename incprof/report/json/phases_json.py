"""Phases as JSON, schema incprof.phases/1 (docs/use/phases.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, TextIO

from incprof.analysis.explain import Explanation
from incprof.analysis.phase_result import Phase, PhaseResult, Rest, RunSummary, Step, verdict
from incprof.analysis.phases.clustering import Boundary, KScore, Level, ShortSegment, Stage
from incprof.analysis.ranks.all_ranks import worked_s
from incprof.analysis.ranks.ranks_result import PhaseBalance, RanksResult, Spread
from incprof.analysis.thread_roles import ThreadRoles
from incprof.model.section import Section
from incprof.model.time_use import MPI, SPENT
from incprof.report.render.json import json_section, rounded, run_json, write
from incprof.report.words.display_names import names_of
from incprof.report.words.formatting import calls_json
from incprof.report.words.phase_words import caveat_lines, functions_in_evidence, phase_lines, run_lines
from incprof.report.words.site_evidence import no_site, site_lines

SCHEMA = "incprof.phases/1"


def write_json(
    run: RunSummary,
    result: PhaseResult,
    out: TextIO,
    *,
    ranks: RanksResult | None = None,
    sections: Sequence[Section] = (),
    cards: Mapping[int, Mapping[str, object]] | None = None,
    **more: Mapping[str, object] | Sequence[object] | None,
) -> None:
    """Write one JSON object and a newline.

    ranks: all ranks. cards: by phase. more, sections: each is written under its name, unless it is None.
    """
    answer: dict[str, Any] = as_dict(run, result)
    if cards is not None:
        answer["phases"] = [phase | {"card": cards[phase["id"]]} for phase in answer["phases"]]
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
        "borders": [_boundary(boundary, result) for boundary in result.borders],
        "levels": [_level(level) for level in result.levels],
        "short": [_short(segment) for segment in result.short],
        "stages": None if result.stages is None else _stage(result.stages),
        "notes": caveat_lines(result),
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


def _short(segment: ShortSegment) -> dict[str, object]:
    """Return a behaviour too short for a phase."""
    return {
        "function": None if segment.function is None else segment.function.name,
        "share": rounded(segment.share),
        "spans": [list(span) for span in segment.spans],
    }


def _boundary(boundary: Boundary, result: PhaseResult) -> dict[str, object]:
    """Return a change point and the functions that describe it."""
    return {
        "interval": boundary.interval,
        "time_s": rounded(float(result.end_s[boundary.interval - 1]) if boundary.interval else 0.0),
        "before": boundary.before,
        "after": boundary.after,
        "function": None if boundary.function is None else boundary.function.name,
        "share_before": rounded(boundary.share_before),
        "share_after": rounded(boundary.share_after),
        "score": rounded(boundary.score),
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


def _remainder(remainder: Rest) -> dict[str, object]:
    """Return a loop's CPU time outside of its steps, seconds per iteration, and the functions that may wait in it."""
    seconds_by_kind = {kind: round(seconds, 9) for kind, seconds in remainder.spent.items()}
    return {"cpu_s": seconds_by_kind, "waits": [function.name for function in remainder.waits]}


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
        "rest": None if step.rest is None else _remainder(step.rest),
        "steps": [_step(below) for below in step.steps],
    } | calls_json(step.estimated)


# Ranks as JSON: the keys that incprof.phases/1 adds for a run of several ranks (docs/use/phases.md).


def with_ranks(answer: dict[str, Any], ranks: RanksResult) -> dict[str, Any]:
    """Return the answer of one rank, extended by the results for all ranks."""
    over = {phase.id: _of_phase(phase) for phase in ranks.phases}
    phases = [phase | over[phase["id"]] for phase in answer["phases"]]
    present = {phase["id"] for phase in phases}
    return answer | {
        "phases": phases,
        "absent": [{"id": number, **phase} for number, phase in over.items() if number not in present],
        "found_in": [part.rank for part in ranks.parts],
        "per_rank": _per_rank(ranks),
        "stragglers": [
            {
                "rank": one.rank,
                "phase": one.phase,
                "seconds": rounded(one.seconds),
                "usual_s": rounded(one.usual_s),
                "excess": rounded(one.excess),
                "sigmas": rounded(one.sigmas),
                "why": [{"function": name, "more_s": rounded(more)} for name, more in one.why],
            }
            for one in ranks.stragglers
        ],
        "groups": [{"ranks": list(group.ranks), "typical": group.typical} for group in ranks.groups],
        "outliers": [
            {
                "rank": one.rank,
                "distance": rounded(one.distance),
                "unexplained": rounded(one.unexplained),
                "why": [{"function": d.function, "here": rounded(d.here), "there": rounded(d.there)} for d in one.why],
            }
            for one in ranks.outliers
        ],
        "late": [{"rank": rank, "seconds": rounded(seconds)} for rank, seconds in ranks.late],
        "clocks": [
            {
                "host": one.host,
                "ahead_s": rounded(one.late_s),
                "drift": rounded(one.drift * 1e6),
                "borders": one.boundaries,
                "before_s": rounded(one.before_s),
                "after_s": rounded(one.after_s),
            }
            for one in ranks.clocks
        ],
    }


def _of_phase(over: PhaseBalance) -> dict[str, Any]:
    """Return a phase over ranks."""
    return {
        "ranks": over.ranks,
        "imbalance": rounded(over.work.imbalance),
        "imbalance_error": rounded(over.error),
        "slowest": over.slowest,
        "work_s": _spread(over.work),
        "mpi_s": _spread(over.mpi),
        "wall_s": _spread(over.wall),
    }


def _spread(one: Spread) -> dict[str, Any]:
    return {
        "min": rounded(one.least),
        "median": rounded(one.median),
        "max": rounded(one.most),
        "mean": rounded(one.mean),
    }


def _per_rank(ranks: RanksResult) -> list[dict[str, Any]]:
    """Return each rank: its phases, its agreement with the others, and its work."""
    work = worked_s(ranks.spent)
    return [
        {
            "rank": own.rank,
            "labels": own.of_intervals(own.label).tolist(),
            "agreement": rounded(agreement),
            "host": own.host or None,
            "start_s": rounded(float(ranks.offset_s[place])),
            "wall_s": [rounded(seconds) for seconds in ranks.wall_s[place, :-1].tolist()],
            "work_s": [rounded(seconds) for seconds in work[place, :-1].tolist()],
            "mpi_s": [rounded(seconds) for seconds in ranks.spent[place, :-1, MPI].tolist()],
            "unexplained": rounded(own.unexplained),
            "damaged": own.damaged,
        }
        for place, (own, agreement) in enumerate(zip(ranks.labels, ranks.agreement, strict=True))
    ]


# The roles of threads as an object, key `threads` of incprof.phases/1: docs/use/phases.md.


def threads_dict(thread_roles: ThreadRoles) -> dict[str, Any]:
    """Return the object."""
    return {
        "count": thread_roles.count,
        "roles": [
            {
                "role": role.name,
                "threads": list(role.threads),
                "cpu_s": round(role.cpu_s, 9),
                "share": round(role.share, 9),
                "phases": [
                    {"id": phase.id, "cpu_s": round(phase.cpu_s, 9), "busy": round(phase.busy, 9)}
                    for phase in role.phases
                ],
                "functions": [
                    {"name": function.name, "module": function.module, "share": round(share, 9)}
                    for function, share in role.functions
                ],
            }
            for role in thread_roles.roles
        ],
        "imbalance": [
            {
                "phase": one.phase,
                "threads": list(one.threads),
                "imbalance": round(one.imbalance, 9),
                "differ": [{"thread": other.thread, "more": round(other.more, 9)} for other in one.differ],
            }
            for one in thread_roles.imbalances
        ],
    }


# The reasons for phases and sites as JSON: the key `explain` of incprof.phases/1 (docs/use/phases.md).


def explain_dict(result: PhaseResult, why: Explanation) -> dict[str, object]:
    """Return the numbers, and under `text` the sentences of the text output."""
    names = names_of(result, functions_in_evidence(why))
    phases = []
    for phase, evidence, sites in zip(result.phases, why.phases, why.sites, strict=True):
        explained_sites = [
            {**_plain(asdict(site)), "text": site_lines(site, result.options.sites, names)} for site in sites
        ]
        phases.append(
            {**_plain(asdict(evidence)), "text": phase_lines(result, phase, evidence, names), "sites": explained_sites}
        )
    run = {**_plain(asdict(why.run)), "text": run_lines(result, why.run, names)}
    thresholds = {f"{room}.{one.name}": one.value for room, one in result.options.listed()}
    return {"run": run, "phases": phases, "thresholds": thresholds}


def _plain(values: dict[str, object]) -> dict[str, object]:
    """Round the numbers as in the rest of the output."""
    rounded_values = _rounded(values)
    assert isinstance(rounded_values, dict)
    return rounded_values


def _short_value(value: object) -> object:
    """Round the duration of a call, which may be nanoseconds."""
    return round(value, 12) if isinstance(value, float) else value


def _rounded(value: object) -> object:
    """Round a value, or all values nested in it."""
    if isinstance(value, dict):
        return {str(key): _short_value(inner) if key == "call_s" else _rounded(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(inner) for inner in value]
    return rounded(value) if isinstance(value, float) else value
