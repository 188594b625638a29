"""The ground-truth suite: runs with known phases on which the methods are compared (docs/phases-algorithm.md).

Thresholds were set on other runs of the same kinds and on seeds below 300; the table in the docs is made from seeds
from 300 on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from incprof.analysis.phases import find_phases
from incprof.analysis.scores import adjusted_rand
from incprof.analysis.synthetic import SyntheticRun, random_behaviours, synthesize

FUNCTIONS = 40
Make = Callable[[np.random.Generator, int], SyntheticRun]


@dataclass(frozen=True)
class Outcome:
    """What a method made of a run: k found and true, agreement of the labels, share of intervals left unassigned."""

    k: int
    true_k: int
    ari: float
    unassigned: float


def blocks(*lengths: float, dispersion: float = 0.0) -> Make:
    """Return a case in which each behaviour has one stretch of so many intervals; borders fall inside intervals."""

    def make(rng: np.random.Generator, seed: int) -> SyntheticRun:
        behaviours = random_behaviours(rng, len(lengths), FUNCTIONS)
        schedule = [(i, length - rng.random()) for i, length in enumerate(lengths)]
        return synthesize(behaviours, schedule, dispersion=dispersion, seed=seed)

    return make


def cycle(lengths: tuple[float, ...], rounds: int, *, one: bool = False, load: tuple[float, ...] | None = None) -> Make:
    """Return a case that goes round its behaviours. one: faster than the interval, hence a single true phase."""

    def make(rng: np.random.Generator, seed: int) -> SyntheticRun:
        behaviours = random_behaviours(rng, len(lengths), FUNCTIONS)
        run = synthesize(behaviours, list(enumerate(lengths)) * rounds, dispersion=1.0, load=load, seed=seed)
        return SyntheticRun(run.profile, np.zeros_like(run.labels)) if one else run

    return make


def drift(rng: np.random.Generator, seed: int) -> SyntheticRun:
    """Make a run that goes from one mix to another so slowly that there is no border: one phase."""
    first, last = random_behaviours(rng, 2, FUNCTIONS)
    steps = [(1 - t) * first + t * last for t in np.linspace(0, 1, 200)]
    run = synthesize(np.stack(steps), [(i, 1.0) for i in range(200)], seed=seed)
    return SyntheticRun(run.profile, np.zeros_like(run.labels))


def unrelated(rng: np.random.Generator, seed: int) -> SyntheticRun:
    """Make a run whose intervals have nothing in common: no phases to find, one by default."""
    run = synthesize(random_behaviours(rng, 200, FUNCTIONS), [(i, 1.0) for i in range(200)], seed=seed)
    return SyntheticRun(run.profile, np.zeros_like(run.labels))


CASES: dict[str, Make] = {
    "1 phase": blocks(200),
    "1 phase, scattered": blocks(200, dispersion=2.0),
    "2 phases, 90/10": blocks(270, 30),
    "2 phases, 90/10, scattered": blocks(270, 30, dispersion=2.0),
    "3 phases": blocks(270, 26, 11),
    "4 phases": blocks(117, 25, 23, 20),
    "4 phases, scattered": blocks(117, 25, 23, 20, dispersion=2.0),
    "5 phases": blocks(120, 270, 66, 27, 127),
    "5 phases, scattered": blocks(120, 270, 66, 27, 127, dispersion=2.0),
    "5 phases, four of them tiny": blocks(8, 12, 6, 300, 10),
    "5 phases, four of them tiny, scattered": blocks(8, 12, 6, 300, 10, dispersion=2.0),
    "7 phases": blocks(*[50] * 7),
    "7 phases, scattered": blocks(*[50] * 7, dispersion=2.0),
    "a 1 % phase": blocks(600, 12, dispersion=1.0),
    "12 intervals, 2 phases": blocks(6.5, 5.5),
    "3 phases in turn": cycle((5.3, 8.1, 3.7), 13),
    "2 phases in turn, one mostly waiting": cycle((9.4, 12.3), 10, load=(1.0, 0.15)),
    "2 behaviours, far faster than the interval": cycle((0.07, 0.11), 1000, one=True),
    "2 behaviours, about as fast as the interval": cycle((0.7, 0.55), 150, one=True),
    "slow drift": drift,
    "unrelated intervals": unrelated,
}


def make_case(name: str, seed: int) -> SyntheticRun:
    """Make a run of the suite."""
    return CASES[name](np.random.default_rng([seed, list(CASES).index(name)]), seed)


def evaluate(name: str, seed: int, method: str) -> Outcome:
    """Let a method find the phases of a run, and compare with the truth (intervals that are pure in truth)."""
    run = make_case(name, seed)
    found = find_phases(run.profile, method=method)
    pure = run.labels >= 0
    unassigned = float((found.labels[pure] < 0).mean())
    return Outcome(found.k, run.k, adjusted_rand(run.labels, found.labels), unassigned)
