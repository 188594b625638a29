"""The families of generated runs: each draws a story from a random generator.

Names and numbers decide the half of a case (truth/split.py): do not rename them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from truth.families_hard import HARD, of_equal_leaves
from truth.schedules import Make, Rng, count_of, in_turn, lengths, shares_of, some_scatter, works
from truth.story import Episode, Scenario, in_order
from truth.work import any_work, called, one_long_call, stepped, with_drift
from truth.work import step_seconds as steps


def drift_slow(rng: Rng) -> Scenario:
    """Draw one phase whose composition changes slowly, without a change point."""
    work = with_drift(stepped(rng, 0, steps(rng, 4, 0.1)), float(rng.uniform(0.4, 0.9)))
    return Scenario((work,), (Episode(0, float(rng.uniform(150, 300))),))


def drift_within(rng: Rng) -> Scenario:
    """Draw phases whose compositions drift a little."""
    drifting = tuple(with_drift(work, float(rng.uniform(0.05, 0.15))) for work in works(rng, 4))
    return Scenario(drifting, in_order(lengths(rng, 4, 25, 90)), dispersion=some_scatter(rng))


def ramps(rng: Rng) -> Scenario:
    """Draw phases with gradual transitions over several intervals."""
    episodes = [Episode(i, s, float(rng.uniform(3, 12))) for i, s in enumerate(lengths(rng, 4, 30, 80))]
    episodes[-1] = replace(episodes[-1], fade_s=0.0)
    return Scenario(works(rng, 4), tuple(episodes), dispersion=some_scatter(rng))


def interleaved(rng: Rng) -> Scenario:
    """Draw one phase of several steps of 1 to 500 ms: no phases are visible in the intervals, all are steps."""
    count = int(rng.integers(2, 7))
    period = float(np.exp(rng.uniform(np.log(0.03), np.log(0.6))))
    work = stepped(rng, 0, steps(rng, count, period))
    return Scenario((work,), (Episode(0, float(rng.uniform(60, 250))),), dispersion=some_scatter(rng), stray=0.001)


def interleaved_slow(rng: Rng) -> Scenario:
    """Draw one phase whose iteration is about as long as an interval: intervals differ, but are one phase."""
    work = stepped(rng, 0, steps(rng, int(rng.integers(2, 5)), float(rng.uniform(0.5, 1.5))))
    return Scenario((work,), (Episode(0, float(rng.uniform(100, 250))),))


def interleaved_phases(rng: Rng) -> Scenario:
    """Draw phases with steps of their own, in turn."""
    count = int(rng.integers(2, 4))
    parts = tuple(
        stepped(rng, i, steps(rng, int(rng.integers(2, 6)), float(rng.uniform(0.02, 0.4)))) for i in range(count)
    )
    episodes = tuple(Episode(i, s) for _ in range(2) for i, s in enumerate(lengths(rng, count, 20, 60)))
    return Scenario(parts, episodes, dispersion=some_scatter(rng), stray=0.002)


def same_leaves(rng: Rng) -> Scenario:
    """Draw phases with the same small functions in the same shares, under different steps."""
    first = called(rng, 0, spread=True)
    leaves = tuple(replace(leaf, below=tuple(f"shared_{n}" for n in leaf.below)) for leaf in first.pieces[0].leaves)
    twins = []
    for i in range(2):
        work = called(rng, i, spread=True)
        twins.append(replace(work, pieces=(replace(work.pieces[0], leaves=leaves),)))
    return Scenario((*twins, any_work(rng, 2)), in_order(lengths(rng, 3, 30, 90)))


def slow_calls(rng: Rng) -> Scenario:
    """Draw phases of calls that last about an interval: called in some, still running in others, and one phase."""
    parts = tuple(called(rng, i, seconds=float(rng.uniform(0.5, 1.0))) for i in range(3))
    return Scenario(tuple(replace(part, jitter=0.5) for part in parts), in_order(lengths(rng, 3, 30, 100)))


def lifted(rng: Rng) -> Scenario:
    """Draw phases whose time is spread over many small functions under one step."""
    count = int(rng.integers(2, 5))
    parts = tuple(called(rng, i, spread=True) for i in range(count))
    return Scenario(parts, in_order(lengths(rng, count, 20, 80)), dispersion=some_scatter(rng))


def long_calls(rng: Rng) -> Scenario:
    """Draw phases that are one long call each."""
    count = int(rng.integers(2, 6))
    parts = tuple(one_long_call(rng, i) for i in range(count))
    return Scenario(parts, in_order(lengths(rng, count, 15, 80)), dispersion=some_scatter(rng), stray=0.002)


def off_cpu(rng: Rng) -> Scenario:
    """Draw three phases in turn, of which one mostly waits."""
    parts = list(works(rng, 3))
    parts[1] = replace(called(rng, 1), load=float(rng.uniform(0.05, 0.3)))
    episodes = tuple(Episode(p, s) for p, s in zip((0, 1, 2) * 4, lengths(rng, 12, 6, 20), strict=True))
    return Scenario(tuple(parts), episodes)


def waiting(rng: Rng) -> Scenario:
    """Draw two phases, and one in which the program sleeps: it has no function to instrument."""
    asleep = called(rng, 1)
    truth = replace(asleep.truth, sites=(), steps=(), accepted=tuple(asleep.truth.sites[0].places))
    truth = replace(truth, accepted_steps=asleep.truth.steps)
    parts = (any_work(rng, 0), replace(asleep, truth=truth, load=0.002), any_work(rng, 2))
    episodes = tuple(Episode(p, s) for p, s in zip((0, 1, 2) * 3, lengths(rng, 9, 8, 30), strict=True))
    return Scenario(parts, episodes)


def background(rng: Rng) -> Scenario:
    """Draw phases and a function that is active in all of them: it represents none."""
    scenario = in_turn((0, 1, 2, 3), 20, 70)(rng)
    return replace(scenario, background=float(rng.uniform(0.1, 0.35)))


def noise(rng: Rng) -> Scenario:
    """Draw intervals that share functions but no composition: no phases."""
    work = of_equal_leaves(rng, 5, 50)
    scatter = float(rng.uniform(5.0, 20.0))
    return Scenario((work,), (Episode(0, float(rng.uniform(100, 300))),), dispersion=scatter, distinct=False)


FAMILIES: dict[str, Make] = {
    **{f"count-{k:02d}": count_of(k) for k in range(1, 13)},
    "shares-90-10": shares_of(90, 10, total=300),
    "shares-5": shares_of(60, 35, 5, total=300),
    "shares-1": shares_of(70, 29, 1, total=600),
    "shares-tiny": shares_of(89, 3, 3, 3, 2, total=330),
    "few-intervals": shares_of(55, 45, total=14),
    "drift-slow": drift_slow,
    "drift-within": drift_within,
    "ramps": ramps,
    "transitions": in_turn((0, 1, 2) * 12, 2.5, 6.0),
    "alternating": in_turn((0, 1) * 8, 5.0, 20.0),
    "recurring": in_turn((0, 1, 0, 2, 0, 1, 3, 0, 2), 8.0, 40.0),
    "nested": in_turn((0, 1, 0, 1, 0, 1, 2, 0, 1, 0, 1, 0, 1, 2), 5.0, 15.0),
    "jitter": in_turn((0, 1, 2) * 5, 4.0, 30.0, interval_jitter=0.1),
    "over-dispersed": in_turn((0, 1, 2, 3), 25.0, 90.0, dispersion=4.0),
    "few-ticks": in_turn((0, 1, 2), 10.0, 30.0, interval_s=0.25),
    "many-ticks": in_turn((0, 1, 2), 15.0, 50.0, rate_hz=1000.0),
    "interleaved": interleaved,
    "interleaved-slow": interleaved_slow,
    "interleaved-phases": interleaved_phases,
    "same-leaves": same_leaves,
    "slow-calls": slow_calls,
    "lifted": lifted,
    "long-calls": long_calls,
    "off-cpu": off_cpu,
    "waiting": waiting,
    "background": background,
    "stray": in_turn((0, 1, 2, 1), 20.0, 60.0, stray=0.02),
    "missing": in_turn((0, 1, 2, 0, 2), 15.0, 40.0, missing=0.03, empty=0.02),
    "noise": noise,
    **HARD,
}
# Cases per family. Those with a number in the name are drawn twice, once for each half.
NUMBERS = {name: 2 if name.startswith("count-") else 4 for name in FAMILIES}
