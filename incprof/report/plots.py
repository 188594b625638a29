"""Plots: the phases of a run; and colours, style, time axes and reproducible files, common to all plots.

No window is opened, whatever the environment variables are.
"""

from __future__ import annotations

import io
import logging
import re
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from incprof.analysis.phase_result import Phase, PhaseResult, RunSummary
from incprof.analysis.views.tracks import SelfSeries, TimeBins
from incprof.model import Function
from incprof.report.words import colours
from incprof.report.words import formatting as words
from incprof.report.words.display_names import Names, phase_names
from incprof.safe.printable import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
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

    make: makes the plot, not yet drawn. form: `svg`, `png` or `pdf`. style: differences from STYLE, with dots as in
    matplotlib's own names.

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


# The phases of a run: self time per function over time, above a ribbon of phases named by their sites.


PANELS_IN, RIBBON, ROW_IN = 3.1, 0.17, 0.155
# The plot is on a white background.
FUNCTIONS, OTHER = colours.FUNCTIONS["light"], colours.REST["light"]
HATCH = "////"
# The length of a legend column, and the number of bins that can be distinguished.
NAME_ROOM, BINS = 50, 400
# A segment with this share of the width has room for its number.
WIDE = 0.025


def write_plot(
    summary: RunSummary, result: PhaseResult, functions: Sequence[Function], bins: TimeBins, series: SelfSeries,
    out: BinaryIO, form: str,
) -> None:  # fmt: skip
    """Write the plot.

    functions: those of `series`, (m,). form: `svg`, `png` or `pdf`.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    save(lambda: figure(summary, result, functions, bins, series), out, form)


def figure(
    summary: RunSummary, result: PhaseResult, functions: Sequence[Function], bins: TimeBins, series: SelfSeries
) -> Figure:
    """Return the plot, not yet drawn."""
    from matplotlib.figure import Figure

    called = Names([*functions, *(site.function for phase in result.phases for site in phase.sites[:1])])
    names = [*(called(function, NAME_ROOM) for function in functions), "all others"]
    rows = 1 + max(len(names), len(result.present))
    picture = Figure(figsize=(WIDTH_IN, PANELS_IN + rows * ROW_IN), layout="constrained")
    upper, lower = picture.subplots(2, 1, sharex=True, height_ratios=(1 - RIBBON, RIBBON))
    divisor, unit = time_unit(summary.duration_s)
    _stack(upper, bins, series, divisor)
    _ribbon(lower, bins, divisor)
    lower.set_xlabel(f"Time since start ({unit})")
    lower.set_xlim(float(bins.start_s[0]) / divisor, float(bins.end_s[-1]) / divisor)
    picture.align_ylabels([upper, lower])
    parts = [words.fitted(printable(summary.app), 40), f"rank {summary.rank}"]
    parts += [f"{result.k} phase{'s' * (result.k != 1)}", f"{summary.samples} samples"]
    parts.append(words.elapsed(summary.duration_s))
    picture.suptitle(", ".join(parts), fontsize=9, x=0.01, ha="left").set_parse_math(False)
    named = zip(result.present, phase_names(result.present, called), strict=True)
    _legend(picture, names, [(phase.id, _named(phase, name)) for phase, name in named], rows)
    return picture


def _function_colours(functions: int) -> list[str]:
    """Return the colours of the stack, from the bottom up; the last one is that of all others."""
    return [*(FUNCTIONS[i % len(FUNCTIONS)] for i in range(functions)), OTHER]


def _stack(axes: Axes, bins: TimeBins, series: SelfSeries, divisor: float) -> None:
    """Draw the self time of the largest functions on top of each other, as CPUs in use."""
    top = np.cumsum(series.self_s / bins.wall_s[:, None], axis=1)
    edge = np.append(bins.start_s, bins.end_s[-1]) / divisor
    fills = _function_colours(top.shape[1] - 1)
    # From the top one down, each filled to the bottom: no seam shows between two, and only one edge of each is stored.
    for height, colour in reversed(list(zip(top.T, fills, strict=True))):
        axes.stairs(height, edge, fill=True, color=colour, linewidth=0)
    axes.set_ylim(0, 1.05 * max(float(top[:, -1].max(initial=0.0)), 1e-9))
    axes.set_ylabel("CPUs in use")


def _ribbon(axes: Axes, bins: TimeBins, divisor: float) -> None:
    """Draw the phases over time; numbers stand where there is room."""
    after_gap = bins.start_s > np.append(np.inf, bins.end_s[:-1])
    start = np.flatnonzero((np.diff(bins.label, prepend=bins.label[0] - 1) != 0) | after_gap)
    end = np.append(start, len(bins.label))[1:]
    least = WIDE * float(bins.end_s[-1] - bins.start_s[0]) / divisor
    for first, last in zip(start.tolist(), end.tolist(), strict=True):
        phase, low, high = int(bins.label[first]), bins.start_s[first] / divisor, bins.end_s[last - 1] / divisor
        if phase < 0:
            continue
        axes.axvspan(low, high, **_fill(phase))
        if high - low >= least:
            axes.text(
                (low + high) / 2,
                0.5,
                str(phase),
                ha="center",
                va="center",
                color=colours.ink_on(_fill(phase)["facecolor"]),
                fontweight="bold",
            )
    axes.set_yticks([])
    axes.set_ylabel("Phase")


def _fill(phase: int) -> dict[str, Any]:
    """Return the fill of a phase."""
    hatch = HATCH if colours.marked(phase) else None
    return {"facecolor": colours.phase_colour(phase), "edgecolor": "white", "linewidth": 0, "hatch": hatch}


def _legend(picture: Figure, functions: Sequence[str], phases: Sequence[tuple[int, str]], rows: int) -> None:
    """Draw the legend below the panels: functions in the order of the stack, then phases."""
    from matplotlib.patches import Patch

    none = Patch(alpha=0)
    left: list[tuple[Patch, str]] = [(none, "Self time of")]
    left += [(Patch(color=c), f) for c, f in zip(_function_colours(len(functions) - 1), functions, strict=True)][::-1]
    right = [(none, "Phase")] + [(Patch(**_fill(number)), label) for number, label in phases]
    entries = [pair for column in (left, right) for pair in [*column, *[(none, "")] * (rows - len(column))]]
    legend = picture.legend(
        [handle for handle, _ in entries], [label for _, label in entries], loc="outside lower left", ncols=2,
        frameon=False, fontsize=7, handlelength=1.4, labelspacing=0.3,
    )  # fmt: skip
    for text in legend.get_texts():
        text.set_parse_math(False)


def _named(phase: Phase, name: str) -> str:
    """Name a phase by its number, its main site or function, and its share of the run."""
    return f"{phase.id}  {words.fitted(name, NAME_ROOM - 10)}, {phase.app_pct:.0f} %"
