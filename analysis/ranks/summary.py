"""Summarise one rank: the segments of its run, and the profile of each.

Each rank is summarised by itself and the result is small, so any number of ranks can be processed in parallel, wherever
they are. n intervals, s segments, g pieces, f important functions, q call paths.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.answer.time_use import off_cpu_s
from incprof.analysis.composition.features import Features, build_features
from incprof.analysis.composition.segment_sums import Sums
from incprof.analysis.options import Options
from incprof.analysis.phases.by_samples import part_of_intervals
from incprof.analysis.phases.levels import Parts, parts_of
from incprof.analysis.phases.sequence import sequence_of
from incprof.analysis.ranks.ranks_result import IDLE, WAY, Mix, Pieces, RankSummary
from incprof.model import FloatArray, IntArray, IntervalProfile
from incprof.model.reindex import keys_of
from incprof.model.time_use import MPI, OPENMP, WAITING, called_for, spent_s

# A rank waits as long as others take, which shows little of its own work: ticks of waiting have a small weight.
WAITS = (MPI, OPENMP, WAITING)
LIGHT = 0.25
# Functions with a smaller share of each segment are left out.
SEEN = 0.005
# Number of bins of CPU use.
BINS = 240


def summarised(profile: IntervalProfile, k: int | None, options: Options) -> RankSummary:
    """Cut a rank into segments and compute their profiles.

    Args:
        profile: of the rank, in the intervals of its own answer.
        k: number of phases requested, if any.
        options: thresholds.
    """
    features = build_features(profile, share=True, options=options.phases)
    sequence = sequence_of(profile, options.phases)
    parts = parts_of(sequence, options.phases, k)
    stretch = _segments(parts, part_of_intervals(profile, sequence, parts))
    mix = mix_of(profile, features, stretch)
    first = np.flatnonzero(np.diff(stretch, prepend=IDLE - 1))
    end = np.append(first[1:], len(stretch))
    spent = spent_s(profile)
    times = np.column_stack([spent, off_cpu_s(profile, spent)])
    edges = np.linspace(0, profile.n_intervals, min(profile.n_intervals, BINS) + 1).round().astype(np.int64)
    until = profile.end_s[edges[1:] - 1]
    cpu = np.add.reduceat(np.asarray(profile.self_s.sum(axis=1)).ravel(), edges[:-1])
    raw = profile.metadata.raw
    start = raw.get("start_unix_ns")
    return RankSummary(
        rank=profile.metadata.rank,
        host=str(raw.get("host") or ""),
        start_unix_ns=start if isinstance(start, int) and start > 0 else None,
        pieces=Pieces(
            first, end, stretch[first], profile.start_s[first], profile.end_s[end - 1], np.add.reduceat(times, first)
        ),
        mix=mix,
        scatter=_scatter(mix, profile, features, stretch),
        waits=any(phase and waits for phase, waits in zip(parts.is_phase, parts.is_waiting, strict=True)),
        pooled=profile.metadata.pooled,
        busy=cpu / np.maximum(until - profile.start_s[edges[:-1]], 1e-9),
        busy_end_s=until,
        off_cpu_s=float(profile.off_cpu_s.sum()),
        damaged=profile.damaged,
        warnings=profile.warnings,
    )


def _segments(parts: Parts, part: IntArray) -> IntArray:
    """Return the segment of each interval, (n,), by number; WAY and IDLE for none. part: (n,) that of each interval."""
    waits = np.array([*parts.is_waiting, False])[part]
    segment = np.where(part < 0, WAY, np.where(waits, IDLE, part))
    known = segment >= 0
    segment[known] = np.unique(segment[known], return_inverse=True)[1].ravel()
    return segment


def mix_of(profile: IntervalProfile, features: Features, stretch: IntArray) -> Mix:
    """Return the profiles of segments. stretch: (n,) that of each interval, from 0, below 0 for none."""
    use = np.flatnonzero(stretch >= 0)
    shape = int(stretch.max(initial=-1)) + 1, len(stretch)
    gather = csr_array((np.ones(len(use)), (stretch[use], use)), shape=shape)
    light = np.array([LIGHT if f.imported and called_for(f.mangled) in WAITS else 1.0 for f in profile.functions])
    if features.mixes is None:
        own = (gather @ profile.self_s).toarray() * profile.metadata.rate_hz * light
        stack, total = np.zeros_like(own), own.sum(axis=1)
    else:
        own, stack, total = _by_function(gather @ features.mixes.ticks, features, light)
    part = np.maximum(own, stack) / np.maximum(total, 1e-9)[:, None]
    keep = np.flatnonzero(part.max(axis=0, initial=0.0) >= SEEN)
    keys, names = keys_of(profile.functions), [f.name for f in profile.functions]
    used = keep.tolist()
    return Mix(tuple(keys[i] for i in used), tuple(names[i] for i in used), own[:, keep], stack[:, keep], total)


def _by_function(ticks: csr_array, features: Features, light: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return self ticks of functions, inclusive ticks, and all ticks: (s, f), (s, f) and (s,).

    ticks: sparse (s, q + u) as in Mixes. light: (f,) weight of a tick of each function.
    """
    assert features.mixes is not None
    chains, unseen = features.mixes.chains, features.mixes.unseen
    function = np.concatenate([chains.function, unseen])
    named = np.flatnonzero(function >= 0)
    weight = np.ones(len(function))
    weight[named] = light[function[named]]
    weighted = csr_array(ticks.multiply(weight[None, :]))
    size = len(light)
    member = csr_array((np.ones(len(named)), (named, function[named])), shape=(len(function), size))
    own = (weighted @ member).toarray()
    q = len(chains.parent)
    known = named[named < q]
    on_chain = csr_array((np.ones(len(known)), (known, function[known])), shape=(q, size))
    stack = (weighted[:, :q] @ (chains.ancestors() @ on_chain)).toarray()
    stack[:, unseen] += own[:, unseen]
    return own, stack, np.asarray(weighted.sum(axis=1), dtype=np.float64).ravel()


def _scatter(mix: Mix, profile: IntervalProfile, features: Features, segment: IntArray) -> FloatArray:
    """Return the scatter over counting of each important function, (f,): the largest of its call paths."""
    assert features.inclusive is not None
    out = np.ones(len(profile.functions))
    use = np.flatnonzero((segment >= 0) & (features.inclusive.total > 0))
    if len(use):
        sums = Sums.of(features.inclusive.rows(use), segment[use])
        function = sums.ticks.function
        known = function >= 0
        np.maximum.at(out, function[known], sums.scatter[known])
    place = {key: i for i, key in enumerate(keys_of(profile.functions))}
    return out[[place[key] for key in mix.keys]]
