"""What phases allocate and keep, on their cards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from incprof.analysis.views.tracks import TimeBins
from incprof.model.section import Amount, CardPart, Column, Lane, edges_of
from incprof.readers.stream.interval_images import RecordedPaths
from incprof.report.render.json import fields, whole
from incprof.report.words.display_names import path_text
from incprof.report.words.formatting import count, decimal_size
from incprof.study.recorded_paths import PathNames, Place, names_at, paths_of, places_of
from incprof.study.study import Study
from incprof.systems.memory.analyse import ENOUGH_S, Growth, NodeBytes, PhaseMemory, curve_of, memory_by_phase
from incprof.systems.memory.read import Allocations, read_allocations

MOST_NAMED, MOST_FUNCTIONS = 3, 3
# A path with a smaller share is in no sentence.
WORTH = 0.05
# Fewer bytes alive than this at the peak have no path in a sentence.
LEAST_PEAK_B = 100e3
# A peak with a larger standard error, in relation to it, is only a bound.
MOST_ERROR = 0.5

# By node: the functions on its call path.
Names = dict[int, PathNames]
UNKNOWN = PathNames([])


def card(study: Study, bins: TimeBins | None) -> CardPart | None:
    """Return what each phase allocates and keeps; None if it was not recorded."""
    if study.process.series:
        return None
    allocations = read_allocations(study.process.path)
    if allocations is None:
        return None
    recorded = not allocations.own_allocator and len(allocations.end_s) > 0
    phases, names = dict[int, PhaseMemory](), Names()
    if recorded:
        paths = paths_of(study)
        allocations = without_recursion(allocations, paths)
        phases = {each.id: each for each in memory_by_phase(allocations, study.profile, study.phases())}
        names = _names(study, paths, phases.values())
    columns = (
        # Without a sample that is unknown: not nothing.
        Column("Allocated", lambda phase: _of(phases, phase, "allocated_b") or None, "kB", drop=3, key="allocated_b"),
        Column("Peak", lambda phase: _peak_of(phases.get(phase)), "kB", drop=3, key="peak_b"),
        Column("Memory", lambda phase: sentence(phases[phase], names) if phase in phases else None, sentence=True),
    )
    amounts = (
        Amount("allocated", "bytes allocated", "B", {each.id: each.allocated_b for each in phases.values()}),
        Amount(
            "peak", "peak of allocated memory", "B",
            {each.id: each.peak_b for each in phases.values()},
            {each.id: each.peak_error_b for each in phases.values()},
        ),
    )  # fmt: skip
    lanes = () if bins is None or not phases else _lanes(allocations, bins)
    values = {each.id: value(each, names) for each in phases.values()}
    return CardPart("memory", values, columns, lanes, tuple(notes(allocations)), amounts if phases else ())


def without_recursion(allocations: Allocations, paths: RecordedPaths) -> Allocations:
    """Return the allocations with the same node for call paths that differ only in recursive calls."""
    first, nodes = dict[tuple[tuple[int, int], ...], int](), list[int]()
    numbers, which = np.unique(allocations.node, return_inverse=True)
    for node in numbers.tolist():
        path = paths.without_recursion(node)
        calls = tuple((int(paths.tree.function[at]), int(paths.tree.address[at])) for at in path)
        nodes.append(first.setdefault(calls, node))
    return replace(allocations, node=np.array(nodes, dtype=np.int64)[which])


def _names(study: Study, paths: RecordedPaths, phases: Iterable[PhaseMemory]) -> Names:
    """Return the functions on the call paths of phases, with inlined ones and the innermost's call of a header."""
    nodes = {each.node for phase in phases for each in (*phase.allocating, *phase.at_peak)}
    places = places_of(study, paths, (at for node in nodes for at in paths.path_to(node)))
    return {node: with_called(names_at(paths, places, node), places.get(node)) for node in nodes}


def with_called(names: PathNames, place: Place | None) -> PathNames:
    """Return the names with the function of a system header that the innermost one calls, such as std::vector's."""
    if place is None or place.called is None:
        return names
    return PathNames([place.called, *names.functions], None if names.own is None else names.own + 1)


def _of(phases: dict[int, PhaseMemory], phase: int, name: str) -> int | None:
    """Return bytes of a phase; None where they are not available."""
    return round(getattr(phases[phase], name)) if phase in phases else None


def _peak_of(one: PhaseMemory | None) -> int | None:
    """Return the bytes at a phase's peak; None where none or too few were sampled to estimate them."""
    return round(one.peak_b) or None if one is not None and one.peak_error_b <= MOST_ERROR * one.peak_b else None


def value(one: PhaseMemory, names: Names) -> dict[str, object]:
    """Return the JSON value of a phase."""
    values: dict[str, object] = {
        **fields(one, "allocated_b freed_b alive_begin_b alive_end_b peak_b peak_error_b", whole),
        "allocating": [_path_value(each, names) for each in one.allocating],
        "at_peak": [_path_value(each, names) for each in one.at_peak],
    }
    if one.growth is not None:
        per_iteration = one.growth.per_iteration()
        if per_iteration is not None:
            values |= {"growth_per_iteration_b": list(per_iteration)}
        if one.growth.step is not None:
            values |= {"iteration": one.growth.step}
        if not one.growth.per_occurrence:
            values |= {"growth_per_second_b": [one.growth.low, one.growth.value, one.growth.high]}
        values |= {"leak": one.growth.is_leak}
    elif one.undecided_b > 0:
        values |= {"leak": None}
    return values


def _path_value(one: NodeBytes, names: Names) -> dict[str, object]:
    """Return the JSON value of a call path: its functions, innermost first."""
    return {"functions": names.get(one.node, UNKNOWN).functions, "bytes": round(one.bytes), "share": one.share}


def sentence(one: PhaseMemory, names: Names) -> str | None:
    """Return what a phase allocates, keeps and at which paths; None if it does neither."""
    if one.allocated_b < 0.5 and one.peak_b < 0.5:
        return None
    rate = f" ({decimal_size(round(one.allocated_b / one.seconds))}/s)" if one.seconds > 0 else ""
    allocates = f"allocates {decimal_size(round(one.allocated_b))}{rate}{_listed(one.allocating, names, 'in')}"
    sentences = [allocates] if one.allocated_b >= 0.5 else []
    error = f" +- {decimal_size(round(one.peak_error_b))}" if one.peak_error_b > 0.01 * one.peak_b else ""
    if one.peak_b < 0.5:
        pass  # no block that was alive was sampled
    elif _peak_of(one) is None:
        sentences.append(f"has no more than {decimal_size(round(one.peak_b + 2 * one.peak_error_b))} at its peak")
    else:
        peak = f"has {decimal_size(round(one.peak_b))}{error} at its peak"
        sentences.append(peak + (_listed(one.at_peak, names, "of") if one.peak_b >= LEAST_PEAK_B else ""))
    if one.growth is not None and one.growth.is_leak:
        sentences.append(_growth(one.growth))
    if one.undecided_b >= LEAST_PEAK_B:
        too_short = f"under {ENOUGH_S:g} s, too short to tell a leak from data"
        sentences.append(f"keeps {decimal_size(round(one.undecided_b))} of it: {too_short}")
    return "; ".join(sentences)


def _growth(growth: Growth) -> str:
    """Return "keeps 3.1 MB (2.9 to 3.3) more per iteration (`step`), without an end: a leak, or growing data"."""
    ends = growth.per_iteration()
    unit = "per second" if ends is None else "each time" if growth.step is None else f"per iteration ({growth.step})"
    low, value, high = ends or (growth.low, growth.value, growth.high)
    low_text, high_text = (decimal_size(max(round(end), 0)) for end in (low, high))
    end = "freed only as the run ends" if growth.is_freed else "without an end"
    amount = f"{decimal_size(round(value))} ({low_text} to {high_text})"
    return f"keeps {amount} more {unit}, {end}: a leak, or growing data"


def _listed(parts: Sequence[NodeBytes], names: Names, word: str) -> str:
    """Return ", 60 % in `f` < `main`" of the largest paths."""
    shares = dict[str, float]()
    for part in parts:
        path = path_text(*names.get(part.node, UNKNOWN), MOST_FUNCTIONS)
        shares[path] = shares.get(path, 0.0) + part.share
    largest = sorted(shares.items(), key=lambda one: -one[1])[:MOST_NAMED]
    named = [f"{100 * share:.0f} % {word} {path}" for path, share in largest if path and share >= WORTH]
    return f", {', '.join(named)}" if named else ""


def _lanes(allocations: Allocations, bins: TimeBins) -> tuple[Lane, ...]:
    """Return the bytes alive at the ends of the bins of a page."""
    bytes_in_use = curve_of(allocations).at(bins.end_s)
    recorded = bins.start_s < allocations.end_s[-1]
    edges, values = edges_of(bins.start_s, bins.end_s, np.where(recorded, bytes_in_use, np.nan))
    return (Lane("allocated memory", "kB", edges, values, "bytes allocated and not freed, estimated", "alive"),)


def notes(allocations: Allocations) -> list[str]:
    """Return sentences about all phases."""
    if allocations.own_allocator:
        return ["Allocations were not recorded: the program defines malloc itself"]
    lines = []
    if len(allocations.end_s):
        sampled = f"Memory is an estimate from {count(len(allocations), 'allocation')} of the process sampled"
        lines.append(
            f"{sampled if len(allocations) else 'No allocation of the process was sampled'}; it allocated "
            f"{decimal_size(round(allocations.allocated_b))} in all"
        )
        mean = float(allocations.usual_mean.max())
        if mean > float(allocations.usual_mean.min()):
            lines.append(f"Samples were taken down to one per {decimal_size(round(mean))}, to limit their cost")
    lost = float(allocations.lost[-1:].sum())
    if lost > 0.01 * (len(allocations) + lost):
        lines.append(
            f"{count(round(lost), 'sampled allocation')} could not be recorded, so that paths and peaks are too low"
        )
    if allocations.damaged:
        lines.append(f"{count(allocations.damaged, 'image')} of allocations could not be read")
    return lines
