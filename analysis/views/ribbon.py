"""A run as one line of characters: its phases from left to right."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from incprof.model import FloatArray, IntArray

SIGNS = "0123456789abcdefghijklmnopqrstuvwxyz"
UNCLASSIFIED = "."
# Label of time in which the program was suspended, which belongs to no interval.
SUSPENDED = -2
# Digits of a cell's share: the sum of a million lengths is off by 1e-12 of a hundredth of the run.
TIE_DIGITS = 9


def cells(labels: IntArray, width: int) -> list[int]:
    """Return the most frequent label of each of at most `width` equal parts of the run.

    A tie goes to the label that is rarer in the whole run, so that a short phase is not hidden by a long one.
    """
    n = len(labels)
    edges = np.linspace(0, n, min(n, max(width, 1)) + 1).round().astype(int)
    total = {int(value): int(count) for value, count in zip(*np.unique(labels, return_counts=True), strict=True)}
    out = []
    for low, high in pairwise(edges.tolist()):
        values, counts = np.unique(labels[low:high], return_counts=True)
        found = zip(values.tolist(), counts.tolist(), strict=True)
        out.append(min((-count, total[value], value) for value, count in found)[2])
    return out


def stretched(labels: IntArray, width: int, end_s: FloatArray | None = None) -> list[int]:
    """Return exactly `width` cells, equal parts of time: the label with most of each.

    end_s: (n,) ends of the intervals, in order, the first one begins at 0; None if all are equally long.
    """
    ends = np.arange(len(labels) + 1.0)
    if end_s is not None and end_s[-1] > 0:
        ends[1:] = np.maximum.accumulate(end_s)
    edges = np.linspace(0.0, ends[-1], width + 1)
    values, counts = np.unique(labels, return_counts=True)
    values = values[np.lexsort((values, counts))]
    until = np.empty((len(values), width + 1))
    for i, value in enumerate(values.tolist()):
        seconds = np.where(labels == value, np.diff(ends), 0.0).cumsum()
        until[i] = np.interp(edges, ends, np.concatenate([[0.0], seconds]))
    # Rounded, so that ties are exact: they go to the rarer label, as in `cells`.
    share = np.round(np.diff(until, axis=1) * width / ends[-1], TIE_DIGITS)
    return [int(values[i]) for i in share.argmax(axis=0)]


def with_suspensions(labels: IntArray, end_s: FloatArray, suspensions: FloatArray) -> tuple[IntArray, FloatArray]:
    """Insert suspensions, (s, 2), into the labels and ends of intervals."""
    place = np.searchsorted(end_s, suspensions[:, 0], side="right")
    return np.insert(labels, place, SUSPENDED), np.insert(end_s, place, suspensions[:, 1])


def sign(label: int) -> str:
    """Return the character of a phase, readable without colour."""
    if label == SUSPENDED:
        return " "
    return UNCLASSIFIED if label < 0 else SIGNS[label % len(SIGNS)]


def badge(label: int) -> str:
    """Return the number of a phase for users, with its character in the ribbon if that differs."""
    return sign(label) if label < 10 else f"{label} {sign(label)}"


def runs(part: Sequence[int]) -> list[tuple[int, int]]:
    """Return (label, number of cells) of each run of equal cells."""
    out: list[tuple[int, int]] = []
    for label in part:
        if out and out[-1][0] == label:
            out[-1] = (label, out[-1][1] + 1)
        else:
            out.append((label, 1))
    return out
