"""Phases as JSON, schema incprof.phases/1 (docs/use/phases.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, TextIO

from incprof.analysis.explain import Explanation
from incprof.analysis.phase_result import Phase, PhaseResult, RunSummary, Site, Step, verdict
from incprof.analysis.phases.clustering import Boundary, Stage
from incprof.analysis.ranks.all_ranks import worked_s
from incprof.analysis.ranks.ranks_result import PhaseBalance, RanksResult
from incprof.analysis.thread_roles import ThreadRoles
from incprof.analysis.views.site_rows import SiteRow, SitesAnswer
from incprof.model import Function, Run
from incprof.model.section import Section
from incprof.model.time_use import MPI, SPENT
from incprof.report.render.json import fields, json_section, nano, rounded, run_json, write
from incprof.report.words.display_names import names_of
from incprof.report.words.formatting import calls_json
from incprof.report.words.phase_words import caveat_lines, functions_in_evidence, phase_lines, run_lines
from incprof.report.words.site_evidence import no_site, refused_line, site_lines

SCHEMA = "incprof.phases/1"
# Of a site.
COST = "beats_hz rate_factor overhead_pct"


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
        **fields(result, "method k k_clusters rule votes"),
        "verdict": verdict(result),
        **fields(result, "scatter k_again beats_pct paths_estimated dispersion features"),
        "scores": [
            fields(score, "k inertia silhouette calinski_harabasz noise_ratio misfits stability")
            for score in result.scores
        ],
        "end_s": [rounded(end) for end in result.end_s.tolist()],
        "labels": result.labels.tolist(),
        "mostly": None if result.spent is None else [SPENT[kind] for kind in result.spent.tolist()],
        "clusters": result.clusters.tolist(),
        "phases": [_phase(phase, run.counted) for phase in result.present],
        "borders": [_boundary(boundary, result) for boundary in result.borders],
        "levels": [
            {**fields(level, "k phases"), "function": _name(level.function), **fields(level, "difference")}
            for level in result.levels
        ],
        "short": [{"function": _name(each.function), **fields(each, "share spans")} for each in result.short],
        "stages": None if result.stages is None else _stage(result.stages),
        "notes": caveat_lines(result),
        "warnings": list(result.warnings),
    }


def _name(function: Function | None) -> str | None:
    return None if function is None else function.name


def _stage(stage: Stage) -> dict[str, object]:
    """Return a part of the run and its children."""
    return {
        "function": _name(stage.function),
        **fields(stage, "start_s end_s seconds app_pct episodes phase"),
        "stages": [_stage(below) for below in stage.stages],
    }


def _boundary(boundary: Boundary, result: PhaseResult) -> dict[str, object]:
    """Return a change point and the functions that describe it."""
    return {
        "interval": boundary.interval,
        "time_s": rounded(float(result.end_s[boundary.interval - 1]) if boundary.interval else 0.0),
        **fields(boundary, "before after"),
        "function": _name(boundary.function),
        **fields(boundary, "share_before share_after score"),
    }


def _phase(phase: Phase, counted: bool) -> dict[str, object]:
    """Return one phase.

    counted: whether calls were counted; otherwise the kinds of sites are as certain as the estimates.
    """
    return {
        **fields(phase, "id intervals app_pct seconds"),
        "off_cpu": phase.off_cpu and not phase.outside,
        **fields(phase, "confidence mostly"),
        "spent": {kind: rounded(seconds) for kind, seconds in phase.spent.items()},
        "clusters": list(phase.clusters),
        "functions": [
            fields(top.function, "name module") | fields(top, "self_s share calls") | calls_json(top.estimated)
            for top in phase.functions
        ],
        "sites": [_site(site) | ({} if counted else {"estimated": True}) for site in phase.sites],
        "no_site": None if phase.sites else no_site(phase),
        "steps": [_step(step) for step in phase.steps],
    }


def _site(site: Site) -> dict[str, object]:
    return {
        **fields(site, "heartbeat function=function.name module=function.module mangled=function.mangled"),
        **fields(site, "kind phase_pct app_pct"),
        **(fields(site.cost, COST) if site.cost else dict.fromkeys(COST.split())),
        **fields(site, "file line"),
    }


def _step(step: Step) -> dict[str, object]:
    """Return a step and those below it; `rest`: CPU seconds of an iteration outside of steps, functions that wait."""
    rest = step.rest and {
        "cpu_s": {kind: round(seconds, 9) for kind, seconds in step.rest.spent.items()},
        "waits": [function.name for function in step.rest.waits],
    }
    return {
        **fields(step, "function=function.name kind share calls"),
        **fields(step, "mean_s file line", nano),
        "driver": _name(step.driver),
        **fields(step, "period_s", nano),
        **fields(step, "every times order per_iteration per_call cpu"),
        "rest": rest,
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
                **fields(one, "rank phase seconds usual_s excess sigmas waiting_s"),
                "why": [{"function": name, "more_s": rounded(more)} for name, more in one.why],
            }
            for one in ranks.stragglers
        ],
        "groups": [fields(group, "ranks typical") for group in ranks.groups],
        "outliers": [
            {
                **fields(one, "rank distance unexplained"),
                "why": [fields(difference, "function here there") for difference in one.why],
            }
            for one in ranks.outliers
        ],
        "late": [{"rank": rank, "seconds": rounded(seconds)} for rank, seconds in ranks.late],
        "clocks": [
            {
                **fields(one, "host ahead_s=late_s"),
                "drift": rounded(one.drift * 1e6),
                **fields(one, "borders=boundaries before_s after_s"),
            }
            for one in ranks.clocks
        ],
    }


def _of_phase(over: PhaseBalance) -> dict[str, Any]:
    """Return a phase over ranks."""
    return {
        **fields(over, "ranks imbalance=work.imbalance imbalance_error=error slowest"),
        **{
            f"{kind}_s": fields(getattr(over, kind), "min=least median max=most mean")
            for kind in ("work", "mpi", "wall")
        },
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
            **fields(own, "unexplained damaged"),
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
                **fields(role, "role=name threads cpu_s share", nano),
                "phases": [fields(phase, "id cpu_s busy", nano) for phase in role.phases],
                "functions": [
                    {**fields(function, "name module"), "share": round(share, 9)} for function, share in role.functions
                ],
            }
            for role in thread_roles.roles
        ],
        "imbalance": [
            {
                **fields(one, "phase threads imbalance", nano),
                "differ": [fields(other, "thread more", nano) for other in one.differ],
            }
            for one in thread_roles.imbalances
        ],
    }


# The reasons for phases and sites as JSON: the key `explain` of incprof.phases/1 (docs/use/phases.md).


def explain_dict(result: PhaseResult, why: Explanation) -> dict[str, object]:
    """Return the numbers, and under `text` the sentences of the text output."""
    names = names_of(result, functions_in_evidence(why))
    phases = []
    for phase, evidence, sites, refused in zip(result.phases, why.phases, why.sites, why.refused, strict=True):
        explained_sites = [
            {**_rounded(asdict(site)), "text": site_lines(site, result.options.sites, names)} for site in sites
        ]
        phases.append(
            {
                **_rounded(asdict(evidence)),
                "text": phase_lines(result, phase, evidence, names),
                "sites": explained_sites,
                "refused": refused and {**_rounded(asdict(refused)), "text": refused_line(refused, names)},
            }
        )
    run = {**_rounded(asdict(why.run)), "text": run_lines(result, why.run, names)}
    thresholds = {f"{room}.{one.name}": one.value for room, one in result.options.listed()}
    return {"run": run, "phases": phases, "thresholds": thresholds}


def _rounded(value: Any) -> Any:
    """Round a value, or all values nested in it; the duration of a call may be nanoseconds."""
    if isinstance(value, dict):
        return {
            str(key): round(inner, 12) if key == "call_s" and isinstance(inner, float) else _rounded(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_rounded(inner) for inner in value]
    return rounded(value) if isinstance(value, float) else value


def programs_dict(run: Run) -> list[dict[str, object]] | None:
    """Return each program of a job with its processes, the busiest first; None if there is one process."""
    if not run.is_job:
        return None
    shown = {process.path for process in run.processes}
    return [
        {
            "name": program.name,
            "cpu_s": rounded(sum(program.cpu_s)),
            "shown": not shown.isdisjoint(process.path for process in program.processes),
            "processes": [
                {
                    "pid": pid,
                    "rank": process.rank,
                    "cpu_s": rounded(cpu_s),
                    "start_s": rounded(start_s),
                    "end_s": rounded(end_s),
                }
                for process, pid, cpu_s, (start_s, end_s) in zip(
                    program.processes, program.pids, program.cpu_s, program.spans_s, strict=True
                )
            ],
        }
        for program in run.programs
    ]


# Sites as JSON, schema incprof.sites/1 (docs/use/sites.md).


SITES_SCHEMA = "incprof.sites/1"


def write_sites(run: RunSummary, answer: SitesAnswer, out: TextIO) -> None:
    """Write one JSON object and a newline."""
    write(sites_dict(run, answer), out, ascii_only=False)


def sites_dict(run: RunSummary, answer: SitesAnswer) -> dict[str, object]:
    """Return the answer in the terms of the schema."""
    return {
        "schema": SITES_SCHEMA,
        "run": run_json(run),
        "rank": run.rank,
        **fields(answer, "method k source"),
        "cost": fields(answer, "pair_ns skipped_ns"),
        "sites": [_placed(row) for row in answer.sites],
        "refused": [fields(row, "phases function kind file line reason") for row in answer.refused],
        **fields(answer, "unserved warnings"),
    }


def _placed(row: SiteRow) -> dict[str, object]:
    beats_hz = rounded(row.beats_hz)
    return {
        **fields(row, "heartbeat name phases function kind file line phase_pct share"),
        "beats_hz": None if row.basis == "at least" else beats_hz,
        "beats_hz_least": beats_hz if row.basis == "at least" else None,
        **fields(row, "basis rate_factor overhead_pct note"),
        "excerpt": [{"line": line.number, **fields(line, "text marked")} for line in row.excerpt],
    }
