"""A run in the paper's letters of fixed length: each 15 s have the letter of the phase that most of them are in.

Phases are those of Algorithm 1 (section 4.2: the alphabet is made by it, and all letters have the same duration).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from incprof.analysis.dna.letters import as_set
from incprof.analysis.dna.paper import Phase
from incprof.analysis.dna.rows import NodeRows
from incprof.analysis.dna.transitions import Letter
from incprof.model import FloatArray, IntArray

# A last piece of a run that is shorter than this part of a letter is none.
LEAST = 0.5


@dataclass(frozen=True)
class Spelling:
    """A run in letters.

    Attributes:
        application: what ran.
        source: the file that it is from.
        letters: (n,) one for each length of time, None is XXX.
        seconds: (n,) how much of each was recorded.
        joules: (n,) the energy of these seconds.
        rows: of the run, from the first that is not idle to the last.
    """

    application: str
    source: str
    letters: tuple[Letter, ...]
    seconds: FloatArray
    joules: FloatArray
    rows: NodeRows

    @property
    def sequence(self) -> tuple[Letter, ...]:
        """The letters between the idle states in which a system begins and ends (section 3)."""
        return (None, *self.letters, None)


def windows(ends_s: FloatArray, period_s: float, length_s: float) -> IntArray:
    """Return the number of the length of time in which each row lies, (rows,), from 0 at the start of the first row.

    A row is of the length in which its middle lies. Rows of a last piece shorter than half a length are -1.
    """
    since = ends_s - period_s / 2 - (ends_s[0] - period_s)
    at = np.floor(since / length_s + 1e-9).astype(np.int64)
    whole = float(ends_s[-1] - ends_s[0]) + period_s
    last = int(at[-1])
    short = last > 0 and whole - last * length_s < LEAST * length_s
    return np.where(at == last, -1, at) if short else at


def spell(application: str, source: str, rows: NodeRows, phases: Sequence[Phase], length_s: float) -> Spelling:
    """Spell a run in letters of a length, from the phases of its rows. Of two letters with as many rows, the first."""
    at = windows(rows.ends_s, rows.period_s, length_s)
    phase = np.repeat(np.arange(len(phases)), [each.last - each.first for each in phases])
    spans = np.minimum(np.diff(rows.ends_s, prepend=rows.begins_s), 2 * rows.period_s)
    usual = float(np.nanmean(rows.watts))
    letters: list[Letter] = []
    seconds, joules = [], []
    for number in range(int(at.max()) + 1):
        own = np.flatnonzero(at == number)
        if not len(own):
            continue  # nothing was recorded then
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
    """Give letters of the same four counters one number: in the order of their rank where they occur first."""
    first: dict[int, int] = {}
    return [replace(run, letters=tuple(one_of_set(letter, first) for letter in run.letters)) for run in runs]


def one_of_set(letter: Letter, first: dict[int, int]) -> Letter:
    """Return the letter by which the same four counters were called first; `first` keeps them by their set."""
    return None if letter is None else first.setdefault(as_set(letter), letter)
