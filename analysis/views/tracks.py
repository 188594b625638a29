"""A run over time: neighbouring intervals merged for drawing, and the tracks and curves of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.heartbeats.summaries import BeatSummary, begins
from incprof.analysis.views.stacks import ThreadSlices
from incprof.model import FloatArray, IntArray, IntervalProfile

# More points cannot be drawn.
MOST_POINTS = 10_000


@dataclass(frozen=True)
class Curve:
    """A figure over time.

    Attributes:
        name: of the figure.
        unit: of the values.
        start_s: (m,) start of each value, which holds until the next.
        values: (m,) values.
        end_s: end of the last value, seconds.
    """

    name: str
    unit: str
    start_s: FloatArray
    values: FloatArray
    end_s: float


def phase_segments(
    profile: IntervalProfile, labels: IntArray, most: int = MOST_POINTS
) -> list[tuple[float, float, int]]:
    """Return (start_s, end_s, phase) of each episode; time in no phase (-1) is left out.

    Args:
        profile: n intervals.
        labels: (n,) phase ids, -1 for none.
        most: most bins, each with the phase of most of its intervals.
    """
    bins = time_bins(profile, labels, most)
    return label_spans(bins.start_s, bins.end_s, bins.label)


def label_spans(start_s: FloatArray, end_s: FloatArray, label: IntArray) -> list[tuple[float, float, int]]:
    """Return (start_s, end_s, label) of neighbouring bins (b,) with the same label of 0 or more."""
    if not len(label):
        return []
    first = np.flatnonzero(np.concatenate([[True], label[1:] != label[:-1]]))
    last = np.concatenate([first[1:], [len(label)]]) - 1
    rows = zip(start_s[first].tolist(), end_s[last].tolist(), label[first].tolist(), strict=True)
    return [row for row in rows if row[2] >= 0]


def profile_curves(profile: IntervalProfile, most: int = MOST_POINTS) -> list[Curve]:
    """Return processors used, threads waiting, calls and lost samples per second, without those that are always 0."""
    n = profile.n_intervals
    if not n:
        return []
    edges = np.linspace(0, n, min(n, most) + 1).round().astype(np.int64)[:-1]
    start, end = profile.start_s[edges], np.append(profile.start_s[edges[1:]], profile.end_s[-1])
    counters = profile.counters
    amounts = {
        ("CPUs", "used"): np.maximum(counters.cpu_s - counters.collector_s, 0.0),
        ("threads", "waiting"): profile.off_cpu_s,
        ("calls", "per s"): np.asarray(profile.calls.sum(axis=1), dtype=np.float64).ravel(),
        ("samples lost", "per s"): counters.lost.astype(np.float64),
    }
    length = np.maximum(end - start, 1e-9)
    return [
        Curve(*name, start, np.add.reduceat(amount, edges) / length, float(end[-1]))
        for name, amount in amounts.items()
        if len(amount) == n and amount.any()
    ]


def beat_curves(beat: BeatSummary, interval_s: float, offset_s: float, most: int = MOST_POINTS) -> list[Curve]:
    """Return the rate of a heartbeat and, if it has durations, their mean; 0 where it did not end.

    Args:
        beat: the heartbeat.
        interval_s: intended length of its intervals.
        offset_s: start of its run, seconds after the start of the recording.
        most: most bins.
    """
    series = beat.series
    m = len(series.end_s)
    if not m:
        return []
    edges = np.arange(min(most, m)) * m // min(most, m)
    begin = begins(series.end_s, interval_s)[edges]
    end = series.end_s[np.append(edges[1:], m) - 1]
    sums = np.zeros(m)
    sums[series.at] = series.sums_s
    beats_made = (series.count + series.pulses) * series.factor
    number, beats_made, seconds = (np.add.reduceat(column, edges) for column in (series.count, beats_made, sums))
    name = f"heartbeat {beat.id} {beat.name or ''}".rstrip()
    rate = beats_made / np.maximum(end - begin, 1e-9)
    last = float(end[-1]) + offset_s
    curves = [Curve(f"{name} rate", "per s", begin + offset_s, rate, last)]
    if number.any():
        mean = np.divide(1e3 * seconds, number, out=np.zeros(len(edges)), where=number > 0)
        curves.append(Curve(f"{name} mean", "ms", begin + offset_s, mean, last))
    return curves


@dataclass(frozen=True)
class Span:
    """A slice of a track whose slices do not overlap.

    Attributes:
        name: of it.
        category: of it, such as "kernel".
        start_s: seconds since the start of the run.
        seconds: duration.
        details: shown when it is selected.
    """

    name: str
    category: str
    start_s: float
    seconds: float
    details: Mapping[str, object]


@dataclass(frozen=True)
class SpanTrack:
    """A track of a system, as of a stream of a GPU. spans: in order."""

    name: str
    spans: Sequence[Span]


@dataclass(frozen=True)
class RankTracks:
    """Tracks of a rank.

    Attributes:
        rank: its number.
        title: of its process.
        phases: (start_s, end_s, phase id), in order.
        threads: slices of its threads.
        curves: figures over time.
        others: of systems.
    """

    rank: int
    title: str
    phases: Sequence[tuple[float, float, int]]
    threads: Sequence[ThreadSlices]
    curves: Sequence[Curve]
    others: Sequence[SpanTrack] = ()

    @property
    def number(self) -> int:
        """Its process id in the trace; 0 has a special meaning there."""
        return self.rank + 1


# Merge neighbouring intervals, so that a plot of a long run has no more points than it can show.


MOST = 1000


@dataclass(frozen=True)
class TimeBins:
    """Bins of one interval or several, in order.

    Attributes:
        start_s: (b,) seconds since the start of the run.
        end_s: (b,) likewise.
        label: (b,) phase of most of a bin's intervals.
        of_interval: (n,) the bin of each interval.
    """

    start_s: FloatArray
    end_s: FloatArray
    label: IntArray
    of_interval: IntArray

    @property
    def wall_s(self) -> FloatArray:
        """Length of each bin, (b,), at least a nanosecond."""
        return np.maximum(self.end_s - self.start_s, 1e-9)

    def summed(self, table: csr_array) -> csr_array:
        """Sum the rows of a sparse (n, m) table within each bin: sparse (b, m)."""
        n, b = len(self.of_interval), len(self.end_s)
        member = csr_array((np.ones(n), (self.of_interval, np.arange(n))), shape=(b, n))
        return csr_array(member @ csr_array(table))


def time_bins(profile: IntervalProfile, labels: IntArray, most: int | None = MOST) -> TimeBins:
    """Cut a run into at most `most` bins with equal numbers of intervals, or into its intervals if that is None.

    Args:
        profile: n intervals.
        labels: (n,) phase ids, -1 for none.
        most: most bins.
    """
    n = profile.n_intervals
    number = n if most is None else min(n, max(most, 1))
    # The same edges as those of the ribbon's cells.
    edges = np.linspace(0, n, number + 1).round().astype(np.int64)
    label = np.array(cells(labels, number), dtype=np.int64)
    of_interval = np.repeat(np.arange(number), np.diff(edges))
    return TimeBins(profile.start_s[edges[:-1]], profile.end_s[edges[1:] - 1], label, of_interval)


# Tables over time and phase, from which a page computes the sums of any part or phase of a run by itself.
#
# A cell is the part of one bin of time in one phase. r cells, e entries, n intervals.


@dataclass(frozen=True)
class Cells:
    """Cells, in order of bin and phase.

    Attributes:
        bin: (r,) bin.
        label: (r,) phase.
        of_interval: (n,) the cell of each interval.
        step: number of time bins in one bin of the cells.
    """

    bin: IntArray
    label: IntArray
    of_interval: IntArray
    step: int


@dataclass(frozen=True)
class Entries:
    """The positive numbers of a table with a row for each cell, by cell, then column.

    Attributes:
        cell: (e,) row.
        column: (e,) column.
        value: (e,) number.
    """

    cell: IntArray
    column: IntArray
    value: IntArray

    @property
    def written_bytes(self) -> int:
        """Approximate size as text: columns as differences, each number with a comma."""
        digits = np.log10(np.maximum(self.value, 1)).astype(np.int64)
        return int(digits.sum()) + 5 * len(self.value)


def cut(bins: TimeBins, labels: IntArray, step: int = 1) -> Cells:
    """Return the cells of a run.

    Args:
        bins: time bins.
        labels: (n,) phase ids from 0, -1 for none.
        step: number of bins to merge into one.
    """
    span = int(labels.max(initial=-1)) + 2
    key, place = np.unique(bins.of_interval // step * span + labels + 1, return_inverse=True)
    return Cells(key // span, key % span - 1, place.astype(np.int64), step)


def entries(cells: Cells, interval: IntArray, column: IntArray, value: FloatArray) -> Entries:
    """Sum values by cell and column; those that round to zero are left out. All (s,)."""
    width = int(column.max(initial=0)) + 1
    key, place = np.unique(cells.of_interval[interval] * width + column, return_inverse=True)
    total = np.rint(np.bincount(place.ravel(), weights=value, minlength=len(key))).astype(np.int64)
    some = total > 0
    return Entries(key[some] // width, key[some] % width, total[some])


def calls_by_cell(profile: IntervalProfile, cells: Cells, functions: IntArray) -> Entries:
    """Return the calls of some functions, (m,) columns of the profile; the result's columns are indices into these."""
    table = csr_array(profile.calls)[:, functions].tocoo()
    row, column = table.row, table.col
    return entries(cells, row.astype(np.int64), column.astype(np.int64), table.data.astype(np.float64))


# Self time over time: the most important functions, and all others together.


MOST_FUNCTIONS = 12
# A function with this share of a phase is shown, however short the phase is.
OF_PHASE = 0.25
# Another function is shown if it has this share of the run.
OF_RUN = 0.004


@dataclass(frozen=True)
class SelfSeries:
    """Self time of some functions over time.

    Attributes:
        functions: (m,) their columns in the profile, largest first.
        self_s: (b, m + 1) seconds per bin; the last column is of all other functions.
    """

    functions: IntArray
    self_s: FloatArray


def self_series(profile: IntervalProfile, labels: IntArray, bins: TimeBins, most: int = MOST_FUNCTIONS) -> SelfSeries:
    """Return the self time of the largest functions of the run and of each phase.

    Args:
        profile: n intervals.
        labels: (n,) phase ids from 0, -1 for none.
        bins: b bins.
        most: most functions.
    """
    table = profile.self_s
    total = np.asarray(table.sum(axis=0)).ravel()
    candidates = dict.fromkeys(_largest(total, 1))
    for phase in range(int(labels.max(initial=-1)) + 1):
        own = np.asarray(table[np.flatnonzero(labels == phase)].sum(axis=0)).ravel()
        candidates.update(dict.fromkeys(c for c in _largest(own, 2) if own[c] >= OF_PHASE * own.sum()))
    candidates.update(dict.fromkeys(c for c in _largest(total, most) if total[c] >= OF_RUN * total.sum()))
    selected = np.array(list(candidates)[:most], dtype=np.int64)
    selected = selected[np.lexsort((selected, -np.round(total[selected], 9)))]
    binned = bins.summed(table)
    shown = np.asarray(binned[:, selected].todense(), dtype=np.float64).reshape(len(bins.end_s), len(selected))
    others_s = np.asarray(binned.sum(axis=1)).ravel() - shown.sum(axis=1)
    return SelfSeries(selected, np.column_stack([shown, np.maximum(others_s, 0.0)]))


def _largest(values: FloatArray, most: int) -> list[int]:
    """Return the indices of the largest values above zero, largest first."""
    order = np.lexsort((np.arange(len(values)), -np.round(values, 9)))[:most]
    return [int(i) for i in order if values[i] > 0]


# A run as one line of characters: its phases from left to right.


SIGNS = "0123456789abcdefghijklmnopqrstuvwxyz"
UNCLASSIFIED = "."
# Label of time in which the program was suspended, which belongs to no interval.
SUSPENDED = -2
# Digits of a cell's share: the sum of a million lengths is off by 1e-12 of a hundredth of the run.
TIE_DIGITS = 9


def cells(labels: IntArray, width: int) -> list[int]:
    """Return the most frequent label of each of at most `width` equal parts of the run.

    A tie goes to the label that is rarer in the whole run, so that a short phase is not hidden by a long one.
    """
    n = len(labels)
    edges = np.linspace(0, n, min(n, max(width, 1)) + 1).round().astype(int)
    total = {int(value): int(count) for value, count in zip(*np.unique(labels, return_counts=True), strict=True)}
    out = []
    for low, high in pairwise(edges.tolist()):
        values, counts = np.unique(labels[low:high], return_counts=True)
        frequencies = zip(values.tolist(), counts.tolist(), strict=True)
        out.append(min((-count, total[value], value) for value, count in frequencies)[2])
    return out


def stretched(labels: IntArray, width: int, end_s: FloatArray | None = None) -> list[int]:
    """Return exactly `width` cells, equal parts of time: the label with most of each.

    end_s: (n,) ends of the intervals, in order, the first one begins at 0; None if all are equally long.
    """
    ends = np.arange(len(labels) + 1.0)
    if end_s is not None and end_s[-1] > 0:
        ends[1:] = np.maximum.accumulate(end_s)
    edges = np.linspace(0.0, ends[-1], width + 1)
    values, counts = np.unique(labels, return_counts=True)
    values = values[np.lexsort((values, counts))]
    until = np.empty((len(values), width + 1))
    for i, value in enumerate(values.tolist()):
        seconds = np.where(labels == value, np.diff(ends), 0.0).cumsum()
        until[i] = np.interp(edges, ends, np.concatenate([[0.0], seconds]))
    # Rounded, so that ties are exact: they go to the rarer label, as in `cells`.
    share = np.round(np.diff(until, axis=1) * width / ends[-1], TIE_DIGITS)
    return [int(values[i]) for i in share.argmax(axis=0)]


def with_suspensions(labels: IntArray, end_s: FloatArray, suspensions: FloatArray) -> tuple[IntArray, FloatArray]:
    """Insert suspensions, (s, 2), into the labels and ends of intervals."""
    place = np.searchsorted(end_s, suspensions[:, 0], side="right")
    return np.insert(labels, place, SUSPENDED), np.insert(end_s, place, suspensions[:, 1])


def sign(label: int) -> str:
    """Return the character of a phase, readable without colour."""
    if label == SUSPENDED:
        return " "
    return UNCLASSIFIED if label < 0 else SIGNS[label % len(SIGNS)]


def badge(label: int) -> str:
    """Return the number of a phase for users, with its character in the ribbon if that differs."""
    return sign(label) if label < 10 else f"{label} {sign(label)}"


def runs(part: Sequence[int]) -> list[tuple[int, int]]:
    """Return (label, number of cells) of each run of equal cells."""
    out: list[tuple[int, int]] = []
    for label in part:
        if out and out[-1][0] == label:
            out[-1] = (label, out[-1][1] + 1)
        else:
            out.append((label, 1))
    return out
