"""Names of events in tables and in recordings, and the figures made of them: a row for each.

A new figure is a row of FIGURES: text, JSON and page show it where its events were counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from incprof.model import BoolArray, FloatArray
from incprof.model.series import canonical, event_of

# Numbers of the counters in a recording (docs/reference/formats.md, kind 12).
MINOR, MAJOR, VOLUNTARY, INVOLUNTARY, USER_NS, SYSTEM_NS, RESIDENT, PEAK, TASK_CLOCK, MIGRATIONS = range(1, 11)
# Events of groups, from number 10 on.
EVENTS = (
    "cpu-migrations", "cycles", "instructions", "cache-references", "cache-misses", "branch-misses",
    "slots", "topdown-retiring", "topdown-bad-spec", "topdown-fe-bound", "topdown-be-bound", "topdown-mem-bound",
    *(f"fp-arith-inst-retired.{width}-double" for width in ("scalar", "128b-packed", "256b-packed", "512b-packed")),
    *(f"fp-arith-inst-retired.{width}-single" for width in ("scalar", "128b-packed", "256b-packed", "512b-packed")),
    "fp-ret-sse-avx-ops.all", "ex-ret-ops", "de-src-op-disp.all",
    "de-no-dispatch-per-slot.no-ops-from-frontend", "de-no-dispatch-per-slot.backend-stalls",
    "topdown-heavy-ops", "topdown-br-mispredict", "topdown-fetch-lat",
    "ex-no-retire.not-complete", "ex-no-retire.load-not-complete",
    "cpu-slots", "stall-slot-frontend", "stall-slot-backend", "op-retired", "op-spec",
)  # fmt: skip
ENERGY = MIGRATIONS + len(EVENTS)
NUMBERS = ENERGY + 1
# Columns of a recording, and the numbers that they are sums of.
COUNTS = {
    "minor-faults": (MINOR,),
    "major-faults": (MAJOR,),
    "context-switches": (VOLUNTARY, INVOLUNTARY),
    **{name: (number,) for number, name in enumerate(EVENTS, start=MIGRATIONS)},
}
# Processors busy, by the time that was counted.
SHARES = {"cpu": (USER_NS, SYSTEM_NS), "user": (USER_NS,), "system": (SYSTEM_NS,)}
# Both run at a fixed rate while the processor works.
FIXED_RATE = {"bus-cycles": "ref-cycles"}


def plain(name: str) -> str:
    """Return the canonical name of an event, without kind of core and mode."""
    word = canonical(name) or event_of(name).lower().replace("_", "-")
    return FIXED_RATE.get(word, word)


@dataclass(frozen=True)
class Events:
    """Columns of counters in some rows.

    Attributes:
        names: (m) names of the columns.
        values: (r, m), NaN: not counted.
        row_s: (r,) lengths of the rows, seconds.
    """

    names: Sequence[str]
    values: FloatArray
    row_s: FloatArray

    @property
    def wall_s(self) -> float:
        """Time of all rows, seconds."""
        return float(self.row_s.sum())

    def select(self, rows: BoolArray) -> Events:
        """Return the events of some rows, (r,)."""
        return Events(self.names, self.values[rows], self.row_s[rows])

    def column(self, name: str) -> FloatArray | None:
        """Return an event, (r,), summed over all kinds of cores; None if it is missing."""
        positions = [at for at, each in enumerate(self.names) if plain(each) == name]
        if not positions:
            return None
        values = self.values[:, positions]
        # A thread that runs on one kind of core is not counted on the other.
        return np.where(np.isnan(values).all(axis=1), np.nan, np.nansum(values, axis=1))

    def ratio(self, above: str, below: str) -> float | None:
        """Return the sum of one event over that of another, in the rows that have both; None if there are none."""
        one, other = self.column(above), self.column(below)
        if one is None or other is None:
            return None
        both = np.isfinite(one) & np.isfinite(other)
        whole = float(other[both].sum())
        return float(one[both].sum()) / whole if whole > 0 else None

    def per_second(self, name: str) -> float | None:
        """Return the count per second; None if not available."""
        column = self.column(name)
        return None if column is None else self._mean(column, self.row_s * 0 + 1)

    def mean(self, name: str) -> float | None:
        """Return the mean over time of a level or a share; None if not available."""
        column = self.column(name)
        return None if column is None else self._mean(column, self.row_s)

    def _mean(self, values: FloatArray, weight: FloatArray) -> float | None:
        """Return the sum of weighted values over the time in which there are some."""
        measured = np.isfinite(values)
        time = float(self.row_s[measured].sum())
        return float((values * weight)[measured].sum()) / time if time > 0 else None


@dataclass(frozen=True)
class Formula:
    """How a figure is computed.

    Attributes:
        events: that it uses.
        of: Returns its value in some rows; None where it has none.
    """

    events: tuple[str, ...]
    of: Callable[[Events], float | None]


def mean(level: str) -> Formula:
    """Return the mean of a level or a share."""
    return Formula((level,), lambda events: events.mean(level))


def per_second(event: str, factor: float = 1.0) -> Formula:
    """Return the rate of an event, times a factor."""
    return Formula((event,), lambda events: _times(factor, events.per_second(event)))


def ratio(above: str, below: str, factor: float = 1.0) -> Formula:
    """Return the ratio of two events, times a factor."""
    return Formula((above, below), lambda events: _times(factor, events.ratio(above, below)))


def first(*formulas: Formula) -> Formula:
    """Return the value of the first formula that has one."""

    def of(events: Events) -> float | None:
        return next((value for formula in formulas if (value := formula.of(events)) is not None), None)

    return Formula(_events(formulas), of)


def total(*formulas: Formula) -> Formula:
    """Return the sum of the formulas that have a value."""

    def of(events: Events) -> float | None:
        values = [value for formula in formulas if (value := formula.of(events)) is not None]
        return sum(values) if values else None

    return Formula(_events(formulas), of)


def combined(one: Formula, other: Formula, how: Callable[[float, float], float | None]) -> Formula:
    """Return what two formulas make together; None where one of them has no value."""

    def of(events: Events) -> float | None:
        a, b = one.of(events), other.of(events)
        return None if a is None or b is None else how(a, b)

    return Formula((*one.events, *other.events), of)


def share(part: str, other: str) -> Formula:
    """Return the part that one level has of its sum with another."""
    return combined(mean(part), mean(other), lambda a, b: a / (a + b) if a + b > 0 else None)


def quotient(above: Formula, below: Formula) -> Formula:
    """Return the quotient of two formulas; None where the second is 0."""
    return combined(above, below, lambda a, b: a / b if b else None)


def less(one: Formula, other: Formula) -> Formula:
    """Return what one formula has more than another, at least 0."""
    return combined(one, other, lambda a, b: max(a - b, 0.0))


def _times(factor: float, value: float | None) -> float | None:
    return None if value is None else factor * value


def _events(formulas: Sequence[Formula]) -> tuple[str, ...]:
    return tuple(event for formula in formulas for event in formula.events)


def misses(below: str, factor: float = 1.0) -> Formula:
    """Return misses of the last level per other event; perf also has an event for those of loads alone."""
    return first(ratio("cache-misses", below, factor), ratio("llc-load-misses", below, factor))


# Slots of the pipeline in a cycle of AMD's Zen 4 (Software Optimization Guide for the Zen4 Microarchitecture, 2.1).
ZEN_SLOTS = 6
# Operations of an instruction, by how many values it holds (Intel SDM, volume 3B, FP_ARITH_INST_RETIRED).
FLOPS = {
    "fp-arith-inst-retired.scalar-double": 1, "fp-arith-inst-retired.scalar-single": 1,
    "fp-arith-inst-retired.128b-packed-double": 2, "fp-arith-inst-retired.128b-packed-single": 4,
    "fp-arith-inst-retired.256b-packed-double": 4, "fp-arith-inst-retired.256b-packed-single": 8,
    "fp-arith-inst-retired.512b-packed-double": 8, "fp-arith-inst-retired.512b-packed-single": 16,
    # AMD counts operations.
    "fp-ret-sse-avx-ops.all": 1,
}  # fmt: skip
SCALAR = ("fp-arith-inst-retired.scalar-double", "fp-arith-inst-retired.scalar-single")


# A part of the slots of an Arm core, from the shares of its slots that the frontend and the backend stall, and the part
# of its operations that retire (perf's pmu-events/arch/arm64/sbsa.json).
ArmPart = Callable[[float, float, float], float]


def slots(intel: str, *amd: str, arm: ArmPart | None = None) -> Formula:
    """Return a part of the pipeline's slots: by Intel's events, else by AMD's (the first less the others), or Arm's."""
    others = [*([_of_zen(amd)] if amd else []), *([_of_arm(arm)] if arm is not None else [])]
    return first(ratio(f"topdown-{intel}", "slots"), *others)


def _of_arm(part: ArmPart) -> Formula:
    """Return a part of the slots of an Arm core."""

    def of(events: Events) -> float | None:
        frontend = events.ratio("stall-slot-frontend", "cpu-slots")
        backend = events.ratio("stall-slot-backend", "cpu-slots")
        retired = events.ratio("op-retired", "op-spec")
        if frontend is None or backend is None or retired is None:
            return None
        return max(part(frontend, backend, min(retired, 1.0)), 0.0)

    return Formula(("stall-slot-frontend", "stall-slot-backend", "cpu-slots", "op-retired", "op-spec"), of)


def _of_zen(events: tuple[str, ...]) -> Formula:
    """Return the first event less the others over the slots of Zen 4, which are cycles times six."""

    def of(events_of_rows: Events) -> float | None:
        parts = [events_of_rows.ratio(event, "cycles") for event in events]
        if any(part is None for part in parts):
            return None
        head, *others = (part or 0.0 for part in parts)
        return max(head - sum(others), 0.0) / ZEN_SLOTS

    return Formula((*events, "cycles"), of)


def flops(events: Iterable[str], factor: float = 1.0) -> Formula:
    """Return the floating-point operations per second of those events that were counted, times a factor."""
    return total(*(per_second(event, factor * FLOPS[event]) for event in events))


def of_width(bits: str) -> tuple[str, ...]:
    """Return the events of floating-point instructions of a width: scalar, 128b, 256b, 512b."""
    return tuple(event for event in FLOPS if f".{bits}" in event)


@dataclass(frozen=True)
class Figure:
    """A figure of a period of time.

    Attributes:
        key: Name in JSON.
        formula: None: computed from the power of the whole run.
        head: Heading of its column; "": in JSON only.
        title: Full name.
        unit: As of a column (incprof/model/section.py).
        lane: Place among the lanes of a page, from the top; 0: no lane.
    """

    key: str
    formula: Formula | None
    head: str = ""
    title: str = ""
    unit: str = "number"
    lane: int = 0

    def of(self, events: Events) -> float | None:
        """Return its value in some rows; None where it has none."""
        return None if self.formula is None else self.formula.of(events)


# The node's power, from any column.
POWER = "power-watts"
# Size of a line of the last-level cache, on x86-64 and most other processors.
LINE_BYTES = 64
MISSED = (per_second("cache-misses", LINE_BYTES), per_second("llc-load-misses", LINE_BYTES))
# Lines that the memory controllers of the node read and write: Intel's uncore_imc, AMD's amd_umc (perf's uncore-memory
# and memory-controller events).
NODE_READ = total(per_second("cas-count-read", LINE_BYTES), per_second("umc-cas-cmd.rd", LINE_BYTES))
NODE_WRITTEN = total(per_second("cas-count-write", LINE_BYTES), per_second("umc-cas-cmd.wr", LINE_BYTES))
# Arm's CMN has one event of both.
NODE_MEMORY = first(total(NODE_READ, NODE_WRITTEN), per_second("hnf-mc-reqs", LINE_BYTES))
MEMORY = first(NODE_MEMORY, *MISSED)

RETIRING = slots("retiring", "ex-ret-ops", arm=lambda front, back, retired: retired * (1 - front - back))
BAD_SPECULATION = slots(
    "bad-spec", "de-src-op-disp.all", "ex-ret-ops", arm=lambda front, back, retired: (1 - retired) * (1 - front - back)
)
FRONTEND = slots("fe-bound", "de-no-dispatch-per-slot.no-ops-from-frontend", arm=lambda front, back, retired: front)
BACKEND = slots("be-bound", "de-no-dispatch-per-slot.backend-stalls", arm=lambda front, back, retired: back)
# Level 2: Intel's (Linux, tools/perf/Documentation/topdown.txt), else AMD's (its amdzen4/pipeline.json).
MEMORY_BOUND = first(
    slots("mem-bound"),
    combined(BACKEND, ratio("ex-no-retire.load-not-complete", "ex-no-retire.not-complete"), lambda a, b: a * b),
)
MISPREDICTED = slots("br-mispredict")
HEAVY, FETCH_LATENCY = slots("heavy-ops"), slots("fetch-lat")
# In the order of the columns, of which the last are dropped first where space is short.
FIGURES = (
    Figure("power_w", mean(POWER), "power", "power of the node", "W", lane=1),
    Figure("energy_j", None, "energy", "energy of the node", "J"),
    Figure("iteration_j", None, "iteration", "energy of the node in an iteration", "J"),
    Figure("cpu", first(mean("cpu"), per_second("task-clock", 1e-9)), "CPUs", "processors busy", lane=6),
    Figure("ipc", first(ratio("instructions", "cycles"), mean("ipc")), "IPC", "instructions per cycle", lane=2),
    Figure(
        "misses_per_1000", misses("instructions", 1000),
        "misses/1000", "cache misses per 1000 instructions", lane=3,
    ),
    Figure("misses_per_cycle", misses("cycles")),
    Figure("miss_share", ratio("cache-misses", "cache-references")),
    Figure(
        "memory_bytes_s",
        MEMORY,
        "memory", "memory, about", "kB/s", lane=4,
    ),
    Figure(
        "branch_misses_per_1000", ratio("branch-misses", "instructions", 1000),
        "branch misses/1000", "branch misses per 1000 instructions", lane=5,
    ),
    Figure("node_memory_bytes_s", NODE_MEMORY),
    Figure("memory_read_bytes_s", NODE_READ, "memory read", "memory read, by the whole node", "kB/s"),
    Figure("memory_written_bytes_s", NODE_WRITTEN, "memory written", "memory written, by the whole node", "kB/s"),
    Figure("retiring", RETIRING, "retiring", "slots that retire instructions", "%"),
    Figure("bad_speculation", BAD_SPECULATION, "bad speculation", "slots lost to bad speculation", "%"),
    Figure("frontend_bound", FRONTEND, "frontend", "slots in which no instruction was there", "%"),
    Figure("backend_bound", BACKEND, "backend", "slots in which data or units were missing", "%"),
    Figure("memory_bound", MEMORY_BOUND, "memory bound", "slots in which data was missing", "%"),
    Figure("core_bound", less(BACKEND, MEMORY_BOUND)),
    Figure("branch_mispredicts", MISPREDICTED),
    Figure("machine_clears", less(BAD_SPECULATION, MISPREDICTED)),
    Figure("fetch_latency", FETCH_LATENCY),
    Figure("fetch_bandwidth", less(FRONTEND, FETCH_LATENCY)),
    Figure("heavy_operations", HEAVY),
    Figure("light_operations", less(RETIRING, HEAVY)),
    Figure("gflops_s", flops(FLOPS, 1e-9), "Gflop/s", "floating-point operations per second, in billions"),
    *(Figure(f"gflops_{bits}_s", flops(of_width(bits), 1e-9)) for bits in ("scalar", "128b", "256b", "512b")),
    Figure("scalar_share", quotient(flops(SCALAR), flops(FLOPS))),
    Figure("intensity", quotient(flops(FLOPS), MEMORY), "flop/B", "operations per byte from memory, about"),
    Figure("branch_misses_per_cycle", ratio("branch-misses", "cycles")),
    Figure("system_share", share("system", "user"), "kernel", "kernel's part of CPU time", "%", lane=7),
    Figure("context_switches_s", per_second("context-switches"), "switches/s", "context switches per second", lane=8),
    Figure(
        "page_faults_s", first(per_second("page-faults"), per_second("minor-faults")),
        "faults/s", "page faults per second", lane=9,
    ),
    Figure("major_faults_s", per_second("major-faults")),
    Figure("migrations_s", per_second("cpu-migrations")),
    Figure("read_bytes_s", per_second("read-bytes"), "read", "read", "kB/s", lane=10),
    Figure("write_bytes_s", per_second("write-bytes"), "written", "written", "kB/s", lane=11),
    Figure("disk_read_bytes_s", per_second("disk-read-bytes"), "disk read", "read from disks", "kB/s"),
    Figure("disk_write_bytes_s", per_second("disk-write-bytes"), "disk written", "written to disks", "kB/s"),
    Figure(
        "net_bytes_s", total(per_second("net-rx-bytes"), per_second("net-tx-bytes")),
        "network", "network, both ways", "kB/s",
    ),
    Figure("iowait", mean("iowait"), "I/O wait", "processors that wait for storage"),
    Figure("rss_bytes", mean("rss-bytes"), "resident", "resident memory", "kB", lane=12),
)  # fmt: skip
# Columns that answers do not list as unused: they have no figure of their own.
WITHOUT_FIGURE = {
    "ref-cycles", "branches", "active-cpus", "running-threads", "run-queue", "net-lo-bytes",
    "ipc-ref",
}  # fmt: skip
KNOWN = WITHOUT_FIGURE.union(*(figure.formula.events for figure in FIGURES if figure.formula is not None)) - {POWER}


def drawn_figures() -> list[Figure]:
    """Return the figures that are drawn over time, from the top."""
    return sorted((figure for figure in FIGURES if figure.lane), key=lambda figure: figure.lane)


def figures_of(events: Events) -> dict[str, float]:
    """Return the figures that the events allow, in order."""
    figures = {figure.key: figure.of(events) for figure in FIGURES}
    return {key: value for key, value in figures.items() if value is not None}
