"""The readings of a node's counters and its power meter while programs run on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray, IntArray
from incprof.model.series import NodeSeries
from incprof.systems.nodes.analyse.paper import TABLE1
from truth.nodes.machines import IDLE, Machine, Rng
from truth.nodes.programs import Program

START = 1_700_000_000.0


@dataclass(frozen=True)
class Weather:
    """Disturbances of a node.

    Attributes:
        odd: share of rows in which the system ran something else.
        missing: share of rows that are lost.
        gap_s: length of a gap, seconds.
        warm: additional share of power of a warm node.
        warm_s: time constant of warming up, seconds.
        lag_s: lag of the power meter, seconds.
        pace: scatter of a step's length.
        run: scatter of a run's speed.
        rates: scatter of a step's rates.
    """

    odd: float = 0.002
    missing: float = 0.0
    gap_s: float = 0.0
    warm: float = 0.02
    warm_s: float = 300.0
    lag_s: float = 2.0
    pace: float = 0.02
    run: float = 0.05
    rates: float = 0.02


@dataclass(frozen=True)
class Played:
    """A node's series and its truth.

    Attributes:
        series: the series.
        state: (rows,), -1 where idle.
        energy_j: (rows,) true joules of each row.
    """

    series: NodeSeries
    state: IntArray
    energy_j: FloatArray


@dataclass(frozen=True)
class Segment:
    """A time that a node is in one state.

    Attributes:
        state: its number.
        seconds: duration.
        rates: (14,) counts per second.
        scatter: of its rows, as a share.
        ripple: as in the program's work.
    """

    state: int
    seconds: float
    rates: FloatArray
    scatter: float
    ripple: float = 0.0


def idle(seconds: float) -> list[Segment]:
    """Return an idle segment."""
    return [Segment(-1, seconds, IDLE, 0.15)]


def run_of(program: Program, machine: Machine, weather: Weather, rng: Rng, first: int = 0) -> list[Segment]:
    """Return one run of a program. first: number of its first state."""
    pace = float(rng.lognormal(0, weather.run))
    segments = []
    for index, seconds in program.steps:
        work = program.works[index]
        length = seconds * pace * float(rng.lognormal(0, weather.pace)) / machine.speed_of(work.kind)
        rates = machine.rates(work.rates, work.kind) * rng.lognormal(0, weather.rates)
        segments.append(Segment(first + index, length, rates, work.scatter, work.ripple))
    return segments


def play(
    crowd: Sequence[Sequence[Segment]], machine: Machine, weather: Weather, rng: Rng, node: str = "node0"
) -> Played:
    """Play several concurrent series of segments on a node, and read the counters each second."""
    rows = int(max(sum(s.seconds for s in each) for each in crowd))
    counted, state = np.zeros((rows, len(TABLE1))), np.zeros(rows, dtype=np.int64)
    for each in crowd:
        one, label = _one(each, rows, rng)
        counted += one
        state = state * 64 + (label + 1)
    if len(crowd) > 1:
        counted -= (len(crowd) - 1) * IDLE
    counted[rng.random(rows) < weather.odd] *= rng.lognormal(0, 0.7)
    counted = np.maximum(counted, 0)
    dynamic = counted @ machine.watts_per
    warm = 1 + weather.warm * (1 - np.exp(-_heat(dynamic, weather.warm_s) / max(float(np.max(dynamic)), 1.0) * 2))
    true_w = machine.idle_w + dynamic * warm
    meter = _lagged(true_w, weather.lag_s) + rng.normal(0, 1.5, rows)
    kept = rng.random(rows) >= weather.missing
    if weather.gap_s and rows > 3 * weather.gap_s:
        at = int(rng.uniform(0.2, 0.8) * rows)
        kept[at : at + int(weather.gap_s)] = False
    series = NodeSeries(
        node, (START + 1.0 + np.flatnonzero(kept)).astype(np.float64), (*TABLE1, "power"), (*units(), "W"),
        np.column_stack([np.round(counted), np.round(meter, 1)])[kept], "power", simulated=True,
    )  # fmt: skip
    return Played(series, (state - 1)[kept], true_w[kept])


def units() -> tuple[str, ...]:
    """Return the unit of each counter."""
    return tuple("B/s" if "bytes" in name else "1/s" for name in TABLE1)


def _one(segments: Sequence[Segment], rows: int, rng: Rng) -> tuple[FloatArray, IntArray]:
    """Return counts (rows, 14) of one series of segments, idle after its end, and the main state of each second."""
    ends = np.cumsum([s.seconds for s in segments])
    every = [*segments, Segment(-1, float(rows), IDLE, 0.15)]
    edges = np.array([0.0, *ends, ends[-1] + rows])
    at = np.arange(rows)
    overlap = np.clip(np.minimum(edges[1:], at[:, None] + 1) - np.maximum(edges[:-1], at[:, None]), 0, 1)
    label = np.array([s.state for s in every])[overlap.argmax(axis=1)]
    rates = overlap @ np.array([s.rates for s in every])
    scatter = overlap @ np.array([s.scatter for s in every])
    wave = (overlap @ np.array([s.ripple for s in every])) * np.sin(2 * np.pi * at / rng.uniform(6, 20))
    shared, own = _reddened(rng.normal(size=(rows, 1))), _reddened(rng.normal(size=(rows, len(TABLE1))))
    noise = 0.7 * shared + 0.7 * own + (scatter > 0.12)[:, None] * own
    return rates * np.exp(scatter[:, None] * noise) * (1 + wave[:, None]), label


def _reddened(white: FloatArray) -> FloatArray:
    """Return noise of which a third persists until the next second."""
    out = white.copy()
    out[1:] += 0.35 * white[:-1]
    return np.asarray(out / np.sqrt(1 + 0.35**2))


def _heat(dynamic: FloatArray, warm_s: float) -> FloatArray:
    """Return the warmth of a node after each second of such power."""
    from scipy.signal import lfilter

    share = 1 / warm_s
    return np.asarray(lfilter([share], [1, share - 1], dynamic))


def _lagged(watts: FloatArray, lag_s: float) -> FloatArray:
    """Return the readings of a slow meter that lags."""
    from scipy.signal import lfilter

    whole_s = int(lag_s)
    late = np.concatenate([np.full(whole_s, watts[0]), watts[: len(watts) - whole_s]]) if whole_s else watts
    return np.asarray(lfilter([0.7], [1, -0.3], late, zi=[0.3 * late[0]])[0])
