"""Sentences of a page: reasons for the number of phases, quality of the recording, numbers with units."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from math import isinf

from incprof.analysis.explain import Explanation
from incprof.analysis.phase_result import PhaseResult, RunSummary
from incprof.analysis.views.page_parts import Quality
from incprof.model import Metadata
from incprof.report.words.calls import UNCOUNTED
from incprof.report.words.counting import counting_advice
from incprof.report.words.display_names import Names, clean
from incprof.report.words.explanation import phase_lines, run_lines
from incprof.report.words.formatting import duration, overhead
from incprof.report.words.site_evidence import site_lines
from incprof.report.words.verdict import one_phase


def grouped(number: int) -> str:
    """Return "12 345", with narrow no-break spaces."""
    return f"{number:,}".replace(",", "\u202f")


def count(number: int, noun: str) -> str:
    """Return "1 phase", "12 345 phases"."""
    return f"{grouped(number)} {noun}" if number == 1 else f"{grouped(number)} {noun}s"


def percent(part: float | None) -> str:
    """Return a share of 1 as percent."""
    return "-" if part is None else f"{100 * part:.1f} %" if part >= 0.0005 or not part else "< 0.1 %"


def facts(run: RunSummary, metadata: Metadata, processes: int) -> list[tuple[str, str]]:
    """Return the facts of the recording, as pairs of label and value."""
    raw = metadata.raw
    out = [("Duration", duration(run.duration_s))]
    out.append(("Intervals", f"{grouped(run.intervals)} of {run.interval_s:g} s"))
    out.append(("Rank", f"{run.rank} of {count(run.ranks, 'rank')}" if run.ranks > 1 else str(run.rank)))
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
        (phase.id, [_sentence(line) for line in phase_lines(result, phase, known, names)])
        for phase, known in zip(result.phases, why.phases, strict=True)
    ]


def why_site(
    result: PhaseResult, why: Explanation | None, names: Names, function: str, phases: Sequence[int]
) -> list[str]:
    """Return the reasons for a function as a site of phases, one sentence each; empty where it replaced a site."""
    known = zip(result.phases, why.sites, strict=True) if why is not None else ()
    found = [(phase, site) for phase, sites in known for site in sites if phase.id in phases]
    chosen = [
        (phase.id, site_lines(site, result.options.sites, names)) for phase, site in found if site.function == function
    ]
    if len(chosen) < 2:
        return [_sentence(line) for _, lines in chosen for line in lines]
    return [f"Phase {phase}: {_sentence('; '.join(lines))}" for phase, lines in chosen]


def _sentence(line: str) -> str:
    """Return a line as a sentence that a page can show; "k = 4" stays in lower case."""
    start = line if line.startswith("k =") else line[:1].upper() + line[1:]
    return clean(start.removesuffix("."), 600).replace(" %", "\u00a0%") + "."


def data_quality(found: Quality, run: RunSummary, damaged: bool) -> list[tuple[str, str, str]]:
    """Return rows of label, value, and "good", "fair" or "poor" (empty where there is nothing to judge)."""
    rows: list[tuple[str, str, str]] = []

    def add(what: str, value: str, verdict: str = "") -> None:
        rows.append((what, value, verdict))

    samples = count(found.samples, "sample")
    if found.expected:
        share = found.ticks / found.expected
        add(
            "Samples",
            f"{samples}, {percent(share)} of the number expected from CPU time and rate",
            graded(1 - share, 0.05, 0.2),
        )
    else:
        add("Samples", samples)
    add("Dropped", count(found.lost, "sample"), graded(found.lost / max(found.samples, 1), 0.001, 0.02))
    if run.overhead_pct is None:
        add("Recording itself", overhead(None))
    else:
        of = "" if isinf(run.overhead_pct) else " of the program's CPU time"
        own = f"{overhead(run.overhead_pct)}{of} ({duration(found.own_s)})"
        add("Recording itself", own, graded(run.overhead_pct, 2, 10))
    if found.cpu_s > 0:
        if not run.counted:
            add("Calls", UNCOUNTED)
        if advice := counting_advice(run.counting):
            add("Counting calls", advice)
        add("CPU time", duration(found.cpu_s))
    add("Off the CPU", f"{duration(found.off_cpu_s)} of thread time")
    if found.threads:
        add("Threads", str(found.threads))
    if found.reach_main is None:
        add("Call paths", "missing: self times and calls only; sites are found from the calls", "fair")
    else:
        add("Paths that reach main", percent(found.reach_main))
        complete = found.complete or 0.0
        add("Whole paths", percent(found.complete), graded(1 - complete, 0.02, 0.2))
        add("Broken", count(found.broken, "sample"), graded(found.broken / max(found.samples, 1), 0.02, 0.2))
        add("In libraries", percent(found.outside))
        # A runtime's own threads are no defect of the recording: waiting OpenMP workers, MPI's helpers.
        threads = ", such as threads of a library" if found.threads > 1 and found.unknown else ""
        add(
            "No application frame",
            percent(found.unknown) + threads,
            "" if threads else graded(found.unknown or 0, 0.02, 0.2),
        )
    add("Damage", "a part of the file was left out" if damaged else "none", "poor" if damaged else "good")
    return rows


def graded(value: float, fair: float, poor: float) -> str:
    """Return the verdict on a value of which less is better."""
    return "poor" if value > poor else "fair" if value > fair else "good"
