"""Learn an alphabet of states from recordings of many nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from incprof.errors import NoDataError
from incprof.model import FloatArray, IntArray
from incprof.model.series import NodeSeries
from incprof.systems.nodes.analyse.comparable_rates import (
    UNKNOWN,
    Emissions,
    Scale,
    counters_of,
    crowded,
    distances,
    emissions_of,
    is_stepwise,
    least_scatter,
    most_probable,
    scale_of,
    steps_of,
    whitening_of,
)
from incprof.systems.nodes.analyse.live import ENDED
from incprof.systems.nodes.analyse.node_states import (
    Alphabet,
    KnownRun,
    NodeStates,
    State,
    segments_of_states,
    without_idle,
)
from incprof.systems.nodes.analyse.paper import HELD, OF_PROCESSOR, TWINS, letter_of
from incprof.systems.nodes.analyse.power import fit, is_idle, lag_of, moved

# Greatest number of segments that are clustered, the longest ones; others are assigned to the resulting groups.
MOST = 3000
MOST_STATES = 40
# Least number of rows of a segment that may be a state of its own.
LEAST_ROWS = 3


def group(means: FloatArray, rows: IntArray) -> IntArray:
    """Return the group of each segment, numbered from 0.

    Segments are joined by Ward's criterion. The number of groups minimises the BIC of a mixture in which the segments
    of a group scatter about its mean by the noise, by `OCCURRENCE_SCATTER`, and by their observed scatter.

    Args:
        means: (segments, counters) in coordinates in which rows of one state scatter by 1, independently.
        rows: (segments,) number of rows of each.
    """
    large = np.flatnonzero(rows >= min(LEAST_ROWS, int(rows.max())))
    large = np.sort(large[np.argsort(-rows[large], kind="stable")[:MOST]])
    points, weight = means[large] / OCCURRENCE_SCATTER, rows[large].astype(np.float64)
    if len(large) == 1:
        return np.zeros(len(means), dtype=np.int64)
    tree = linkage(points, "ward")
    own = 1 / OCCURRENCE_SCATTER**2 / rows[large][:, None]
    best, least = np.zeros(len(large), dtype=np.int64), np.inf
    # Cut at heights: before SciPy 1.15 "maxclust" finds one group in a few points, whatever the number requested.
    heights = [0.0, *tree[:, 2]][::-1]
    for height in heights[:MOST_STATES]:
        grouping = fcluster(tree, height, "distance") - 1
        cost = _bic(points, own, grouping, weight)
        if cost < least:
            best, least = grouping, cost
    centres = np.array(
        [np.average(points[best == g], axis=0, weights=weight[best == g]) for g in range(best.max() + 1)]
    )
    distance = ((means[:, None] / OCCURRENCE_SCATTER - centres) ** 2).sum(axis=2)
    return np.asarray(distance.argmin(axis=1))


def _bic(points: FloatArray, own: FloatArray, grouping: IntArray, weight: FloatArray) -> float:
    """Return the BIC of a grouping: its misfit plus the penalty for its number of parameters.

    own: variance of each segment's mean due to noise (segments, counters).
    """
    number, counters = int(grouping.max()) + 1, points.shape[1]
    sums = np.zeros((number, counters))
    np.add.at(sums, grouping, points * weight[:, None])
    centre = sums / np.bincount(grouping, weight)[:, None]
    squares = (points - centre[grouping]) ** 2
    scatter = np.maximum(1.0, (squares.sum(axis=0)) / max(len(points) - number, 1))
    variance = scatter + own
    fit = float((squares / variance + np.log(variance)).sum())
    return fit + float(number * (counters + 1) * np.log(len(points)))


MOST_COUNTERS = 16
ROUNDS = 3
# Two states whose levels differ by a smaller mean square, in units of the rows' scatter, are one: on the generated
# nodes for tuning, parts of one state differed by 2.0 at most, and different states by 3.6 at least.
ONE_STATE = 3.0
LEAST_OF_A_STATE = 4


def learn(series: Sequence[NodeSeries], applications: Sequence[str]) -> Alphabet:
    """Learn the states of nodes.

    Args:
        series: Recordings of the nodes, in any order.
        applications: Name of the application in each recording.

    Raises:
        NoDataError: no counter that all nodes have varies, or there are no rows.
    """
    names = common_counters(series)
    tables = [counters_of(each, names) for each in series]
    scale = scale_of(names, tables)
    levels = [scale.levels(table) for table in tables]
    emissions, labels = own_states(levels, least_scatter(names))
    return _described(series, applications, scale, emissions, tables, labels)


def own_states(levels: Sequence[FloatArray], least: float) -> tuple[Emissions, list[IntArray]]:
    """Find the states of some series, and of each row (rows,), from their levels (rows, counters) alone.

    least: least scatter of each counter within a state.
    """
    labels = _first_labels(levels, least)
    emissions = emissions_of(levels, labels, least)
    for _ in range(ROUNDS):
        labels = [most_probable(emissions.evidence(each), emissions.stay) for each in levels]
        labels = _joined(levels, _numbered(labels), least)
        emissions = emissions_of(levels, labels, least)
    return emissions, labels


def common_counters(series: Sequence[NodeSeries]) -> tuple[str, ...]:
    """Return the varying counters that all nodes have, at most 16: those whose levels vary most.

    Held memory is one of them if the processor counts nothing and it changes in steps: nothing else that the kernel
    counts distinguishes a program that works in its cache from one that works in memory.

    Raises:
        NoDataError: there is no such counter.
    """
    if not series or not any(len(each.times) for each in series):
        raise NoDataError("no rows: give files of counters, a row for each second")
    units = dict(zip(series[0].names, series[0].units, strict=True))
    others = [frozenset(each.counters) for each in series[1:]]
    everywhere = [name for name in series[0].counters if all(name in each for each in others)]
    everywhere = [name for name in everywhere if name not in TWINS or not TWINS[name] <= set(everywhere)]
    counted = OF_PROCESSOR.intersection(everywhere)
    # The amount of memory in use reflects earlier activity of programs, not their current activity.
    shared = [name for name in everywhere if units[name] != "B" or (name in HELD and not counted)]
    tables = [counters_of(each, shared) for each in series]
    common = [
        at for at, name in enumerate(shared)
        if all(np.isfinite(table[:, at]).all() for table in tables)
        and (name not in HELD or is_stepwise([table[:, at] for table in tables]))
    ]  # fmt: skip
    spread = {}
    for at in common:
        column = np.concatenate([table[:: max(1, len(table) // 2000), at] for table in tables])
        spread[shared[at]] = float(np.std(np.arcsinh(column / max(0.02 * float(np.abs(column).max()), 1e-12))))
    varying = sorted((name for name in spread if spread[name] > 0), key=lambda name: -spread[name])[:MOST_COUNTERS]
    if not varying:
        raise NoDataError("no counter that all nodes have varies: states cannot be distinguished")
    return tuple(name for name in shared if name in varying)


def decoded(series: NodeSeries, alphabet: Alphabet) -> NodeStates:
    """Return the states of a node according to a known alphabet."""
    table = counters_of(series, alphabet.scale.names)
    missing = [name for at, name in enumerate(alphabet.scale.names) if np.isnan(table[:, at]).any()]
    if missing:
        raise NoDataError(f"{series.node}: no {missing[0]}, which the alphabet was learnt with")
    evidence = alphabet.emissions.evidence(alphabet.scale.levels(table), unknown=True)
    labels = most_probable(evidence, alphabet.emissions.stay)
    labels = np.where(labels == len(alphabet.states), UNKNOWN, labels)
    return _node_states(series, table, labels)


def _node_states(series: NodeSeries, table: FloatArray, labels: IntArray) -> NodeStates:
    """Combine the states of a node with its power, which is shifted by its lag."""
    watts, lag = series.watts, 0
    if watts is not None:
        lag = lag_of(table, watts)
        watts = moved(watts, lag)
    segments = segments_of_states(series.times, labels, watts, series.period_s)
    return NodeStates(
        series.node, series.times, labels, segments, watts, lag * series.period_s, series.period_s, series.simulated,
        series.notes, crowded(series),
    )  # fmt: skip


def _first_labels(levels: Sequence[FloatArray], least: float) -> list[IntArray]:
    """Return initial states of rows (rows,) for each series, by grouping the segments between changes."""
    whitening = whitening_of(np.concatenate([steps_of(each) for each in levels]), least)
    tables = [each @ whitening for each in levels]
    edges = [np.concatenate([[0], changes(each), [len(each)]]) for each in tables]
    rows = np.concatenate([np.diff(each) for each in edges])
    means = [
        np.add.reduceat(table, edge[:-1]) / np.diff(edge)[:, None] for table, edge in zip(tables, edges, strict=True)
    ]
    groups, out, at = group(np.concatenate(means), rows), [], 0
    for each in edges:
        out.append(np.repeat(groups[at : at + len(each) - 1], np.diff(each)))
        at += len(each) - 1
    return out


def _numbered(labels: Sequence[IntArray]) -> list[IntArray]:
    """Renumber states consecutively from 0."""
    used = np.unique(np.concatenate(labels))
    return [np.searchsorted(used, each) for each in labels]


def _joined(levels: Sequence[FloatArray], labels: Sequence[IntArray], least: float) -> list[IntArray]:
    """Join states that rows do not distinguish, the closest first, and remove those with few rows."""
    while True:
        emissions = emissions_of(levels, labels, least)
        count = np.bincount(np.concatenate(labels), minlength=len(emissions.means))
        distance = distances(emissions)
        np.fill_diagonal(distance, np.inf)
        few = int(count.argmin())
        if len(count) > 1 and count[few] < LEAST_OF_A_STATE:
            removed, into = few, int(distance[few].argmin())
        elif distance.min(initial=np.inf) < ONE_STATE:
            removed, into = (int(at) for at in np.unravel_index(distance.argmin(), distance.shape))
        else:
            return list(labels)
        labels = _numbered([np.where(each == removed, into, each) for each in labels])


def _described(
    series: Sequence[NodeSeries], applications: Sequence[str], scale: Scale, emissions: Emissions,
    tables: Sequence[FloatArray], labels: Sequence[IntArray],
) -> Alphabet:  # fmt: skip
    """Add names, letters and power models to the states."""
    nodes = [_node_states(*each) for each in zip(series, tables, labels, strict=True)]
    rows, label = np.concatenate(tables), np.concatenate(labels)
    watts = np.concatenate([np.full(len(n.times), np.nan) if n.watts is None else n.watts for n in nodes])
    machine = fit(rows, watts)
    most = np.quantile(rows, 0.995, axis=0)
    own = [label == state for state in range(len(emissions.means))]
    rates = np.array([np.median(rows[each], axis=0) for each in own])
    called = unique_names([name_by_rates(scale.names, each, most) for each in rates], scale.names, rates, scale.floor)
    states = [
        State(
            state, called[state], is_idle(scale.names, rates[state], most), rates[state],
            letter_of(scale.names, rows[each], watts[each]), fit(rows[each], watts[each], machine) if machine else None,
        )
        for state, each in enumerate(own)
    ]  # fmt: skip
    alphabet = Alphabet(scale, emissions, tuple(states), (), any(each.simulated for each in series))
    runs = tuple(
        KnownRun(application, node.node, run)
        for application, node in zip(applications, nodes, strict=True)
        for run in without_idle(node.segments, alphabet.idle)
    )
    return replace(alphabet, runs=runs)


# Detect when a node's activity changes: change points of levels, by seeded binary segmentation.
#
# Windows of lengths 8, 16, ... cover the series, each overlapping the next by three quarters (Kovacs et al., 2023).
# The best split of a window is where the means of its two sides differ most relative to the noise. Of the significant
# splits those of the narrowest windows are accepted first, so that no accepted window contains two changes.


SHORTEST, WIDEST = 8, 512
# A side has at least two rows: a single odd row is not a state.
SIDE = 2
# Scatter of a state's mean between occurrences, relative to the scatter of its rows.
OCCURRENCE_SCATTER = 0.3
# A difference must be this many times the difference expected by chance.
BEYOND = 2.0


def changes(table: FloatArray) -> IntArray:
    """Find the rows at which a state begins, ascending; row 0 is never one of them.

    Args:
        table: (rows, counters) in coordinates in which rows of one state scatter by 1, independently.
    """
    rows, counters = table.shape
    table = table.astype(np.float64)
    sums = np.vstack([np.zeros(counters), np.cumsum(table - table.mean(axis=0), axis=0)])
    chance = counters + 2 * np.sqrt(counters * np.log(max(rows, 2))) + 2 * np.log(max(rows, 2))
    taken = np.zeros(rows + 1, dtype=bool)
    length = SHORTEST
    while length <= min(WIDEST, 2 * rows):
        for at, _ in _splits(sums, min(length, rows), BEYOND * chance, taken):
            taken[at] = True
        length *= 2
    return np.flatnonzero(taken)


def _splits(sums: FloatArray, length: int, least: float, taken: np.ndarray) -> list[tuple[int, float]]:
    """Find splits of windows of one length without a change yet, strongest first; none within a window of another."""
    rows = len(sums) - 1
    starts = np.unique(np.append(np.arange(0, rows - length + 1, max(1, length // 4)), rows - length))
    before = np.concatenate([[0], np.cumsum(taken)])
    starts = starts[before[starts + length] == before[starts + 1]]
    candidates: list[tuple[float, int, int]] = []
    offsets = np.arange(SIDE, length - SIDE + 1)
    for part in np.array_split(starts, max(1, len(starts) * length // 200_000)):
        if not len(part):
            continue
        left = sums[part[:, None] + offsets] - sums[part][:, None]
        right = (sums[part + length] - sums[part])[:, None] - left
        n, m = offsets[None, :, None], (length - offsets)[None, :, None]
        gain = ((left / n - right / m) ** 2 / (1 / n + 1 / m + 2 * OCCURRENCE_SCATTER**2)).sum(axis=2)
        best = gain.argmax(axis=1)
        strength = gain[np.arange(len(part)), best]
        candidates += [(-s, a + SIDE + b, a) for s, a, b in zip(strength, part, best, strict=True) if s > least]
    selected: list[tuple[int, float]] = []
    used = np.zeros(rows + 1, dtype=bool)
    for strength, at, start in sorted(candidates):
        if not used[start + 1 : start + length].any():
            used[at] = True
            selected.append((at, -strength))
    return selected


# Readable names for states, by rules on their rates.


LINE = 64
# Least bytes per second that are mentioned in a name.
NETWORK, DISK, MEMORY = 20e6, 20e6, 1e9
# Greatest number of instructions between two misses that go to memory, and between two mispredicted branches.
MISS_EACH, WRONG_EACH = 100, 120
# Least number of processors that wait for storage.
WAITS = 0.2


def name_by_rates(names: Sequence[str], rates: FloatArray, most: FloatArray) -> str:
    """Name a state.

    Args:
        names: Names of the counters.
        rates: (counters,) of the state.
        most: (counters,) the greatest rates on all recorded nodes.
    """
    if is_idle(names, rates, most):
        return "idle"
    rate_of = dict(zip(names, (float(rate) for rate in rates), strict=True))
    parts = [*_disk(rate_of), *_network(rate_of)]
    if not parts:
        parts = _processor(rate_of)
    if not parts:
        at = int(np.argmax(np.where(most > 0, rates / np.where(most > 0, most, 1), 0)))
        parts = [f"{names[at]} {_short(float(rates[at]))}/s"]
    return ", ".join(parts[:2])


def unique_names(called: Sequence[str], names: Sequence[str], rates: FloatArray, floor: FloatArray) -> list[str]:
    """Return unique names of states: equal names get the counter in which their states differ most.

    Args:
        called: (states,) names of the states.
        names: Names of the counters.
        rates: (states, counters).
        floor: (counters,) rates from which each counter matters.
    """
    out = list(called)
    for name in dict.fromkeys(called):
        same = [at for at, each in enumerate(called) if each == name]
        if len(same) > 1:
            levels = np.arcsinh(rates[same] / floor)
            most = int(np.ptp(levels, axis=0).argmax())
            for at in same:
                out[at] = f"{name}, {names[most]} {_short(float(rates[at, most])).strip()}"
    return out


def _disk(rate_of: dict[str, float]) -> list[str]:
    """Describe disk traffic."""
    written, read = rate_of.get("disk-write-bytes", 0), rate_of.get("disk-read-bytes", 0)
    parts = [f"disk write {_short(written)}B/s"] if written > DISK else []
    return parts + ([f"disk read {_short(read)}B/s"] if read > DISK else [])


def _network(rate_of: dict[str, float]) -> list[str]:
    """Describe network traffic."""
    moved = _sum(rate_of, "net-", "-bytes")
    return [f"network {_short(moved)}B/s"] if moved > NETWORK else []


def _processor(rate_of: dict[str, float]) -> list[str]:
    """Describe the activity of the processors."""
    done, misses, cycles = (rate_of.get(name, 0) for name in ("instructions", "cache-misses", "cycles"))
    parts = []
    if misses * LINE > MEMORY and done < MISS_EACH * misses:
        parts.append(f"memory bound, {_short(misses * LINE)}B/s")
    elif rate_of.get("branch-misses", 0) * WRONG_EACH > done > 0:
        parts.append(
            f"branches, {100 * rate_of['branch-misses'] / max(rate_of.get('branches', 0), 1):.0f} % guessed wrongly"
        )
    elif done and cycles:
        parts.append(f"compute, {done / cycles:.1f} instructions per cycle")
    if not parts and (cpus := rate_of.get("cpu", 0)) > 0:
        parts.append(
            f"{'system calls' if rate_of.get('system', 0) > 0.5 * cpus else 'compute'}, {cpus:.1f} processors busy"
        )
    parts += [f"{_short(rate_of[name])}B held" for name in HELD if rate_of.get(name, 0) > 0][:1]
    if rate_of.get("iowait", 0) > max(WAITS, rate_of.get("cpu", 0)):
        parts.insert(0, "waits for disks")
    return parts


def _sum(rate_of: dict[str, float], begins: str, ends: str = "") -> float:
    return sum(rate for name, rate in rate_of.items() if name.startswith(begins) and name.endswith(ends))


def _short(value: float) -> str:
    """Format a number with a prefix for thousands: 12 G."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {letter}"
    return f"{value:.3g} "


# Names for states of nodes.


UNKNOWN_NAME, END_NAME = "unknown", "end"
MARK = "power is simulated"


def name_of(alphabet: Alphabet, state: int) -> str:
    """Return the name of a state, of the unknown state, or of a run's end."""
    if state == ENDED:
        return END_NAME
    return UNKNOWN_NAME if state < 0 else alphabet.states[state].name


def letter_name(letter: int | None) -> str:
    """Return the name of a letter of the paper; XXX for None."""
    return "XXX" if letter is None else str(letter)
