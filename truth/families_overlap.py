"""Families of generated runs whose phases have much in common: regimes of a loop, shared leaves, slow iterations.

Whole families are held out here, not numbers of each (`truth.split.half_of_name`): a method adapted to one kind of
run gains nothing on the others. Names decide the half: do not rename them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from truth.families_hard import with_core
from truth.schedules import Make, Rng, lengths, some_scatter, works
from truth.story import Episode, Scenario, in_order
from truth.trees import real_steps
from truth.truths import BODY, LOOP, TruePhase, TrueSite
from truth.work import Piece, Work, log_uniform, step_seconds

# A step with a smaller share of its phase is not worth monitoring.
LEAST_STEP = 0.05
# Attempts to draw a different regime.
TRIES = 20


def loop(rng: Rng, i: int, period: float | None = None, steps: int | None = None) -> Work:
    """Draw a loop below main with steps from the call tree of a real program."""
    count = int(rng.integers(3, 7)) if steps is None else steps
    period = log_uniform(rng, 0.01, 0.3) if period is None else period
    leaves = real_steps(rng, f"loop{i}_", count)
    seconds = step_seconds(rng, count, period)
    pieces = tuple(Piece(f"loop{i}_step{j}", s, part) for j, (s, part) in enumerate(zip(seconds, leaves, strict=True)))
    return with_truth(Work(TruePhase(f"phase{i}", ()), ("main", f"loop{i}"), pieces))


def with_truth(work: Work, name: str | None = None) -> Work:
    """Return the work with sites and steps derived from its pieces."""
    names = [str(p.function) for p in work.pieces if p.mean_seconds >= LEAST_STEP * work.period]
    small = tuple(str(p.function) for p in work.pieces if str(p.function) not in names)
    driver = work.stack[-1]
    accepted = ((driver, LOOP), *((step, BODY) for step in small))
    sites = tuple(TrueSite(step, BODY) for step in names)
    truth = TruePhase(name or work.truth.name, sites, tuple(names), accepted, small)
    return replace(work, truth=truth)


def shifted(rng: Rng, work: Work, by: float, i: int) -> Work:
    """Return another regime of the same loop: `by` of an iteration moves from one step, or several, to another."""
    share = np.array([piece.mean_seconds for piece in work.pieces]) / work.period
    gains = int(rng.integers(len(share)))
    givers = np.flatnonzero(np.arange(len(share)) != gains)
    by = min(by, 0.9 * float(share[givers].sum()))
    new = share.copy()
    new[givers] -= by * share[givers] / share[givers].sum()
    new[gains] += by
    pieces = tuple(replace(p, seconds=float(s) * work.period) for p, s in zip(work.pieces, new, strict=True))
    return with_truth(replace(work, pieces=pieces), f"phase{i}")


def share_difference(one: Work, other: Work) -> float:
    """Return the largest difference of a step's share between two regimes of a loop."""
    shares = [np.array([piece.mean_seconds for piece in work.pieces]) / work.period for work in (one, other)]
    return float(np.abs(shares[0] - shares[1]).max()) + 1e-9


def with_new_step(rng: Rng, work: Work, share: float, i: int) -> Work:
    """Return the same loop with an additional step, which takes `share` of its time."""
    name = f"{work.stack[-1]}_new{i}"
    piece = Piece(name, work.period * share / (1.0 - share), real_steps(rng, f"{name}_", 1)[0])
    return with_truth(replace(work, pieces=(*work.pieces, piece)), f"phase{i}")


def regimes(low: float, high: float, **circumstances: float) -> Make:
    """Return a family of one loop with two or three regimes, in episodes of 20 intervals or more."""

    def make(rng: Rng) -> Scenario:
        base = loop(rng, 0, steps=int(rng.integers(2, 6)))
        count = int(rng.integers(2, 4))
        parts = [base]
        for _ in range(TRIES):
            other = shifted(rng, parts[-1], float(rng.uniform(low, high)), len(parts))
            # Regimes that return to an earlier composition are not new ones.
            if len(parts) < count and all(share_difference(other, part) >= low for part in parts):
                parts.append(other)
        count = len(parts)
        order = [*range(count), *rng.permutation(count).tolist()][: int(rng.integers(count, 2 * count + 1))]
        order = [p for at, p in enumerate(order) if at == 0 or order[at - 1] != p]
        return phases_in_order(rng, parts, order, 20.0, 70.0, **circumstances)

    return make


def phases_in_order(
    rng: Rng, parts: Sequence[Work], order: Sequence[int], low: float, high: float, **circumstances: float
) -> Scenario:
    """Return a story of episodes of phases in an order."""
    episodes = tuple(Episode(p, s) for p, s in zip(order, lengths(rng, len(order), low, high), strict=True))
    scenario = Scenario(tuple(parts), episodes, dispersion=some_scatter(rng) / 2.0, stray=0.001)
    return replace(scenario, **circumstances)  # type: ignore[arg-type]


def new_steps(rng: Rng) -> Scenario:
    """Draw a loop that gets an additional step when a feature is switched on."""
    base = loop(rng, 0)
    parts = [base, with_new_step(rng, base, float(rng.uniform(0.15, 0.35)), 1)]
    return phases_in_order(rng, parts, [0, 1, 0, 1][: int(rng.integers(2, 5))], 20.0, 60.0)


def overlapping(rng: Rng) -> Scenario:
    """Draw separate loops that spend up to 80 % of their time in the same small functions."""
    count = int(rng.integers(2, 6))
    share = float(rng.uniform(0.2, 0.8))
    parts = [with_core(loop(rng, i), share) for i in range(count)]
    return phases_in_order(rng, parts, range(count), 15.0, 60.0)


def mixed(rng: Rng) -> Scenario:
    """Draw phases below one driver with some of each other's steps, in other proportions, and some of their own."""
    base = loop(rng, 0, steps=4)
    other = shifted(rng, with_new_step(rng, base, float(rng.uniform(0.2, 0.5)), 1), float(rng.uniform(0.2, 0.5)), 1)
    third = shifted(rng, with_new_step(rng, base, float(rng.uniform(0.3, 0.6)), 2), float(rng.uniform(0.2, 0.5)), 2)
    return phases_in_order(rng, [base, other, third], [0, 1, 2, 1, 0], 15.0, 50.0)


def interruptions(rng: Rng) -> Scenario:
    """Draw a phase interrupted a few times for 3 to 7 intervals by other work, called by main."""
    base, interruption = loop(rng, 0), loop(rng, 1)
    times = int(rng.integers(2, 6))
    episodes = [Episode(0, float(rng.uniform(25, 60)))]
    for _ in range(times):
        episodes += [Episode(1, float(rng.uniform(3.0, 7.0))), Episode(0, float(rng.uniform(25, 60)))]
    return Scenario((base, interruption), tuple(episodes), dispersion=some_scatter(rng) / 2.0, stray=0.001)


def warm_up(rng: Rng) -> Scenario:
    """Draw one phase that takes a while to reach its final composition."""
    base = loop(rng, 0)
    cold = shifted(rng, base, float(rng.uniform(0.2, 0.5)), 1)
    ramp = float(rng.uniform(8, 25))
    episodes = (Episode(1, ramp, ramp), Episode(0, float(rng.uniform(120, 250))))
    return Scenario((base, cold), episodes, dispersion=some_scatter(rng) / 2.0, part_of=(0, -1))


def wave(rng: Rng) -> Scenario:
    """Draw one phase whose composition oscillates all the time."""
    base = loop(rng, 0)
    other = shifted(rng, base, float(rng.uniform(0.1, 0.3)), 1)
    half = float(rng.uniform(8, 30))
    episodes = tuple(Episode(j % 2, half, half) for j in range(int(np.ceil(240 / half))))
    return Scenario((base, other), episodes, dispersion=some_scatter(rng) / 2.0, part_of=(0, 0))


def drifting_loop(rng: Rng) -> Scenario:
    """Draw one loop whose composition changes slowly into another over the whole run."""
    base = loop(rng, 0)
    other = shifted(rng, base, float(rng.uniform(0.2, 0.5)), 1)
    total = float(rng.uniform(150, 300))
    return Scenario((base, other), (Episode(0, total, total), Episode(1, 1.0)), part_of=(0, 0))


def slow_iterations(rng: Rng) -> Scenario:
    """Draw one loop whose iterations last 0.5 to 10 intervals: the alternating functions below it are steps."""
    base = loop(rng, 0, period=log_uniform(rng, 0.5, 10.0), steps=int(rng.integers(2, 6)))
    return Scenario((replace(base, jitter=float(rng.uniform(0.02, 0.2))),), (Episode(0, float(rng.uniform(150, 300))),))


def slow_iterations_phases(rng: Rng) -> Scenario:
    """Draw a set-up, a solver whose iterations last 0.5 to 10 intervals, and post-processing."""
    solver = replace(
        loop(rng, 1, period=log_uniform(rng, 0.5, 10.0), steps=int(rng.integers(2, 5))),
        jitter=float(rng.uniform(0.02, 0.2)),
    )
    parts = (loop(rng, 0), solver, loop(rng, 2))
    return Scenario(parts, in_order([*lengths(rng, 1, 10, 40), *lengths(rng, 1, 100, 200), *lengths(rng, 1, 10, 40)]))


def short_set_up(rng: Rng) -> Scenario:
    """Draw a set-up of 3 to 8 intervals before one or two long phases."""
    parts = works(rng, int(rng.integers(2, 4)))
    parts = (loop(rng, 0), *parts[1:])
    return Scenario(parts, in_order([float(rng.uniform(3, 8)), *lengths(rng, len(parts) - 1, 80, 200)]), stray=0.001)


def checkpoints(rng: Rng) -> Scenario:
    """Draw one loop with a rare step that fills an interval or two, like writing a checkpoint."""
    base = loop(rng, 0)
    name = "loop0_write"
    every = max(2, round(float(rng.uniform(15, 50)) / base.period))
    rare_step = Piece(name, float(rng.uniform(0.8, 2.5)), real_steps(rng, f"{name}_", 1)[0], every=every)
    work = with_truth(replace(base, pieces=(*base.pieces, rare_step)))
    truth = replace(work.truth, accepted=(*work.truth.accepted, (name, BODY)), accepted_steps=(name,))
    return Scenario((replace(work, truth=truth),), (Episode(0, float(rng.uniform(180, 300))),), stray=0.001)


def contended(rng: Rng) -> Scenario:
    """Draw phases of a program that gets only a share of its processor, more in some segments than in others."""
    parts = [replace(loop(rng, i), load=float(rng.uniform(0.3, 1.0))) for i in range(3)]
    return phases_in_order(rng, parts, [0, 1, 2, 0, 1], 15.0, 50.0, interval_jitter=0.05)


def nothing_changes(rng: Rng) -> Scenario:
    """Draw one loop that scatters more than sampling noise, and never changes."""
    return Scenario(
        (replace(loop(rng, 0), jitter=float(rng.uniform(0.1, 0.4))),),
        (Episode(0, float(rng.uniform(100, 400))),),
        dispersion=float(rng.choice([0.0, 1.0, 3.0, 6.0])),
    )


OVERLAP: dict[str, Make] = {
    "regimes-10": regimes(0.10, 0.15),
    "regimes-15": regimes(0.15, 0.20),
    "regimes-20": regimes(0.20, 0.30),
    "regimes-40": regimes(0.30, 0.50),
    "regimes-scatter": regimes(0.25, 0.40, dispersion=2.0),
    "regimes-wander": regimes(0.30, 0.50, wander=0.15),
    "regimes-few-ticks": regimes(0.30, 0.50, rate_hz=20.0),
    "regimes-many-ticks": regimes(0.12, 0.20, rate_hz=500.0),
    "new-step": new_steps,
    "overlapping": overlapping,
    "mixed-steps": mixed,
    "bursts": interruptions,
    "warm-up": warm_up,
    "wave": wave,
    "drifting-loop": drifting_loop,
    "slow-iterations": slow_iterations,
    "slow-iterations-phases": slow_iterations_phases,
    "short-set-up": short_set_up,
    "checkpoints": checkpoints,
    "contended": contended,
    "nothing-changes": nothing_changes,
}
