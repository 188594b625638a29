"""Building blocks of the families of generated runs: phases of any kind, and their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from truth.story import Episode, Scenario, in_order
from truth.work import Work, any_work

Rng = np.random.Generator
Make = Callable[[Rng], Scenario]


def works(rng: Rng, count: int) -> tuple[Work, ...]:
    """Draw phases of any kind."""
    return tuple(any_work(rng, i) for i in range(count))


def lengths(rng: Rng, count: int, low: float, high: float) -> list[float]:
    """Draw durations in seconds; change points fall anywhere in an interval."""
    return [float(x) for x in rng.uniform(low, high, count)]


def some_scatter(rng: Rng) -> float:
    """Draw an over-dispersion typical of real programs (0: sampling noise alone)."""
    return float(rng.choice([0.0, 0.5, 1.0, 2.0]))


def count_of(count: int) -> Make:
    """Return a family with that many phases, each of at least 12 intervals."""

    def make(rng: Rng) -> Scenario:
        parts = lengths(rng, count, 12.0, max(24.0, 480.0 / count))
        return Scenario(works(rng, count), in_order(parts), dispersion=some_scatter(rng), stray=0.001)

    return make


def shares_of(*percent: float, total: float) -> Make:
    """Return a family with phases of fixed shares of the run, in any order."""

    def make(rng: Rng) -> Scenario:
        parts = [total * p / 100.0 + float(rng.uniform(0.0, 1.0)) for p in rng.permutation(percent)]
        return Scenario(works(rng, len(parts)), in_order(parts), dispersion=some_scatter(rng), stray=0.001)

    return make


def in_turn(order: Sequence[int], low: float, high: float, **circumstances: float) -> Make:
    """Return a family of episodes of phases in a given order, each with a duration of its own."""

    def make(rng: Rng) -> Scenario:
        episodes = tuple(Episode(p, s) for p, s in zip(order, lengths(rng, len(order), low, high), strict=True))
        scatter = some_scatter(rng)
        scenario = Scenario(works(rng, max(order) + 1), episodes, dispersion=scatter)
        return replace(scenario, **circumstances)  # type: ignore[arg-type]

    return make
