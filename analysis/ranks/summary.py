"""Summarise one rank: the segments of its run, and the profile of each.

Each rank is summarised by itself and the result is small, so any number of ranks can be processed in parallel, wherever
they are. n intervals, s segments, g pieces, f important functions, q call paths.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.answer.describe import off_cpu_s
from incprof.analysis.features import Features, build_features
from incprof.analysis.phase_result import PhaseResult
from incprof.analysis.phases.by_samples import part_of_intervals
from incprof.analysis.phases.levels import Parts, parts_of
from incprof.analysis.phases.sequence import sequence_of
from incprof.analysis.ranks.assign import columns_of
from incprof.analysis.ranks.ranks_result import (
    IDLE,
    WAY,
    Deviation,
    Group,
    Mix,
    Modes,
    Outlier,
    Pieces,
    RankLabels,
    RankSummary,
)
from incprof.analysis.segment_sums import Sums
from incprof.analysis.thresholds import Options
from incprof.model import FloatArray, IntArray, IntervalProfile
from incprof.model.joining import keys_of
from incprof.model.time_use import DEVICE, MPI, OPENMP, WAITING, called_for, cpu_seconds_by_kind

# A rank waits as long as others take, which shows little of its own work: ticks of waiting have a small weight.
WAITS = (MPI, OPENMP, WAITING, DEVICE)
LIGHT = 0.25
# Functions with a smaller share of each segment are left out.
LEAST_SHARE = 0.005
# Number of bins of CPU use.
BINS = 240


def summarised(profile: IntervalProfile, k: int | None, options: Options) -> RankSummary:
    """Cut a rank into segments and compute their profiles.

    Args:
        profile: of the rank, in the intervals of its own answer.
        k: number of phases requested, if any.
        options: thresholds.
    """
    features = build_features(profile, share=True)
    sequence = sequence_of(profile)
    parts = parts_of(sequence, options.phases, k)
    segment = _segments(parts, part_of_intervals(profile, sequence, parts))
    mix = mix_of(profile, features, segment)
    first = np.flatnonzero(np.diff(segment, prepend=IDLE - 1))
    end = np.append(first[1:], len(segment))
    seconds_by_kind = cpu_seconds_by_kind(profile)
    times = np.column_stack([seconds_by_kind, off_cpu_s(profile, seconds_by_kind)])
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
            first, end, segment[first], profile.start_s[first], profile.end_s[end - 1], np.add.reduceat(times, first)
        ),
        mix=mix,
        scatter=_scatter(mix, profile, features, segment),
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
    assigned = segment >= 0
    segment[assigned] = np.unique(segment[assigned], return_inverse=True)[1].ravel()
    return segment


def mix_of(profile: IntervalProfile, features: Features, segment: IntArray) -> Mix:
    """Return the profiles of segments. segment: (n,) that of each interval, from 0, below 0 for none."""
    use = np.flatnonzero(segment >= 0)
    shape = int(segment.max(initial=-1)) + 1, len(segment)
    gather = csr_array((np.ones(len(use)), (segment[use], use)), shape=shape)
    light = np.array([LIGHT if f.imported and called_for(f.mangled) in WAITS else 1.0 for f in profile.functions])
    if features.mixes is None:
        own = (gather @ profile.self_s).toarray() * profile.metadata.rate_hz * light
        stack, total = np.zeros_like(own), own.sum(axis=1)
    else:
        own, stack, total = _by_function(gather @ features.mixes.ticks, features, light)
    part = np.maximum(own, stack) / np.maximum(total, 1e-9)[:, None]
    keep = np.flatnonzero(part.max(axis=0, initial=0.0) >= LEAST_SHARE)
    keys, names = keys_of(profile.functions), [f.name for f in profile.functions]
    used = keep.tolist()
    return Mix(tuple(keys[i] for i in used), tuple(names[i] for i in used), own[:, keep], stack[:, keep], total)


def _by_function(ticks: csr_array, features: Features, light: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return self ticks of functions, inclusive ticks, and all ticks: (s, f), (s, f) and (s,).

    ticks: sparse (s, q) as in Mixes. light: (f,) weight of a tick of each function.
    """
    assert features.mixes is not None
    chains = features.mixes.chains
    named = np.flatnonzero(chains.function >= 0)
    weight = np.ones(len(chains.function))
    weight[named] = light[chains.function[named]]
    weighted = csr_array(ticks.multiply(weight[None, :]))
    member = csr_array((np.ones(len(named)), (named, chains.function[named])), shape=(len(weight), len(light)))
    own = (weighted @ member).toarray()
    stack = (weighted @ (chains.ancestors() @ member)).toarray()
    return own, stack, np.asarray(weighted.sum(axis=1), dtype=np.float64).ravel()


def _scatter(mix: Mix, profile: IntervalProfile, features: Features, segment: IntArray) -> FloatArray:
    """Return the scatter over counting of each important function, (f,): the largest of its call paths."""
    assert features.inclusive is not None
    out = np.ones(len(profile.functions))
    use = np.flatnonzero((segment >= 0) & (features.inclusive.total > 0))
    if len(use):
        sums = Sums.of(features.inclusive.rows(use), segment[use])
        function = sums.ticks.function
        resolved = function >= 0
        np.maximum.at(out, function[resolved], sums.scatter[resolved])
    place = {key: i for i, key in enumerate(keys_of(profile.functions))}
    return out[[place[key] for key in mix.keys]]


# Similarity of ranks: agreement with most ranks at the same time, and groups by what they spend their time in.
#
# r ranks, b bins of time, v figures of a rank.


# Number of bins of time.
COMPARED_BINS = 1000
# Ranks are alike if this share of their time is in the same functions and phases.
SAME = 0.9
# Groups with a smaller share of the ranks are outliers.
FEW = 0.05
MOST_WHY = 3
# A function whose share differs by less is not reported.
LEAST_DIFFERENCE = 0.02


def bins_of(labels: Sequence[RankLabels], offset_s: FloatArray, rate: FloatArray) -> FloatArray:
    """Return the edges of bins of the time of all ranks, (b + 1,) seconds since the first started."""
    begin = [o + r * own.start_s[0] for own, o, r in zip(labels, offset_s, rate, strict=True)]
    stop = [o + r * own.end_s[-1] for own, o, r in zip(labels, offset_s, rate, strict=True)]
    return np.linspace(min(begin), max(stop), COMPARED_BINS + 1)


def on_bins(labels: Sequence[RankLabels], offset_s: FloatArray, rate: FloatArray, edges: FloatArray) -> IntArray:
    """Return the phase of each rank in the middle of bins, (r, b): -1 none, -2 where the rank does not run.

    Args:
        labels: of the ranks.
        offset_s: (r,) start of each.
        rate: (r,) length of a second of its clock.
        edges: (b + 1,) of the bins.
    """
    middle = (edges[1:] + edges[:-1]) / 2.0
    out = np.full((len(labels), len(middle)), -2, dtype=np.int64)
    for place, (own, o, r) in enumerate(zip(labels, offset_s, rate, strict=True)):
        at = np.searchsorted(o + r * own.end_s, middle, side="left")
        inside = (at < len(own.label)) & (middle >= o + r * own.start_s[0])
        out[place, inside] = own.label[at[inside]]
    return out


def agreement(table: IntArray) -> tuple[float | None, ...]:
    """Return the agreement of each rank with the phase of most ranks, (r,), adjusted Rand index. table: of on_bins."""
    usual = consensus(table)
    out: list[float | None] = []
    for row in table:
        both = (row >= 0) & (usual >= 0)
        out.append(adjusted_rand(row[both], usual[both]) if both.any() else None)
    return tuple(out)


def consensus(table: IntArray) -> IntArray:
    """Return the phase of most ranks in each bin, (b,); the lower one of a tie, -1 where no rank is in any."""
    k = int(table.max(initial=-1)) + 1
    votes = np.stack([(table == phase).sum(axis=0) for phase in range(k)]) if k else np.zeros((1, table.shape[1]))
    result: IntArray = np.where(votes.max(axis=0) > 0, votes.argmax(axis=0), -1)
    return result


def adjusted_rand(one: IntArray, other: IntArray) -> float:
    """Return the adjusted Rand index of two labellings, both (n,), of 0 or more (Hubert and Arabie 1985)."""
    table = np.zeros((int(one.max()) + 1, int(other.max()) + 1))
    np.add.at(table, (one, other), 1.0)

    def pairs(count: FloatArray) -> float:
        return float((count * (count - 1.0)).sum()) / 2.0

    together, rows, columns = pairs(table), pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    every = len(one) * (len(one) - 1.0) / 2.0
    chance = rows * columns / every if every else 0.0
    most = (rows + columns) / 2.0
    return 1.0 if most == chance else (together - chance) / (most - chance)


def groups_of(
    summaries: Sequence[RankSummary], labels: Sequence[RankLabels], wall_s: FloatArray
) -> tuple[tuple[Group, ...], tuple[Outlier, ...]]:
    """Group ranks with the same behaviour.

    Returns:
        The groups, the largest first, and the outlier ranks.
    """
    own, names = _figures(summaries, wall_s)
    middle = np.median(own, axis=0)
    by_distance = sorted(range(len(own)), key=lambda r: (round(_distance(own[r], middle), 9), own[r].tolist()))
    group = np.full(len(own), -1, dtype=np.int64)
    heads: list[int] = []
    for rank in by_distance:
        if group[rank] < 0:
            group[(group < 0) & (np.abs(own - own[rank]).sum(axis=1) / 2.0 <= 1.0 - SAME)] = len(heads)
            heads.append(rank)
    order = sorted(range(len(heads)), key=lambda g: (-int((group == g).sum()), int(np.flatnonzero(group == g)[0])))
    number = np.argsort(order)
    group = number[group]
    groups = tuple(
        Group(tuple(summaries[r].rank for r in np.flatnonzero(group == g).tolist()), summaries[heads[order[g]]].rank)
        for g in range(len(heads))
    )
    few = max(1, int(FEW * len(own)))
    # Without a large group, no rank is typical.
    usual = len(groups[0].ranks) > max(few, len(own) // 3)
    outliers = [r for r in range(len(own)) if usual and group[r] > 0 and int((group == group[r]).sum()) <= few]
    center = np.median(own[group == 0], axis=0)
    return groups, tuple(_outlier(summaries[r], labels[r], own[r], center, names) for r in outliers)


def _figures(summaries: Sequence[RankSummary], wall_s: FloatArray) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the shares of each rank's time by phase, and by function of its work, each weighted by half, (r, v)."""
    columns = columns_of([summary.mix for summary in summaries])
    f = len(columns.keys)
    ticks = np.array([columns.counts(summary.mix)[:, :f].sum(axis=0) for summary in summaries])
    # Waiting for others is not the rank's own work.
    ticks[:, [called_for(mangled) in WAITS for _, mangled in columns.keys]] = 0.0
    share = ticks / np.maximum(ticks.sum(axis=1, keepdims=True), 1e-9)
    phase = wall_s / np.maximum(wall_s.sum(axis=1, keepdims=True), 1e-9)
    return np.hstack([share, phase]) / 2.0, columns.names


def _distance(one: FloatArray, other: FloatArray) -> float:
    return float(np.abs(one - other).sum()) / 2.0


def _outlier(
    summary: RankSummary, labels: RankLabels, own: FloatArray, center: FloatArray, names: tuple[str, ...]
) -> Outlier:
    """Describe the functions in which an outlier differs from the others."""
    f = len(names)
    rows = [Deviation(*row) for row in zip(names, (2.0 * own[:f]).tolist(), (2.0 * center[:f]).tolist(), strict=True)]
    rows.sort(key=lambda row: (-round(abs(row.here - row.there), 9), row.function))
    why = tuple(row for row in rows[:MOST_WHY] if abs(row.here - row.there) >= LEAST_DIFFERENCE)
    return Outlier(summary.rank, _distance(own, center), why, labels.unexplained)


# Modes of the phases, from the run that they were found in. n intervals, m modes.


def modes_of(profile: IntervalProfile, features: Features, result: PhaseResult, options: Options) -> Modes:
    """Return the modes of a result's phases: a phase has one mode for each group of segments in it.

    A part that is too short for a phase is a mode as well, of no phase. features: of the profile, from either method.
    """
    groups = result.clusters
    if features.inclusive is None:
        features = build_features(profile, share=True)
        groups = _parts(profile, options)
    short = np.full(profile.n_intervals, -1, dtype=np.int64)
    for number, segment in enumerate(result.short):
        for first, end in segment.spans:
            short[first:end] = number
    # Between two occurrences of a short part there are phases as well.
    short[result.labels >= 0] = -1
    groups = np.where(features.idle, -1, groups)
    use = (groups >= 0) & ((result.labels >= 0) | (short >= 0))
    kinds = np.column_stack([groups, result.labels, short])
    distinct, which = np.unique(kinds[use], axis=0, return_inverse=True)
    mode = np.full(profile.n_intervals, -1, dtype=np.int64)
    mode[use] = which.ravel()
    off_cpu = next((phase.id for phase in result.phases if phase.off_cpu), None)
    return Modes(mix_of(profile, features, mode), distinct[:, 1], distinct[:, 2], distinct[:, 0], mode, off_cpu)


def _parts(profile: IntervalProfile, options: Options) -> IntArray:
    """Return groups of equal behaviour, (n,): k-means may put very different intervals into one phase."""
    sequence = sequence_of(profile)
    return part_of_intervals(profile, sequence, parts_of(sequence, options.phases))
