"""What the pictures have in common: colours, style, axes of time, and files that are the same for the same input.

No window is opened, whatever the environment says.
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

# Okabe and Ito, Color Universal Design (2008); grey for their yellow, which a white page swallows.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
# As wide as a page of two columns, where type of 8 points is read without a glass.
WIDTH_IN, DPI = 7.0, 300
STYLE: dict[str, Any] = {
    "svg.hashsalt": "incprof",
    "svg.fonttype": "path",
    # TrueType: many publishers refuse files with fonts of type 3, which is the default.
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
# What a file says of itself without being told: when it was made, and by what version.
METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
TIME_UNITS = ((3 * 3600.0, 3600.0, "h"), (600.0, 60.0, "min"), (0.0, 1.0, "s"))


def save(make: Callable[[], Figure], out: BinaryIO, form: str, **style: Any) -> None:
    """Write a picture; for one version of matplotlib, the same bytes each time.

    Args:
        make: makes the picture, not yet drawn.
        out: where to.
        form: `svg`, `png` or `pdf`.
        style: what differs from STYLE, with dots as in matplotlib's own names.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    # It has much to say of directories that it cannot write to, while it is imported.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    import matplotlib.style

    with matplotlib.style.context(["default", {**STYLE, **style}]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        drawn = io.BytesIO()
        make().savefig(drawn, format=form, dpi=DPI, metadata=METADATA[form])
    data = drawn.getvalue()
    out.write(compact(data.decode()).encode() if form == "svg" else data)


def compact(svg: str) -> str:
    """Return the same picture in fewer bytes: no indentation, places of letters and straight lines in hundredths."""
    svg = re.sub(r"\n +", "\n", svg)
    svg = re.sub(
        r"(?<=translate\()([-\d.]+) ([-\d.]+)(?=\))", lambda found: f"{_short(found[1])} {_short(found[2])}", svg
    )
    return re.sub(r'(?<= d=")M [-\d.MLz\s]*(?=")', lambda found: _path(found[0]), svg)


def _short(number: str) -> str:
    """Return a number with two decimals at most."""
    return f"{round(float(number), 2) + 0.0:g}"


def _path(text: str) -> str:
    """Return the shorter form of a path of moves, lines and ends."""
    made: list[str] = []
    before: tuple[float, float] | None = None
    for command, x, y in re.findall(r"([ML]) (\S+) (\S+)|z", text):
        if not command:
            made.append("Z")
            before = None
            continue
        point = (round(float(x), 2), round(float(y), 2))
        if command == "M":
            made.append(f"M{point[0]:g} {point[1]:g}")
        elif before is None or (point[0] != before[0] and point[1] != before[1]):
            made.append(f"L{point[0]:g} {point[1]:g}")
        elif point[1] != before[1]:
            made.append(f"V{point[1]:g}")
        # A line that goes nowhere is a dot, where it is all there is.
        elif point[0] != before[0] or made[-1][0] == "M":
            made.append(f"H{point[0]:g}")
        before = point
    return "".join(made)


def time_unit(duration_s: float) -> tuple[float, str]:
    """Return the seconds in the unit that suits an axis of this length, and the unit's name."""
    return next((divisor, unit) for least, divisor, unit in TIME_UNITS if duration_s >= least)
