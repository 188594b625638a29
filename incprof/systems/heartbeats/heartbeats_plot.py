"""Heartbeats as a picture: count per interval and mean duration over time, as in the paper's figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from rich.cells import cell_len

from incprof.analysis.heartbeats.summaries import BeatRun, BeatSummary, BeatTrace, FloatArray, Trace, busiest, trace
from incprof.report.plots import COLOURS, GRID, WIDTH_IN, save, time_unit
from incprof.report.words import formatting as words
from incprof.report.words.display_names import shorten_beat
from incprof.safe.printable import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALE = 0.4
THINNEST, THICKER_BY = 1.3, 0.4  # points; where counts are equal, each line is visible at the edge of the next
HEIGHT_IN = 4.8
LOG_BEYOND = 30.0  # ratio of the largest to the smallest value from which the axis is logarithmic
NAME_ROOM = 36
LEGEND_ROOM = 90  # characters in a line of the legend


def write_plot(run: BeatRun, beats: Sequence[BeatSummary], out: BinaryIO, form: str) -> None:
    """Write the picture.

    Args:
        run: The run.
        beats: Its heartbeats; the busiest are drawn.
        out: The output stream.
        form: `svg`, `png` or `pdf`.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    save(lambda: figure(run, beats), out, form, **GRID)


def figure(run: BeatRun, beats: Sequence[BeatSummary]) -> Figure:
    """Return the picture, not yet drawn."""
    from matplotlib.figure import Figure

    shown, left_out = busiest(beats)
    traces = [trace(beat, run.interval_s) for beat in shown]
    picture = Figure(figsize=(WIDTH_IN, HEIGHT_IN), layout="constrained")
    upper, lower = picture.subplots(2, 1, sharex=True)
    scale, unit = time_unit(run.duration_s)
    for position, (beat, colour) in enumerate(zip(traces, COLOURS, strict=False)):
        width = THINNEST + THICKER_BY * (len(traces) - 1 - position)
        # Heartbeats with less time have thinner lines, on top of the others.
        _draw(upper, beat, beat.count, scale, colour, width, 3 + 0.1 * position)
        _draw(lower, beat, beat.duration_s, scale, colour, THINNEST, 3 + 0.1 * position)
    _count_axis(upper, traces)
    _duration_axis(lower, traces)
    lower.set_xlabel(f"Time since start ({unit})")
    lower.set_xlim(run.start_s / scale, max(run.start_s + run.duration_s, run.start_s + 1e-9) / scale)
    picture.align_ylabels([upper, lower])
    _title(picture, run, left_out)
    if traces:
        _legend(picture, traces)
    return picture


def _draw(axes: Axes, beat: BeatTrace, values: Trace, scale: float, colour: str, width: float, order: float) -> None:
    """Draw one metric of a heartbeat: its values, their range within a bin, and beats in progress, paler."""
    begin, end = beat.begin_s / scale, beat.end_s / scale
    if np.nanmax(values.high - values.low, initial=0.0) > 0:
        x, low = steps(begin, end, values.low)
        axes.fill_between(
            x, low, steps(begin, end, values.high)[1], color=colour, alpha=0.22, linewidth=0, zorder=order
        )
    for y, alpha in ((values.progress, PALE), (values.middle, 1.0)):
        if not np.isnan(y).all():
            x, heights = steps(begin, end, y)
            axes.plot(
                x, heights, color=colour, alpha=alpha, linewidth=width, solid_capstyle="projecting",
                solid_joinstyle="miter", zorder=order + (0.05 if alpha == 1 else 0),
            )  # fmt: skip


def steps(begin: FloatArray, end: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the corners of a line that is level over each bin, shape (3 b,) each; it breaks at missing values.

    Adjacent bins are joined, others are not.
    """
    x, y = np.repeat(begin, 3), np.repeat(values, 3)
    x[1::3] = x[2::3] = end
    apart = np.ones(len(end), dtype=bool)
    apart[:-1] = begin[1:] > end[:-1] + 1e-9 * np.maximum(np.abs(end[:-1]), 1.0)
    y[2::3] = np.where(apart, np.nan, y[1::3])
    return x, y


def _drawn(traces: Sequence[BeatTrace], which: str) -> FloatArray:
    """Return all positive values of a panel, shape (n,)."""
    panels: list[Trace] = [getattr(beat, which) for beat in traces]
    every = np.concatenate([np.zeros(0), *(part for t in panels for part in (t.low, t.high, t.progress))])
    found: FloatArray = every[every > 0]  # NaN is not
    return found


def _is_wide(values: FloatArray) -> bool:
    """Return whether values need a logarithmic axis."""
    return len(values) > 0 and float(values.max()) > LOG_BEYOND * float(values.min())


def _make_log(axes: Axes, values: FloatArray) -> None:
    """Make the vertical axis logarithmic; with few powers of ten, 2 and 5 are labelled too."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set_yscale("log")
    low, high = float(values.min()), float(values.max())
    axes.set_ylim(low / 1.3, high * 1.3)
    if high < 500 * low:
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _count_axis(axes: Axes, traces: Sequence[BeatTrace]) -> None:
    """Format the axis of the upper panel."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.set_ylabel("Beats per interval")
    values = _drawn(traces, "count")
    if _is_wide(values):
        _make_log(axes, values)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}" if value < 1e6 else f"{value:.0e}"))
    else:
        axes.set_ylim(0, 1.08 * max(float(values.max(initial=0)), 1.0))
        axes.yaxis.set_major_locator(MaxNLocator(nbins="auto", integer=True))


def _duration_axis(axes: Axes, traces: Sequence[BeatTrace]) -> None:
    """Format the axis of the lower panel."""
    from matplotlib.ticker import FuncFormatter

    axes.set_ylabel("Mean duration")
    values = _drawn(traces, "duration_s")
    if not len(values):
        axes.set_yticks([])
        axes.text(0.5, 0.5, "no beat with a duration", transform=axes.transAxes, ha="center", color="#777777")
        return
    if _is_wide(values):
        _make_log(axes, values)
    else:
        axes.set_ylim(0, 1.08 * float(values.max()))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: words.seconds(max(value, 0.0))))


def _title(picture: Figure, run: BeatRun, left_out: int) -> None:
    """Set the title: the run, and the number of heartbeats not drawn."""
    parts = [words.fitted(printable(run.app), 40), words.count(run.ranks, "rank")]
    parts += [f"intervals of {run.interval_s:g} s", words.elapsed(run.duration_s)]
    if left_out:
        parts.append(f"{words.count(left_out, 'more heartbeat')} with less time not drawn")
    picture.suptitle(", ".join(parts), fontsize=9, x=0.01, ha="left").set_parse_math(False)


def _legend(picture: Figure, traces: Sequence[BeatTrace]) -> None:
    """Add a legend of the heartbeats under the panels, by id."""
    from matplotlib.lines import Line2D

    entries = sorted(zip(traces, COLOURS, strict=False), key=lambda entry: entry[0].id)
    labels = [f"{beat.id}  {shorten_beat(beat.name or '', NAME_ROOM)}".rstrip() for beat, _ in entries]
    handles = [Line2D([], [], color=colour, linewidth=2.5) for _, colour in entries]
    if any(not np.isnan(beat.count.progress).all() for beat in traces):
        handles.append(Line2D([], [], color="#000000", alpha=PALE, linewidth=2.5))
        labels.append("paler: in progress")
    room = max(cell_len(label) for label in labels) + 8
    columns = min(max(LEGEND_ROOM // room, 1), len(labels))
    legend = picture.legend(handles, labels, loc="outside lower left", ncols=columns, frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)
