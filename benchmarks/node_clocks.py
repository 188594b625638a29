"""How often the clock of a meter is set, how well, and how often wrongly, on generated nodes whose clocks are known.

usage: python benchmarks/node_clocks.py

Prints the table of docs/nodes.md. The series are made here, the same each time.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from incprof.model import FloatArray, NodeSeries
from incprof.readers.nodes.clocks import Lag, lag_of
from incprof.readers.nodes.join import mean_over

COUNTERS, STATES, PAIRS = 8, 5, 200
IDLE_W, SPREAD_W = 100.0, 50.0


def node(rng: np.random.Generator, rows: int) -> FloatArray:
    """Counters (rows, COUNTERS) in states of 8 to 60 s, each with 10 % noise."""
    states = np.concatenate([np.full(rng.integers(8, 60), rng.integers(STATES)) for _ in range(rows // 8 + 1)])[:rows]
    levels = rng.lognormal(0, 1, (STATES, COUNTERS))
    found: FloatArray = levels[states] * (1 + 0.1 * rng.standard_normal((rows, COUNTERS)))
    return found


def pair(
    rng: np.random.Generator, rows: int, every: float, noise: float, shift: float, *, related: bool = True
) -> Lag | None:
    """Counters of a node, and a meter with a row each `every` seconds, noise in parts of power's own deviation."""
    counters = node(rng, rows)
    cause = counters if related else node(rng, rows)
    weights = rng.random(COUNTERS) * (rng.random(COUNTERS) < 0.6)
    power = cause @ weights if weights.any() else cause[:, 0]
    times = np.arange(1.0, rows + 1)
    ends = np.arange(every + rng.random(), rows, every)
    watts = mean_over(times, (IDLE_W + SPREAD_W * power / power.std())[:, None], 1.0, ends)
    ends, watts = ends[np.isfinite(watts[:, 0])], watts[np.isfinite(watts[:, 0])]
    watts = watts + noise * SPREAD_W * rng.standard_normal(watts.shape)
    names = tuple(f"c{at}" for at in range(COUNTERS))
    return lag_of(
        NodeSeries("n", times, names, ("1/s",) * COUNTERS, counters),
        NodeSeries("n", ends + shift, ("pdu",), ("W",), watts, "pdu"),
    )


def main() -> None:
    """Print a row for each kind of series."""
    print("| rows | meter | noise | set | error s: median, 95 %, worst | unrelated taken | shifted without a shift |")
    print("|---|---|---|---|---|---|---|")
    for rows in (300, 900):
        for every in (1.0, 5.0):
            for noise in (0.05, 0.3, 0.6):
                print(row(np.random.default_rng(1), rows, every, noise))


def row(rng: np.random.Generator, rows: int, every: float, noise: float) -> str:
    """Return a row of the table."""
    errors, unrelated, needless = [], 0, 0
    for _ in range(PAIRS):
        shift = float(rng.uniform(-15, 15))
        lag = pair(rng, rows, every, noise, shift)
        if lag is not None and lag.is_shift:
            errors.append(abs(lag.seconds + shift))
        lag = pair(rng, rows, every, noise, 0.0, related=False)
        unrelated += lag is not None and lag.is_sure
        lag = pair(rng, rows, every, noise, 0.0)
        needless += lag is not None and lag.is_shift
    told = "" if not errors else ", ".join(f"{x:.2f}" for x in (*np.quantile(errors, [0.5, 0.95]), max(errors)))
    parts = (rows, f"{every:g} s", f"{noise:.0%}", f"{len(errors) / PAIRS:.0%}", told, unrelated, needless)
    return f"| {' | '.join(map(str, parts))} |"


if __name__ == "__main__":
    main()
