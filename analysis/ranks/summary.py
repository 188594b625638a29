"""What one rank tells about itself: the stretches of its run in which nothing changes, and what each is made of.

A rank is looked at by itself, and what is returned is small: any number of ranks can be looked at side by side,
wherever they are. n intervals, s stretches, g pieces, f functions that matter, q chains.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.options import Options
from incprof.analysis.phases.by_stretches import FEWEST, mostly_waiting
from incprof.analysis.phases.features import Features, build_features
from incprof.analysis.phases.segmented import Segmented, fine_enough
from incprof.analysis.phases.spent import off_cpu_s
from incprof.analysis.ranks.results import IDLE, WAY, Mix, Pieces, RankSummary
from incprof.model import FloatArray, IntArray, IntervalProfile
from incprof.model.reindex import key_of
from incprof.model.spent import MPI, OPENMP, WAITING, called_for, spent_s

# A rank waits for others as long as they take, which says little about what it does itself: a tick of that is light.
WAITS = (MPI, OPENMP, WAITING)
LIGHT = 0.25
# Functions with less of each stretch are left out.
SEEN = 0.005
# A run of more stretches is told by its groups of stretches that do the same.
MANY = 200
# Use of the CPU is told in so many parts of the run.
BINS = 240


def summarised(profile: IntervalProfile, k: int | None, options: Options) -> RankSummary:
    """Cut a rank into stretches and tell what they are made of.

    Args:
        profile: of the rank, pooled as for its own answer.
        k: phases that somebody asked for, if so.
        options: thresholds.
    """
    features = build_features(profile, share=True, options=options.phases)
    stretch, found = _stretches(features, k, options)
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
        scatter=_scatter(mix, profile, features, found),
        waits=mostly_waiting(features.idle, options.phases),
        pooled=profile.metadata.pooled,
        busy=cpu / np.maximum(until - profile.start_s[edges[:-1]], 1e-9),
        busy_end_s=until,
        off_cpu_s=float(profile.off_cpu_s.sum()),
        damaged=profile.damaged,
        warnings=profile.warnings,
    )


def _stretches(features: Features, k: int | None, options: Options) -> tuple[IntArray, Segmented | None]:
    """Return the stretch of each interval, (n,), WAY and IDLE for none, and how the run was cut up."""
    assert features.inclusive is not None
    out = np.full(len(features.idle), IDLE, dtype=np.int64)
    use = np.flatnonzero(~features.idle & (features.inclusive.total > 0))
    if len(use) < FEWEST or not features.inclusive.counts.shape[1]:
        out[use] = 0
        return out, None
    found = fine_enough(features.inclusive.rows(use), k, options.phases)
    out[use] = WAY
    cut = found.stretches
    number = np.arange(len(cut))
    if len(cut) > MANY:
        number = np.unique(found.groups.cut(found.groups.count), return_inverse=True)[1]
    for place, first, end in zip(number.tolist(), cut.first.tolist(), cut.end.tolist(), strict=True):
        out[use[first:end]] = place
    return out, found


def mix_of(profile: IntervalProfile, features: Features, stretch: IntArray) -> Mix:
    """Return what stretches are made of. stretch: (n,) that of each interval, from 0, below 0 for none."""
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
    functions = [profile.functions[i] for i in keep.tolist()]
    return Mix(
        tuple(key_of(f) for f in functions), tuple(f.name for f in functions), own[:, keep], stack[:, keep], total
    )


def _by_function(ticks: csr_array, features: Features, light: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return own ticks of functions, those with what they call, and all of them: (s, f), (s, f) and (s,).

    ticks: sparse (s, q + u) as in Mixes. light: (f,) what a tick of each function counts.
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


def _scatter(mix: Mix, profile: IntervalProfile, features: Features, found: Segmented | None) -> FloatArray:
    """Return the scatter over counting of each function that matters, (f,): the largest of its chains."""
    out = np.ones(len(profile.functions))
    if found is not None:
        function = found.sums.ticks.function
        known = function >= 0
        np.maximum.at(out, function[known], found.sums.scatter[known])
    place = {key_of(f): i for i, f in enumerate(profile.functions)}
    return out[[place[key] for key in mix.keys]]
