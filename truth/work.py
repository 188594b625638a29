"""The work of a made-up program in a phase: call paths, call counts, and self time.

A phase repeats an iteration: its pieces follow one another, each a call of some function (a step) or, where `function`
is None, a part of the driver's own loop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from truth.truths import BODY, LOOP, TruePhase, TrueSite

COMMON = tuple(f"common_{name}" for name in ("dot", "copy", "hash", "index", "norm", "find"))


@dataclass(frozen=True)
class Leaf:
    """A path on which a piece spends a share of its time.

    Attributes:
        below: functions below the piece's own, outermost first.
        share: of the piece's time.
        calls: number of calls per piece.
    """

    below: tuple[str, ...]
    share: float
    calls: float = 0.0


@dataclass(frozen=True)
class Piece:
    """A part of an iteration.

    Attributes:
        function: the function called for it; None for the driver's own loop.
        seconds: its duration.
        leaves: the leaves below it; shares sum to 1.
        every: it runs once in this many iterations.
    """

    function: str | None
    seconds: float
    leaves: tuple[Leaf, ...]
    every: int = 1

    @property
    def mean_seconds(self) -> float:
        """Return its mean seconds per iteration."""
        return self.seconds / self.every


@dataclass(frozen=True)
class Work:
    """The work of a phase.

    Attributes:
        truth: the truth about the phase.
        stack: the functions that run as long as the phase, from main.
        pieces: the pieces of an iteration, in order.
        load: its share of the CPU.
        jitter: relative standard deviation of an iteration's pieces.
        drift: how far the composition has changed into its reverse by the end of an episode, 0..1.
    """

    truth: TruePhase
    stack: tuple[str, ...]
    pieces: tuple[Piece, ...]
    load: float = 1.0
    jitter: float = 0.1
    drift: float = 0.0

    @property
    def period(self) -> float:
        """Return the mean seconds of an iteration."""
        return sum(piece.mean_seconds for piece in self.pieces)


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """Draw a number whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def helpers(rng: np.random.Generator, name: str, share: float) -> list[Leaf]:
    """Draw small functions that have `share` together; some are called in other phases too."""
    count = int(rng.integers(1, 4))
    names = [f"{name}_part{j}" if rng.random() > 0.3 else str(rng.choice(COMMON)) for j in range(count)]
    names = list(dict.fromkeys(names))
    shares = rng.dirichlet(np.full(len(names), 2.0)) * share
    return [Leaf((helper,), float(part), log_uniform(rng, 1, 1e4)) for helper, part in zip(names, shares, strict=True)]


def hot_leaves(rng: np.random.Generator, name: str) -> tuple[Leaf, ...]:
    """Draw a function that does most of its work itself."""
    own = float(rng.uniform(0.6, 0.95))
    return (Leaf((), own), *helpers(rng, name, 1.0 - own))


def spread_leaves(rng: np.random.Generator, name: str) -> tuple[Leaf, ...]:
    """Draw a function that only calls: many small functions, some nested, have the time."""
    count = int(rng.integers(6, 15))
    names = [f"{name}_leaf{j}" for j in range(count)]
    for j in range(count // 3):
        names[j] = COMMON[j % len(COMMON)]
    own = float(rng.uniform(0.0, 0.03))
    shares = rng.dirichlet(np.full(count, 1.5)) * (1.0 - own)
    leaves = [Leaf((), own)]
    for j, (leaf, share) in enumerate(zip(names, shares, strict=True)):
        above = (names[j - 1],) if j % 3 == 2 else ()
        leaves.append(Leaf((*above, leaf), float(share), log_uniform(rng, 10, 1e5)))
    return tuple(leaves)


def called(rng: np.random.Generator, i: int, *, spread: bool = False, seconds: float | None = None) -> Work:
    """Make a phase in which one function is called repeatedly, by a driver of its own or by main.

    spread: the function only calls, and the site has to be lifted to it from the small functions that have the time.
    """
    step = f"work{i}"
    driver = (f"drive{i}",) if rng.random() < 0.5 else ()
    seconds = log_uniform(rng, 0.001, 0.3) if seconds is None else seconds
    leaves = spread_leaves(rng, step) if spread else hot_leaves(rng, step)
    # The driver's loop beats exactly as often as the body of its only step.
    site = TrueSite(step, BODY, tuple((name, LOOP) for name in driver))
    truth = TruePhase(f"phase{i}", (site,), (step,))
    return Work(truth, ("main", *driver), (Piece(step, seconds, leaves),))


def one_long_call(rng: np.random.Generator, i: int) -> Work:
    """Make a phase that is one long call: the site is a loop in it."""
    name = f"long{i}"
    leaves = hot_leaves(rng, name)
    small = tuple(leaf.below[0] for leaf in leaves if leaf.below)
    truth = TruePhase(f"phase{i}", (TrueSite(name, LOOP),), (name,), accepted_steps=small)
    return Work(truth, ("main", name), (Piece(None, log_uniform(rng, 0.002, 0.05), leaves),))


def stepped(rng: np.random.Generator, i: int, seconds: tuple[float, ...]) -> Work:
    """Make a phase with several steps in each iteration, faster than the intervals: all are its sites."""
    names = tuple(f"step{i}_{chr(97 + j)}" for j in range(len(seconds)))
    pieces = tuple(
        Piece(name, s, spread_leaves(rng, name) if rng.random() < 0.3 else hot_leaves(rng, name))
        for name, s in zip(names, seconds, strict=True)
    )
    driver = f"drive{i}"
    truth = TruePhase(f"phase{i}", tuple(TrueSite(name, BODY) for name in names), names, accepted=((driver, LOOP),))
    return Work(truth, ("main", driver), pieces)


def step_seconds(rng: np.random.Generator, count: int, period: float) -> tuple[float, ...]:
    """Draw the durations of the steps of an iteration; none has less than 4 % of it."""
    shares = 0.04 + (1.0 - 0.04 * count) * rng.dirichlet(np.full(count, 1.5))
    return tuple(float(s) * period for s in shares)


def any_work(rng: np.random.Generator, i: int) -> Work:
    """Draw a phase of any of the usual kinds."""
    kind = int(rng.integers(4))
    if kind == 3:
        return stepped(rng, i, step_seconds(rng, int(rng.integers(2, 5)), log_uniform(rng, 0.01, 0.4)))
    return one_long_call(rng, i) if kind == 2 else called(rng, i, spread=kind == 1)


def with_drift(work: Work, drift: float) -> Work:
    """Return the work with a drift."""
    return replace(work, drift=drift)
