"""How long a profile must be for its pattern to stand for the whole run: section IV-C of the paper, on drawn profiles.

python benchmarks/periods_subprofiles.py [PICTURE.svg]     # prints the table of docs/periods-algorithm.md

A run of one hour gives a reference pattern and its instances. Eleven parts of each of seven lengths, beginning anywhere
after the initialisation, give patterns of their own; each is measured by its WGSS from the instances of the whole run.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from incprof.analysis.patterns import find_patterns
from incprof.analysis.patterns.results import PatternOptions
from incprof.analysis.patterns.subprofiles import compare_sub_profiles
from incprof.analysis.patterns.synthetic import SHAPES, profile

HERTZ, MINUTES, OFFSETS, SEED = 200, (1, 3, 5, 10, 15, 30, 45), 11, 7
COLOUR, REFERENCE = "#D55E00", "#0072B2"

# Minutes, instances found in a part on the mean, and WGSS of its pattern over that of the reference, one per part.
Row = tuple[int, float, list[float]]


def experiment(name: str, seed: int) -> list[Row]:
    """Measures one application."""
    values = profile(60 * 60 * HERTZ, SHAPES[name], seed).values
    lengths = [minutes * 60 * HERTZ for minutes in MINUTES]
    options = PatternOptions(seed=seed)
    found = compare_sub_profiles(values, find_patterns(values, options), lengths, OFFSETS, options)
    return [
        (minutes, one.mean_instances, (1 + one.increases).tolist()) for minutes, one in zip(MINUTES, found, strict=True)
    ]


def draw_curves(every: dict[str, list[Row]], target: str) -> None:
    """Draws what the paper's Figure 5 shows: a cross for each part, mean and deviation, the reference at 1."""
    import matplotlib.style
    from matplotlib.figure import Figure

    with matplotlib.style.context(["default", {"svg.hashsalt": "incprof", "font.size": 9}]):
        figure = Figure(figsize=(10, 3.4), layout="constrained")
        for axes, (name, rows) in zip(figure.subplots(1, len(every)), every.items(), strict=True):
            axes.axhline(1, color=REFERENCE, linewidth=1)
            for at, (_, count, ratios) in enumerate(rows):
                axes.plot([at] * len(ratios), ratios, "x", color="#999999", markersize=4)
                if ratios:
                    axes.errorbar(at, np.mean(ratios), np.std(ratios), fmt="D", color=COLOUR, markersize=4, capsize=3)
                    axes.annotate(f"{count:.0f}", (at, np.mean(ratios)), (5, 5), textcoords="offset points")
            axes.set_xticks(range(len(rows)), [str(minutes) for minutes, _, _ in rows])
            axes.set_title(name)
            axes.set_xlabel("minutes")
        figure.axes[0].set_ylabel("WGSS over that of the whole run")
        figure.savefig(target, metadata={"Date": None, "Creator": None})


def main(target: str | None = None) -> None:
    """Prints the table, and draws the picture if there is a name for it."""
    every = {name: experiment(name, SEED) for name in SHAPES}
    print("| minutes | " + " | ".join(f"{name}: instances | WGSS" for name in every) + " |")
    print("|---|" + "---|---|" * len(every))
    for at, minutes in enumerate(MINUTES):
        cells = []
        for rows in every.values():
            _, count, ratios = rows[at]
            cells += [f"{count:.0f}", f"{100 * (np.mean(ratios) - 1):+.1f} %" if ratios else "no pattern"]
        print(f"| {minutes} | {' | '.join(cells)} |")
    if target:
        draw_curves(every, target)


if __name__ == "__main__":
    main(*sys.argv[1:])
