"""What the pictures have in common: colours, style, axes of time, and files that are the same for the same input.

No window is opened, whatever the environment says.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito, Color Universal Design (2008); grey for their yellow, which a white page swallows.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
WIDTH_IN, DPI = 10.0, 150
STYLE: dict[str, Any] = {
    "svg.hashsalt": "incprof",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "path.simplify": False,
}
GRID: dict[str, Any] = {"axes.grid": True, "grid.color": "#e6e6e6", "grid.linewidth": 0.6}
TIME_UNITS = ((3 * 3600.0, 3600.0, "h"), (600.0, 60.0, "min"), (0.0, 1.0, "s"))


def save(make: Callable[[], Figure], out: BinaryIO, form: str, **style: Any) -> None:
    """Write a picture; for one version of matplotlib, the same bytes each time.

    Args:
        make: makes the picture, not yet drawn.
        out: where to.
        form: `svg` or `png`.
        style: what differs from STYLE, with dots as in matplotlib's own names.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    import matplotlib.style

    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    metadata = {"Date": None, "Creator": None} if form == "svg" else {"Software": None}
    with matplotlib.style.context(["default", {**STYLE, **style}]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        make().savefig(out, format=form, dpi=DPI, metadata=metadata)


def time_unit(duration_s: float) -> tuple[float, str]:
    """Return the seconds in the unit that suits an axis of this length, and the unit's name."""
    return next((divisor, unit) for least, divisor, unit in TIME_UNITS if duration_s >= least)
