"""Counters by phase, as a part of incprof.phases/1 (docs/counters.md)."""

from __future__ import annotations

from incprof.analysis.counters.results import CountersUnder, PowerUnder, StepEnergy
from incprof.report.words.counters import bound_line, lines_about
from incprof.report.words.run import rounded


def counters_dict(found: CountersUnder) -> dict[str, object]:
    """Return what stands under "counters"."""
    return {
        "file": found.path,
        "aligned": "clock" if found.by_clock else "start",
        "offset_s": rounded(found.offset_s),
        "row_s": rounded(found.row_s),
        "rows_across_phases": found.left_out,
        "rows_outside": found.outside,
        "notes": lines_about(found),
        **({} if found.power is None else {"power": _power(found.power)}),
        "phases": [
            {
                "id": phase.id,
                "seconds": rounded(phase.seconds),
                "figures": {name: _digits(value) for name, value in phase.figures.items()},
                "bound_by": None if phase.bound is None else phase.bound.by,
                "share": None if phase.bound is None else rounded(phase.bound.share),
                "said": bound_line(phase),
                **({} if found.power is None else {"steps": [_step(step) for step in phase.steps]}),
            }
            for phase in found.phases
        ],
    }


def _power(found: PowerUnder) -> dict[str, object]:
    """Return where the energy comes from; `simulated` is the formula, or null."""
    return {
        "column": found.name,
        "simulated": found.simulated,
        "energy_j": _digits(found.energy_j),
        "between_j": _digits(found.between_j),
        "measured_s": rounded(found.measured_s),
    }


def _step(step: StepEnergy) -> dict[str, object]:
    """Return a step of a phase with the energy of a call."""
    return {"name": step.function.name, "calls": step.calls, "energy_per_call_j": _digits(step.energy_j)}


def _digits(value: float) -> float:
    """Return a number with as many digits as mean something: figures are from bytes a second to misses a cycle."""
    return float(f"{value:.6g}")
