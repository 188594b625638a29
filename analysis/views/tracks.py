"""A run as tracks over time: its phases, and figures that are drawn as curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.analysis.heartbeats.summaries import BeatSummary, begins
from incprof.analysis.views.stacks import ThreadSlices
from incprof.analysis.views.timebins import time_bins
from incprof.model import FloatArray, IntArray, IntervalProfile

# More points cannot be drawn.
MOST = 10_000


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


def phase_stretches(profile: IntervalProfile, labels: IntArray, most: int = MOST) -> list[tuple[float, float, int]]:
    """Return (start_s, end_s, phase) of each episode; time in no phase (-1) is left out.

    Args:
        profile: n intervals.
        labels: (n,) phase ids, -1 for none.
        most: most bins, each with the phase of most of its intervals.
    """
    bins = time_bins(profile, labels, most)
    return stretches(bins.start_s, bins.end_s, bins.label)


def stretches(start_s: FloatArray, end_s: FloatArray, label: IntArray) -> list[tuple[float, float, int]]:
    """Return (start_s, end_s, label) of neighbouring bins (b,) with the same label of 0 or more."""
    if not len(label):
        return []
    first = np.flatnonzero(np.concatenate([[True], label[1:] != label[:-1]]))
    last = np.concatenate([first[1:], [len(label)]]) - 1
    rows = zip(start_s[first].tolist(), end_s[last].tolist(), label[first].tolist(), strict=True)
    return [row for row in rows if row[2] >= 0]


def profile_curves(profile: IntervalProfile, most: int = MOST) -> list[Curve]:
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


def beat_curves(beat: BeatSummary, interval_s: float, offset_s: float, most: int = MOST) -> list[Curve]:
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
    made = (series.count + series.pulses) * series.factor
    number, made, seconds = (np.add.reduceat(column, edges) for column in (series.count, made, sums))
    name = f"heartbeat {beat.id} {beat.name or ''}".rstrip()
    rate = made / np.maximum(end - begin, 1e-9)
    last = float(end[-1]) + offset_s
    curves = [Curve(f"{name} rate", "per s", begin + offset_s, rate, last)]
    if number.any():
        mean = np.divide(1e3 * seconds, number, out=np.zeros(len(edges)), where=number > 0)
        curves.append(Curve(f"{name} mean", "ms", begin + offset_s, mean, last))
    return curves


@dataclass(frozen=True)
class RankTracks:
    """Tracks of a rank.

    Attributes:
        rank: its number.
        title: of its process.
        phases: (start_s, end_s, phase id), in order.
        threads: slices of its threads.
        curves: figures over time.
    """

    rank: int
    title: str
    phases: Sequence[tuple[float, float, int]]
    threads: Sequence[ThreadSlices]
    curves: Sequence[Curve]

    @property
    def number(self) -> int:
        """Its process id in the trace; 0 has a special meaning there."""
        return self.rank + 1
