"""Programs: their kinds of work, in order, with durations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray
from truth.nodes.machines import KINDS, Rng

# States of one program differ by at least this factor in two relevant counters.
APART = 1.25


@dataclass(frozen=True)
class Work:
    """A kind of work as one program does it.

    Attributes:
        kind: its name.
        rates: (14,) counts per second on the reference.
        scatter: of a row, as a share.
        ripple: relative amplitude of a slow oscillation.
    """

    kind: str
    rates: FloatArray
    scatter: float
    ripple: float = 0.0


@dataclass(frozen=True)
class Program:
    """A program.

    Attributes:
        works: its kinds of work.
        steps: (index of the work, seconds on the reference) in order.
    """

    works: tuple[Work, ...]
    steps: tuple[tuple[int, float], ...]


def any_program(rng: Rng, states: int, seconds: tuple[float, float], *, scatter: float, rounds: int = 0) -> Program:
    """Draw a program: a start, a loop over its states, with occasional checkpoints, and an end.

    states: number of its states, from 1. seconds: range of the lengths of its steps. rounds: of the loop; 0: drawn.
    """
    works: list[Work] = []
    while len(works) < states:
        work = any_work(rng, scatter)
        if all(distinct(work.rates, each.rates) for each in works):
            works.append(work)
    lengths = np.exp(rng.uniform(float(np.log(seconds[0])), float(np.log(seconds[1])), states))
    rounds = rounds or int(rng.integers(3, 9))
    if states < 3:
        return Program(tuple(works), tuple((i, float(lengths[i])) for _ in range(rounds) for i in range(states)))
    inner = list(range(1, states - 1)) if states > 3 else [1, 2]
    rare_state, every = states - 1, int(rng.integers(2, 5))
    steps = [0]
    for round_ in range(rounds):
        steps += inner
        if states > 3 and round_ % every == every - 1:
            steps.append(rare_state)
    return Program(tuple(works), tuple((i, float(lengths[i])) for i in [*steps, 0]))


def any_work(rng: Rng, scatter: float) -> Work:
    """Draw a kind of work as a program may do it."""
    kind = str(rng.choice(list(KINDS)))
    rates = np.array(KINDS[kind]) * rng.lognormal(0, 0.25, len(KINDS[kind])) * rng.lognormal(0, 0.15)
    return Work(kind, rates, scatter * float(rng.uniform(0.6, 1.5)), float(rng.choice([0, 0, 0.05])))


def distinct(a: FloatArray, b: FloatArray) -> bool:
    """Return whether two states differ in at least two counters that are not small in both."""
    largest = np.max([*KINDS.values()], axis=0)
    matters = np.maximum(a, b) > 0.03 * largest
    return int(np.sum(matters & (np.abs(np.log(a / b)) > np.log(APART)))) >= 2
