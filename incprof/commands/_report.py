"""From a recorded run to all that its page shows."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from incprof.analysis.agreement.match import match
from incprof.analysis.explain import explain
from incprof.analysis.phases.confidence import with_confidence
from incprof.analysis.phases.results import PhaseResult
from incprof.analysis.views.calltree import CallTree, call_tree
from incprof.analysis.views.quality import quality
from incprof.analysis.views.self_time import self_series
from incprof.analysis.views.timebins import MOST, time_bins
from incprof.analysis.views.timecells import calls_by_cell, cut
from incprof.commands._common import chosen_libs, warn
from incprof.commands._phases import analyse
from incprof.commands._report_ranks import rank_map
from incprof.commands._sites import located_sites, recorded_sites
from incprof.commands._sites_cost import TYPICAL
from incprof.commands._sites_described import described
from incprof.commands._sites_memory import as_placed
from incprof.model import Function, IntArray, IntervalProfile, Run
from incprof.readers.run import choose_process
from incprof.readers.symbols.lines import locate
from incprof.report.page.parts import BeatLanes, PageParts, Timed
from incprof.report.sites_answer import SitesAnswer

# What the tables by time and phase may take of a page.
MOST_BYTES = 2_200_000
# A function is looked up in the source from this share of the run on.
LOOKED_UP = 0.005


def gather(recorded: Run, profile: IntervalProfile, beats: BeatLanes | None, args: argparse.Namespace) -> PageParts:
    """Analyse a run and collect what its page shows."""
    libs = chosen_libs(args.libs)
    summary, result = analyse(recorded, profile, args)
    result = with_confidence(profile, result, random_state=args.seed)
    warn(result.warnings)
    timed = over_time(profile, result, libraries=libs != "drop", whole=args.full)
    answer = sites_of(recorded, profile, result, args)
    ranks = None
    if args.all_ranks:
        ranks = rank_map(
            recorded,
            profile,
            result,
            libs=libs,
            exe=args.exe,
            inlined=args.method != "paper",
            jobs=args.jobs,
            whole=args.full,
        )
    return PageParts(
        run=summary,
        metadata=profile.metadata,
        result=result,
        why=explain(profile, result) if result.phases else None,
        functions=with_places(recorded, profile, timed, args.exe),
        timed=timed,
        quality=quality(profile),
        sites=answer.sites,
        refused=answer.refused,
        source=args.source,
        ranks=ranks,
        # Heartbeats that were put in elsewhere than the phases' own sites say so in the run directory.
        beats=beats and with_phases(beats, as_placed(result, profile, recorded.directory), timed.tree, result.labels),
        warnings=(*profile.warnings, *result.warnings),
        whole=args.full,
        libs=libs,
        inlined=never_called(profile),
        processes=sum(process.rank == summary.rank for process in recorded.processes),
    )


def over_time(profile: IntervalProfile, result: PhaseResult, *, libraries: bool, whole: bool) -> Timed:
    """Sum a run up by time bins, the tables so coarsely that they stay small; not at all if it is to be `whole`."""
    labels = result.labels
    bins = time_bins(profile, labels, None if whole else MOST)
    tree = call_tree(profile, labels, libraries=libraries, whole=whole)
    called = np.unique(tree.frame[tree.frame >= 0])
    step = 1
    while True:
        cells = cut(bins, labels, step)
        ticks, calls = tree.by_cell(cells), calls_by_cell(profile, cells, called)
        small = ticks.written_bytes + calls.written_bytes <= MOST_BYTES
        if whole or small or step >= len(bins.end_s):
            return Timed(bins, self_series(profile, labels, bins), tree, cells, ticks, calls, called)
        step *= 2


def sites_of(recorded: Run, profile: IntervalProfile, result: PhaseResult, args: argparse.Namespace) -> SitesAnswer:
    """Return the sites: placed in the source where that was given, else where the binary says that they are."""
    if args.source is None:
        sites = recorded_sites(profile, result, TYPICAL)
    else:
        # Nothing here depends on what a heartbeat costs: measuring it would make pages differ.
        sites = located_sites(
            recorded, choose_process(recorded, args.rank, args.pid), profile, result, Path(args.source), exe=args.exe,
            allow_changed=args.allow_changed, cost=TYPICAL,
        )  # fmt: skip
    return described(result, sites, TYPICAL, args.source)


def never_called(profile: IntervalProfile) -> frozenset[int]:
    """Return the functions that were inlined wherever they ran."""
    if profile.inlined is None:
        return frozenset()
    called = set(profile.paths.function.tolist()) | set(profile.calls.tocoo().coords[1].tolist())
    return frozenset(profile.inlined.function.tolist()) - called


def with_phases(beats: BeatLanes, placed: PhaseResult, tree: CallTree, labels: IntArray) -> BeatLanes:
    """Return the heartbeats with the phases that they stand for: of several, the one with most of their functions."""
    found = match(placed.phases, [beat.id for beat in beats.beats], [beat.name for beat in beats.beats])
    chosen: list[int | None] = []
    for beat, functions in enumerate(found.functions):
        candidates = [placed.phases[place].id for place, own in enumerate(found.of_phase) if beat in own]
        ticks = tree.below(functions, labels) if len(candidates) > 1 else {}
        chosen.append(max(candidates, key=lambda phase: ticks.get(phase, 0.0), default=None))
    return replace(beats, phases=tuple(chosen))


def with_places(recorded: Run, profile: IntervalProfile, timed: Timed, exe: str | None) -> tuple[Function, ...]:
    """Return the functions, those that matter with file and line."""
    total = timed.tree.total
    large = timed.tree.frame[total >= LOOKED_UP * max(float(total[0]), 1.0)]
    wanted = np.unique(np.concatenate([large[large >= 0], timed.series.functions])).tolist()
    found = list(profile.functions)
    for place, function in zip(wanted, locate(recorded, profile, [found[i] for i in wanted], exe=exe), strict=True):
        found[place] = replace(found[place], file=function.file, line=function.line)
    return tuple(found)
