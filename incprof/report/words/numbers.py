"""Figures of heartbeats for people: seconds with their unit, rates, and numbers over time as a line of blocks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len as cell_len
from rich.cells import set_cell_size

from incprof.printable import printable as printable
from incprof.report.words.figures import duration

JOULES = ((3.6e9, "MWh"), (3.6e6, "kWh"), (1e3, "kJ"), (1.0, "J"), (1e-3, "mJ"), (1e-6, "uJ"))
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
BLOCKS = " ▁▂▃▄▅▆▇█"
ASCII = " .:-=+*#@"


def seconds(value: float | None) -> str:
    """Return seconds with three digits and a unit: 1.23 ms; `-` for None."""
    if value is None:
        return "-"
    for size, unit in UNITS:
        # 999.6 us are 1 ms, not 1000 us.
        if value >= 0.9995 * size:
            return f"{_three(value / size)} {unit}"
    return "0 s" if value < 5e-11 else f"{value * 1e9:.1f} ns"


def elapsed(value: float) -> str:
    """Return a duration as people say it: 3.2 s, 2 min 5 s, 1 h 2 min."""
    return seconds(value) if value < 60 else duration(value)


def rate(value: float) -> str:
    """Return a rate or a share with three digits."""
    return "0" if value == 0 else "<0.001" if value < 0.0005 else _three(value)


def joules(value: float, digits: int = 3) -> str:
    """Return an energy with so many digits and a unit: 12 mJ, 3.4 J, 5.6 kJ, 1.2 kWh."""
    size, unit = next((each for each in JOULES if value >= 0.9995 * each[0]), (1.0, "J"))
    number = value / size
    return f"{number:.0f} {unit}" if number >= 10 ** (digits - 1) else f"{number:.{digits}g} {unit}"


def _three(value: float) -> str:
    """Return three digits of a number, or all that stand before the point."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:.3g}"


def percent(value: float | None) -> str:
    """Return a share of 1 as percent with one decimal; `-` for None."""
    return "-" if value is None else f"{100 * value:.1f}"


def fitted(text: str, room: int) -> str:
    """Return text that takes at most `room` columns: with dots for its middle if it is longer."""
    if cell_len(text) <= room:
        return text
    keep = max(room - 3, 2)
    end = set_cell_size(text[::-1], keep // 2).rstrip()[::-1]
    return set_cell_size(text, keep - keep // 2).rstrip() + "..." + end


def padded(text: str, room: int, *, right: bool) -> str:
    """Return text with spaces to `room` columns."""
    spaces = " " * max(room - cell_len(text), 0)
    return spaces + text if right else text + spaces


def sparkline(values: NDArray[np.float64], width: int, *, blocks: bool) -> tuple[str, float]:
    """Return numbers from 0 as one sign each, and the largest of them; what is not 0 is never shown as nothing.

    Args:
        values: Shape (m,). More than `width` of them are averaged.
        width: Signs at most.
        blocks: Unicode blocks instead of ASCII.
    """
    if len(values) > width:
        # As many values in each sign as fit, up to one more or less: means of runs.
        edges = np.arange(width) * len(values) // width
        values = np.add.reduceat(values, edges) / np.diff(edges, append=len(values))
    top = float(values.max(initial=0.0))
    signs = BLOCKS if blocks else ASCII
    levels = np.ceil(values / top * (len(signs) - 1)).astype(int) if top > 0 else np.zeros(len(values), dtype=int)
    return "".join(signs[level] for level in levels.tolist()), top
