"""The phases of a run as a picture: who has the time, over time, above a ribbon of phases named by their sites."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from incprof.analysis.foremost import SelfSeries
from incprof.analysis.results import Phase, PhaseResult, RunSummary
from incprof.analysis.timebins import TimeBins
from incprof.report import beat_words as words
from incprof.report.plots import COLOURS, WIDTH_IN, save, time_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT_IN, RIBBON = 5.2, 0.16
OTHER = "#dddddd"
NAME_ROOM = 44
# A stretch that is this much of the picture has room for its number.
WIDE = 0.03


def write_plot(
    summary: RunSummary, result: PhaseResult, names: Sequence[str], bins: TimeBins, series: SelfSeries, out: BinaryIO,
    form: str,
) -> None:  # fmt: skip
    """Write the picture.

    Args:
        summary: the run.
        result: its phases.
        names: of the functions of `series`, (m,).
        bins: the run in bins.
        series: self time in them.
        out: where to.
        form: `svg` or `png`.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    save(lambda: figure(summary, result, names, bins, series), out, form)


def figure(
    summary: RunSummary, result: PhaseResult, names: Sequence[str], bins: TimeBins, series: SelfSeries
) -> Figure:
    """Return the picture, not yet drawn."""
    from matplotlib.figure import Figure

    picture = Figure(figsize=(WIDTH_IN, HEIGHT_IN), layout="constrained")
    upper, lower = picture.subplots(2, 1, sharex=True, height_ratios=(1 - RIBBON, RIBBON))
    divisor, unit = time_unit(summary.duration_s)
    _stack(upper, names, bins, series, divisor)
    _ribbon(lower, result.phases, bins, divisor)
    lower.set_xlabel(f"Time since start ({unit})")
    lower.set_xlim(float(bins.start_s[0]) / divisor, float(bins.end_s[-1]) / divisor)
    parts = [words.fitted(words.printable(summary.app), 60), f"rank {summary.rank}", f"{result.k} phases"]
    parts += [f"{summary.samples} samples", words.elapsed(summary.duration_s)]
    picture.suptitle(", ".join(parts), fontsize=10, x=0.01, ha="left").set_parse_math(False)
    return picture


def _stack(axes: Axes, names: Sequence[str], bins: TimeBins, series: SelfSeries, divisor: float) -> None:
    """Draw the self time of the foremost functions on top of each other, as CPUs in use."""
    used = series.self_s / bins.wall_s[:, None]
    top = np.vstack([np.zeros(len(used)), np.cumsum(used, axis=1).T])
    edge = np.append(bins.start_s, bins.end_s[-1]) / divisor
    labels = [*(words.fitted(words.printable(name), NAME_ROOM) for name in names), "all others"]
    # Eight colours, then the same ones paler.
    for i, label in enumerate(labels):
        colour = OTHER if i == len(names) else COLOURS[i % len(COLOURS)]
        low, high = (np.append(top[j], top[j][-1]) for j in (i, i + 1))
        alpha = 0.45 if i >= len(COLOURS) and i < len(names) else 1.0
        axes.fill_between(edge, low, high, step="post", color=colour, alpha=alpha, linewidth=0, label=label.lstrip("_"))
    axes.set_ylim(0, 1.05 * max(float(top[-1].max(initial=0.0)), 1e-9))
    axes.set_ylabel("CPUs in use")
    legend = axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8, reverse=True)
    for text in legend.get_texts():
        text.set_parse_math(False)


def _ribbon(axes: Axes, phases: Sequence[Phase], bins: TimeBins, divisor: float) -> None:
    """Draw which phase was when; numbers stand where there is room, sites in the legend."""
    from matplotlib.patches import Patch

    start = np.flatnonzero(np.diff(bins.label, prepend=bins.label[0] - 1))
    end = np.append(start, len(bins.label))[1:]
    least = WIDE * float(bins.end_s[-1] - bins.start_s[0]) / divisor
    for first, last in zip(start.tolist(), end.tolist(), strict=True):
        phase, low, high = int(bins.label[first]), bins.start_s[first] / divisor, bins.end_s[last - 1] / divisor
        if phase < 0:
            continue
        axes.axvspan(low, high, color=COLOURS[phase % len(COLOURS)], linewidth=0)
        if high - low >= least:
            axes.text((low + high) / 2, 0.5, str(phase), ha="center", va="center", color="white", fontweight="bold")
    axes.set_yticks([])
    axes.set_ylabel("Phase")
    handles = [Patch(color=COLOURS[phase.id % len(COLOURS)]) for phase in phases]
    legend = axes.legend(
        handles, [_named(phase) for phase in phases], loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False,
        fontsize=8,
    )  # fmt: skip
    for text in legend.get_texts():
        text.set_parse_math(False)


def _named(phase: Phase) -> str:
    """Name a phase by its number, its foremost site and its part of the run."""
    what = "waiting" if phase.off_cpu else phase.sites[0].function.name if phase.sites else "no site"
    return f"{phase.id}  {words.fitted(words.printable(what), NAME_ROOM)}, {phase.app_pct:.0f} %"
