"""Modes of the phases, from the run that they were found in. n intervals, m modes."""

from __future__ import annotations

import numpy as np

from incprof.analysis.composition.features import Features, build_features
from incprof.analysis.options import Options
from incprof.analysis.phase_result import PhaseResult
from incprof.analysis.phases.by_samples import part_of_intervals
from incprof.analysis.phases.levels import parts_of
from incprof.analysis.phases.sequence import sequence_of
from incprof.analysis.ranks.ranks_result import Modes
from incprof.analysis.ranks.summary import mix_of
from incprof.model import IntArray, IntervalProfile


def modes_of(profile: IntervalProfile, features: Features, result: PhaseResult, options: Options) -> Modes:
    """Return the modes of a result's phases: a phase has one mode for each group of segments in it.

    A part that is too short for a phase is a mode as well, of no phase. features: of the profile, from either method.
    """
    groups = result.clusters
    if features.inclusive is None:
        features = build_features(profile, share=True, options=options.phases)
        groups = _parts(profile, options)
    short = np.full(profile.n_intervals, -1, dtype=np.int64)
    for number, stretch in enumerate(result.short):
        for first, end in stretch.spans:
            short[first:end] = number
    # Between two occurrences of a short part there are phases as well.
    short[result.labels >= 0] = -1
    groups = np.where(features.idle, -1, groups)
    use = (groups >= 0) & ((result.labels >= 0) | (short >= 0))
    kinds = np.column_stack([groups, result.labels, short])
    found, which = np.unique(kinds[use], axis=0, return_inverse=True)
    mode = np.full(profile.n_intervals, -1, dtype=np.int64)
    mode[use] = which.ravel()
    off_cpu = next((phase.id for phase in result.phases if phase.off_cpu), None)
    return Modes(mix_of(profile, features, mode), found[:, 1], found[:, 2], found[:, 0], mode, off_cpu)


def _parts(profile: IntervalProfile, options: Options) -> IntArray:
    """Return groups of equal behaviour, (n,): k-means may put very different intervals into one phase."""
    sequence = sequence_of(profile, options.phases)
    return part_of_intervals(profile, sequence, parts_of(sequence, options.phases))
