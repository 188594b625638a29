"""The content of a run's page."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from incprof.analysis.heartbeats import match
from incprof.analysis.phase_result import PhaseResult
from incprof.analysis.views.page_parts import (
    MOST_BINS,
    MOST_ROWS,
    BeatLanes,
    PageParts,
    RankMap,
    SystemPart,
    Timed,
    agreement,
    groups_of_rows,
    quality,
    rank_rows,
)
from incprof.analysis.views.timed_calltree import DrawnTree, drawn_tree
from incprof.analysis.views.tracks import MOST, TimeBins, calls_by_cell, cut, self_series, time_bins
from incprof.model import Function, IntArray, IntervalProfile, distinct
from incprof.model.section import Section
from incprof.study.phase_options import Libs
from incprof.study.sites.store import STORE, TYPICAL, described
from incprof.study.study import Study
from incprof.symbols.source_lines import locate

# Size limits of a page's tables by time and phase.
MOST_BYTES = 2_200_000
# A function is located in the source from this share of the run on.
LOCATED_FROM = 0.005


def page_parts(
    study: Study,
    *,
    beats: BeatLanes | None = None,
    sections: Sequence[Callable[[TimeBins], Sequence[Section]]] = (),
    source: str | None = None,
    allow_changed: bool = False,
    all_ranks: bool = True,
    systems: Sequence[SystemPart] = (),
    whole: bool = False,
) -> PageParts:
    """Collect the content of the page.

    Args:
        study: of the rank that the page describes.
        beats: heartbeats to show beside the phases.
        sections: return the sections of a system, given the time bins of the page for its lanes.
        source: the directory that holds the program's source, for the lines around each site.
        allow_changed: accept files that were changed since the recording.
        all_ranks: read the other ranks too, for the map of ranks.
        systems: parts that systems draw.
        whole: do not summarise.
    """
    profile, result = study.profile, study.phases()
    timed = over_time(profile, result, libs=study.libs, whole=whole)
    # The page must not depend on the cost of a heartbeat: measurements of it would make pages differ.
    sites = study.sites(source, TYPICAL, allow_changed=allow_changed)
    answer = described(result, sites, TYPICAL, source)
    return PageParts(
        run=study.summary,
        metadata=profile.metadata,
        result=result,
        why=study.explain() if result.phases else None,
        explained=result.model,
        functions=with_places(study, timed),
        timed=timed,
        quality=quality(profile),
        sites=answer.sites,
        refused=answer.refused,
        source=source,
        ranks=rank_map(study, whole=whole) if all_ranks else None,
        # Heartbeats placed elsewhere than the phases' own sites are recorded in the run directory.
        beats=beats and with_phases(beats, study.as_placed(result, STORE), timed.tree, result.labels),
        sections=tuple(section for of_system in sections for section in of_system(timed.bins)),
        warnings=(*profile.warnings, *result.warnings),
        systems=tuple(systems),
        whole=whole,
        libs=study.libs,
        inlined=never_called(profile),
        directory=os.fspath(study.run.directory),
        processes=sum(process.rank == study.summary.rank for process in study.run.processes),
        job=study.run if study.run.is_job else None,
    )


def over_time(profile: IntervalProfile, result: PhaseResult, *, libs: Libs, whole: bool) -> Timed:
    """Summarise a run by time bins, coarse enough to keep the tables small; unchanged if `whole`."""
    labels = result.labels
    bins = time_bins(profile, labels, None if whole else MOST)
    tree = drawn_tree(profile, labels, libraries=libs != "drop", whole=whole)
    called = distinct(tree.frame[tree.frame >= 0])
    step = 1
    while True:
        cells = cut(bins, labels, step)
        ticks, calls = tree.by_cell(cells), calls_by_cell(profile, cells, called)
        small = ticks.written_bytes + calls.written_bytes <= MOST_BYTES
        if whole or small or step >= len(bins.end_s):
            series = self_series(profile, labels, bins)
            return Timed(bins, series, tree, cells, ticks, calls, called)
        step *= 2


def never_called(profile: IntervalProfile) -> frozenset[int]:
    """Return the functions that were inlined everywhere."""
    if profile.inlined is None:
        return frozenset()
    called = set(profile.paths.function.tolist()) | set(profile.calls.tocoo().col.tolist())
    return frozenset(profile.inlined.function.tolist()) - called


def with_phases(beats: BeatLanes, placed: PhaseResult, tree: DrawnTree, labels: IntArray) -> BeatLanes:
    """Assign phases to heartbeats: of several, the one with most of their functions."""
    matched = match(placed.phases, [beat.id for beat in beats.beats], [beat.name for beat in beats.beats])
    phases: list[int | None] = []
    for beat, functions in enumerate(matched.functions):
        candidates = [placed.phases[place].id for place, own in enumerate(matched.of_phase) if beat in own]
        ticks = tree.below(functions, labels) if len(candidates) > 1 else {}
        phases.append(max(candidates, key=lambda phase: ticks.get(phase, 0.0), default=None))
    return replace(beats, phases=tuple(phases))


def with_places(study: Study, timed: Timed) -> tuple[Function, ...]:
    """Return the functions, the relevant ones with file and line."""
    total = timed.tree.total
    large = timed.tree.frame[total >= LOCATED_FROM * max(float(total[0]), 1.0)]
    drawn = distinct(np.concatenate([large[large >= 0], timed.series.functions])).tolist()
    functions = list(study.profile.functions)
    places = locate(study.run, study.profile, [functions[i] for i in drawn], exe=study.exe)
    for place, function in zip(drawn, places, strict=True):
        functions[place] = replace(functions[place], file=function.file, line=function.line)
    return tuple(functions)


# All ranks of a run over time, for the map of a page.


def rank_map(study: Study, *, whole: bool = False) -> RankMap | None:
    """Return the map of all ranks; None where there is one rank only. whole: a row for each rank."""
    ranks, profile = study.ranks, study.profile
    if ranks is None:
        return None
    edges = np.linspace(float(profile.start_s[0]), float(profile.end_s[-1]), min(profile.n_intervals, MOST_BINS) + 1)
    reference = profile.metadata.rank
    rows = rank_rows(ranks, reference, edges)
    own = next(row for row in rows if row.ranks == (reference,))
    unread = study.shared.left_out if study.shared is not None else ()
    return RankMap(
        result=ranks,
        groups=tuple(groups_of_rows(ranks, rows, None if whole else MOST_ROWS)),
        agreement={row.ranks[0]: agreement(row, own) for row in rows},
        start_s=edges[:-1],
        end_s=edges[1:],
        reference=reference,
        unread=unread,
    )
