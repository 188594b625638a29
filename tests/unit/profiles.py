"""Profiles and streams with phases that are known by construction."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from incprof.model import IntervalProfile
from tests.unit.streamwriter import Sample, StreamWriter
from tests.unit.synthetic import make_profile


def rows(*lines: str) -> IntervalProfile:
    """A profile from lines such as "a=90/3 b=10", one for each interval: function=ticks/calls."""
    names = sorted({part.split("=")[0] for line in lines for part in line.split()})
    own, calls = np.zeros((len(lines), len(names))), np.zeros((len(lines), len(names)))
    for i, line in enumerate(lines):
        for part in line.split():
            name, numbers = part.split("=")
            ticks, _, count = numbers.partition("/")
            own[i, names.index(name)] = int(ticks) / 100
            calls[i, names.index(name)] = int(count or 0)
    return make_profile(own, calls, names=names)


def noisy(
    shares: Sequence[dict[str, float]], lengths: Sequence[int], *, ticks: int = 100, seed: int = 0
) -> IntervalProfile:
    """A profile that stays `lengths[i]` intervals in the mix `shares[i]`, with the noise of sampling."""
    rng = np.random.default_rng(seed)
    names = sorted({name for mix in shares for name in mix})
    out = []
    for mix, length in zip(shares, lengths, strict=True):
        p = np.array([mix.get(name, 0.0) for name in names])
        out.append(rng.multinomial(ticks, p / p.sum(), size=length) / 100)
    return make_profile(np.vstack(out), names=names)


def two_phase_run(directory: Path, *, intervals: int = 20, ranks: Sequence[int] = (0,), **metadata: object) -> Path:
    """A run directory: main calls solve for the first half, write_out for the second. 90 ticks each, 10 in libm."""
    for rank in ranks:
        writer = StreamWriter(["main", "solve", "write_out"], rank=rank, ranks=len(ranks), **metadata)
        for i in range(intervals):
            what = "solve" if i < intervals // 2 else "write_out"
            path = f"main;{what}"
            samples = [Sample(path, weight=88 + i % 3), Sample("main", weight=2), Sample(path, 1, weight=10)]
            writer.interval(samples, arcs={("main", what): 5} if what == "write_out" else {})
        writer.end()
        writer.save(directory)
    return directory
