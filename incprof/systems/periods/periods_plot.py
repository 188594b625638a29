"""Periods as a picture: each pattern over ten of its instances, as in the paper's Figure 3, and the whole series."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from incprof.model import FloatArray
from incprof.report.plots.style import COLOURS, WIDTH_IN, save, time_unit
from incprof.systems.periods.patterns.pattern_result import Pattern, Patterns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INSTANCES = 10
MOST_PATTERNS = 6
# One per column of the page; longer series show the least and the greatest value of each column.
COLUMNS = 1000
ROW_IN = 1.7


def write_plot(x: FloatArray, name: str, interval_s: float | None, found: Patterns, out: BinaryIO, form: str) -> None:
    """Write the picture of a series, (n,), and its patterns. form: `svg`, `png` or `pdf`.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    save(lambda: figure(x, name, interval_s, found), out, form)


def figure(x: FloatArray, name: str, interval_s: float | None, found: Patterns) -> Figure:
    """Return the picture, not yet drawn."""
    from matplotlib.figure import Figure

    shown = found.patterns[:MOST_PATTERNS]
    picture = Figure(figsize=(WIDTH_IN, ROW_IN * (1 + len(shown))), layout="constrained")
    panels = picture.subplots(1 + len(shown), 1, squeeze=False)[:, 0]
    _series(panels[0], x, name, interval_s, found)
    for number, (panel, pattern) in enumerate(zip(panels[1:], shown, strict=True)):
        _pattern(panel, x, number, pattern, interval_s, found.options.seed)
    more = f", {len(found.patterns) - len(shown)} more not shown" if len(found.patterns) > len(shown) else ""
    picture.suptitle(f"{found.summary}, {100 * found.coverage:.1f} % periodic{more}".replace("$", r"\$"), fontsize=9)
    return picture


def _series(axes: Axes, x: FloatArray, name: str, interval_s: float | None, found: Patterns) -> None:
    """Draw the series, and its periodic regions in the colours of their patterns."""
    scale, unit = _unit(interval_s, len(x))
    low, high, where = envelope(x)
    axes.fill_between(where * scale, low, high, color="#555555", linewidth=0.4)
    for number, pattern in enumerate(found.patterns):
        for start, end in pattern.regions.tolist():
            axes.axvspan(start * scale, end * scale, color=COLOURS[number % len(COLOURS)], alpha=0.3, linewidth=0)
    axes.set_xlim(0, len(x) * scale)
    axes.set_xlabel(unit)
    axes.set_ylabel(name.replace("$", r"\$")[:40])


def envelope(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the least value, the greatest value and the middle of up to COLUMNS equal parts of a series, (c,) each."""
    if len(x) <= COLUMNS:
        return x, x, np.arange(len(x), dtype=np.float64)
    edges = np.arange(COLUMNS) * len(x) // COLUMNS
    low: FloatArray = np.minimum.reduceat(x, edges)
    high: FloatArray = np.maximum.reduceat(x, edges)
    return low, high, np.asarray(edges + len(x) / (2 * COLUMNS), dtype=np.float64)


def _pattern(axes: Axes, x: FloatArray, number: int, pattern: Pattern, interval_s: float | None, seed: int) -> None:
    """Draw a pattern over ten of its instances, chosen at random with a fixed seed."""
    scale, unit = _unit(interval_s, pattern.length)
    count = min(INSTANCES, len(pattern.instances))
    chosen = np.sort(np.random.default_rng(seed).choice(len(pattern.instances), count, replace=False))
    for start, end in pattern.instances[chosen].tolist():
        axes.plot(np.arange(end - start) * scale, x[start:end], color="#BBBBBB", linewidth=0.7)
    colour = COLOURS[number % len(COLOURS)]
    axes.plot(np.arange(pattern.length) * scale, pattern.values, color=colour, linewidth=1.6)
    axes.set_xlabel(unit)
    axes.set_ylabel(f"pattern {number}")
    axes.set_title(
        f"{pattern.length} samples, {len(pattern.instances)} instances ({count} shown), {100 * pattern.share:.1f} %",
        fontsize=8,
        loc="left",
    )


def _unit(interval_s: float | None, samples: int) -> tuple[float, str]:
    """Return the factor from samples to the unit of an axis, and its label."""
    if interval_s is None:
        return 1.0, "samples"
    divisor, unit = time_unit(interval_s * samples)
    return interval_s / divisor, f"Time ({unit})"
