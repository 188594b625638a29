"""Series with known periods: regions of instances of a pattern between stretches in which nothing repeats.

Shaped like the profiles of the paper's Table II by name. What is drawn comes from one seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray, IntArray


@dataclass(frozen=True)
class Part:
    """A periodicity of a profile: its length in samples, its share of the time, its mean instances in a region."""

    length: int
    share: float
    in_region: int


@dataclass(frozen=True)
class Truth:
    """A series, (n,), and where it is periodic: instances (q, 2), and the part that each is of, (q,)."""

    values: FloatArray
    instances: IntArray
    part: IntArray

    def periodic(self) -> FloatArray:
        """Return 1 for samples inside an instance, else 0, shape (n,)."""
        inside = np.zeros(len(self.values))
        for start, end in self.instances.tolist():
            inside[start:end] = 1
        return inside


# Lengths, shares and regions after Table II and the text of section IV-B; HPCG's first two patterns are its set-up.
SHAPES: dict[str, tuple[Part, ...]] = {
    "HPCG": (Part(290, 0.159, 14), Part(340, 0.159, 14), Part(436, 0.574, 14)),
    "NEMO": (Part(224, 0.7673, 21),),
    "OpenFOAM": (Part(527, 0.6748, 4),),
}


def profile(
    samples: int, parts: Sequence[Part], seed: int, *, noise: float = 0.03, jitter: float = 0.01, drift: float = 0.0
) -> Truth:
    """Draw a profile.

    Args:
        samples: Its length, about: the last region or stretch is whole.
        parts: Its periodicities; those before the last come first, one after the other, as an initialisation does.
        seed: Of everything that is drawn.
        noise: Standard deviation of a sample, as a share of the range of values.
        jitter: Standard deviation of an instance's length, as a share of it: samples are put in and left out.
        drift: Change of level over the whole series, as a share of the range of values.
    """
    draw = np.random.default_rng(seed)
    pieces: list[FloatArray] = []
    instances: list[tuple[int, int, int]] = []
    at = 0
    for index, part in enumerate(parts):
        pattern = shape(part.length, draw)
        budget = samples * part.share
        between = samples * (1 - sum(p.share for p in parts)) / sum(p.share / (p.length * p.in_region) for p in parts)
        between *= 1 / samples
        while budget > 0:
            gap = stretch(max(int(draw.gamma(4, between / 4)), 8), draw)
            pieces.append(gap)
            at += len(gap)
            for _ in range(max(2, int(draw.poisson(part.in_region)))):
                one = instance(pattern, jitter, draw)
                instances.append((at, at + len(one), index))
                pieces.append(one)
                at += len(one)
                budget -= len(one)
    pieces.append(stretch(max(int(between), 8), draw))
    values = np.concatenate(pieces)
    values = values + noise * draw.standard_normal(len(values)) + drift * np.linspace(0, 1, len(values))
    table = np.array(instances, dtype=np.int64)
    return Truth(values, table[:, :2], table[:, 2])


def shape(length: int, draw: np.random.Generator) -> FloatArray:
    """Draw a pattern between 0.2 and 1.2: plateaus of a few kernels with soft edges, and a slow wave."""
    edges = np.sort(draw.choice(np.arange(1, length), size=min(6, length - 1), replace=False))
    levels = draw.uniform(0.2, 1.2, size=len(edges) + 1)
    flat = levels[np.searchsorted(edges, np.arange(length), side="right")]
    width = max(length // 40, 1)
    soft = np.convolve(np.concatenate([flat[-width:], flat, flat[:width]]), np.ones(2 * width + 1) / (2 * width + 1))
    wave = 0.1 * np.sin(2 * np.pi * (np.arange(length) / length * draw.integers(1, 4) + draw.uniform()))
    return np.asarray(soft[2 * width : 2 * width + length] + wave)


def instance(pattern: FloatArray, jitter: float, draw: np.random.Generator) -> FloatArray:
    """Return the pattern a little slower or faster here and there, and a little higher or lower."""
    length = len(pattern)
    target = max(2, length + round(draw.normal(0, jitter * length)))
    knots = np.linspace(0, 1, 5)
    bent = np.sort(knots + np.concatenate([[0], draw.normal(0, jitter / 2, 3), [0]]))
    where = np.interp(np.linspace(0, 1, target), knots, bent) * (length - 1)
    return np.asarray(np.interp(where, np.arange(length), pattern) * draw.normal(1, 0.01))


def stretch(length: int, draw: np.random.Generator) -> FloatArray:
    """Return values in which nothing repeats: plateaus of all lengths and correlated noise."""
    out = np.empty(length)
    at = 0
    while at < length:
        run = int(draw.exponential(length / 6)) + 4
        out[at : at + run] = draw.uniform(0.1, 1.3)
        at += run
    wander = np.convolve(
        draw.standard_normal(length + 24), np.hanning(25) / np.sqrt((np.hanning(25) ** 2).sum()), "valid"
    )
    return out + 0.1 * wander
