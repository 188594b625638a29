"""One rank's answer in the phases of all: its own intervals and shares, the sites and steps of all. n intervals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from incprof.analysis.answer.call_estimates import calls_seen
from incprof.analysis.answer.describe import percent_of_run, top_functions
from incprof.analysis.answer.find import warnings_of
from incprof.analysis.answer.time_use import mostly, off_cpu_s
from incprof.analysis.callgraph.paths import with_estimated_paths
from incprof.analysis.composition.features import build_features
from incprof.analysis.composition.segment_sums import Sums
from incprof.analysis.options import Options
from incprof.analysis.phase_result import Phase, PhaseResult
from incprof.analysis.phases.bins import has_times
from incprof.analysis.phases.borders import borders_of
from incprof.analysis.phases.clustering import Border, ShortStretch
from incprof.analysis.ranks.ranks_result import Modes, RankLabels
from incprof.analysis.ranks.site_shares import SiteShares
from incprof.model import IntArray, IntervalProfile
from incprof.model.time_use import SPENT, spent_s
from incprof.model.visits import Visits


def told_of(
    profile: IntervalProfile, own: RankLabels, modes: Modes, result: PhaseResult, asked: int | None
) -> PhaseResult:
    """Return the answer for a rank.

    Args:
        profile: of the rank; its functions begin with those that the phases were found with.
        own: the rank in the phases of all.
        modes: of the phases.
        result: the phases, in the run that they were found in.
        asked: number of phases requested; None if none was.
    """
    if result.method == "robust":
        profile = with_estimated_paths(profile)
    labels = own.of_intervals(own.label)
    cluster = np.append(modes.cluster, -1)[own.mode]
    wall, spent = profile.end_s - profile.start_s, spent_s(profile)
    times = np.column_stack([spent, off_cpu_s(profile, spent)])
    seen = calls_seen(profile)
    no_calls = None if profile.counted else Visits(0, 0.0)

    shares = SiteShares(profile, literal=result.method == "paper")

    def phase_of(phase: Phase) -> Phase:
        members = np.flatnonzero(labels == phase.id)
        pct, seconds = percent_of_run(wall, members), times[members].sum(axis=0)
        whole = float(wall[members].sum())
        return replace(
            phase,
            intervals=len(members),
            app_pct=pct,
            seconds=whole,
            # A rank that never enters the phase shows its functions from other ranks.
            functions=top_functions(profile, members, seen=seen)
            or tuple(replace(top, self_s=0.0, calls=0, estimated=no_calls) for top in phase.functions),
            sites=shares.of_sites(phase.sites, members, pct),
            steps=shares.of_steps(phase.steps, members) if len(members) else phase.steps,
            mostly=SPENT[int(mostly(seconds[:-1], np.array(whole)))] if len(members) else phase.mostly,
            spent=dict(zip((*SPENT, "off_cpu"), seconds.tolist(), strict=True)),
        )

    return replace(
        result,
        origin=result,
        end_s=profile.end_s,
        labels=labels,
        clusters=own.of_intervals(cluster),
        phases=tuple(map(phase_of, result.phases)),
        borders=_borders(profile, labels, result.options),
        short=_short(own, modes, result),
        stages=None,
        spent=mostly(spent, wall),
        warnings=tuple(
            warnings_of(
                profile,
                asked,
                result.k,
                labels,
                result.options,
                by_samples=result.method == "robust" and has_times(profile),
            )
        ),
    )


def _borders(profile: IntervalProfile, labels: IntArray, options: Options) -> tuple[Border, ...]:
    """Explain the changes of phase of a rank by its own samples."""
    ticks = build_features(profile, share=True, options=options.phases).inclusive
    assert ticks is not None
    use = np.flatnonzero(ticks.total > 0)
    if not len(use) or not ticks.counts.shape[1]:
        return ()
    own, known = ticks.rows(use), labels[use]
    return borders_of(Sums.of(own, known), known, use, profile.functions, options.phases)


def _short(own: RankLabels, modes: Modes, result: PhaseResult) -> tuple[ShortStretch, ...]:
    """Return the parts that are too short for a phase, at their times in this rank."""
    which = np.append(modes.short, -1)[own.mode]
    out = []
    for number, stretch in enumerate(result.short):
        pieces = np.flatnonzero(which == number)
        spans = tuple(zip(own.first[pieces].tolist(), own.end[pieces].tolist(), strict=True))
        if spans:
            out.append(replace(stretch, spans=spans))
    return tuple(sorted(out, key=lambda stretch: stretch.spans))
