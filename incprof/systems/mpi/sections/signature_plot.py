"""The signature of a run as a picture: its phases over ranks and time, messages between ranks, time at each call."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from incprof.report.plots.style import WIDTH_IN, save, time_unit
from incprof.report.words.colours import NO_PHASE, phase_colour
from incprof.report.words.formatting import fitted, pct
from incprof.safe.printable import printable
from incprof.systems.mpi.analyse.communication import Communication, PlaceTime
from incprof.systems.mpi.analyse.signature import PARTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Number of calls with a bar, and room for their names.
MOST_PLACES, ROOM = 10, 34
ROW_IN, LEAST_IN, MOST_IN = 0.2, 0.8, 4.0


def write_plot(found: Communication, out: BinaryIO, form: str) -> None:
    """Write the picture. form: `svg`, `png` or `pdf`.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    save(lambda: figure(found), out, form)


def figure(found: Communication) -> Figure:
    """Return the picture, not yet drawn."""
    from matplotlib.figure import Figure

    upper_in = min(max(ROW_IN * len(found.ranks), LEAST_IN), MOST_IN)
    picture = Figure(figsize=(WIDTH_IN, upper_in + 3.4), layout="constrained")
    rows = picture.subfigures(2, 1, height_ratios=(upper_in + 0.5, 2.9))
    _timeline(rows[0].subplots(), found)
    left, right = rows[1].subplots(1, 2)
    _matrix(left, found)
    _places(right, found)
    process = found.signature.process
    ranks, phases = len(found.ranks), len(process.found.phases)
    title = (
        f"{fitted(printable(process.app), 40)}, {ranks} rank{'s' * (ranks != 1)}, {phases} phase{'s' * (phases != 1)}"
    )
    picture.suptitle(title, fontsize=9, x=0.01, ha="left").set_parse_math(False)
    return picture


def _timeline(axes: Axes, found: Communication) -> None:
    """Draw a row for each rank in the colours of its phases, as long as its duration."""
    from matplotlib.colors import ListedColormap

    divisor, unit = time_unit(float(found.ends_s.max(initial=0.0)))
    colours = ListedColormap([NO_PHASE["light"], *(phase_colour(phase) for phase in range(found.phases))])
    for row, (parts, end) in enumerate(zip(found.parts, found.ends_s, strict=True)):
        edges = np.linspace(0.0, float(end) / divisor, PARTS + 1)
        mesh = axes.pcolormesh(edges, [row - 0.45, row + 0.45], parts[None] + 1, cmap=colours, rasterized=True)
        mesh.set_clim(-0.5, found.phases + 0.5)
    shown = np.unique(np.linspace(0, len(found.ranks) - 1, 8).astype(int))
    axes.set_yticks(shown, [str(found.ranks[row]) for row in shown])
    axes.set_ylim(len(found.ranks) - 0.5, -0.5)
    axes.set_xlabel(f"Time since start ({unit})")
    axes.set_ylabel("Rank")


def _matrix(axes: Axes, found: Communication) -> None:
    """Draw the bytes from each rank to each other."""
    cells = found.cells - 0.5
    moved = np.ma.masked_equal(found.bytes / 2**20, 0.0)
    mesh = axes.pcolormesh(cells, cells, moved, cmap="viridis_r", vmin=0, rasterized=True)
    axes.set_aspect("equal")
    axes.invert_yaxis()
    axes.set_xlabel("to rank")
    axes.set_ylabel("from rank")
    axes.locator_params(integer=True)
    axes.figure.colorbar(mesh, ax=axes, label="MiB in messages")


def _places(axes: Axes, found: Communication) -> None:
    """Draw the time in MPI by call, summed over all processes."""
    shown = found.places[:MOST_PLACES]
    axes.barh(np.arange(len(shown)), [100 * one.seconds / max(found.seconds, 1e-12) for one in shown], color="#0072B2")
    axes.set_yticks(np.arange(len(shown)), [_named(one) for one in shown], fontsize=7)
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    axes.invert_yaxis()
    axes.set_xlabel(f"% of the processes' time; {pct(found.mpi_s / max(found.seconds, 1e-12))} % in MPI")


def _named(one: PlaceTime) -> str:
    where = f" {os.path.basename(one.file)}:{one.line}" if one.file is not None else ""
    return fitted(printable(one.function + where), ROOM)
