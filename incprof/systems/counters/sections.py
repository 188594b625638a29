"""Counters in each phase: the section on them, and their part of the phases' cards."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

import numpy as np

from incprof.analysis.energy import overlaps
from incprof.analysis.views.tracks import TimeBins
from incprof.model import FloatArray
from incprof.model.section import Amount, CardPart, Column, Lane, Section, Table, edges_of
from incprof.report.render.json import fields, rounded
from incprof.report.words.display_names import SHORT, clean
from incprof.report.words.formatting import SIMULATED, count, duration, joules, percent, rate
from incprof.study.run_counters import SampledCounters
from incprof.study.study import Study
from incprof.systems.counters.analyse import (
    BRANCH_CYCLES,
    MISS_CYCLES,
    By,
    CountersByPhase,
    PhaseCounters,
    StepEnergy,
    counters_by_phase,
    lanes_of,
)
from incprof.systems.counters.figures import FIGURES
from incprof.systems.counters.read import RecordedCounters, read_by_phase, recorded_counters
from incprof.systems.counters.roofline import kept, place, sentence

# Figures of power, which may come from a formula.
ENERGY = ("power_w", "energy_j", "iteration_j")


def sections(study: Study, path: str) -> Callable[[TimeBins | None], list[Section]]:
    """Return a function that returns the section on a file of counters; given the bins of a page, with lanes."""
    sampled = SampledCounters(study, path)
    by_phase = read_by_phase(sampled)

    def of(bins: TimeBins | None) -> list[Section]:
        if bins is None:
            return [_section(by_phase)]
        values = lanes_of(sampled.series, sampled.offset_s, bins.start_s, bins.end_s)
        return [_section(by_phase, values, bins)]

    return of


def _section(
    by_phase: CountersByPhase, values: Mapping[str, FloatArray] | None = None, bins: TimeBins | None = None
) -> Section:
    """Return counters by phase, and the values of figures over the bins of a page."""
    drawn = () if bins is None else tuple(lane(by_phase, key, each, bins) for key, each in (values or {}).items())
    power = by_phase.power
    facts: dict[str, object] = {
        "file": by_phase.path,
        "aligned": "clock" if by_phase.by_clock else "start",
        "offset_s": rounded(by_phase.offset_s),
        "row_s": rounded(by_phase.row_s),
        "rows_across_phases": by_phase.left_out,
        "rows_outside": by_phase.outside,
    }
    if power is not None:
        facts["power"] = {
            **fields(power, "column=name simulated"),
            "energy_j": _digits(power.energy_j),
            "between_j": _digits(power.between_j),
            "measured_s": rounded(power.measured_s),
        }
    table = Table(_columns(by_phase), by_phase.phases, key="phases")
    return Section("counters", "What bounds each phase", (table,), drawn, tuple(_notes(by_phase)), facts)


def _columns(by_phase: CountersByPhase) -> tuple[Column, ...]:
    """Return the columns: figures of some phase, the first of which are dropped last, and the bound of each phase."""
    shown = [
        figure for figure in FIGURES if figure.head and any(figure.key in each.figures for each in by_phase.phases)
    ]
    figures = [
        Column(figure.head + _mark(by_phase, figure.key), _value(figure.key), figure.unit, drop=place)
        for place, figure in enumerate(shown, start=1)
    ]
    steps = () if by_phase.power is None else (Column(None, lambda phase: [*map(_step, phase.steps)], key="steps"),)
    return (
        Column("Phase", lambda phase: phase.id, "phase", key="id"),
        Column("Time", lambda phase: rounded(phase.seconds), "duration", key="seconds"),
        *figures,
        Column(None, lambda phase: {name: _digits(value) for name, value in phase.figures.items()}, key="figures"),
        Column(None, lambda phase: None if phase.bound is None else phase.bound.by, key="bound_by"),
        Column(None, lambda phase: None if phase.bound is None else rounded(phase.bound.share), key="share"),
        Column("Bound by", bound_line, key="said", sentence=True),
        Column("Energy of steps", lambda phase: energy_line(by_phase, phase), sentence=True),
        *steps,
    )


def _value(name: str) -> Callable[[PhaseCounters], float | None]:
    """Return a function that reads a figure of a phase; None where the phase has none."""
    return lambda phase: phase.figures.get(name)


def lane(by_phase: CountersByPhase, key: str, values: FloatArray, bins: TimeBins) -> Lane:
    """Return a figure over the bins of a page."""
    figure = next(each for each in FIGURES if each.key == key)
    mark = _mark(by_phase, key)
    edges, values = edges_of(bins.start_s, bins.end_s, values)
    return Lane(figure.head + mark, figure.unit, edges, values, figure.title + mark, figure.key)


def _step(step: StepEnergy) -> dict[str, object]:
    """Return a step of a phase with the energy per call."""
    return {"name": step.function.name, "calls": step.calls, "energy_per_call_j": _digits(step.energy_j)}


def _digits(value: float) -> float:
    """Return a number with its meaningful digits: figures range from bytes per second to misses per cycle."""
    return float(f"{value:.6g}")


def _mark(by_phase: CountersByPhase, name: str) -> str:
    """Return the mark of power that no sensor measured."""
    simulated = by_phase.power is not None and by_phase.power.simulated is not None
    return f" ({SIMULATED})" if simulated and name in ENERGY else ""


# Waiting for storage is reported from this number of processors on.
SOME_WAIT = 0.05

BOUND: dict[By, str] = {
    "waiting": "waiting",
    "processors": "too few processors",
    "mpi": "MPI",
    "openmp": "the OpenMP run-time",
    "device": "the device",
    "io": "input and output",
    "memory": "memory",
    "branches": "mispredicted branches",
    "frontend": "the supply of instructions",
    "kernel": "the kernel",
    "stalls": "stalls of the processor",
    "instructions": "the number of instructions",
}


# What the slots of the pipeline show.
BY_SLOTS: tuple[By, ...] = ("memory", "branches", "frontend", "stalls", "instructions")


def bound_line(phase: PhaseCounters) -> str | None:
    """Return the bound of a phase and the reason for it; None if it is unknown."""
    if phase.bound is None:
        return None
    bound = f"bound by {BOUND[phase.bound.by]}"
    why = _reason(phase)
    return f"{bound}: {why}" if why else bound


def _reason(phase: PhaseCounters) -> str:
    """Return the reason for a bound; empty where its name already is one."""
    figures, bound = phase.figures, phase.bound
    share = 0.0 if bound is None or bound.share is None else bound.share
    if bound is not None and "retiring" in figures and bound.by in BY_SLOTS:
        if bound.by == "instructions":
            return f"{percent(figures['retiring'])} of the pipeline's slots retire one"
        return f"{percent(share)} of the pipeline's slots are lost to it"
    match None if bound is None else bound.by:
        case "waiting":
            waits = f", {rate(figures['iowait'])} wait for storage" if figures.get("iowait", 0.0) >= SOME_WAIT else ""
            return f"{rate(figures['cpu'])} processors busy{waits}" if "cpu" in figures else "next to no CPU time"
        case "processors":
            return f"{percent(share)} of the time its first thread is ready to run, without one"
        case "mpi" | "openmp" | "io" | "device" if share:
            return f"{percent(share)} of its CPU time, by its samples"
        case "memory":
            return (
                f"{rate(figures.get('misses_per_1000', 0))} misses of the last-level cache per 1000 instructions; at "
                f"{MISS_CYCLES} cycles each {_part(share)}"
            )
        case "branches":
            return (
                f"{rate(figures.get('branch_misses_per_1000', 0))} mispredicted per 1000 instructions; at "
                f"{BRANCH_CYCLES} cycles each {_part(share)}"
            )
        case "kernel":
            return f"{percent(share)} of its CPU time is the kernel's"
        case "stalls":
            missed = (
                "; neither cache nor branch misses are counted that many"
                if {"misses_per_cycle", "branch_misses_per_cycle"} & set(figures)
                else "; cache-misses and branch-misses would show which"
            )
            return f"{rate(figures['ipc'])} instructions per cycle{missed}"
        case "instructions":
            return f"{rate(figures['ipc'])} per cycle"
    return ""


def _part(share: float) -> str:
    """Return a share of the cycles; misses overlap, so it may exceed 1."""
    return f"{percent(share)} of the cycles" if share < 1 else "as much as all cycles, or more"


def _notes(by_phase: CountersByPhase) -> list[str]:
    """Return how the counters overlap the run, and remarks on them."""
    name = clean(os.path.basename(by_phase.path), 60)
    side = "after" if by_phase.offset_s >= 0 else "before"
    where = (
        f"began {duration(abs(by_phase.offset_s))} {side} the recording, by the clock"
        if by_phase.by_clock
        else "assumed to have begun with the recording: the file has no start time"
    )
    out = [f"{name}: a row every {duration(by_phase.row_s)}, {where}"]
    if by_phase.left_out:
        out.append(f"{by_phase.left_out} rows that span phases are left out")
    if any(phase.seconds == 0 for phase in by_phase.phases):
        empty = ", ".join(str(phase.id) for phase in by_phase.phases if phase.seconds == 0)
        out.append(f"no row lies in phase {empty}: shorter rows would (incprof sample -i)")
    if any("node_memory_bytes_s" in phase.figures for phase in by_phase.phases):
        out.append("memory is that of the whole node, with all that runs there, by its memory controllers")
    elif any("memory_bytes_s" in phase.figures for phase in by_phase.phases):
        out.append("memory is misses of the last-level cache, 64 bytes each; written lines and prefetches come on top")
    out += _power_lines(by_phase)
    out += [clean(line, 200) for line in by_phase.notes]
    if by_phase.unknown:
        out.append(f"columns not used here: {clean(', '.join(by_phase.unknown), 120)}")
    return out


def energy_line(by_phase: CountersByPhase, phase: PhaseCounters) -> str | None:
    """Return the energy of the steps of a phase; None if no step has any."""
    if not phase.steps:
        return None
    each = [
        f"{SHORT(step.function)} {joules(step.energy_j)} a call ({count(step.calls, 'call')})" for step in phase.steps
    ]
    return f"energy of steps{_mark(by_phase, 'energy_j')}: {', '.join(each)}"


def _power_lines(by_phase: CountersByPhase) -> list[str]:
    """Return the domain of the power figures, and the energy of the whole run."""
    power = by_phase.power
    if power is None:
        return []
    source = f"{SIMULATED} by {clean(power.simulated, 200)}" if power.simulated is not None else clean(power.name, 60)
    between = f", {joules(power.between_j)} of it between phases" if power.between_j > 0 else ""
    out = [
        f"power ({source}) is of the whole node, with all that runs there: {joules(power.energy_j)} in the "
        f"{duration(power.measured_s)} of the run that have it{between}"
    ]
    return out + [clean(line, 200) for line in power.notes if not line.startswith("power is simulated")]


# Metric in conditions, name, unit, columns.
COMPARED = (
    ("kernel", "CPU time in the kernel", "s", ("system",)),
    ("faults", "page faults", "count", ("minor-faults", "major-faults")),
    ("switches", "context switches", "count", ("context-switches",)),
    ("instructions", "instructions", "count", ("instructions",)),
    ("cycles", "cycles", "count", ("cycles",)),
)
# Of these, the sum of so much each time that the kernel's tick finds the program in it, or that an event occurs.
RANDOM = {"kernel": 0.004, "faults": 1.0, "switches": 1.0}
# Variance of a uniform distribution.
UNIFORM = 1 / 12
# A figure that has a place of its own on a card.
ENERGY_KEY = "energy_j"


def cards(study: Study, path: str | None, bins: TimeBins | None) -> list[CardPart]:
    """Return the parts on counters in the recording, and on those in a file if one is given; its figures go first.

    The lanes of a file's counters are in its own section.
    """
    recorded = None if study.process.series else recorded_counters(study.process.path)
    by_phase = [] if recorded is None else [_recorded_by_phase(study, recorded)]
    by_phase += [] if path is None else [read_by_phase(SampledCounters(study, path))]
    if not by_phase:
        return []
    figures: dict[int, dict[str, object]] = {phase.id: {} for phase in study.phases().present}
    bounds = dict[int, str]()
    for one in by_phase:
        for phase in one.phases:
            figures[phase.id] |= phase.figures
            if phase.bound is not None:
                bounds[phase.id] = BOUND[phase.bound.by]
    energy = {phase: float(str(each.pop(ENERGY_KEY))) for phase, each in figures.items() if ENERGY_KEY in each}
    if recorded is not None:
        for number, memory in _resident(study, recorded).items():
            figures[number] |= memory
    for number, bound in bounds.items():
        figures[number]["bound_by"] = bound
    under_roof = _under_roof(study, figures)
    metrics = {phase: each for phase, each in figures.items() if each}
    lanes = () if bins is None else _card_lanes(by_phase[0], recorded, bins)
    amounts = () if recorded is None else _amounts(study, recorded)
    columns = (*_card_columns(metrics), *([Column("Roof", under_roof.get, sentence=True)] if under_roof else []))
    parts = [CardPart("metrics", metrics, columns, lanes, amounts=amounts)]
    if energy:
        notes = () if recorded is None or recorded.series.power is None else recorded.series.power.notes
        of_run = (Amount("energy", "energy of the node", "J", energy),) if notes else ()
        column = Column("Energy", energy.get, "J", drop=1, key=ENERGY_KEY)
        parts.append(CardPart(ENERGY_KEY, energy, (column,), notes=notes, amounts=of_run))
    return parts


def _under_roof(study: Study, figures: dict[int, dict[str, object]]) -> dict[int, str]:
    """Add the places of phases under the roof of their node to the figures; return a sentence for each."""
    roofs = kept(str(study.profile.metadata.raw.get("host") or ""))
    out = {}
    for phase, each in figures.items():
        if roofs is not None and (under := place(roofs, each)) is not None:
            each |= {"roof_gflops_s": under.gflops_s, "roof_share": under.share, "roof_limit": under.limit}
            out[phase] = sentence(under, each)
    return out


def _recorded_by_phase(study: Study, recorded: RecordedCounters) -> CountersByPhase:
    """Return the recorded counters by phase; rows in which the phase changes are left out."""
    return counters_by_phase(
        recorded.series, study.profile, study.phases(), offset_s=0.0, by_clock=True, path=study.process.path
    )


def _resident(study: Study, recorded: RecordedCounters) -> dict[int, dict[str, float]]:
    """Return the resident memory of each phase, bytes: before its first row, after its last one, and its peak.

    A row belongs to the phase that has most of it.
    """
    series, result, profile = recorded.series, study.phases(), study.profile
    inside = overlaps(series.start_s, series.end_s, profile.start_s, profile.end_s, result.labels, result.k)
    out = {}
    for phase in result.present:
        own = (inside[phase.id] > 0) & (inside[phase.id] == inside.max(axis=0))
        rows = np.flatnonzero(own & np.isfinite(recorded.peak_b))
        if len(rows):
            before = recorded.resident_b[max(int(rows[0]) - 1, 0)]
            values = {
                "resident_begin_b": before,
                "resident_end_b": recorded.resident_b[rows[-1]],
                "resident_peak_b": recorded.peak_b[rows].max(),
            }
            out[phase.id] = {name: float(value) for name, value in values.items() if np.isfinite(value)}
    return out


def _amounts(study: Study, recorded: RecordedCounters) -> tuple[Amount, ...]:
    """Return the recorded counts of each phase; a row in which the phase changes is divided by time."""
    series, result, profile = recorded.series, study.phases(), study.profile
    inside = overlaps(series.start_s, series.end_s, profile.start_s, profile.end_s, result.labels, result.k)
    row_s = series.end_s - series.start_s
    part = inside / row_s
    # Of a row that several phases share, any part may belong to each of them: at most that of a uniform distribution.
    shared = np.minimum(part * (1.0 - part), UNIFORM).clip(0.0)
    out = []
    for metric, name, unit, columns in COMPARED:
        positions = [series.names.index(column) for column in columns if column in series.names]
        if positions:
            counts = series.values[:, positions].sum(axis=1)
            # Shares of processors become seconds.
            amount = np.nan_to_num(counts * row_s if unit == "s" else counts)
            each = part @ amount
            error = np.sqrt(each * RANDOM[metric] + shared @ amount**2) if metric in RANDOM else np.zeros(len(each))
            values, errors = ({phase.id: float(one[phase.id]) for phase in result.present} for one in (each, error))
            out.append(Amount(metric, name, unit, values, errors))
    return tuple(out)


def _card_columns(metrics: Mapping[int, Mapping[str, object]]) -> tuple[Column, ...]:
    """Return the columns of which some phase has a value."""
    shown = (
        Column("IPC", lambda phase: metrics.get(phase, {}).get("ipc"), "number", drop=4, key="ipc"),
        Column(
            "Resident", lambda phase: metrics.get(phase, {}).get("resident_peak_b"), "kB", drop=3, key="resident_peak_b"
        ),
        Column("Bound by", lambda phase: metrics.get(phase, {}).get("bound_by"), "", drop=2, key="bound_by"),
    )
    return tuple(column for column in shown if any(column.get(phase) is not None for phase in metrics))


def _card_lanes(by_phase: CountersByPhase, recorded: RecordedCounters | None, bins: TimeBins) -> tuple[Lane, ...]:
    """Return the recorded figures over time."""
    if recorded is None:
        return ()
    values = lanes_of(recorded.series, 0.0, bins.start_s, bins.end_s)
    return tuple(lane(by_phase, key, each, bins) for key, each in values.items())
