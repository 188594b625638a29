"""All that a run's page shows."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from incprof.analysis.agreement.match import match
from incprof.analysis.phases.results import PhaseResult
from incprof.analysis.views.calltree import DrawnTree, drawn_tree
from incprof.analysis.views.quality import quality
from incprof.analysis.views.self_time import self_series
from incprof.analysis.views.timebins import MOST, time_bins
from incprof.analysis.views.timecells import calls_by_cell, cut
from incprof.model import Function, IntArray, IntervalProfile, distinct
from incprof.readers.symbols.lines import locate
from incprof.report.page.parts import BeatLanes, CounterParts, MpiParts, NodeParts, PageParts, Timed
from incprof.report.words.doubts import doubt_lines
from incprof.study.counters import StudyCounters
from incprof.study.options import Libs
from incprof.study.rankmap import rank_map
from incprof.study.sites.cost import TYPICAL
from incprof.study.sites.described import described
from incprof.study.sites.store import STORE
from incprof.study.study import Study

if TYPE_CHECKING:
    from incprof.study.dna import NodeBeside

# What the tables by time and phase may take of a page.
MOST_BYTES = 2_200_000
# A function is looked up in the source from this share of the run on.
LOOKED_UP = 0.005


def page_parts(
    study: Study,
    *,
    beats: BeatLanes | None = None,
    counters: StudyCounters | None = None,
    node: NodeBeside | None = None,
    source: str | None = None,
    allow_changed: bool = False,
    all_ranks: bool = True,
    mpi: MpiParts | None = None,
    whole: bool = False,
) -> PageParts:
    """Collect what the page shows.

    Args:
        study: of the rank that the page is on.
        beats: heartbeats to show beside the phases.
        counters: to lay under the phases.
        node: that the run was on.
        source: the directory that holds the program's source, for the lines around each site.
        allow_changed: accept files that were changed since the recording.
        all_ranks: read the other ranks too, for the map of ranks.
        mpi: MPI calls of the run.
        whole: sum nothing up.
    """
    profile, result = study.profile, study.confident
    timed = over_time(profile, result, libs=study.libs, whole=whole)
    # Nothing here depends on what a heartbeat costs: measuring it would make pages differ.
    sites = study.sites(source, TYPICAL, allow_changed=allow_changed)
    answer = described(result, sites, TYPICAL, source)
    return PageParts(
        run=study.summary,
        metadata=profile.metadata,
        result=result,
        why=study.explain() if result.phases else None,
        explained=study.confident_model,
        functions=with_places(study, timed),
        timed=timed,
        quality=quality(profile),
        sites=answer.sites,
        refused=answer.refused,
        source=source,
        ranks=rank_map(study, whole=whole) if all_ranks else None,
        # Heartbeats that were put in elsewhere than the phases' own sites say so in the run directory.
        beats=beats and with_phases(beats, study.as_placed(result, STORE), timed.tree, result.labels),
        counters=None if counters is None else CounterParts(counters.under, counters.lanes(timed.bins)),
        node=None if node is None else NodeParts(node.phases, node.alphabet, node.node),
        warnings=(*profile.warnings, *result.warnings, *doubt_lines(study.summary, result)),
        mpi=mpi,
        whole=whole,
        libs=study.libs,
        inlined=never_called(profile),
        directory=os.fspath(study.run.directory),
        processes=sum(process.rank == study.summary.rank for process in study.run.processes),
    )


def over_time(profile: IntervalProfile, result: PhaseResult, *, libs: Libs, whole: bool) -> Timed:
    """Sum a run up by time bins, the tables so coarsely that they stay small; not at all if it is to be `whole`."""
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
            series = self_series(profile, labels, bins, libraries=libs in ("named", "caller"))
            return Timed(bins, series, tree, cells, ticks, calls, called)
        step *= 2


def never_called(profile: IntervalProfile) -> frozenset[int]:
    """Return the functions that were inlined wherever they ran."""
    if profile.inlined is None:
        return frozenset()
    called = set(profile.paths.function.tolist()) | set(profile.calls.tocoo().col.tolist())
    return frozenset(profile.inlined.function.tolist()) - called


def with_phases(beats: BeatLanes, placed: PhaseResult, tree: DrawnTree, labels: IntArray) -> BeatLanes:
    """Return the heartbeats with the phases that they stand for: of several, the one with most of their functions."""
    found = match(placed.phases, [beat.id for beat in beats.beats], [beat.name for beat in beats.beats])
    chosen: list[int | None] = []
    for beat, functions in enumerate(found.functions):
        candidates = [placed.phases[place].id for place, own in enumerate(found.of_phase) if beat in own]
        ticks = tree.below(functions, labels) if len(candidates) > 1 else {}
        chosen.append(max(candidates, key=lambda phase: ticks.get(phase, 0.0), default=None))
    return replace(beats, phases=tuple(chosen))


def with_places(study: Study, timed: Timed) -> tuple[Function, ...]:
    """Return the functions, those that matter with file and line."""
    total = timed.tree.total
    large = timed.tree.frame[total >= LOOKED_UP * max(float(total[0]), 1.0)]
    wanted = distinct(np.concatenate([large[large >= 0], timed.series.functions])).tolist()
    found = list(study.profile.functions)
    places = locate(study.run, study.profile, [found[i] for i in wanted], exe=study.exe)
    for place, function in zip(wanted, places, strict=True):
        found[place] = replace(found[place], file=function.file, line=function.line)
    return tuple(found)
