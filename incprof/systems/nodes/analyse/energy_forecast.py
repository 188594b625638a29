"""Estimate the energy of a whole run from its beginning and from known runs of its program on another machine.

The paper's method: the rest takes its energy on the reference machine, scaled by the ratio measured for the beginning.
Ours: the beginning yields the duration and power on this machine of each kind of work; work that has not occurred yet
is scaled by the average ratio. The interval reflects how much segments of one kind differ, and how much kinds do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from incprof.errors import NoDataError
from incprof.model import BoolArray, FloatArray
from incprof.model.series import NodeSeries
from incprof.systems.nodes.analyse.comparable_rates import MATTERS, counters_of, least_scatter
from incprof.systems.nodes.analyse.learn import own_states
from incprof.systems.nodes.analyse.node_states import Alphabet, KnownRun, Segment
from incprof.systems.nodes.analyse.paper import estimated_energy
from incprof.systems.nodes.analyse.power import is_idle, lag_of, moved

ROUNDS = 6
# Levels that differ by this root mean square have nothing in common.
UNLIKE = 0.8
# Prior deviations, in logarithms, of segments of one kind and of kinds of work, and the number of observations that the
# priors are worth.
LENGTHS, KINDS, SEEN = 0.02, 0.08, 3.0
# Half the width, in standard deviations, of an interval that contains nine of ten runs: measured on the 300 generated
# runs for tuning.
WIDTH = 1.67


@dataclass(frozen=True)
class Estimate:
    """Estimate of the energy and duration of a whole run.

    Attributes:
        application: Application of the known runs used.
        energy_j: Joules of the whole run.
        low_j: Lower end of the interval that contains nine of ten runs.
        high_j: Its upper end.
        seconds: Duration of the whole run.
        so_far_j: Measured joules.
        paper_j: The paper's estimate, in joules.
        done: Share of the duration that has passed.
        similarity: Similarity to the known runs, from 0 to 1.
        simulated: Whether power comes from a formula, not from a sensor.
    """

    application: str
    energy_j: float
    low_j: float
    high_j: float
    seconds: float
    so_far_j: float
    paper_j: float
    done: float
    similarity: float
    simulated: bool


@dataclass(frozen=True)
class _Pieces:
    """Segments of an incomplete run.

    Attributes:
        seconds: (n,) lengths.
        levels: (n, counters) median levels.
        watts: (n,) mean power.
    """

    seconds: FloatArray
    levels: FloatArray
    watts: FloatArray


def estimate(series: NodeSeries, alphabet: Alphabet, application: str | None = None) -> Estimate:
    """Estimate the energy of a run from its beginning.

    Args:
        series: Rows of the run, from its start on, with power.
        alphabet: Alphabet with runs of the program, on this machine or another.
        application: Application whose runs are used; default: that of the most similar run.

    Raises:
        NoDataError: power is missing, here or in the known runs, or there is no known run of the application.
    """
    if series.watts is None or not np.isfinite(series.watts).any():
        raise NoDataError(f"{series.node}: no power was measured: energy cannot be estimated")
    candidates = [run for run in alphabet.runs if application in (None, run.application)]
    candidates = [run for run in candidates if all(segment.energy_j is not None for segment in run.segments)]
    if not candidates:
        raise NoDataError(f"the alphabet has no run of {application or 'any application'} with power")
    pieces = _begun(_pieces(series, alphabet), alphabet)
    centres = np.array([np.arcsinh(state.rates / alphabet.scale.floor) for state in alphabet.states])
    alignments = [(run, _aligned(pieces, run, centres)) for run in candidates]
    if application is None:
        application = max(alignments, key=lambda each: each[1].similarity)[0].application
    own = [each for each in alignments if each[0].application == application]
    forecasts = [_whole_run(pieces, run, alignment) for run, alignment in own]
    energies = np.array([forecast_of_run[0] for forecast_of_run in forecasts])
    middle = float(np.median(energies))
    spread = float(
        np.sqrt(np.mean([forecast_of_run[1] ** 2 for forecast_of_run in forecasts]) + energies.var() / len(energies))
    )
    so_far = float((pieces.watts * pieces.seconds).sum())
    half = WIDTH * spread
    seconds, by_paper = (float(np.median([forecast_of_run[at] for forecast_of_run in forecasts])) for at in (2, 3))
    return Estimate(
        application=application,
        energy_j=middle,
        low_j=max(middle - half, so_far),
        high_j=middle + half,
        seconds=seconds,
        so_far_j=so_far,
        paper_j=by_paper,
        done=float(pieces.seconds.sum()) / seconds,
        similarity=float(np.median([alignment.similarity for _, alignment in own])),
        simulated=series.simulated or alphabet.simulated,
    )


def _pieces(series: NodeSeries, alphabet: Alphabet) -> _Pieces:
    """Cut a series where its states change. The states are learnt again, because another machine has other rates."""
    table = counters_of(series, alphabet.scale.names)
    if not np.isfinite(table).all():
        raise NoDataError(f"{series.node}: not all of {', '.join(alphabet.scale.names)} were counted")
    levels = alphabet.scale.levels(table).astype(np.float64)
    watts = np.asarray(series.watts)
    watts = moved(watts, lag_of(table, watts))
    _, (labels,) = own_states([levels], least_scatter(alphabet.scale.names))
    edges = np.concatenate([[0], np.flatnonzero(np.diff(labels)) + 1, [len(levels)]])
    ends = series.times[edges[1:] - 1]
    begins = np.concatenate([[series.times[0] - series.period_s], ends[:-1]])
    means = np.array([np.median(levels[a:b], axis=0) for a, b in pairwise(edges.tolist())])
    power = np.array([_mean(watts[a:b], watts) for a, b in pairwise(edges.tolist())])
    return _Pieces(ends - begins, means, power)


def _begun(pieces: _Pieces, alphabet: Alphabet) -> _Pieces:
    """Remove the idle segments before the run.

    Raises:
        NoDataError: all segments are idle.
    """
    most = alphabet.scale.floor / MATTERS
    busy = [not is_idle(alphabet.scale.names, alphabet.scale.rates(each), most) for each in pieces.levels]
    if not any(busy):
        raise NoDataError("the node was idle all the time: no run has begun")
    first = busy.index(True)
    return _Pieces(pieces.seconds[first:], pieces.levels[first:], pieces.watts[first:])


def _mean(part: FloatArray, whole: FloatArray) -> float:
    """Return the mean of the measured values of a part; that of the whole if it has none."""
    return float(np.nanmean(part) if np.isfinite(part).any() else np.nanmean(whole))


def _aligned(pieces: _Pieces, run: KnownRun, centres: FloatArray) -> Alignment:
    """Align with a known run, on a machine with other counts and another speed."""
    known_s = np.array([segment.seconds for segment in run.segments])
    levels = np.array([centres[segment.state] for segment in run.segments])
    gain, pace, best = np.zeros(levels.shape[1]), 1.0, Alignment((), 0, 0.0)
    for _ in range(ROUNDS):
        distance = np.sqrt(((pieces.levels[:, None] - gain - levels) ** 2).mean(axis=2))
        alignment = align(pieces.seconds, known_s * pace, np.minimum(distance / UNLIKE, 1.0))
        if alignment.similarity > best.similarity:
            best = alignment
        good = [(i, j) for i, j in alignment.pairs if distance[i, j] < UNLIKE]
        if not good:
            break
        i, j = np.array(good).T
        gain = 0.8 * np.average(pieces.levels[i] - levels[j], axis=0, weights=pieces.seconds[i])
        closed = i < len(pieces.seconds) - 1
        if closed.any():
            pace = float(np.exp(np.median(np.log(pieces.seconds[i] / known_s[j])[closed])))
    return best


def _whole_run(pieces: _Pieces, run: KnownRun, alignment: Alignment) -> tuple[float, float, float, float]:
    """Return joules of the whole run, their standard deviation, seconds, and the paper's joules, from one known run."""
    state = np.array([segment.state for segment in run.segments])
    known_s = np.array([segment.seconds for segment in run.segments])
    known_w = np.array([segment.energy_j or 0.0 for segment in run.segments]) / known_s
    position_of = {j: i for i, j in alignment.pairs}
    last = alignment.end - 1
    length, power = _ratios(pieces, known_s, known_w, state, position_of)
    open_s = pieces.seconds[position_of[last]] if last in position_of else 0.0
    rest_s = known_s[last:] * np.exp(length.mean[state[last:]])
    rest_s[0] = max(rest_s[0] - open_s, 0.0)
    rest_j = rest_s * known_w[last:] * np.exp(power.mean[state[last:]])
    kinds = np.bincount(state[last:], rest_j, minlength=len(length.mean))
    own = (kinds**2 * (length.own + power.own)).sum()
    # The ratios of kinds that have not occurred yet share the error of one mean.
    shared = kinds[length.new].sum() ** 2 * length.shared + kinds[power.new].sum() ** 2 * power.shared
    noise = ((rest_j * LENGTHS) ** 2).sum()
    so_far = float((pieces.watts * pieces.seconds).sum())
    passed = known_s[:last].sum() + min(open_s / float(np.exp(length.mean[state[last]])), known_s[last])
    passed_j = (known_w[:last] * known_s[:last]).sum() + known_w[last] * (passed - known_s[:last].sum())
    total_j = (known_w * known_s).sum()
    by_paper = estimated_energy(so_far, float(passed_j), float(total_j - passed_j)) if passed_j > 0 else so_far
    seconds = float(pieces.seconds.sum() + rest_s.sum())
    return so_far + float(rest_j.sum()), float(np.sqrt(own + shared + noise)), seconds, float(by_paper)


@dataclass(frozen=True)
class _Ratios:
    """Logarithms of ratios by kind.

    Attributes:
        mean: (kinds,) logarithm of the ratio.
        own: (kinds,) variance of each kind.
        shared: Variance shared by all new kinds.
        new: (kinds,) whether the kind has not occurred yet.
    """

    mean: FloatArray
    own: FloatArray
    shared: float
    new: BoolArray


def _ratios(
    pieces: _Pieces, known_s: FloatArray, known_w: FloatArray, state: np.ndarray, position_of: dict[int, int]
) -> tuple[_Ratios, _Ratios]:
    """Return the ratios of segment lengths of each kind, here to the known run, and those of power."""
    closed = {j: i for j, i in position_of.items() if i < len(pieces.seconds) - 1}
    lengths: dict[int, list[tuple[float, float]]] = {}
    powers: dict[int, list[tuple[float, float]]] = {}
    for j, i in closed.items():
        lengths.setdefault(int(state[j]), []).append((float(np.log(pieces.seconds[i] / known_s[j])), known_s[j]))
    for j, i in position_of.items():
        powers.setdefault(int(state[j]), []).append((float(np.log(pieces.watts[i] / known_w[j])), pieces.seconds[i]))
    kinds = int(state.max()) + 1
    return _shrunk(lengths, kinds), _shrunk(powers, kinds)


def _shrunk(ratios_of: dict[int, list[tuple[float, float]]], kinds: int) -> _Ratios:
    """Return the ratios of kinds, shrunk towards the mean of all: more with few segments, or with similar kinds."""
    if not ratios_of:
        return _Ratios(np.zeros(kinds), np.full(kinds, KINDS**2), (3 * KINDS) ** 2, np.ones(kinds, dtype=bool))
    means = {
        kind: float(np.average([r for r, _ in each], weights=[w for _, w in each])) for kind, each in ratios_of.items()
    }
    squares_within = [(r - means[kind]) ** 2 for kind, each in ratios_of.items() for r, _ in each if len(each) > 1]
    freedom = max(len(squares_within) - sum(len(each) > 1 for each in ratios_of.values()), 0)
    noise = (SEEN * LENGTHS**2 + sum(squares_within)) / (SEEN + freedom)
    centre = float(np.mean(list(means.values())))
    between = (SEEN * KINDS**2 + sum((m - centre) ** 2 for m in means.values())) / (SEEN + len(means) - 1)
    out, own = np.full(kinds, centre), np.full(kinds, between)
    for kind, mean in means.items():
        error = noise / len(ratios_of[kind])
        trust = between / (between + error)
        out[kind] = trust * mean + (1 - trust) * centre
        own[kind] = trust * error
    new = ~np.isin(np.arange(kinds), list(means))
    return _Ratios(out, own, between / len(means), new)


# Find the known application that a run resembles so far.


# Less similarity than this is not a match.
MATCHES = 0.8
PACES = 3


@dataclass(frozen=True)
class Match:
    """Similarity of a run to the known runs of one application.

    Attributes:
        application: Name of the application.
        similarity: Similarity to the most similar of its runs, from 0 to 1.
        pace: Ratio of segment lengths to those of that run.
        done: Share of that run that has passed.
    """

    application: str
    similarity: float
    pace: float
    done: float

    @property
    def matches(self) -> bool:
        """Whether the similarity is sufficient."""
        return self.similarity >= MATCHES


def match(segments: Sequence[Segment], runs: Sequence[KnownRun]) -> tuple[Match, ...]:
    """Compare the beginning of a run with all known runs; the best of each application, the most similar first."""
    best: dict[str, Match] = {}
    for run in runs:
        matched = _against(segments, run)
        if run.application not in best or matched.similarity > best[run.application].similarity:
            best[run.application] = matched
    return tuple(sorted(best.values(), key=lambda each: (-each.similarity, each.application)))


def _against(segments: Sequence[Segment], run: KnownRun) -> Match:
    """Align with one run, at the pace estimated from the alignment itself."""
    seconds = np.array([segment.seconds for segment in segments])
    known_s = np.array([segment.seconds for segment in run.segments])
    state, of = (np.array([each.state for each in part]) for part in (segments, run.segments))
    unlike = (state[:, None] != of).astype(np.float64)
    pace, alignment = 1.0, Alignment((), 0, 0.0)
    for _ in range(PACES):
        aligned = align(seconds, known_s * pace, unlike)
        if aligned.similarity <= alignment.similarity:
            break
        alignment = aligned
        closed = [
            np.log(seconds[i] / known_s[j]) for i, j in alignment.pairs if not unlike[i, j] and i < len(seconds) - 1
        ]
        last_pace, pace = pace, float(np.exp(np.median(closed))) if closed else pace
        if pace == last_pace:
            break
    done = float(known_s[: alignment.end].sum() / known_s.sum()) if len(known_s) else 0.0
    return Match(run.application, alignment.similarity, pace, done)


# Align the segments of a run with those of a known run: the alignment of least cost in disagreeing seconds.
#
# Two aligned segments of one kind cost the difference of their lengths. Segments of different kinds, or without a
# partner, cost their length. The known run may continue where the other ends: the run may be its beginning, or all of
# it.


@dataclass(frozen=True)
class Alignment:
    """An alignment of two runs.

    Attributes:
        pairs: (segment, segment of the known run), ascending.
        end: Number of segments of the known run that are used.
        similarity: From 0 to 1, the share of both runs' seconds that agree.
    """

    pairs: tuple[tuple[int, int], ...]
    end: int
    similarity: float


def align(seconds: FloatArray, known_s: FloatArray, unlike: FloatArray) -> Alignment:
    """Align a run with the beginning of a known one.

    Args:
        seconds: (n,) lengths of the run's segments; the last one may be incomplete.
        known_s: (m,) lengths of the known run's segments.
        unlike: (n, m) from 0 for segments of one kind to 1 for segments that have nothing in common.
    """
    n, m = len(seconds), len(known_s)
    if not n or not m:
        return Alignment((), 0, 0.0)
    total = seconds[:, None] + known_s
    pair_cost = (1 - unlike) * np.abs(seconds[:, None] - known_s) + unlike * total
    # The last segment is incomplete: it may be shorter than the known one, whose rest is not used.
    open_end = (1 - unlike[-1]) * np.maximum(seconds[-1] - known_s, 0) + unlike[-1] * 2 * seconds[-1]
    cost = np.zeros((n + 1, m + 1))
    cost[1:, 0], cost[0, 1:] = np.cumsum(seconds), np.cumsum(known_s)
    for i in range(1, n + 1):
        step = open_end if i == n else pair_cost[i - 1]
        best = np.minimum(cost[i - 1, :-1] + step, cost[i - 1, 1:] + seconds[i - 1])
        row, left = cost[i], float(cost[i, 0])
        for j, (value, length) in enumerate(zip(best.tolist(), known_s.tolist(), strict=True), 1):
            left = min(value, left + length)
            row[j] = left
    used = np.concatenate([[0], np.cumsum(np.minimum(known_s, np.inf))])
    # Ends that use more of the known run must not be favoured: costs are relative to the seconds of both used parts.
    last_used = used[:-1] + np.minimum(seconds[-1], known_s)
    agreement = 1 - cost[n, 1:] / (seconds.sum() + last_used)
    end = int(agreement.argmax()) + 1
    return Alignment(_traced(cost, pair_cost, open_end, seconds, end), end, max(float(agreement[end - 1]), 0.0))


def _traced(
    cost: FloatArray, pair_cost: FloatArray, open_end: FloatArray, seconds: FloatArray, end: int
) -> tuple[tuple[int, int], ...]:
    """Return the pairs of the path of least cost to `end`."""
    i, j, pairs = len(seconds), end, []
    while i and j:
        step = open_end[j - 1] if i == len(seconds) else pair_cost[i - 1, j - 1]
        if np.isclose(cost[i, j], cost[i - 1, j - 1] + step):
            pairs.append((i - 1, j - 1))
            i, j = i - 1, j - 1
        elif np.isclose(cost[i, j], cost[i - 1, j] + seconds[i - 1]):
            i -= 1
        else:
            j -= 1
    return tuple(pairs[::-1])
