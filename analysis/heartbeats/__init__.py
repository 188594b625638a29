"""Summaries of heartbeats: per id over the whole run, and per id over time.

Everything is computed from rows of (process, interval, thread, id), which hold the totals of the beats of that
interval. docs/use/heartbeats.md defines the figures for users.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incprof.analysis.compare.match_names import common_components
from incprof.analysis.heartbeats.summaries import BeatSeries, BeatSummary, Grid, Span
from incprof.analysis.phase_result import Phase, Site

FloatArray = NDArray[np.float64]
P_RANGE = (0.05, 0.95)


def summarise(
    rows: NDArray[np.void],
    spans: Sequence[Span],
    known: Mapping[int, tuple[str | None, int]],
    *,
    interval_s: float = 1.0,
    costs: Sequence[tuple[float, float] | None] = (),
) -> list[BeatSummary]:
    """Summarise the heartbeats of each id.

    Args:
        rows: Structured array, shape (n,), with the integer fields `process` (position in `spans`), `interval`
            (position in that span's intervals), `thread`, `id`, `count`, `pulses`, `sum_ns`, `min_ns`, `max_ns`,
            `open`, `open_ns`, `executions` (beats and pulses, including skipped ones; if fewer than were recorded, the
            rate factor is used instead), `busy_ns` (time that passed in beats within the interval), and the float
            `sumsq_ns2`.
        spans: The processes.
        known: Name (or None) and rate factor of ids. An id without rows has a summary too; an id that is missing here
            has neither a name nor a rate factor above 1.
        interval_s: Intended length of an interval: the step of the time grid of several processes.
        costs: Cost of a beat in each process, in ns: of a recorded and of a skipped one.

    Returns:
        The summaries, by id.
    """
    grid = Grid(spans, interval_s)
    order = np.argsort(rows["id"], kind="stable")
    ids, begins = np.unique(rows["id"][order], return_index=True)
    own = dict(zip(ids.tolist(), np.split(order, begins[1:]), strict=True)) if len(ids) else {}
    nothing = order[:0]
    return [
        _summary(number, *known.get(number, (None, 1)), rows[own.get(number, nothing)], grid, costs)
        for number in sorted(own.keys() | known.keys())
    ]


def _summary(
    number: int,
    name: str | None,
    factor: int,
    rows: NDArray[np.void],
    grid: Grid,
    costs: Sequence[tuple[float, float] | None],
) -> BeatSummary:
    """Summarise the rows of one id, shape (n,)."""
    count, pulses = float(rows["count"].sum(dtype=np.float64)), float(rows["pulses"].sum(dtype=np.float64))
    factors = row_factors(rows, factor)
    executions = float(((rows["count"].astype(np.float64) + rows["pulses"]) * factors).sum())
    thinned = bool((factors > factor * (1 + 1e-9)).any())
    some = rows["count"] > 0
    ended, weights = rows[some], factors[some]
    if len(weights) and (weights == weights[0]).all():  # equal weights cancel: avoid their rounding
        weights = np.ones(len(weights))
    n = ended["count"].astype(np.float64) * weights
    low, high = p_range(ended, n)
    last = rows[grid.is_last(rows)]
    busy, bounded = busy_s(rows, factors, grid)
    rank = grid.rank_index[rows["process"]]
    thread = _places(_places(rows["thread"]) + rows["process"].astype(np.int64) * (len(rows) + 1))
    wall = grid.wall_s
    return BeatSummary(
        id=number,
        name=name,
        count=int(count),
        pulses=int(pulses),
        executions=int(executions),
        mean_s=float((ended["sum_ns"] * weights).sum() / n.sum()) / 1e9 if count else None,
        min_s=float(ended["min_ns"].min()) / 1e9 if count else None,
        max_s=float(ended["max_ns"].max()) / 1e9 if count else None,
        std_s=deviation(ended, weights),
        p5_s=low,
        p95_s=high,
        rate_hz=(count or pulses) / wall if wall else 0.0,
        busy_pct=100 * float(busy.sum()) / wall if wall else 0.0,
        bounded=bounded,
        rate_factor=executions / (count + pulses) if thinned else factor,
        thinned=thinned,
        cost_pct=cost_pct(rows, factors, grid, costs),
        open=int(last["open"].sum(dtype=np.float64)),
        open_s=float(last["open_ns"].max(initial=0)) / 1e9,
        ranks=len(np.unique(rank)),
        threads=int(thread.max(initial=-1)) + 1,
        imbalance_ranks=imbalance(sums(rank, busy, grid.ranks)),
        imbalance_threads=imbalance(sums(thread, busy)),
        series=_series(rows, factors, busy, grid),
    )


def _places(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rank of each value among the distinct values, shape (n,)."""
    places: NDArray[np.int64] = np.unique(values, return_inverse=True)[1]
    return places


def sums(place: NDArray[np.int64], values: FloatArray, size: int = 0) -> FloatArray:
    """Return the sum of the values at each place, shape (size,) at least."""
    return np.bincount(place, weights=values, minlength=size).astype(np.float64)


def whole(values: FloatArray) -> NDArray[np.int64]:
    """Return values as integers: larger ones become the largest integer."""
    return np.minimum(values, 2.0**63 - 1024).astype(np.int64)


def row_factors(rows: NDArray[np.void], factor: int) -> FloatArray:
    """Return the number of beats for each recorded one, of each row, shape (n,).

    Args:
        rows: Of one id, shape (n,).
        factor: Its rate factor, for rows without a number of executions.
    """
    recorded = rows["count"].astype(np.float64) + rows["pulses"]
    has_executions = (recorded > 0) & (rows["executions"] >= recorded)
    factors: FloatArray = np.divide(
        rows["executions"], recorded, out=np.full(len(rows), float(factor)), where=has_executions
    )
    return factors


def busy_s(rows: NDArray[np.void], factors: FloatArray, grid: Grid) -> tuple[FloatArray, int]:
    """Return the time that passed in the beats of each row, including skipped ones, shape (n,).

    Also returns the number of rows in which that exceeded the interval.
    """
    busy, beyond = within_wall_s(rows, factors, grid.length_s(rows))
    return busy, int(beyond.sum())


def within_wall_s(
    rows: NDArray[np.void], factors: FloatArray, length_s: FloatArray
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return the time that passed in all beats of each row, and where recorded ones stood for too much, both (n,).

    No thread has more time than the length of the interval. Where the recorded beats stand for more (one waited for a
    processor, and counts for a hundred), the length is used instead.

    Args:
        rows: of any ids and threads.
        factors: (n,) beats for each recorded one.
        length_s: (n,) of the intervals, seconds.
    """
    estimated = rows["busy_ns"] / 1e9 * factors
    beyond: NDArray[np.bool_] = (factors > 1) & (estimated > length_s)
    return np.where(beyond, length_s, estimated), beyond


def cost_pct(
    rows: NDArray[np.void], factors: FloatArray, grid: Grid, costs: Sequence[tuple[float, float] | None]
) -> float | None:
    """Return the cost of the beats of an id, in percent of their threads' time; None if unknown."""
    priced = [cost if cost is not None else (np.nan, np.nan) for cost in costs]
    length = float(grid.length_s(rows).sum())
    if not priced or length <= 0:
        return None
    pair, skipped = np.array(priced)[rows["process"]].T
    recorded = rows["count"].astype(np.float64) + rows["pulses"]
    percent = 100 * float((recorded * (pair + (factors - 1) * skipped)).sum()) / 1e9 / length
    return None if np.isnan(percent) else percent


def deviation(ended: NDArray[np.void], weights: FloatArray | float = 1.0) -> float | None:
    """Return the standard deviation of all beats in rows that have some: of the population, not of a sample.

    Each beat of a row is weighted by the row's weight. The variance within a row comes from its sums, where nearly
    equal numbers are subtracted; it is kept within the limits of minimum and maximum. The variance between the rows is
    added from their means, which loses nothing.
    """
    if not len(ended):
        return None
    n, total = ended["count"].astype(np.float64), ended["sum_ns"].astype(np.longdouble)
    within = (ended["sumsq_ns2"] - total * total / n).astype(np.float64)
    width = ended["max_ns"].astype(np.float64) - ended["min_ns"]
    within = np.clip(within, 0, n * width**2 / 4) * weights
    mean = (total / n).astype(np.float64)
    n = n * weights
    overall = float(np.average(mean, weights=n))
    return float(np.sqrt((within.sum() + (n * (mean - overall) ** 2).sum()) / n.sum())) / 1e9


def p_range(ended: NDArray[np.void], beats: FloatArray) -> tuple[float | None, float | None]:
    """Return the row means below which 5 % and 95 % of the beats lie, if each beat has its row's mean.

    beats: number of beats of each row, shape (n,).
    """
    if not len(ended):
        return None, None
    mean = ended["sum_ns"] / ended["count"]
    order = np.argsort(mean, kind="stable")
    share = np.cumsum(beats[order])
    at = np.searchsorted(share, np.array(P_RANGE) * share[-1] * (1 - 1e-12))
    low, high = mean[order][np.minimum(at, len(mean) - 1)] / 1e9
    return float(low), float(high)


def imbalance(busy: FloatArray) -> float | None:
    """Return the imbalance of busy times: max / mean - 1, or None where no time was spent."""
    return float(busy.max() / busy.mean() - 1) if busy.sum() > 0 else None


def _series(rows: NDArray[np.void], factors: FloatArray, busy: FloatArray, grid: Grid) -> BeatSeries:
    """Return the series of an id over the cells of the grid."""
    cell = grid.cell(rows)
    at, place = np.unique(cell, return_inverse=True)

    def total(name: str, weights: FloatArray | float = 1.0) -> FloatArray:
        return sums(place, rows[name].astype(np.float64) * weights, at.size)

    wall = grid.cell_wall_s[at]
    count, pulses = total("count"), total("pulses")
    made, recorded = total("count", factors) + total("pulses", factors), count + pulses
    factor = np.divide(made, recorded, out=np.ones(at.size), where=recorded > 0)
    made = total("count", factors)
    even = np.divide(count, made, out=np.ones(at.size), where=count > 0)
    return BeatSeries(
        end_s=grid.end_s,
        at=at,
        counts=whole(count),
        pulse_counts=whole(pulses),
        sums_s=total("sum_ns", factors) * even / 1e9,
        busy_pcts=100 * np.divide(sums(place, busy, at.size), wall, out=np.zeros(at.size), where=wall > 0),
        opens=whole(total("open")),
        factors=factor,
    )


# Match heartbeats to sites: by name, `function:kind`, else by id.


Key = tuple[int, str]
Sites = dict[Key, Site]
KINDS = ("body", "loop")
NAME_BYTES = 119  # the library truncates longer ones


@dataclass(frozen=True)
class Matched:
    """Heartbeats of each phase. Heartbeats are indices into the list of ids, phases into PhaseResult.phases.

    Attributes:
        of_phase: for each phase its heartbeats.
        functions: for each heartbeat the columns in the profile of the functions whose sites it stands for.
        loops: for each heartbeat whether one of these sites is a loop.
        missing: for each phase the sites without a heartbeat, `function:kind`.
    """

    of_phase: tuple[tuple[int, ...], ...]
    functions: tuple[tuple[int, ...], ...]
    loops: tuple[bool, ...]
    missing: tuple[tuple[str, ...], ...]

    @property
    def used(self) -> tuple[int, ...]:
        """Heartbeats that belong to a phase."""
        return tuple(place for place, columns in enumerate(self.functions) if columns)


def match(phases: Sequence[Phase], ids: Sequence[int], names: Sequence[str | None]) -> Matched:
    """Find the heartbeats of each phase. A heartbeat whose site several phases have belongs to each of them.

    A name need not be equally qualified on both sides: `solve:body` is `ns::Mesh::solve(int):body` unless another
    site's name fits better. Whether a function is instrumented as a body or in a loop may depend on a few samples:
    where no heartbeat has a site's kind, one with the other kind stands for it.
    """
    sites: Sites = {(s.index, s.kind): s for phase in phases for s in phase.sites}
    stands_for = [_sites_of(number, name, sites) for number, name in zip(ids, names, strict=True)]
    matched_sites = set[Key]().union(*stands_for)
    rest = {key: site for key, site in sites.items() if key not in matched_sites}
    for place, name in enumerate(names):
        if name is not None and not stands_for[place]:
            stands_for[place] = _sites_of(ids[place], _other_kind(name), rest)
    of_phase, missing = [], []
    matched_sites = set[Key]().union(*stands_for)
    for phase in phases:
        own = {(site.index, site.kind) for site in phase.sites}
        of_phase.append(tuple(place for place, beat_sites in enumerate(stands_for) if beat_sites & own))
        left = [site for site in phase.sites if (site.index, site.kind) not in matched_sites]
        missing.append(tuple(f"{site.function.name}:{site.kind}" for site in left))
    functions = tuple(tuple(sorted({index for index, _ in beat_sites})) for beat_sites in stands_for)
    kinds = [name.rpartition(":")[2] if name is not None else None for name in names]
    loops = tuple(
        kind == "loop" if kind in KINDS else any(other == "loop" for _, other in beat_sites)
        for kind, beat_sites in zip(kinds, stands_for, strict=True)
    )
    return Matched(tuple(of_phase), functions, loops, tuple(missing))


def _other_kind(name: str) -> str:
    """Return the name of the same function's other kind of site; a name without a kind unchanged."""
    function, _, kind = name.rpartition(":")
    return f"{function}:{KINDS[1 - KINDS.index(kind)]}" if kind in KINDS else name


def _sites_of(number: int, name: str | None, sites: Sites) -> set[Key]:
    """Return the sites that a heartbeat stands for."""
    if name is None:
        return {key for key, site in sites.items() if site.heartbeat == number}
    function, _, kind = name.rpartition(":")
    fits = {
        key: fit
        for key, site in sites.items()
        if site.kind == kind and (fit := _fit(function, site.function.name, site.function.mangled)) > 0
    }
    best = max(fits.values(), default=0)
    if not best and len(name.encode()) >= NAME_BYTES - 3:  # truncated, perhaps in the middle of a character
        return {key for key, site in sites.items() if f"{site.function.name}:{site.kind}".startswith(name)}
    return {key for key, fit in fits.items() if fit == best}


def _fit(given: str, name: str, mangled: str) -> int:
    """Return how well two names match, 0 for not at all: equal, or equal in their last components."""
    if given in (name, mangled):
        return 1_000_000
    return common_components(given, name)
