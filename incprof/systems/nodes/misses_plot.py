"""Cache misses per cycle of each application, over the time of its runs: Figure 2 of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from incprof.errors import NoDataError
from incprof.report.plots.style import COLOURS, WIDTH_IN, save, time_unit
from incprof.systems.nodes.analyse.paper_letters import PaperLetters
from incprof.systems.nodes.state_names import MARK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKS = "osD^vPX*"


def write_misses(found: PaperLetters, out: BinaryIO, form: str) -> None:
    """Write the picture. form: `svg`, `png` or `pdf`.

    Raises:
        NoDataError: cache misses or cycles were not counted.
        ModuleNotFoundError: matplotlib is not installed.
    """
    if not any(run.rows.misses is not None for run in (*found.runs, *found.tests)):
        raise NoDataError("no cache-misses and cycles in these files: there is nothing to draw; leave --plot out")
    save(lambda: misses(found), out, form)


def misses(found: PaperLetters) -> Figure:
    """Return the picture, not yet drawn: a point for each row that is not idle, a colour for each application."""
    from matplotlib.figure import Figure

    runs = [run for run in (*found.runs, *found.tests) if run.rows.misses is not None]
    picture = Figure(figsize=(WIDTH_IN, 0.6 * WIDTH_IN), layout="constrained")
    axes = picture.subplots()
    divisor, unit = time_unit(max(run.rows.seconds for run in runs))
    for at, application in enumerate(sorted({run.application for run in runs})):
        own = [run.rows for run in runs if run.application == application]
        since = np.concatenate([(rows.ends_s - rows.begins_s)[~rows.idle] for rows in own]) / divisor
        values = np.concatenate([rows.misses[~rows.idle] for rows in own if rows.misses is not None])
        axes.scatter(
            since, values, s=6, marker=MARKS[at // len(COLOURS) % len(MARKS)], color=COLOURS[at % len(COLOURS)],
            linewidth=0, alpha=0.6, label=application.replace("$", r"\$"),
        )  # fmt: skip
    if found.options.beta is not None:
        axes.axhline(found.options.beta, color="#555555", linewidth=0.8, linestyle="--", label="idle below")
    axes.set_yscale("log", nonpositive="mask")
    axes.set_xlabel(f"Time since start of run ({unit})")
    axes.set_ylabel("Cache misses per cycle")
    picture.legend(loc="outside lower left", ncols=4, fontsize=7, frameon=False)
    simulated = f", {MARK}" if found.simulated else ""
    picture.suptitle(f"{len(runs)} runs, cache misses per cycle{simulated}", fontsize=9)
    return picture
