"""Common properties of the plots: colours, style, time axes, and reproducible files.

No window is opened, whatever the environment variables are.
"""

from __future__ import annotations

import io
import logging
import re
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito, Color Universal Design (2008); grey instead of their yellow, which is hard to see on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
# The width of a two-column page, on which type of 8 points is legible.
WIDTH_IN, DPI = 7.0, 300
STYLE: dict[str, Any] = {
    "svg.hashsalt": "incprof",
    "svg.fonttype": "path",
    # TrueType: many publishers refuse files with Type 3 fonts, the default.
    "pdf.fonttype": 42,
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "path.simplify": False,
}
GRID: dict[str, Any] = {"axes.grid": True, "grid.color": "#e6e6e6", "grid.linewidth": 0.6}
# Metadata that would differ between two files of the same plot: date and version.
METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
TIME_UNITS = ((3 * 3600.0, 3600.0, "h"), (600.0, 60.0, "min"), (0.0, 1.0, "s"))


def save(make: Callable[[], Figure], out: BinaryIO, form: str, **style: Any) -> None:
    """Write a plot; one version of matplotlib always writes the same bytes.

    Args:
        make: makes the plot, not yet drawn.
        out: output stream.
        form: `svg`, `png` or `pdf`.
        style: differences from STYLE, with dots as in matplotlib's own names.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    # On import, it warns at length about directories that it cannot write to.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    import matplotlib.style

    with matplotlib.style.context(["default", {**STYLE, **style}]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        drawn = io.BytesIO()
        make().savefig(drawn, format=form, dpi=DPI, metadata=METADATA[form])
    data = drawn.getvalue()
    out.write(compact(data.decode()).encode() if form == "svg" else data)


def compact(svg: str) -> str:
    """Return the same plot in fewer bytes: no indentation, positions of letters and straight lines in hundredths."""
    svg = re.sub(r"\n +", "\n", svg)
    svg = re.sub(
        r"(?<=translate\()([-\d.]+) ([-\d.]+)(?=\))", lambda match: f"{_short(match[1])} {_short(match[2])}", svg
    )
    return re.sub(r'(?<= d=")M [-\d.MLz\s]*(?=")', lambda match: _path(match[0]), svg)


def _short(number: str) -> str:
    """Return a number with at most two decimals."""
    return f"{round(float(number), 2) + 0.0:g}"


def _path(text: str) -> str:
    """Return a path of moves, lines and ends in its shorter form."""
    parts: list[str] = []
    before: tuple[float, float] | None = None
    for command, x, y in re.findall(r"([ML]) (\S+) (\S+)|z", text):
        if not command:
            parts.append("Z")
            before = None
            continue
        point = (round(float(x), 2), round(float(y), 2))
        if command == "M":
            parts.append(f"M{point[0]:g} {point[1]:g}")
        elif before is None or (point[0] != before[0] and point[1] != before[1]):
            parts.append(f"L{point[0]:g} {point[1]:g}")
        elif point[1] != before[1]:
            parts.append(f"V{point[1]:g}")
        # A line of length zero is a dot, if it is the whole path.
        elif point[0] != before[0] or parts[-1][0] == "M":
            parts.append(f"H{point[0]:g}")
        before = point
    return "".join(parts)


def time_unit(duration_s: float) -> tuple[float, str]:
    """Return the duration in the unit that suits an axis of this length, and the unit's name."""
    return next((divisor, unit) for least, divisor, unit in TIME_UNITS if duration_s >= least)
