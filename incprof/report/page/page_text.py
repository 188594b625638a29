"""Sentences of a page: reasons for the number of phases, quality of the recording, numbers with units."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from math import isinf
from typing import Any

from incprof.analysis.explain import Explanation
from incprof.analysis.phase_result import PhaseResult, RunSummary
from incprof.analysis.ranks.ranks_result import PhaseBalance, RanksResult, Straggler
from incprof.analysis.views.page_parts import Quality, RankMap
from incprof.model import Metadata
from incprof.report.words.display_names import Names, clean, counting_advice
from incprof.report.words.formatting import UNCOUNTED, duration, overhead, percent
from incprof.report.words.phase_words import one_phase, phase_lines, run_lines
from incprof.report.words.ranks import agree_line, group_lines, late_lines, outlier_lines
from incprof.report.words.site_evidence import site_lines


def grouped(number: int) -> str:
    """Return "12 345", with narrow no-break spaces."""
    return f"{number:,}".replace(",", "\u202f")


def grouped_count(number: int, noun: str) -> str:
    """Return "1 phase", "12 345 phases"."""
    return f"{grouped(number)} {noun}" if number == 1 else f"{grouped(number)} {noun}s"


def decimal_percent(part: float | None) -> str:
    """Return a share of 1 as percent."""
    return "-" if part is None else f"{100 * part:.1f} %" if part >= 0.0005 or not part else "< 0.1 %"


def facts(run: RunSummary, metadata: Metadata, processes: int) -> list[tuple[str, str]]:
    """Return the facts of the recording, as pairs of label and value."""
    raw = metadata.raw
    out = [("Duration", duration(run.duration_s))]
    out.append(("Intervals", f"{grouped(run.intervals)} of {run.interval_s:g} s{run.how_cut}"))
    out.append(("Rank", f"{run.rank} of {grouped_count(run.ranks, 'rank')}" if run.ranks > 1 else str(run.rank)))
    if processes > 1:
        out.append(("Process", f"the busiest of {processes}; the others are not shown"))
    argv = raw.get("argv")
    if isinstance(argv, list) and argv:
        out.append(("Command", clean(" ".join(map(str, argv)), 200)))
    if isinstance(host := raw.get("host"), str) and host:
        out.append(("Host", clean(host, 80)))
    begun = raw.get("start_unix_ns")
    if isinstance(begun, int) and 0 < begun < 4102444800 * 10**9:
        out.append(("Begun", datetime.fromtimestamp(begun // 10**9, UTC).strftime("%Y-%m-%d %H:%M UTC")))
    return out


def why_k(run: RunSummary, result: PhaseResult, why: Explanation | None, names: Names) -> list[str]:
    """Return the reasons for the number of phases, one sentence each, as printed by `incprof phases --explain`."""
    if why is None:
        return []
    out = run_lines(result, why.run, names)
    if (one := one_phase(result)) is not None:
        out.insert(0, one)
    if any(phase.off_cpu and not phase.outside for phase in result.phases):
        out.append("one phase is waiting: intervals with next to no CPU time, found before clustering")
    return [_sentence(line) for line in out]


def why_phases(result: PhaseResult, why: Explanation | None, names: Names) -> list[tuple[int, list[str]]]:
    """Describe each phase, one sentence per reason."""
    if why is None:
        return []
    return [
        (phase.id, [_sentence(line) for line in phase_lines(result, phase, evidence, names)])
        for phase, evidence in zip(result.phases, why.phases, strict=True)
    ]


def why_site(
    result: PhaseResult, why: Explanation | None, names: Names, function: str, phases: Sequence[int]
) -> list[str]:
    """Return the reasons for a function as a site of phases, one sentence each; empty where it replaced a site."""
    evidence = zip(result.phases, why.sites, strict=True) if why is not None else ()
    candidates = [(phase, site) for phase, sites in evidence for site in sites if phase.id in phases]
    reasons = [
        (phase.id, site_lines(site, result.options.sites, names))
        for phase, site in candidates
        if site.function == function
    ]
    if len(reasons) < 2:
        return [_sentence(line) for _, lines in reasons for line in lines]
    return [f"Phase {phase}: {_sentence('; '.join(lines))}" for phase, lines in reasons]


def _sentence(line: str) -> str:
    """Return a line as a sentence that a page can show; "k = 4" stays in lower case."""
    start = line if line.startswith("k =") else line[:1].upper() + line[1:]
    return clean(start.removesuffix("."), 600).replace(" %", "\u00a0%") + "."


def data_quality(quality: Quality, run: RunSummary, damaged: bool) -> list[tuple[str, str, str]]:
    """Return rows of label, value, and "good", "fair" or "poor" (empty where there is nothing to judge)."""
    rows: list[tuple[str, str, str]] = []

    def add(what: str, value: str, verdict: str = "") -> None:
        rows.append((what, value, verdict))

    samples = grouped_count(quality.samples, "sample")
    if quality.expected:
        share = quality.ticks / quality.expected
        add(
            "Samples",
            f"{samples}, {decimal_percent(share)} of the number expected from CPU time and rate",
            graded(1 - share, 0.05, 0.2),
        )
    else:
        add("Samples", samples)
    add("Dropped", grouped_count(quality.lost, "sample"), graded(quality.lost / max(quality.samples, 1), 0.001, 0.02))
    if run.overhead_pct is None:
        add("Recording itself", overhead(None))
    else:
        of = "" if isinf(run.overhead_pct) else " of the program's CPU time"
        own = f"{overhead(run.overhead_pct)}{of} ({duration(quality.own_s)})"
        add("Recording itself", own, graded(run.overhead_pct, 2, 10))
    if quality.cpu_s > 0:
        if not run.counted:
            add("Calls", UNCOUNTED)
        if advice := counting_advice(run.counting):
            add("Counting calls", advice)
        add("CPU time", duration(quality.cpu_s))
    add("Off the CPU", f"{duration(quality.off_cpu_s)} of thread time")
    if quality.threads:
        add("Threads", str(quality.threads))
    if quality.reach_main is None:
        add("Call paths", "missing: self times and calls only; sites are found from the calls", "fair")
    else:
        add("Paths that reach main", decimal_percent(quality.reach_main))
        complete = quality.complete or 0.0
        add("Whole paths", decimal_percent(quality.complete), graded(1 - complete, 0.02, 0.2))
        add(
            "Broken",
            grouped_count(quality.broken, "sample"),
            graded(quality.broken / max(quality.samples, 1), 0.02, 0.2),
        )
        add("In libraries", decimal_percent(quality.outside))
        # A runtime's own threads are no defect of the recording: waiting OpenMP workers, MPI's helpers.
        threads = ", such as threads of a library" if quality.threads > 1 and quality.unknown else ""
        add(
            "No application frame",
            decimal_percent(quality.unknown) + threads,
            "" if threads else graded(quality.unknown or 0, 0.02, 0.2),
        )
    add("Damage", "a part of the file was left out" if damaged else "none", "poor" if damaged else "good")
    return rows


def graded(value: float, fair: float, poor: float) -> str:
    """Return the verdict on a value of which less is better."""
    return "poor" if value > poor else "fair" if value > fair else "good"


# The text of a page about ranks before any script runs: similar ranks, phases over ranks, stragglers.


# Rows of stragglers; all of them are in `phases --json`.
MOST = 24


def rank_words(rank_map: RankMap, names: Names) -> dict[str, Any]:
    """Return the sentences and tables about all ranks."""
    result = rank_map.result
    return {
        "number": len(result.ranks),
        "reference": rank_map.reference,
        "unread": len(rank_map.unread),
        "lines": [agree_line(result), *_similar_groups(result), *outlier_lines(result), *late_lines(result)],
        "phases": [_phase(phase) for phase in result.phases],
        "mpi": any(phase.mpi.most > 0 for phase in result.phases),
        "stragglers": [_straggler(one, names) for one in result.stragglers[:MOST]],
        "more": max(len(result.stragglers) - MOST, 0),
    }


def _similar_groups(ranks: RanksResult) -> list[str]:
    """Return the groups of similar ranks, unless all ranks are alike or none are."""
    return group_lines(ranks) if 1 < len(ranks.groups) < len(ranks.ranks) else []


def _phase(phase: PhaseBalance) -> dict[str, Any]:
    """Return the spread of a phase over ranks: its times, and their positions in percent of the longest."""
    work, mpi = phase.work, phase.mpi
    longest = max(work.most, 1e-9)
    return {
        "id": phase.id,
        "ranks": phase.ranks,
        "least": duration(work.least),
        "median": duration(work.median),
        "most": duration(work.most),
        "from": round(100 * work.least / longest, 2),
        "at": round(100 * work.median / longest, 2),
        "mean": round(100 * work.mean / longest, 2),
        "imbalance": "-" if work.imbalance is None else percent(work.imbalance),
        "mpi_median": duration(mpi.median),
        "mpi_most": duration(mpi.most),
        "slowest": phase.slowest if phase.ranks > 1 else None,
    }


def _straggler(one: Straggler, names: Names) -> dict[str, Any]:
    """Return a straggler, and the functions in which it works longer than its peers."""
    longest = max((seconds for _, seconds in one.why), default=0.0)
    return {
        "rank": one.rank,
        "phase": one.phase,
        "seconds": duration(one.seconds),
        "usual": duration(one.usual_s),
        "excess": f"{100 * one.excess:.0f} %",
        "why": [
            (names(name), name, f"+{duration(seconds)}", round(100 * seconds / max(longest, 1e-9), 1))
            for name, seconds in one.why
        ],
    }
