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

from incprof.analysis.patterns import dtw, find_patterns
from incprof.analysis.patterns.average import wgss
from incprof.analysis.patterns.nodes import turned
from incprof.analysis.patterns.synthetic import SHAPES, Truth, profile

HERTZ, MINUTES, OFFSETS, SEED = 200, (1, 3, 5, 10, 15, 30, 45), 11, 7
COLOUR, REFERENCE = "#D55E00", "#0072B2"

# Minutes, instances found in a part on the mean, and WGSS of its pattern over that of the reference, one per part.
Row = tuple[int, float, list[float]]


def experiment(name: str, seed: int) -> list[Row]:
    """Measures one application."""
    truth = profile(60 * 60 * HERTZ, SHAPES[name], seed)
    whole = find_patterns(truth.values).patterns[0]
    packed = dtw.slices(truth.values, whole.instances)
    reference = wgss(packed, whole.values)
    draw = np.random.default_rng(seed)
    rows = []
    for minutes in MINUTES:
        counts, ratios = [], []
        for _ in range(OFFSETS):
            length = minutes * 60 * HERTZ
            start = int(draw.integers(initialised(truth), max(len(truth.values) - length, initialised(truth) + 1)))
            found = find_patterns(truth.values[start : start + length])
            if found.patterns:
                pattern = found.patterns[0]
                counts.append(len(pattern.instances))
                # A part may cut its instances at another point of the pattern.
                ratios.append(wgss(packed, turned(whole.values, pattern.values)) / reference)
        rows.append((minutes, float(np.mean(counts)) if counts else 0.0, ratios))
    return rows


def initialised(truth: Truth) -> int:
    """The first sample of the last periodicity: what comes before is initialisation."""
    return int(truth.instances[truth.part == truth.part.max()][0, 0])


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
