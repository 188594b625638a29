"""A made-up run before it is sampled: its phases over time, and the properties of its recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray, IntArray
from truth.truths import Truth
from truth.work import Work

PURE = 0.9
# Points per interval at which the phase is evaluated, to distinguish pure intervals from mixtures.
GRID = 100


@dataclass(frozen=True)
class Episode:
    """An episode of a phase (index of the story's works), which fades into the next in its last `fade_s` seconds."""

    phase: int
    seconds: float
    fade_s: float = 0.0


@dataclass(frozen=True)
class Scenario:
    """A run: its phases, their schedule, and the circumstances.

    Attributes:
        works: the kinds of work.
        episodes: the episodes, in order.
        interval_s: length of an interval, seconds.
        rate_hz: sampling rate.
        dispersion: 0 for pure sampling noise; d adds scatter of the shares with variance d * p(1-p)/N per interval.
        wander: standard deviation of the logarithms of shares that wander slowly, over some 15 intervals.
        background: share of a function that is active everywhere.
        stray: probability that a tick falls on main.
        interval_jitter: relative scatter of the length of intervals.
        missing: probability that an interval is lost.
        empty: probability that an interval has no samples.
        distinct: whether the intervals form phases at all.
        part_of: the phase of each of the works, -1 for none; empty where each is a phase of its own.
    """

    works: tuple[Work, ...]
    episodes: tuple[Episode, ...]
    interval_s: float = 1.0
    rate_hz: float = 100.0
    dispersion: float = 0.0
    wander: float = 0.0
    background: float = 0.0
    stray: float = 0.0
    interval_jitter: float = 0.0
    missing: float = 0.0
    empty: float = 0.0
    distinct: bool = True
    part_of: tuple[int, ...] = ()

    @property
    def ends(self) -> FloatArray:
        """Return the end of each episode, shape (episodes,), seconds."""
        ends: FloatArray = np.cumsum(np.array([episode.seconds for episode in self.episodes], dtype=np.float64))
        return ends

    @property
    def truth(self) -> Truth:
        """Return the truth about the phases; for a run without phases, one phase and none are both right."""
        of = self.part_of or tuple(range(len(self.works)))
        used = sorted({of[episode.phase] for episode in self.episodes} - {-1})
        phases = tuple(self.works[i].truth for i in used)
        return Truth(phases, (len(phases),) if self.distinct else (0, 1), self.distinct)


def phase_shares(scenario: Scenario, times: FloatArray) -> FloatArray:
    """Return the probability of each phase at some times, shape (len(times), phases): 0 or 1 except in fades."""
    ends = scenario.ends
    which = np.minimum(np.searchsorted(ends, times, side="right"), len(ends) - 1)
    own = np.array([episode.phase for episode in scenario.episodes])
    following = np.append(own[1:], own[-1])
    fade = np.array([episode.fade_s for episode in scenario.episodes])
    remaining_s = ends[which] - times
    inside = (fade[which] > 0) & (remaining_s < fade[which])
    turned = np.where(inside, 1.0 - remaining_s / np.where(fade[which] > 0, fade[which], 1.0), 0.0).clip(0.0, 1.0)
    out = np.zeros((len(times), len(scenario.works)))
    rows = np.arange(len(times))
    out[rows, own[which]] += 1.0 - turned
    out[rows, following[which]] += turned
    return out


def interval_phases(scenario: Scenario, edges: FloatArray) -> FloatArray:
    """Return the seconds of each phase in each interval, shape (len(edges) - 1, phases)."""
    n = len(edges) - 1
    inner = (np.arange(GRID) + 0.5) / GRID
    width = np.diff(edges)
    times = (edges[:-1, None] + inner[None, :] * width[:, None]).ravel()
    shares = phase_shares(scenario, times).reshape(n, GRID, len(scenario.works)).mean(axis=1)
    seconds: FloatArray = shares * width[:, None]
    for work, phase in enumerate(scenario.part_of):
        if phase not in (work, -1):
            seconds[:, phase] += seconds[:, work]
            seconds[:, work] = 0.0
    return seconds


def true_phases(scenario: Scenario, edges: FloatArray) -> IntArray:
    """Return the phase that has at least 90 % of each interval, else -1. Shape (n,)."""
    labels = true_labels(interval_phases(scenario, edges))
    none = [work for work, phase in enumerate(scenario.part_of) if phase < 0]
    return np.where(np.isin(labels, none), -1, labels)


def true_labels(seconds: FloatArray) -> IntArray:
    """Return the phase that has at least 90 % of each interval, else -1. Shape (n,)."""
    part = seconds / np.maximum(seconds.sum(axis=1, keepdims=True), 1e-12)
    return np.where(part.max(axis=1) >= PURE - 1e-9, part.argmax(axis=1), -1).astype(np.int64)


def edges_of(scenario: Scenario, rng: np.random.Generator) -> FloatArray:
    """Return the boundaries of the intervals, shape (n + 1,), seconds; the last interval is never very short."""
    n = max(1, int(np.floor(scenario.ends[-1] / scenario.interval_s + 1e-9)))
    edges: FloatArray = np.arange(n + 1, dtype=np.float64) * scenario.interval_s
    shift = rng.normal(0.0, scenario.interval_jitter * scenario.interval_s, n + 1).clip(
        -0.4 * scenario.interval_s, 0.4 * scenario.interval_s
    )
    edges[1:-1] += shift[1:-1]
    return edges


def in_order(lengths: Sequence[float], fade_s: float = 0.0) -> tuple[Episode, ...]:
    """Return one episode of each phase, in order."""
    return tuple(Episode(i, float(seconds), fade_s) for i, seconds in enumerate(lengths))
