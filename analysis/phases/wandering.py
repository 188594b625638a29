"""Whether groups are phases, or parts of a mix that wanders about, with nothing between them."""

from __future__ import annotations

import numpy as np

from incprof.analysis.options.phases import PHASES, PhaseOptions
from incprof.analysis.phases.separation import distances, evenly, silhouette
from incprof.analysis.phases.stretches import Sums
from incprof.analysis.phases.visits import visits_of
from incprof.model import IntArray

# Intervals are averaged until counting explains so small a part of the distance between groups.
CLEAR = 9.0
LONGEST = 64
# Parts of a run that are compared.
MOST = 800


def wanders(sums: Sums, labels: IntArray, options: PhaseOptions = PHASES) -> bool:
    """Tell whether groups, (n,) labels, have no structure (Kaufman and Rousseeuw 1990, of averaged intervals)."""
    groups = np.unique(labels[labels >= 0])
    if len(groups) < 2:
        return False
    counts, total = sums.ticks.counts, sums.ticks.total
    middle = np.stack([counts[labels == g].sum(axis=0) / total[labels == g].sum() for g in groups])
    pairs = [((middle[i] - middle[j]) ** 2 / sums.scatter).sum() for i in range(len(groups)) for j in range(i)]
    ticks = float(np.median(total[labels >= 0]))
    noise = float((middle * (1.0 - middle)).clip(0.0).sum(axis=1).mean()) / ticks
    length = int(np.clip(np.ceil(CLEAR * noise / max(min(pairs), 1e-12)), 1, LONGEST))
    first, end, group = _parts(labels, length)
    seen = evenly(len(group), MOST)
    if len(np.unique(group[seen])) < 2:
        return False
    rows = sums.shares(first[seen], end[seen]) / np.sqrt(sums.scatter)
    value = silhouette(distances(rows), np.unique(group[seen], return_inverse=True)[1])
    return value is not None and value < options.distinct


def _parts(labels: IntArray, length: int) -> tuple[IntArray, IntArray, IntArray]:
    """Cut visits into parts of at least so many intervals: first, end and group of each."""
    visits = visits_of(labels)
    first, end, group = [], [], []
    for start, stop, label in zip(visits.first, visits.end, visits.group, strict=True):
        edges = np.linspace(start, stop, max(1, int(stop - start) // length) + 1).astype(np.int64)
        first += edges[:-1].tolist()
        end += edges[1:].tolist()
        group += [int(label)] * (len(edges) - 1)
    return np.array(first), np.array(end), np.array(group)
