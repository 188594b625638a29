"""How often the paper's phases are the true ones where work is a time: literally, and by modes. Prints rows for docs.

    python benchmarks/signature_modes.py

Drawn streams of known phases: the same three calls with one to three amounts of work before the first, in turns, ten
occurrences of each at a time, or each for its part of the run.
"""

from __future__ import annotations

import numpy as np

from incprof.analysis.signature.paper import paper_phases
from incprof.analysis.signature.results import SignatureOptions
from incprof.analysis.signature.work import Work
from incprof.model import FloatArray

LEVELS = ((1.0,), (1.0, 1.3), (1.0, 1.5), (1.0, 2.0), (1.0, 2.0, 4.0), (1.0, 4.0))
# Standard deviation of the logarithm of times, and how many of them are up to four times too long.
NOISE = ((0.02, 0.01), (0.05, 0.01), (0.1, 0.02), (0.2, 0.03), (0.3, 0.05), (0.4, 0.05))
TRIALS = 12
WORK_S = (400e-6, 15e-6, 3e-6)
CLOCK_S = 1.5e-6


def drawn(dice: np.random.Generator, levels: tuple[float, ...], noise: float, outliers: float) -> FloatArray:
    """Return times before the calls of a run, (occurrences, 3), seconds."""
    count = int(dice.choice([60, 300, 1500, 6000]))
    together = int(dice.choice([1, 10, count // len(levels)]))
    work = np.tile(WORK_S, (count, 1))
    work[:, 0] *= np.array(levels)[np.arange(count) // together % len(levels)]
    work *= np.exp(dice.normal(0, noise, work.shape))
    work *= np.where(dice.random(work.shape) < outliers, dice.uniform(1.5, 4, work.shape), 1.0)
    return work + dice.exponential(CLOCK_S, work.shape)


def main() -> None:
    """Print a row for each amount of noise."""
    dice = np.random.default_rng(34)
    print("| noise | literal: right, too many, in no phase | modes: right, too many, in no phase |\n|---|---|---|")
    for noise, outliers in NOISE:
        rows: dict[float | None, list[tuple[bool, bool, float]]] = {0.85: [], None: []}
        for levels in LEVELS:
            for _ in range(TRIALS):
                times = drawn(dice, levels, noise, outliers).ravel()
                kinds = np.tile([0, 1, 2], len(times) // 3)
                for similar, out in rows.items():
                    options = SignatureOptions(similar=similar)
                    found = paper_phases(kinds, Work(times), times, float(times.sum()), options)
                    count = len(found.phases)
                    out.append((count == len(levels), count > len(levels), 1 - found.coverage))
        cells = [
            f"{100 * np.mean([row[0] for row in out]):.0f} %, {100 * np.mean([row[1] for row in out]):.0f} %, "
            f"{100 * np.mean([row[2] for row in out]):.1f} %"
            for out in rows.values()
        ]
        print(f"| {100 * noise:.0f} % | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
