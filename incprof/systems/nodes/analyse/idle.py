"""Detect idle rows of a node: by the paper's cache misses per cycle, or by rates that are all small."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incprof.model import BoolArray, FloatArray

# A node is idle while all rates are below this share of the counter's greatest rate on these nodes.
IDLE = 0.01
# A tenth of one processor: background activity of any machine.
PROCESSOR = {"cycles": 3e8, "instructions": 3e8, "cpu": 0.15, "task-clock": 0.15, "cpu-clock": 0.15}
# Background traffic of any machine, in bytes per second.
QUIET = 1e6


def is_idle(names: Sequence[str], rates: FloatArray, most: FloatArray) -> bool:
    """Return whether a node is idle at the given rates (counters,); the arguments are those of `idle_rows`."""
    return bool(idle_rows(names, rates[None], most)[0])


def idle_rows(names: Sequence[str], rates: FloatArray, most: FloatArray) -> BoolArray:
    """Return the rows (rows,) in which a node is idle: all significant rates are small.

    Args:
        names: Names of the counters.
        rates: (rows, counters).
        most: (counters,) the greatest rates on all recorded nodes.
    """
    counted = {name: at for at, name in enumerate(names) if most[at] > 0}
    small = {name: rates[:, at] < IDLE * most[at] for name, at in counted.items()}
    working = [name for name in PROCESSOR if name in counted]
    moved = [name for name in counted if name.startswith(("net-", "disk-")) and name.endswith("-bytes")]
    if working or moved:
        small = {
            name: small[name] | (rates[:, counted[name]] < PROCESSOR.get(name, QUIET)) for name in (*working, *moved)
        }
    found: BoolArray = np.ones(len(rates), dtype=np.bool_)
    for each in small.values():
        found &= each
    return found


def lasting(idle: BoolArray, least: int) -> BoolArray:
    """Return the idle rows (rows,) in runs of at least `least` rows, or in runs at the start or the end."""
    first = np.concatenate([[0], np.flatnonzero(np.diff(idle)) + 1, [len(idle)]])
    length = np.diff(first)
    kept = length >= least
    kept[[0, -1]] = True
    return idle & np.repeat(kept, length)


def misses_per_cycle(rates: FloatArray, names: Sequence[str]) -> FloatArray | None:
    """Return cache misses per cycle (rows,), the paper's measure of idle nodes; None if they were not counted.

    0 in rows in which no processor ran.
    """
    if not {"cache-misses", "cycles"} <= set(names):
        return None
    misses, cycles = (rates[:, names.index(name)] for name in ("cache-misses", "cycles"))
    return np.divide(misses, cycles, out=np.zeros(len(rates)), where=cycles >= 1)


def idle_below(share: FloatArray) -> float:
    """Return the threshold beta of cache misses per cycle from an idle recording: mean plus 3 standard deviations.

    The paper does not define it.
    """
    return float(share.mean() + 3 * share.std())
