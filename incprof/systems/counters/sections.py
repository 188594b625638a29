"""Section on counters that were sampled during a run: the figures of each phase, and what it is bound by."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from incprof.analysis.views.tracks import TimeBins
from incprof.model import FloatArray
from incprof.model.section import Column, Lane, Section, Table, edges_of
from incprof.report.render.json import fields, rounded
from incprof.report.words.display_names import SHORT, Names, clean
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
    lanes_of,
)
from incprof.systems.counters.figures import FIGURES
from incprof.systems.counters.read import read_by_phase

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


def energy_line(by_phase: CountersByPhase, phase: PhaseCounters, names: Names = SHORT) -> str | None:
    """Return the energy of the steps of a phase; None if no step has any."""
    if not phase.steps:
        return None
    each = [
        f"{names(step.function)} {joules(step.energy_j)} a call ({count(step.calls, 'call')})" for step in phase.steps
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
