"""The paper's transition matrix of letters, and its predictor: the most probable next letter (section 4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

# A letter of the paper; None is its XXX.
Letter = int | None
# Number of occurrences of each letter after each: {letter: {next letter: count}}.
Transitions = Mapping[Letter, Mapping[Letter, int]]


def transitions(sequences: Iterable[Sequence[Letter]]) -> Transitions:
    """Count how often each letter follows each, in sequences of letters in order of time."""
    counts: dict[Letter, dict[Letter, int]] = {}
    for sequence in sequences:
        for a, b in pairwise(sequence):
            row = counts.setdefault(a, {})
            row[b] = row.get(b, 0) + 1
    return counts


def probability(row: Mapping[Letter, int], letter: Letter) -> float:
    """Return the probability of a letter in a row of the matrix."""
    return row.get(letter, 0) / sum(row.values())


def most_probable(row: Mapping[Letter, int]) -> Letter:
    """Return the most probable letter of a row; of equally probable ones XXX, else the least number."""
    return max(row, key=lambda each: (row[each], each is None, -(each or 0)))


def predicted(matrix: Transitions, letter: Letter, count: int) -> list[Letter]:
    """Return the predicted letters, each the most probable one after the previous.

    The sequence ends after `count` letters, or after a letter without a successor.
    """
    out: list[Letter] = []
    while len(out) < count and letter in matrix:
        letter = most_probable(matrix[letter])
        out.append(letter)
    return out
