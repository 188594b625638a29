"""How often the detector of magnitudes names the right period, a wrong one, or one where there is none.

usage: python benchmarks/dpd_accuracy.py

Prints the table of docs/dpd.md. The series are made here, the same each time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from incprof.analysis.dpd.values import FloatArray, detect

N, RUNS = 3000, 8
T = np.arange(N)
WINDOWS = (100, 200, 400)
Make = Callable[[np.random.Generator], FloatArray]


def tiled(period: int, noise: float) -> Make:
    """A pattern of random values of deviation 1."""

    def make(rng: np.random.Generator) -> FloatArray:
        pattern = rng.normal(size=period)
        return np.resize((pattern - pattern.mean()) / pattern.std(), N) + noise * rng.normal(size=N)

    return make


def waves(period: float, noise: float) -> Make:
    angle = 2 * np.pi * T / period
    shape = np.sin(angle) + 0.5 * np.sin(2 * angle + 1)
    return lambda rng: shape / shape.std() + noise * rng.normal(size=N)


def processors(rng: np.random.Generator) -> FloatArray:
    shape = np.repeat([1, 16, 8, 16, 4, 1], [6, 10, 5, 11, 7, 5])
    x = np.resize(shape, N) + rng.integers(-1, 2, N) * (rng.random(N) < 0.3)
    return np.clip(x, 1, 16).astype(np.float64)


def autoregressive(rng: np.random.Generator) -> FloatArray:
    return np.convolve(rng.normal(size=N + 100), 0.9 ** np.arange(100))[100 : N + 100]


SERIES: dict[str, tuple[Make, float]] = {
    "busy processors, period 44": (processors, 44),
    "period 7, noise 0.2": (tiled(7, 0.2), 7),
    "period 44, noise 0.1": (tiled(44, 0.1), 44),
    "period 44, noise 0.3": (tiled(44, 0.3), 44),
    "period 44, noise 0.5": (tiled(44, 0.5), 44),
    "period 90, noise 0.2": (tiled(90, 0.2), 90),
    "waves, 44, noise 0.2": (waves(44, 0.2), 44),
    "waves, 44, noise 0.4": (waves(44, 0.4), 44),
    "waves, 41.5, noise 0.1": (waves(41.5, 0.1), 41.5),
    "none: noise": (lambda rng: rng.normal(size=N), 0),
    "none: random walk": (lambda rng: np.cumsum(rng.normal(size=N)), 0),
    "none: autoregressive, 0.9": (autoregressive, 0),
    "none: bursts at random": (lambda rng: 10.0 * (rng.random(N) < 0.03), 0),
    "none: sines of 40 and 44": (lambda rng: np.sin(2 * np.pi * T / 40) + np.sin(2 * np.pi * T / 44), 0),
    "none: pulses every 40 and 44": (lambda rng: (T % 40 < 4) * 1.0 + (T % 44 < 4), 0),
    "none: squares of 40 and 46": (lambda rng: (T % 40 < 20) * 1.0 + (T % 46 < 23), 0),
}


def shares(make: Make, period: float, window: int) -> tuple[float, float]:
    """Shares of samples with the right answer and with a wrong period, over some runs."""
    right, wrong = [], []
    for seed in range(RUNS):
        found = detect(make(np.random.default_rng(seed)), window).period[2 * window :]
        near = np.abs(found - period) <= max(1, 0.02 * period) if period else found == 0
        right.append(np.mean(near))
        wrong.append(np.mean((found != 0) & ~near))
    return float(np.mean(right)), float(np.mean(wrong))


def main() -> None:
    print(
        "| series |" + "".join(f" right, N = {n} |" for n in WINDOWS) + "".join(f" wrong, N = {n} |" for n in WINDOWS)
    )
    print("|---" * 7 + "|")
    for name, (make, period) in SERIES.items():
        found = [shares(make, period, window) for window in WINDOWS]
        cells = [f"{100 * one[i]:.1f} %" for i in (0, 1) for one in found]
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
