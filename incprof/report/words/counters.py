"""What counters say of phases, in words."""

from __future__ import annotations

import os
from collections.abc import Callable

from incprof.analysis.counters.bound import BRANCH_CYCLES, MISS_CYCLES
from incprof.analysis.counters.results import By, CountersUnder, PhaseCounters
from incprof.report.words.figures import count, duration, percent
from incprof.report.words.names import SHORT, Names, clean
from incprof.report.words.numbers import joules, rate

UNITS = ("B", "kB", "MB", "GB", "TB")
# Figures of power, which a formula may have simulated, and the mark of those.
ENERGY = ("power_w", "energy_j", "iteration_j")
SIMULATED = "simulated"


def bytes_of(value: float) -> str:
    """Return bytes with three digits and a unit."""
    unit = 0
    while value >= 999.5 and unit < len(UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{rate(value)} {UNITS[unit]}"


def _per_second(value: float) -> str:
    return f"{bytes_of(value)}/s"


def _watts(value: float) -> str:
    return f"{rate(value)} W"


# By the names of analysis/counters/figures.py: the head of a column, what a lane is called, and how a value is written.
# Those without a head are in JSON only.
WORDS: dict[str, tuple[str, str, Callable[[float], str]]] = {
    "power_w": ("power", "power of the node", _watts),
    "energy_j": ("energy", "energy of the node", joules),
    "iteration_j": ("iteration", "energy of the node in an iteration", joules),
    "cpu": ("CPUs", "processors busy", rate),
    "ipc": ("IPC", "instructions per cycle", rate),
    "misses_per_1000": ("misses/1000", "cache misses per 1000 instructions", rate),
    "memory_bytes_s": ("memory", "memory, about", _per_second),
    "branch_misses_per_1000": ("branch misses/1000", "branch misses per 1000 instructions", rate),
    "system_share": ("kernel", "kernel's part of CPU time", percent),
    "context_switches_s": ("switches/s", "context switches per second", rate),
    "page_faults_s": ("faults/s", "page faults per second", rate),
    "read_bytes_s": ("read", "read", _per_second),
    "write_bytes_s": ("written", "written", _per_second),
    "disk_read_bytes_s": ("disk read", "read from disks", _per_second),
    "disk_write_bytes_s": ("disk written", "written to disks", _per_second),
    "net_bytes_s": ("network", "network, both ways", _per_second),
    "iowait": ("I/O wait", "processors that wait for storage", rate),
    "rss_bytes": ("resident", "resident memory", bytes_of),
}


def columns(found: CountersUnder) -> list[str]:
    """Return the names of the figures that some phase has and that have a head, in order."""
    return [name for name in WORDS if any(name in phase.figures for phase in found.phases)]


def head(found: CountersUnder, name: str) -> str:
    """Return the head of a column; power that no sensor measured says so."""
    return WORDS[name][0] + _mark(found, name)


def full_name(found: CountersUnder, name: str) -> str:
    """Return what a figure is, likewise."""
    return WORDS[name][1] + _mark(found, name)


def _mark(found: CountersUnder, name: str) -> str:
    simulated = found.power is not None and found.power.simulated is not None
    return f" ({SIMULATED})" if simulated and name in ENERGY else ""


def value(phase: PhaseCounters, name: str) -> str:
    """Return a figure of a phase; `-` where it has none."""
    return WORDS[name][2](phase.figures[name]) if name in phase.figures else "-"


# Processors that wait for storage, from which on it is said.
SOME_WAIT = 0.05

BOUND: dict[By, str] = {
    "waiting": "waiting",
    "mpi": "MPI",
    "openmp": "the OpenMP run-time",
    "io": "input and output",
    "memory": "memory",
    "branches": "mispredicted branches",
    "kernel": "the kernel",
    "stalls": "stalls of the processor",
    "instructions": "the number of instructions",
}


def bound_line(phase: PhaseCounters) -> str | None:
    """Return what a phase is bound by, and why that is said; None where nothing tells."""
    if phase.bound is None:
        return None
    said = f"bound by {BOUND[phase.bound.by]}"
    why = _why(phase)
    return f"{said}: {why}" if why else said


def _why(phase: PhaseCounters) -> str:
    """Return what it is said for; empty where the word says it."""
    figures, bound = phase.figures, phase.bound
    share = 0.0 if bound is None or bound.share is None else bound.share
    match None if bound is None else bound.by:
        case "waiting":
            waits = f", {rate(figures['iowait'])} wait for storage" if figures.get("iowait", 0.0) >= SOME_WAIT else ""
            return f"{rate(figures['cpu'])} processors busy{waits}" if "cpu" in figures else "next to no CPU time"
        case "mpi" | "openmp" | "io" if share:
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
                else "; cache-misses and branch-misses would say which"
            )
            return f"{rate(figures['ipc'])} instructions per cycle{missed}"
        case "instructions":
            return f"{rate(figures['ipc'])} per cycle"
    return ""


def _part(share: float) -> str:
    """Return a part of the cycles; misses overlap, so that it may be more than all."""
    return f"{percent(share)} of the cycles" if share < 1 else "as much as all cycles, or more"


def lines_about(found: CountersUnder) -> list[str]:
    """Return how the counters lie beside the run, and what to know of them."""
    name = clean(os.path.basename(found.path), 60)
    side = "after" if found.offset_s >= 0 else "before"
    where = (
        f"began {duration(abs(found.offset_s))} {side} the recording, by the clock"
        if found.by_clock
        else "taken to have begun with the recording: the file has no start time"
    )
    out = [f"{name}: a row each {duration(found.row_s)}, {where}"]
    if found.left_out:
        out.append(f"{found.left_out} rows across phases are left out")
    if any(phase.seconds == 0 for phase in found.phases):
        empty = ", ".join(str(phase.id) for phase in found.phases if phase.seconds == 0)
        out.append(f"no row lies in phase {empty}: shorter rows would (incprof sample -i)")
    if "memory_bytes_s" in columns(found):
        out.append("memory is misses of the last-level cache, 64 bytes each; written lines and prefetches come on top")
    out += _power_lines(found)
    out += [clean(line, 200) for line in found.notes]
    if found.unknown:
        out.append(f"columns not used here: {clean(', '.join(found.unknown), 120)}")
    return out


def energy_line(found: CountersUnder, phase: PhaseCounters, names: Names = SHORT) -> str | None:
    """Return the energy of the steps of a phase; None where none is known."""
    if not phase.steps:
        return None
    each = [
        f"{names(step.function)} {joules(step.energy_j)} a call ({count(step.calls, 'call')})" for step in phase.steps
    ]
    return f"energy of steps{_mark(found, 'energy_j')}: {', '.join(each)}"


def _power_lines(found: CountersUnder) -> list[str]:
    """Return what power is of, and what the whole run took."""
    power = found.power
    if power is None:
        return []
    source = f"{SIMULATED} by {clean(power.simulated, 200)}" if power.simulated is not None else clean(power.name, 60)
    between = f", {joules(power.between_j)} of it between phases" if power.between_j > 0 else ""
    out = [
        f"power ({source}) is of the whole node, whoever uses it: {joules(power.energy_j)} in the "
        f"{duration(power.measured_s)} of the run that have it{between}"
    ]
    return out + [clean(line, 200) for line in power.notes if not line.startswith("power is simulated")]
