"""Measures of how well a clustering separates its data, without a ground truth."""

from __future__ import annotations

import numpy as np

from incprof.model import FloatArray, IntArray

SILHOUETTE_SAMPLE = 2000


def evenly(n: int, most: int) -> IntArray:
    """Return at most `most` indices spread evenly over 0..n-1: a sample without random numbers."""
    return np.arange(n, dtype=np.int64) if n <= most else np.linspace(0, n - 1, most).round().astype(np.int64)


def distances(x: FloatArray) -> FloatArray:
    """Return the Euclidean distances between all rows, shape (n, n)."""
    norms = (x**2).sum(axis=1)
    squares = norms[:, None] + norms[None, :] - 2.0 * (x @ x.T)
    np.maximum(squares, 0.0, out=squares)
    np.fill_diagonal(squares, 0.0)
    roots: FloatArray = np.sqrt(squares)
    return roots


def silhouette(distance: FloatArray, labels: IntArray) -> float | None:
    """Return the mean silhouette of labels 0..k-1 over a distance matrix (n, n); None for fewer than two clusters."""
    each = silhouettes(distance, labels)
    return None if each is None else float(each.mean())


def silhouettes(distance: FloatArray, labels: IntArray) -> FloatArray | None:
    """Return the silhouette of each interval, (n,): from 1, deep in its cluster, to -1, in another one; or None.

    A cluster of one interval counts 0, as usual.
    """
    values = np.unique(labels)
    if not 2 <= len(values) < len(labels):
        return None
    member = labels[:, None] == values[None, :]
    size = member.sum(axis=0)
    sums = distance @ member
    own = sums[member]
    own_size = (member * size).sum(axis=1)
    inside = own / np.maximum(own_size - 1, 1)
    means = np.where(member, np.inf, sums / size)
    nearest = means.min(axis=1)
    larger = np.maximum(inside, nearest)
    value = np.divide(nearest - inside, larger, out=np.zeros_like(larger), where=larger > 0)
    found: FloatArray = np.where(own_size > 1, value, 0.0)
    return found


def calinski_harabasz(total: float, inertia: float, n: int, k: int) -> float | None:
    """Return the variance ratio criterion from the inertia for one cluster and for k; None where it is not defined."""
    if not 1 < k < n or inertia <= 0:
        return None
    return ((total - inertia) / (k - 1)) / (inertia / (n - k))


def separation(a: FloatArray, b: FloatArray) -> float:
    """Return Ashman's D of two groups (rows) along the line between their centers; infinite for two points."""
    line = b.mean(axis=0) - a.mean(axis=0)
    length = float(np.sqrt(line @ line))
    if length == 0.0:
        return 0.0
    spread = float(np.var(a @ (line / length)) + np.var(b @ (line / length)))
    return np.sqrt(2.0) * length / np.sqrt(spread) if spread > 0 else np.inf
