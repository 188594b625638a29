"""How often the detector of magnitudes names the period of series that repeat within it, beside the literal rule.

usage: python benchmarks/dpd_repetitions.py [RUNS]

Draws series of six families (50 of each at each noise unless RUNS is given; the same each time) and pairs of sines, and
prints the tables of docs/dpd.md. The literal rule takes the lowest d(m) of equation 1, and of the lags within 10 % of
it the least.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from incprof.analysis.dpd.values import DpdValues, FloatArray

WINDOWS = (100, 200, 400)
NOISES = (0.0, 0.05, 0.1, 0.2, 0.3)
SHORTEST = 8
Draw = Callable[[np.random.Generator], FloatArray]


def motif_and_tail(rng: np.random.Generator) -> FloatArray:
    """An inner motif several times, then something else: [1 5 9] x 5, 2 2 2 8 8."""
    motif, tail = rng.integers(0, 10, rng.integers(2, 9)), rng.integers(0, 10, rng.integers(1, 16))
    return np.concatenate([np.tile(motif, rng.integers(3, 13)), tail]).astype(np.float64)


def modular(rng: np.random.Generator) -> FloatArray:
    """i % P * a % b: (i % 44 * 3) % 17."""
    steps = np.arange(rng.integers(12, 151))
    return (steps * rng.integers(2, 14) % rng.integers(5, 30)).astype(np.float64)


def parallelism(rng: np.random.Generator) -> FloatArray:
    """Processors in use, which are opened and closed several times in a period, as those of the paper's FT."""
    most, pieces = int(rng.choice([4, 8, 16, 32])), []
    for _ in range(rng.integers(2, 7)):
        pieces += [1] * rng.integers(2, 9)
        pieces += [most if rng.random() < 0.7 else most // 2] * rng.integers(3, 13)
    return np.asarray(pieces, dtype=np.float64)


def nested(rng: np.random.Generator) -> FloatArray:
    """Loops in loops, each with something of its own after the inner one."""
    loop = rng.integers(0, 10, rng.integers(1, 5))
    for _ in range(rng.integers(2, 4)):
        loop = np.concatenate([np.tile(loop, rng.integers(2, 6)), rng.integers(0, 10, rng.integers(1, 5))])
    return loop.astype(np.float64)


def plateaus(rng: np.random.Generator) -> FloatArray:
    """Groups of plateaus, each group several times."""
    levels, pieces = rng.integers(0, 10, rng.integers(2, 5)), []
    for _ in range(rng.integers(2, 5)):
        group = rng.choice(levels, rng.integers(1, 4))
        pieces.append(np.tile(np.repeat(group, rng.integers(2, 9, len(group))), rng.integers(1, 5)))
    return np.concatenate(pieces).astype(np.float64)


def mixed(rng: np.random.Generator) -> FloatArray:
    """One period of one family, then one of another one."""
    halves = [draw(rng) for draw in rng.permutation(np.array(SINGLE, dtype=object))[:2]]
    return np.concatenate([half / max(half.max(), 1) for half in halves])


SINGLE: list[Draw] = [motif_and_tail, modular, parallelism, nested, plateaus]
FAMILIES: dict[str, Draw] = {
    "motif and tail": motif_and_tail,
    "modular": modular,
    "parallelism": parallelism,
    "nested loops": nested,
    "plateaus": plateaus,
    "mixed": mixed,
}


def least_period(pattern: FloatArray) -> int:
    """Return the length of the shortest piece of which a pattern is whole repetitions."""
    n = len(pattern)
    return next(m for m in range(1, n + 1) if n % m == 0 and np.array_equal(np.resize(pattern[:m], n), pattern))


def pattern_of(draw: Draw, rng: np.random.Generator, longest: int) -> FloatArray:
    """Return one period, drawn until it has SHORTEST to `longest` samples."""
    while True:
        pattern = draw(rng)
        if SHORTEST <= (period := least_period(pattern)) <= longest:
            return pattern[:period]


def literal(distances: FloatArray) -> int:
    """Return the least lag whose d is within 10 % of the lowest one."""
    return int(np.argmax(distances <= 1.1 * distances.min())) + 1


def answers(values: FloatArray, window: int) -> Iterator[tuple[int, int]]:
    """Yield the period that the detector has and that of the literal rule, at four times after the window is full."""
    detector = DpdValues(window)
    detector.feed(values[: 2 * window])
    for piece in np.split(values[2 * window :], 4):
        yield int(detector.feed(piece).period[-1]), literal(detector.distances())


def right(draw: Draw, noise: float, window: int, seed: list[int], runs: int) -> tuple[float, float]:
    """Return the shares of right answers of the detector and of the literal rule."""
    hits = []
    for run in range(runs):
        rng = np.random.default_rng([*seed, run])
        pattern = pattern_of(draw, rng, window // 2 - 10)
        values = np.resize(pattern, 4 * window) + noise * pattern.std() * rng.normal(size=4 * window)
        hits += [np.equal(pair, len(pattern)) for pair in answers(values, window)]
    ours, theirs = np.mean(hits, axis=0)
    return float(ours), float(theirs)


def two_sines(rng: np.random.Generator, noise: float, window: int) -> FloatArray:
    """Two sines of like amplitude, 3 to 15 % apart, whose beat the window holds and whose common period it does not."""
    while True:
        short = int(rng.integers(12, 60))
        long = short + int(rng.integers(1, 9))
        beat = short * long / (long - short)
        if 1.03 <= long / short <= 1.15 and beat <= 0.9 * window and np.lcm(short, long) >= window:
            break
    time, phases = np.arange(4 * window), rng.uniform(0, 2 * np.pi, 2)
    values = np.sin(2 * np.pi * time / short + phases[0])
    values += rng.uniform(0.85, 1 / 0.85) * np.sin(2 * np.pi * time / long + phases[1])
    return values + noise * values.std() * rng.normal(size=4 * window)


def none(noise: float, window: int, runs: int) -> float:
    """Return the share of answers that two sines have no period."""
    found = []
    for run in range(runs):
        values = two_sines(np.random.default_rng([window, run]), noise, window)
        found += [period == 0 for period, _ in answers(values, window)]
    return float(np.mean(found))


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    noises = "".join(f" noise {noise:g} |" for noise in NOISES)
    print(f"| series | N = M |{noises}\n|---|---|" + "---|" * len(NOISES))
    for window in WINDOWS:
        for index, (name, draw) in enumerate(FAMILIES.items()):
            shares = [right(draw, noise, window, [window, index, at], runs) for at, noise in enumerate(NOISES)]
            cells = [f"{100 * ours:.1f} % ({100 * theirs:.1f} %)" for ours, theirs in shares]
            print(f"| {name} | {window} | " + " | ".join(cells) + " |", flush=True)
    for window in WINDOWS[1:]:
        cells = [f"{100 * none(noise, window, runs):.1f} %" for noise in NOISES]
        print(f"| none: two sines | {window} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
