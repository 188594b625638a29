"""Convert a run to the paper's letters of fixed length: each 15 s get the letter of their most frequent phase.

The phases are those of Algorithm 1 (section 4.2: the alphabet is made by it, and all letters have the same duration).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from incprof.model import FloatArray, IntArray
from incprof.systems.nodes.analyse.letters import as_set
from incprof.systems.nodes.analyse.node_input import NodeRows
from incprof.systems.nodes.analyse.paper import Phase
from incprof.systems.nodes.analyse.transitions import Letter

# A last piece of a run that is shorter than this share of a letter is dropped.
LEAST = 0.5


@dataclass(frozen=True)
class Spelling:
    """A run in letters.

    Attributes:
        application: Name of the application.
        source: The source file.
        letters: (n,) one for each period of fixed length, None is XXX.
        seconds: (n,) recorded time in each.
        joules: (n,) energy of that time.
        rows: Rows of the run, from the first to the last that is not idle.
    """

    application: str
    source: str
    letters: tuple[Letter, ...]
    seconds: FloatArray
    joules: FloatArray
    rows: NodeRows

    @property
    def sequence(self) -> tuple[Letter, ...]:
        """Letters between the idle states in which a system begins and ends (section 3)."""
        return (None, *self.letters, None)


def windows(ends_s: FloatArray, period_s: float, length_s: float) -> IntArray:
    """Return for each row the number of the period of fixed length that contains it, (rows,), from 0.

    A row belongs to the period that contains its middle. Rows of a last piece shorter than half a period are -1.
    """
    since = ends_s - period_s / 2 - (ends_s[0] - period_s)
    at = np.floor(since / length_s + 1e-9).astype(np.int64)
    whole = float(ends_s[-1] - ends_s[0]) + period_s
    last = int(at[-1])
    short = last > 0 and whole - last * length_s < LEAST * length_s
    return np.where(at == last, -1, at) if short else at


def spell(application: str, source: str, rows: NodeRows, phases: Sequence[Phase], length_s: float) -> Spelling:
    """Convert a run to letters of a fixed length, from the phases of its rows; the first of equally frequent ones."""
    at = windows(rows.ends_s, rows.period_s, length_s)
    phase = np.repeat(np.arange(len(phases)), [each.last - each.first for each in phases])
    spans = np.minimum(np.diff(rows.ends_s, prepend=rows.begins_s), 2 * rows.period_s)
    usual = float(np.nanmean(rows.watts))
    letters: list[Letter] = []
    seconds, joules = [], []
    for number in range(int(at.max()) + 1):
        own = np.flatnonzero(at == number)
        if not len(own):
            continue  # nothing was recorded in this period
        counts: dict[Letter, int] = {}
        for each in phase[own].tolist():
            counts[phases[each].letter] = counts.get(phases[each].letter, 0) + 1
        letters.append(max(counts, key=lambda letter: counts[letter]))
        watts = rows.watts[own]
        mean = float(np.nanmean(watts)) if np.isfinite(watts).any() else usual
        seconds.append(float(spans[own].sum()))
        joules.append(mean * seconds[-1])
    return Spelling(application, source, tuple(letters), np.array(seconds), np.array(joules), rows)


def as_sets(runs: Sequence[Spelling]) -> list[Spelling]:
    """Unify letters with the same four counters: each becomes the first of them to occur."""
    first: dict[int, int] = {}
    return [replace(run, letters=tuple(one_of_set(letter, first) for letter in run.letters)) for run in runs]


def one_of_set(letter: Letter, first: dict[int, int]) -> Letter:
    """Return the first letter that had the same four counters; `first` records letters by their set of counters."""
    return None if letter is None else first.setdefault(as_set(letter), letter)
