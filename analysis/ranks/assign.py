"""Assign a phase to each segment of each rank: the one whose profile explains its ticks best, if it does.

Ranks with the same work have different amounts of it: one has more of the atoms, another waits longer. So a segment of
another rank may differ from its phase by more than two phases of one rank differ, unless most of it is different work.
g pieces, s segments, m modes, c columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln

from incprof.analysis.ranks.ranks_result import IDLE, Mix, Modes, RankLabels, RankSummary
from incprof.analysis.segment_sums import differences, how_different
from incprof.analysis.thresholds import PhaseOptions
from incprof.model import BoolArray, FloatArray, IntArray
from incprof.model.joining import Key

# A segment is different work if some function's share differs from the phase by this much, significantly. With loads
# that scatter by 30 %, ranks are up to 0.44 from their phase, and 0.64 or more from others.
OTHER = 0.5
# A part that is too short for a phase is a phase where it is this many times as long.
TWICE = 2.0


def assigned(
    summaries: Sequence[RankSummary],
    modes: Modes,
    options: PhaseOptions,
    first_labels: tuple[int, IntArray] | None = None,
) -> tuple[tuple[RankLabels, ...], tuple[BoolArray, ...]]:
    """Label every rank with the phases.

    Args:
        summaries: of the ranks.
        modes: of the phases.
        options: thresholds.
        first_labels: the rank that phases were found in, and the phase of each of its intervals, (n,): it keeps them.

    Returns:
        The ranks, and which segments of each, (s,), are like no phase and no mixture of phases.
    """
    columns = columns_of([modes.mix, *(summary.mix for summary in summaries)])
    of_modes, total = columns.counts(modes.mix), modes.mix.total
    labels, unexplained = [], []
    for summary in summaries:
        if first_labels is not None and summary.rank == first_labels[0]:
            labels.append(_as_found(summary, modes, first_labels[1]))
            unexplained.append(np.zeros(len(summary.mix.total), dtype=np.bool_))
            continue
        best, explained = nearest(summary, columns, of_modes, total, options)
        explained &= ~_too_long(summary, modes, best, options.least)
        labels.append(_by_segment(summary, modes, np.where(explained, best, -1), options.episode))
        unexplained.append(~explained & ~_mixed(summary, columns, of_modes, total, options))
    return tuple(labels), tuple(unexplained)


def nearest(
    summary: RankSummary, columns: Columns, modes: FloatArray, total: FloatArray, options: PhaseOptions
) -> tuple[IntArray, BoolArray]:
    """Return for each segment of a rank, (s,), the mode that explains it best, and whether that does.

    modes: (m, c) ticks on the columns; total: (m,) all of them.
    """
    counts, scatter = columns.counts(summary.mix), columns.scatter(summary.mix, summary.scatter)
    if not len(total) or not len(counts):
        return np.zeros(len(counts), dtype=np.int64), np.zeros(len(counts), dtype=np.bool_)
    best = likelihood(counts, summary.mix.total, modes, total, scatter).argmax(axis=1)
    return best, explains(counts, summary.mix.total, modes[best], total[best], scatter, options)


def explains(
    counts: FloatArray,
    total: FloatArray,
    modes: FloatArray,
    of_modes: FloatArray,
    scatter: FloatArray,
    options: PhaseOptions,
) -> BoolArray:
    """Return whether modes explain segments, pair by pair, (s,): no function differs by OTHER or more.

    The difference itself is tested, not its lower bound: otherwise a phase of few samples would explain anything.
    """
    score, difference = differences(counts, np.maximum(total, 1e-9), modes, np.maximum(of_modes, 1e-9), scatter)
    same: BoolArray = np.all((difference < OTHER) | (score <= options.surely), axis=1)
    return same


def _mixed(
    summary: RankSummary, columns: Columns, modes: FloatArray, total: FloatArray, options: PhaseOptions
) -> BoolArray:
    """Return which segments, (s,), are mixtures of several phases: few samples do not separate short ones.

    As a phase of its own, such a segment would lie between the phases that it mixes, and merge them.
    """
    from scipy.optimize import nnls

    counts, scatter = columns.counts(summary.mix), columns.scatter(summary.mix, summary.scatter)
    if len(total) < 2 or not len(counts):
        return np.zeros(len(counts), dtype=np.bool_)
    share = modes / np.maximum(total, 1e-9)[:, None]
    own = np.maximum(summary.mix.total, 1e-9)
    weights = np.array([nnls(share.T, row)[0] for row in counts / own[:, None]])
    of_mixture = weights @ share * total.sum()
    different = how_different(counts, own, of_mixture, np.full(len(own), total.sum()), scatter, options)
    mixed: BoolArray = different < 1.0
    return mixed


def _too_long(summary: RankSummary, modes: Modes, best: IntArray, least: float) -> BoolArray:
    """Return which segments, (s,), match a part that is too short for a phase, but are too long for that."""
    length = summary.pieces.end - summary.pieces.first
    segment = summary.pieces.segment
    size = np.bincount(segment[segment >= 0], weights=length[segment >= 0], minlength=len(best))
    of_mode = np.bincount(best, weights=size, minlength=len(modes.label))
    long: BoolArray = (modes.short >= 0) & (of_mode >= TWICE * least * length.sum())
    return long[best] if len(long) else np.zeros(len(best), dtype=np.bool_)


def _by_segment(summary: RankSummary, modes: Modes, mode: IntArray, episode: float) -> RankLabels:
    """Give the pieces of a rank the phases of their segments. mode: (s,) of each segment, -1 for none."""
    pieces = summary.pieces
    of_piece = np.where(pieces.segment >= 0, np.append(mode, -1)[np.maximum(pieces.segment, -1)], -1)
    label = _filled(np.append(modes.label, -1)[of_piece], pieces.segment, pieces.end - pieces.first, episode)
    if modes.off_cpu is not None:
        label[pieces.segment == IDLE] = modes.off_cpu
    return _labels(summary, label, of_piece)


def _as_found(summary: RankSummary, modes: Modes, labels: IntArray) -> RankLabels:
    """Give the pieces of the rank that phases were found in those phases. labels: (n,) of its intervals."""
    spans = list(zip(summary.pieces.first.tolist(), summary.pieces.end.tolist(), strict=True))
    return _labels(
        summary,
        np.array([_most_frequent(labels[first:end]) for first, end in spans], dtype=np.int64),
        np.array([_most_frequent(modes.of_interval[first:end]) for first, end in spans], dtype=np.int64),
    )


def _most_frequent(values: IntArray) -> int:
    """Return the most frequent value, from -1 on."""
    return int(np.bincount(values + 1).argmax()) - 1


def _labels(summary: RankSummary, label: IntArray, mode: IntArray) -> RankLabels:
    """Build the labels of a rank. label, mode: (g,) of its pieces."""
    pieces = summary.pieces
    length = pieces.end - pieces.first
    # Parts of the rank that phases were found in may have no mode, though they are of a phase.
    unexplained = (pieces.segment >= 0) & (mode < 0) & (label < 0)
    return RankLabels(
        rank=summary.rank,
        first=pieces.first,
        end=pieces.end,
        label=label,
        mode=mode,
        start_s=pieces.start_s,
        end_s=pieces.end_s,
        unexplained=float(length[unexplained].sum() / max(length.sum(), 1)),
        host=summary.host,
        busy=summary.busy,
        busy_end_s=summary.busy_end_s,
        off_cpu_s=summary.off_cpu_s,
        damaged=summary.damaged,
    )


def _filled(label: IntArray, segment: IntArray, length: IntArray, episode: float) -> IntArray:
    """Assign gaps that are too short for an episode, and steps that interrupt a phase, to the phase around them."""
    out, short = label.copy(), max(episode * length.sum(), 1.0)
    assigned = np.flatnonzero(label >= 0)
    for before, after in zip(assigned[:-1].tolist(), assigned[1:].tolist(), strict=True):
        between = slice(before + 1, after)
        # Intervals without samples are not counted: the rank did not get its processor.
        if after > before + 1 and label[before] == label[after]:
            busy = segment[between] != IDLE
            if length[between][busy].sum() <= short:
                out[between][busy] = label[before]
    return out


# The profiles of all ranks on one set of functions, in an order that does not depend on the ranks' numbers.
#
# s segments, f functions of all, c = 2 f columns: functions by self time, then by inclusive time.


# Half a tick of each column, and of all others, is added to a mode (Jeffreys' prior).
PRIOR = 0.5
# A mode counts for at most this many ticks: shares differ between ranks with the same work.
MOST_TICKS = 200.0
# Functions whose shares differ by less between all modes are ignored.
TELLS = 0.01


@dataclass(frozen=True)
class Columns:
    """Functions of several profiles.

    Attributes:
        keys: (f,) ascending.
        names: (f,) display names.
    """

    keys: tuple[Key, ...]
    names: tuple[str, ...]

    def counts(self, mix: Mix) -> FloatArray:
        """Return ticks of segments on these functions, (s, c); those of other functions are dropped."""
        f = len(self.keys)
        out = np.zeros((len(mix.total), 2 * f))
        source, target = self._places(mix)
        out[:, target] = mix.own[:, source]
        out[:, f + target] = mix.stack[:, source]
        return out

    def scatter(self, mix: Mix, scatter: FloatArray) -> FloatArray:
        """Return scatter over counting on these functions, (c,), 1 where unknown."""
        out = np.ones(len(self.keys))
        source, target = self._places(mix)
        out[target] = scatter[source]
        return np.concatenate([out, out])

    def _places(self, mix: Mix) -> tuple[IntArray, IntArray]:
        """Return which functions of a profile are among these, and their positions."""
        place = {key: number for number, key in enumerate(self.keys)}
        pairs = [(here, place[key]) for here, key in enumerate(mix.keys) if key in place]
        table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return table[:, 0], table[:, 1]


def columns_of(mixes: Sequence[Mix]) -> Columns:
    """Return the functions of several profiles."""
    names: dict[Key, str] = {}
    for mix in mixes:
        for key, name in zip(mix.keys, mix.names, strict=True):
            names.setdefault(key, name)
    keys = tuple(sorted(names))
    return Columns(keys, tuple(names[key] for key in keys))


def likelihood(
    counts: FloatArray, total: FloatArray, modes: FloatArray, of_modes: FloatArray, scatter: FloatArray
) -> FloatArray:
    """Return how well modes explain segments, (s, m): the log-likelihood of their ticks, each column by itself.

    A mode of few ticks may be anything, and explains nothing well: its share is a beta variable, from which the ticks
    of a segment are drawn.

    Args:
        counts: (s, c) ticks.
        total: (s,) all of them.
        modes: (m, c) ticks of the modes.
        of_modes: (m,) all of them.
        scatter: (c,) factor by which each column scatters more than counting explains; ticks are divided by it.
    """
    mode_ticks = np.maximum(of_modes, 1e-9)
    share = modes / mode_ticks[:, None]
    use = np.flatnonzero(np.ptp(share, axis=0) >= TELLS)
    confident = np.minimum(mode_ticks, MOST_TICKS)[:, None]
    own_share = share[:, use] * confident + PRIOR
    other_share = np.maximum(1.0 - share[:, use], 0.0) * confident + PRIOR
    own = counts[:, use] / scatter[use]
    other = np.maximum(total[:, None] - counts[:, use], 0.0) / scatter[use]
    out = np.empty((len(counts), len(modes)))
    for mode in range(len(modes)):
        a, b = own_share[mode], other_share[mode]
        out[:, mode] = (betaln(own + a, other + b) - betaln(a, b)).sum(axis=1)
    return out
