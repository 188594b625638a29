"""Families of generated runs as hard as real programs: common cores, wandering shares, rare steps, recursion.

Names and numbers decide the half of a case (truth/split.py): do not rename them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from truth.schedules import Make, Rng, in_turn, lengths, some_scatter, works
from truth.story import Episode, Scenario, in_order
from truth.truths import BODY, TrueSite
from truth.work import Leaf, Piece, Work, called, hot_leaves, spread_leaves, step_seconds, stepped


def with_core(work: Work, share: float) -> Work:
    """Return a phase that spends `share` of its time in a function common to all phases, like an interpreter."""
    core = (Leaf(("core",), 0.7 * share, 2000.0), Leaf(("core", "core_fetch"), 0.3 * share, 20000.0))

    def changed(piece: Piece) -> Piece:
        own = tuple(replace(leaf, share=leaf.share * (1.0 - share)) for leaf in piece.leaves)
        return replace(piece, leaves=(*own, *core))

    return replace(work, pieces=tuple(changed(piece) for piece in work.pieces))


def sharing(low: float, high: float) -> Make:
    """Return a family whose phases differ only outside of a common core."""

    def make(rng: Rng) -> Scenario:
        share = float(rng.uniform(low, high))
        parts = tuple(with_core(called(rng, i, spread=bool(rng.random() < 0.5)), share) for i in range(4))
        return Scenario(parts, in_order(lengths(rng, 4, 25, 90)), dispersion=some_scatter(rng))

    return make


def of_equal_leaves(rng: Rng, fewest: int, most: int) -> Work:
    """Draw work of functions with equal shares, fewer than `most`: it has no site and no step."""
    work = called(rng, 0, spread=True)
    count = int(rng.integers(fewest, most))
    leaf = work.pieces[0].leaves[1]
    leaves = tuple(replace(leaf, below=(f"any{j}",), share=1.0 / count) for j in range(count))
    truth = replace(
        work.truth, sites=(), steps=(), accepted=tuple(work.truth.sites[0].places), accepted_steps=work.truth.steps
    )
    return replace(work, truth=truth, pieces=(replace(work.pieces[0], leaves=leaves),))


def noise_walk(rng: Rng) -> Scenario:
    """Draw a composition that wanders without ever staying: no phases."""
    work = of_equal_leaves(rng, 8, 30)
    return Scenario(
        (work,), (Episode(0, float(rng.uniform(150, 300))),), wander=float(rng.uniform(0.8, 1.5)), distinct=False
    )


def with_rare_step(rng: Rng, i: int) -> Work:
    """Draw a phase of quick steps, with a rare one that takes long, like regridding."""
    work = stepped(rng, i, step_seconds(rng, int(rng.integers(2, 4)), float(rng.uniform(0.05, 0.2))))
    name = f"step{i}_rare"
    rare_step = Piece(name, float(rng.uniform(0.2, 0.8)), hot_leaves(rng, name), every=int(rng.integers(20, 60)))
    truth = replace(work.truth, sites=(*work.truth.sites, TrueSite(name, BODY)), steps=(*work.truth.steps, name))
    return replace(work, truth=truth, pieces=(*work.pieces, rare_step))


def rare_step(rng: Rng) -> Scenario:
    """Draw one phase with a rare step: its intervals are not a phase of their own."""
    return Scenario((with_rare_step(rng, 0),), (Episode(0, float(rng.uniform(150, 300))),), stray=0.001)


def rare_step_phases(rng: Rng) -> Scenario:
    """Draw an initial phase, one with a rare step, and a last one."""
    first, last = works(rng, 3)[::2]
    return Scenario(
        (first, with_rare_step(rng, 1), last), in_order(lengths(rng, 3, 25, 120)), dispersion=some_scatter(rng)
    )


def deep(rng: Rng) -> Scenario:
    """Draw phases far below main, under drivers that run as long as the program."""
    above = tuple(f"layer{j}" for j in range(int(rng.integers(3, 9))))
    parts = tuple(replace(work, stack=("main", *above, *work.stack[1:])) for work in works(rng, 4))
    return Scenario(parts, in_order(lengths(rng, 4, 20, 70)), dispersion=some_scatter(rng), stray=0.001)


def nested_steps(rng: Rng) -> Scenario:
    """Draw phases whose steps have nested steps: the outer ones are the sites."""

    def inner(step: str, piece: Piece) -> Piece:
        count = int(rng.integers(2, 4))
        shares = rng.dirichlet(np.full(count, 3.0))
        leaves: list[Leaf] = []
        for j, share in enumerate(shares):
            name = f"{step}_inner{j}"
            leaves.append(Leaf((name,), 0.0, float(rng.integers(1, 20))))
            leaves += [replace(x, below=(name, *x.below), share=x.share * share) for x in spread_leaves(rng, name)]
        return replace(piece, leaves=tuple(leaves))

    parts = []
    for i in range(2):
        work = stepped(rng, i, step_seconds(rng, 3, float(rng.uniform(0.05, 0.4))))
        parts.append(replace(work, pieces=tuple(inner(str(piece.function), piece) for piece in work.pieces)))
    return Scenario(tuple(parts), in_order(lengths(rng, 2, 40, 120)), dispersion=some_scatter(rng))


def recursive(rng: Rng) -> Scenario:
    """Draw phases of recursive work: the time is at many depths."""
    parts = []
    for i in range(3):
        work = called(rng, i)
        name, depth = f"descend{i}", int(rng.integers(4, 12))
        shares = rng.dirichlet(np.full(depth, 2.0))
        leaves = [Leaf((name,) * (j + 1), 0.7 * float(s), 2.0**j) for j, s in enumerate(shares)]
        leaves += [Leaf((*(name,) * (j + 1), f"visit{i}"), 0.3 * float(s), 2.0**j) for j, s in enumerate(shares)]
        parts.append(replace(work, pieces=(replace(work.pieces[0], leaves=tuple(leaves)),)))
    return Scenario(tuple(parts), in_order(lengths(rng, 3, 20, 80)), dispersion=some_scatter(rng))


def all_at_once(rng: Rng) -> Scenario:
    """Draw a run that combines all difficulties."""
    base = in_turn((0, 1, 2, 0, 3, 1), 15, 60)(rng)
    episodes = tuple(replace(episode, fade_s=float(rng.choice([0.0, 0.0, 3.0]))) for episode in base.episodes[:-1])
    return replace(
        base,
        episodes=(*episodes, base.episodes[-1]),
        dispersion=1.0,
        wander=0.1,
        background=float(rng.uniform(0.02, 0.15)),
        stray=0.005,
        interval_jitter=0.05,
        missing=0.01,
        empty=0.005,
    )


HARD: dict[str, Make] = {
    "shared-core": sharing(0.4, 0.7),
    "alike": sharing(0.75, 0.88),
    "wandering": in_turn((0, 1, 2, 0, 2), 25.0, 80.0, wander=0.35),
    "noise-walk": noise_walk,
    "rare-step": rare_step,
    "rare-step-phases": rare_step_phases,
    "deep": deep,
    "nested-steps": nested_steps,
    "recursive": recursive,
    "faint": in_turn((0, 1, 2, 1), 15.0, 70.0, rate_hz=10.0),
    "all-at-once": all_at_once,
}
