"""Runs of a made-up program whose phases take times that are known, for comparisons.

program = [Work("fill", 400, 0.02, {"fill": 1.0}), Work("solve", 300, 0.05, {"solve": 0.7, "dot": 0.3})]
a = simulate(program, seed=1)
b = simulate(slower(program, "solve", 1.3), seed=2)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from incprof.analysis.answer import find_phases
from incprof.analysis.answer.describe import summarise
from incprof.analysis.diff import Recorded
from incprof.model import IntervalProfile
from tests.unit.synthetic import make_profile


@dataclass(frozen=True)
class Work:
    """A phase: iterations of `each_s` seconds in a mix of functions; its first function is called once in each."""

    iterations: int
    each_s: float
    mix: Mapping[str, float]
    called: bool = True
    # Iterations become dearer over the phase: the last one takes so many times as long as the first.
    growth: float = 1.0

    @property
    def name(self) -> str:
        return next(iter(self.mix))


def slower(program: Sequence[Work], name: str, factor: float) -> list[Work]:
    """The program with a phase that takes `factor` times as long."""
    return [replace(work, each_s=work.each_s * factor) if work.name == name else work for work in program]


def simulate(
    program: Sequence[Work],
    *,
    seed: int,
    scatter: float = 0.0,
    alike: float = 0.0,
    interval_s: float = 1.0,
    rate_hz: float = 100.0,
    rename: Mapping[str, str] | None = None,
) -> IntervalProfile:
    """Record the program.

    scatter: relative standard deviation of an iteration. alike: correlation of one iteration with the next.
    """
    rng = np.random.default_rng(seed)
    names = sorted({name for work in program for name in work.mix})
    ends, phase, called = [], [], []
    now = 0.0
    for number, work in enumerate(program):
        noise, state = np.zeros(work.iterations), rng.standard_normal()
        for i in range(work.iterations):
            noise[i] = state
            state = alike * state + np.sqrt(1 - alike**2) * rng.standard_normal()
        grown = np.linspace(1.0, work.growth, work.iterations)
        lengths = work.each_s * grown / grown.mean() * np.exp(scatter * noise - scatter**2 / 2)
        ends.append(now + np.cumsum(lengths))
        now = float(ends[-1][-1])
        phase += [number] * work.iterations
        called += [work.called] * work.iterations
    end, kind = np.concatenate(ends), np.array(phase)
    n = int(np.ceil(now / interval_s))
    edges = np.minimum(np.arange(n + 1) * interval_s, now)
    begins = np.array([0.0, *(float(e[-1]) for e in ends)])
    own, calls = np.zeros((n, len(names))), np.zeros((n, len(names)))
    for i in range(n):
        low, high = edges[i], edges[i + 1]
        inside = np.clip(np.minimum(begins[1:], high) - np.maximum(begins[:-1], low), 0.0, None)
        share = sum(t * np.array([w.mix.get(x, 0.0) for x in names]) for t, w in zip(inside, program, strict=True))
        ticks = int(np.floor(high * rate_hz)) - int(np.floor(low * rate_hz))
        if ticks and share.sum() > 0:
            own[i] = rng.multinomial(ticks, share / share.sum()) / rate_hz
    for at, number, counted in zip(np.minimum((end / interval_s).astype(int), n - 1), kind, called, strict=True):
        if counted:
            calls[at, names.index(program[number].name)] += 1
    shown = [(rename or {}).get(name, name) for name in names]
    profile = make_profile(own, calls, names=shown, interval_s=interval_s, rate_hz=rate_hz)
    return replace(profile, end_s=edges[1:], start_s=edges[:-1])


def recorded(profile: IntervalProfile, path: str = "run") -> Recorded:
    """A run with its phases, as `compare` wants it."""
    return path, summarise(profile, 1), profile, find_phases(profile)
