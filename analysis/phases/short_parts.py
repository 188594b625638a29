"""Parts that are too short for a phase: they are named, but not instrumented.

A program reads its input, sets something up, writes: each may be a sharp change, and none is worth a heartbeat. m
intervals, c functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.features import Inclusive
from incprof.analysis.phases.clustering import ShortStretch
from incprof.model import Function, IntArray, IntervalProfile
from incprof.model.time_use import tree_ticks, working


def short_stretches(
    ticks: Inclusive, groups: IntArray, intervals: IntArray, functions: Sequence[Function]
) -> tuple[ShortStretch, ...]:
    """Name the parts that are too short, each by the function whose share most exceeds that of the rest of the run.

    Args:
        ticks: of m intervals.
        groups: (m,) parts that are too short, -1 for all else.
        intervals: (m,) of the run, ascending.
        functions: of the profile.

    Returns:
        In order of time; a part that occurs several times is one.
    """
    found, out = groups[groups >= 0], []
    for group in found[np.sort(np.unique(found, return_index=True)[1])].tolist():
        mine = groups == group
        share = ticks.counts[mine].sum(axis=0) / ticks.total[mine].sum()
        rest = ticks.counts[~mine].sum(axis=0) / max(float(ticks.total[~mine].sum()), 1.0)
        most = int(np.argmax(share - rest))
        function = int(ticks.function[most])
        here = intervals[mine]
        spans = [(int(run[0]), int(run[-1]) + 1) for run in np.split(here, np.flatnonzero(np.diff(here) > 1) + 1)]
        out.append(ShortStretch(functions[function] if function >= 0 else None, float(share[most]), tuple(spans)))
    return tuple(out)


def named_by_samples(profile: IntervalProfile, stretches: Sequence[ShortStretch]) -> tuple[ShortStretch, ...]:
    """Name parts by the outermost function of their samples, where there are any.

    Ticks that were filled into intervals of few ticks show which are alike, not what they do; and a function that
    hardly matters in the run may have all of a short part. Samples without a function of the program give the name
    None.
    """
    samples, tree = profile.samples, profile.tree
    if not stretches or not len(samples.time_s):
        return tuple(stretches)
    inside = np.zeros((len(stretches), profile.n_intervals), dtype=np.float64)
    for row, stretch in zip(inside, stretches, strict=True):
        for first, end in stretch.spans:
            row[first:end] = 1.0
    counted = np.bincount(profile.interval_of_samples(), weights=working(profile), minlength=profile.n_intervals)
    ticks = tree_ticks(profile, tree)
    whole = np.asarray(ticks.sum(axis=0)).reshape(1, -1)
    below = tree.inclusive(np.vstack([(csr_array(inside) @ ticks).toarray(), whole]))
    out = []
    for stretch, mine, seen in zip(stretches, below[:-1], (inside @ counted).tolist(), strict=True):
        rest = below[-1] - mine
        more = mine / max(mine[0], 1.0) - rest / max(rest[0], 1.0)
        most = int(np.argmax(np.where(tree.function >= 0, more, -1.0)))
        if mine[0] > 0:
            function = profile.functions[int(tree.function[most])]
            stretch = replace(stretch, function=function, share=float(mine[most] / mine[0]))
        elif seen > 0:
            stretch = replace(stretch, function=None, share=1.0)
        out.append(stretch)
    return tuple(out)
