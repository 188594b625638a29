"""One rank's answer in the phases of all: its own intervals and shares, the sites and steps of all. n intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from incprof.analysis.answer import warnings_of
from incprof.analysis.answer.describe import given_s, mostly, off_cpu_s, percent_of_run, top_functions
from incprof.analysis.call_paths import with_estimated_paths
from incprof.analysis.features import build_features
from incprof.analysis.phase_result import Phase, PhaseResult, Site, Step
from incprof.analysis.phases.clustering import Boundary, ShortSegment
from incprof.analysis.phases.levels import has_times
from incprof.analysis.phases.segments import explain_boundaries
from incprof.analysis.ranks.ranks_result import Modes, RankLabels
from incprof.analysis.segment_sums import Sums
from incprof.analysis.sites.site_cover import activity
from incprof.analysis.thresholds import Options
from incprof.analysis.uncounted import calls_from_samples
from incprof.model import FloatArray, IntArray, IntervalProfile
from incprof.model.time_use import SPENT, CallEstimate, cpu_seconds_by_kind, tree_ticks


def relabelled_result(
    profile: IntervalProfile, own: RankLabels, modes: Modes, result: PhaseResult, requested_k: int | None
) -> PhaseResult:
    """Return the answer for a rank.

    Args:
        profile: of the rank; its functions begin with those that the phases were found with.
        own: the rank in the phases of all.
        modes: of the phases.
        result: the phases, in the run that they were found in.
        requested_k: number of phases requested; None if none was.
    """
    if result.method == "robust":
        profile = with_estimated_paths(profile)
    labels = own.of_intervals(own.label)
    cluster = np.append(modes.cluster, -1)[own.mode]
    wall, given, seconds_by_kind = profile.end_s - profile.start_s, given_s(profile), cpu_seconds_by_kind(profile)
    times = np.column_stack([seconds_by_kind, off_cpu_s(profile, seconds_by_kind)])
    estimates = calls_from_samples(profile)
    no_calls = None if profile.counted else CallEstimate(0, 0.0)

    shares = SiteShares(profile, literal=result.method == "paper")

    def phase_of(phase: Phase) -> Phase:
        members = np.flatnonzero(labels == phase.id)
        pct, seconds = percent_of_run(wall, members), times[members].sum(axis=0)
        duration_s = float(wall[members].sum())
        return replace(
            phase,
            intervals=len(members),
            app_pct=pct,
            seconds=duration_s,
            # A rank that never enters the phase shows its functions from other ranks.
            functions=top_functions(profile, members, estimates=estimates)
            or tuple(replace(top, self_s=0.0, calls=0, estimated=no_calls) for top in phase.functions),
            sites=shares.of_sites(phase.sites, members, pct),
            steps=shares.of_steps(phase.steps, members) if len(members) else phase.steps,
            mostly=SPENT[int(mostly(seconds[:-1], given[members].sum()))] if len(members) else phase.mostly,
            spent=dict(zip((*SPENT, "off_cpu"), seconds.tolist(), strict=True)),
        )

    return replace(
        result,
        origin=result,
        end_s=profile.end_s,
        labels=labels,
        clusters=own.of_intervals(cluster),
        phases=tuple(map(phase_of, result.phases)),
        borders=_boundaries(profile, labels, result.options),
        short=_short(own, modes, result),
        stages=None,
        spent=mostly(seconds_by_kind, given),
        warnings=tuple(
            warnings_of(
                profile,
                requested_k,
                result.k,
                labels,
                result.options,
                by_samples=result.method == "robust" and has_times(profile),
            )
        ),
    )


def _boundaries(profile: IntervalProfile, labels: IntArray, options: Options) -> tuple[Boundary, ...]:
    """Explain the changes of phase of a rank by its own samples."""
    ticks = build_features(profile, share=True).inclusive
    assert ticks is not None
    use = np.flatnonzero(ticks.total > 0)
    if not len(use) or not ticks.counts.shape[1]:
        return ()
    own, own_labels = ticks.rows(use), labels[use]
    return explain_boundaries(Sums.of(own, own_labels), own_labels, use, profile.functions, options.phases)


def _short(own: RankLabels, modes: Modes, result: PhaseResult) -> tuple[ShortSegment, ...]:
    """Return the parts that are too short for a phase, at their times in this rank."""
    which = np.append(modes.short, -1)[own.mode]
    out = []
    for number, segment in enumerate(result.short):
        pieces = np.flatnonzero(which == number)
        spans = tuple(zip(own.first[pieces].tolist(), own.end[pieces].tolist(), strict=True))
        if spans:
            out.append(replace(segment, spans=spans))
    return tuple(sorted(out, key=lambda segment: segment.spans))


# Shares of a phase's sites and steps in one rank. m intervals of the phase, f functions.


class SiteShares:
    """Shares of sites and steps in a rank: of the time by call paths, else of the intervals that they cover."""

    def __init__(self, profile: IntervalProfile, *, literal: bool):
        """literal: whether the phases are those of the paper's method, whose sites cover intervals."""
        self._functions = len(profile.functions)
        self._chains = None
        if len(profile.samples.time_s) and not literal:
            self._chains, _ = profile.own_tree.without_recursion()
            self._ticks = tree_ticks(profile, self._chains)
            return
        active = activity(profile, literal=literal)
        self._present = active.active if literal else active.active + (active.calls > 0)

    def of_sites(self, sites: Sequence[Site], members: IntArray, app_pct: float) -> tuple[Site, ...]:
        """Return the sites of a phase with their shares in the rank.

        Args:
            sites: of the phase.
            members: (m,) its intervals in the rank, ascending.
            app_pct: its share of the rank's run, percent.
        """
        if self._chains is not None:
            share = self._inclusive(members)
            parts = [float(share[site.index]) for site in sites]
        else:
            parts = self._covered([site.index for site in sites], members)
        both = zip(sites, parts, strict=True)
        return tuple(replace(site, phase_pct=100.0 * part, app_pct=app_pct * part) for site, part in both)

    def of_steps(self, steps: Sequence[Step], members: IntArray) -> tuple[Step, ...]:
        """Return the steps of a phase with their shares in the rank, without those that it never runs."""
        share = None if self._chains is None else self._inclusive(members)
        return tuple(steps) if share is None else _with_shares(steps, share)

    def _inclusive(self, members: IntArray) -> FloatArray:
        """Return the share of some intervals' time in or below each function, (f,)."""
        assert self._chains is not None
        own = np.asarray(self._ticks[members].sum(axis=0), dtype=np.float64).ravel()
        total, named = self._chains.inclusive(own), np.flatnonzero(self._chains.function >= 0)
        of = np.bincount(self._chains.function[named], weights=total[named], minlength=self._functions)
        return np.minimum(of / max(float(total[0]), 1e-300), 1.0)

    def _covered(self, functions: Sequence[int], members: IntArray) -> list[float]:
        """Return the share of some intervals that each function covers, and none before it does."""
        uncovered = np.ones(len(members), dtype=np.bool_)
        parts = []
        for function in functions:
            newly_covered = uncovered & (np.asarray(self._present[members][:, [function]].toarray()).ravel() > 0)
            parts.append(float(newly_covered.sum()) / max(len(members), 1))
            uncovered &= ~newly_covered
        return parts


def _with_shares(steps: Sequence[Step], share: FloatArray) -> tuple[Step, ...]:
    """Set the shares of steps, and of those below them. share: (f,)."""
    return tuple(
        replace(step, share=float(share[step.index]), steps=_with_shares(step.steps, share))
        for step in steps
        if share[step.index] > 0
    )
