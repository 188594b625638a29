"""What the phases are made of, from the run that they were found in. n intervals, m modes."""

from __future__ import annotations

import numpy as np

from incprof.analysis.options import Options
from incprof.analysis.phases.by_stretches import FEWEST
from incprof.analysis.phases.features import Features, build_features
from incprof.analysis.phases.results import PhaseResult
from incprof.analysis.phases.segmented import segmented
from incprof.analysis.ranks.results import Modes
from incprof.analysis.ranks.summary import mix_of
from incprof.model import IntArray, IntervalProfile


def modes_of(profile: IntervalProfile, features: Features, result: PhaseResult, options: Options) -> Modes:
    """Return the modes of a result's phases: groups of stretches that are one phase are modes of it.

    What is too short for a phase is a mode too, of none. features: of the profile, as either method has them.
    """
    groups = result.clusters
    if features.inclusive is None:
        features = build_features(profile, share=True, options=options.phases)
        groups = _groups(features, options)
    short = np.full(profile.n_intervals, -1, dtype=np.int64)
    for number, stretch in enumerate(result.short):
        for first, end in stretch.spans:
            short[first:end] = number
    # From one time to the next there are phases as well.
    short[result.labels >= 0] = -1
    groups = np.where(features.idle, -1, groups)
    use = (groups >= 0) & ((result.labels >= 0) | (short >= 0))
    kinds = np.column_stack([groups, result.labels, short])
    found, which = np.unique(kinds[use], axis=0, return_inverse=True)
    mode = np.full(profile.n_intervals, -1, dtype=np.int64)
    mode[use] = which.ravel()
    off_cpu = next((phase.id for phase in result.phases if phase.off_cpu), None)
    return Modes(mix_of(profile, features, mode), found[:, 1], found[:, 2], found[:, 0], mode, off_cpu)


def _groups(features: Features, options: Options) -> IntArray:
    """Return what does the same, (n,): k-means may put into one phase what is not alike at all."""
    assert features.inclusive is not None
    use = np.flatnonzero(~features.idle & (features.inclusive.total > 0))
    out = np.full(len(features.idle), -1, dtype=np.int64)
    if len(use) < FEWEST or not features.inclusive.counts.shape[1]:
        out[use] = 0
        return out
    found = segmented(features.inclusive.rows(use), options.phases)
    out[use] = found.labels(found.groups.count)
    return out
