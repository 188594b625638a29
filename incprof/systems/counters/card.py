"""Counters on the cards of phases: figures, resident memory, what bounds each phase, energy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from incprof.analysis.energy import overlaps
from incprof.analysis.views.tracks import TimeBins
from incprof.model.section import Amount, CardPart, Column, Lane
from incprof.study.run_counters import SampledCounters
from incprof.study.study import Study
from incprof.systems.counters.analyse import CountersByPhase, counters_by_phase, lanes_of
from incprof.systems.counters.read import RecordedCounters, read_by_phase, recorded_counters
from incprof.systems.counters.roofline import kept, place, sentence
from incprof.systems.counters.sections import BOUND, lane

# Metric in conditions, name, unit, columns.
COMPARED = (
    ("kernel", "CPU time in the kernel", "s", ("system",)),
    ("faults", "page faults", "count", ("minor-faults", "major-faults")),
    ("switches", "context switches", "count", ("context-switches",)),
    ("instructions", "instructions", "count", ("instructions",)),
    ("cycles", "cycles", "count", ("cycles",)),
)
# A figure that has a place of its own on a card.
ENERGY = "energy_j"


def cards(study: Study, path: str | None, bins: TimeBins | None) -> list[CardPart]:
    """Return the parts on counters in the recording, and on those in a file if one is given; its figures go first.

    The lanes of a file's counters are in its own section.
    """
    recorded = None if study.process.series else recorded_counters(study.process.path)
    by_phase = [] if recorded is None else [_by_phase(study, recorded)]
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
    energy = {phase: float(str(each.pop(ENERGY))) for phase, each in figures.items() if ENERGY in each}
    if recorded is not None:
        for number, memory in _resident(study, recorded).items():
            figures[number] |= memory
    for number, bound in bounds.items():
        figures[number]["bound_by"] = bound
    under_roof = _under_roof(study, figures)
    metrics = {phase: each for phase, each in figures.items() if each}
    lanes = () if bins is None else _lanes(by_phase[0], recorded, bins)
    amounts = () if recorded is None else _amounts(study, recorded)
    columns = (*_columns(metrics), *([Column("Roof", under_roof.get, sentence=True)] if under_roof else []))
    parts = [CardPart("metrics", metrics, columns, lanes, amounts=amounts)]
    if energy:
        notes = () if recorded is None or recorded.series.power is None else recorded.series.power.notes
        of_run = (Amount("energy", "energy of the node", "J", energy),) if notes else ()
        column = Column("Energy", energy.get, "J", drop=1, key=ENERGY)
        parts.append(CardPart(ENERGY, energy, (column,), notes=notes, amounts=of_run))
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


def _by_phase(study: Study, recorded: RecordedCounters) -> CountersByPhase:
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
    out = []
    for metric, name, unit, columns in COMPARED:
        positions = [series.names.index(column) for column in columns if column in series.names]
        if positions:
            counts = series.values[:, positions].sum(axis=1)
            # Shares of processors become seconds.
            each = inside @ np.nan_to_num(counts if unit == "s" else counts / row_s)
            out.append(Amount(metric, name, unit, {phase.id: float(each[phase.id]) for phase in result.present}))
    return tuple(out)


def _columns(metrics: Mapping[int, Mapping[str, object]]) -> tuple[Column, ...]:
    """Return the columns of which some phase has a value."""
    shown = (
        Column("IPC", lambda phase: metrics.get(phase, {}).get("ipc"), "number", drop=4, key="ipc"),
        Column(
            "Resident", lambda phase: metrics.get(phase, {}).get("resident_peak_b"), "kB", drop=3, key="resident_peak_b"
        ),
        Column("Bound by", lambda phase: metrics.get(phase, {}).get("bound_by"), "", drop=2, key="bound_by"),
    )
    return tuple(column for column in shown if any(column.get(phase) is not None for phase in metrics))


def _lanes(by_phase: CountersByPhase, recorded: RecordedCounters | None, bins: TimeBins) -> tuple[Lane, ...]:
    """Return the recorded figures over time."""
    if recorded is None:
        return ()
    values = lanes_of(recorded.series, 0.0, bins.start_s, bins.end_s)
    return tuple(lane(by_phase, key, each, bins) for key, each in values.items())
