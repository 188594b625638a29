"""Representative patterns: DTW barycentre averaging (Petitjean, Ketterlin and Gancarski 2011).

Start and stop are the paper's. The method is local: WGSS never increases from one iteration to the next, but need not
reach its global minimum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from incprof.analysis._native import native
from incprof.analysis.thread_pool import spread
from incprof.model import FloatArray, IntArray
from incprof.systems.periods.patterns import dtw
from incprof.systems.periods.patterns.dtw import Pack, doubles, pointers
from incprof.systems.periods.patterns.pattern_result import PatternOptions

# Instances per call. The sums of calls are added in order, so that the number of threads does not affect the result.
CHUNK = 64
# Greatest number of cells of all alignments in the search for a medoid.
CELLS = 4e9


@dataclass(frozen=True)
class Average:
    """An averaged pattern.

    Attributes:
        values: (p,).
        history: Its WGSS before the first iteration and after each.
    """

    values: FloatArray
    history: tuple[float, ...]


def medoid(packed: Pack, options: PatternOptions) -> int:
    """Return the index of the instance with the least sum of DTW distances to the others.

    Candidates are all instances, or `medoid_sample` of them spread evenly; fewer if they are very long, to limit the
    time to seconds.
    """
    members = np.arange(len(packed))
    affordable = math.isqrt(int(2 * CELLS / float(np.median(packed.length)) ** 2)) + 2
    most = min(options.medoid_sample, affordable)
    if not options.exact and len(packed) > most > 0:
        members = np.unique(np.linspace(0, len(packed) - 1, most).round().astype(np.int64))
    few = packed.take(members)
    sums = np.zeros(len(few))
    left, right = np.triu_indices(len(few), 1)
    near = dtw.distances(few, left, right, threads=options.threads)
    np.add.at(sums, left, near)
    np.add.at(sums, right, near)
    return int(members[sums.argmin()])


def average(packed: Pack, start: FloatArray, options: PatternOptions) -> Average:
    """Refine `start` until `iterations` are done, or `patience` in a row have lowered WGSS by less than `decrease`."""
    step = plain_step if options.exact else fast_step
    pattern = start.copy()
    history: list[float] = []
    slow = 0
    while True:
        refined, distances = step(packed, pattern, options.threads)
        history.append(float(distances.sum()))
        if len(history) > 1:
            before, now = history[-2:]
            slow = slow + 1 if before - now < options.decrease * before or now == 0 else 0
        if len(history) > options.iterations or slow >= options.patience or history[-1] == 0:
            return Average(pattern, tuple(history))
        pattern = refined


def wgss(packed: Pack, pattern: FloatArray, *, threads: int | None = None) -> float:
    """Return the sum of DTW2 distances between a pattern and the instances."""
    both = dtw.pack([pattern, *(packed[index] for index in range(len(packed)))])
    right = np.arange(1, len(both))
    return float(dtw.distances(both, np.zeros(len(right), dtype=np.int64), right, squared=True, threads=threads).sum())


def fast_step(packed: Pack, pattern: FloatArray, threads: int | None = None) -> tuple[FloatArray, FloatArray]:
    """Return the pattern after one iteration, and the DTW2 of each instance from the pattern before it, (q,)."""
    points, count = len(pattern), len(packed)
    firsts = range(0, count, CHUNK)
    sums, counts = np.zeros((len(firsts), points)), np.zeros((len(firsts), points))
    out = np.zeros(count)

    def work(number: int) -> None:
        part = packed.take(slice_of(number * CHUNK, min((number + 1) * CHUNK, count)))
        if native().incprof_dba_step(
            doubles(pattern), points, *pointers(part), len(part),
            doubles(sums[number]), doubles(counts[number]), doubles(out[number * CHUNK :]),
        ):  # fmt: skip
            raise MemoryError("no memory for averaging")

    spread(work, range(len(firsts)), threads)
    return sums.sum(axis=0) / counts.sum(axis=0), out


def slice_of(start: int, end: int) -> IntArray:
    """Return the indices start .. end - 1."""
    return np.arange(start, end, dtype=np.int64)


def plain_step(packed: Pack, pattern: FloatArray, threads: int | None = None) -> tuple[FloatArray, FloatArray]:
    """Compute the same as `fast_step` in numpy, one instance after the other."""
    sums, counts, out = np.zeros(len(pattern)), np.zeros(len(pattern)), []
    for index in range(len(packed)):
        values = packed[index]
        cost = _costs(pattern, values)
        i, j = len(pattern) - 1, len(values) - 1
        out.append(cost[i + 1, j + 1])
        while i >= 0 and j >= 0:
            sums[i] += values[j]
            counts[i] += 1
            up, left, diagonal = cost[i, j + 1], cost[i + 1, j], cost[i, j]
            i, j = (i - 1, j - 1) if diagonal <= min(up, left) else (i - 1, j) if up <= left else (i, j - 1)
    return sums / counts, np.array(out)


def _costs(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the accumulated squared costs with a margin, shape (len(a) + 1, len(b) + 1)."""
    cost = np.full((len(a) + 1, len(b) + 1), np.inf)
    cost[0, 0] = 0
    square = (a[:, None] - b) ** 2
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost[i, j] = square[i - 1, j - 1] + min(cost[i - 1, j - 1], cost[i - 1, j], cost[i, j - 1])
    return cost
