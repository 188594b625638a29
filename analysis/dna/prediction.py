"""How well the paper predicts: the next letters by its transition matrix, and energy by its ratio (section 4, Table 2).

Each run is predicted by other runs than itself: by runs that are given to learn from, or, where none are, by all others
of its node (leave one out).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from incprof.analysis.dna.paper import estimated_energy
from incprof.analysis.dna.spelling import Spelling
from incprof.analysis.dna.transitions import Letter, Transitions, predicted, transitions

# The part of a run that is executed before its energy is estimated.
EXECUTED = 0.2
# So many letters are given before the rest of a run is predicted.
GIVEN = 2


@dataclass(frozen=True)
class NextLetters:
    """Letters of a node that were predicted.

    Attributes:
        node: its name.
        learnt: runs of it that were learnt from, for each of those that were predicted.
        runs: that were predicted.
        letters: whose next letter was predicted.
        right: of these, predicted rightly.
        same: of these, right by "the same again".
        ahead: mean of letters predicted rightly from the second letter of a run on, until the first wrong one.
        rest: mean of letters that there were to predict so.
    """

    node: str
    learnt: int
    runs: int
    letters: int
    right: int
    same: int
    ahead: float
    rest: float


@dataclass(frozen=True)
class RunEnergy:
    """The energy of runs of an application on a node, a row of Table 2. All energies are joules.

    Attributes:
        application, node: of the runs.
        runs: that were estimated.
        estimated_j: mean of the estimates, from the first fifth of each run.
        measured_j: mean of what they took.
        peak_j: the most that one of them took.
        error: mean of |estimated - measured| / measured.
        letters_j: mean of the energies that the letters of the runs stand for, by their power in other runs of it.
    """

    application: str
    node: str
    runs: int
    estimated_j: float
    measured_j: float
    peak_j: float
    error: float
    letters_j: float

    @property
    def accuracy(self) -> float:
        """The paper's: estimated over measured energy."""
        return self.estimated_j / self.measured_j


@dataclass(frozen=True)
class Fold:
    """A run, and the runs that it is predicted by."""

    run: Spelling
    learnt: tuple[Spelling, ...]


def folds(runs: Sequence[Spelling], tests: Sequence[Spelling]) -> list[Fold]:
    """Return what is predicted by what: tests by runs, or each run by all others where there are no tests."""
    if tests:
        return [Fold(test, tuple(runs)) for test in tests]
    return [Fold(run, (*runs[:at], *runs[at + 1 :])) for at, run in enumerate(runs)]


def next_letters(every: Sequence[Fold]) -> list[NextLetters]:
    """Predict the letters of runs by the transition matrix of their node, nodes in the order of their names.

    Runs of nodes of which there is no other run are left out.
    """
    found: dict[str, list[tuple[int, int, int, int, int, int]]] = {}
    for fold in every:
        own = [run for run in fold.learnt if run.rows.node == fold.run.rows.node]
        if own:
            matrix = transitions(run.sequence for run in own)
            found.setdefault(fold.run.rows.node, []).append((len(own), *_predict(matrix, fold.run.letters)))
    return [
        NextLetters(
            node, each[0][0], len(each), sum(r[1] for r in each), sum(r[2] for r in each), sum(r[3] for r in each),
            float(np.mean([r[4] for r in each])), float(np.mean([r[5] for r in each])),
        )
        for node, each in sorted(found.items())
    ]  # fmt: skip


def _predict(matrix: Transitions, letters: Sequence[Letter]) -> tuple[int, int, int, int, int]:
    """Return letters whose next one was predicted, right ones, right by "the same again"; right ahead, and the rest."""
    pairs = list(pairwise(letters))
    right = sum(predicted(matrix, a, 1) == [b] for a, b in pairs)
    same = sum(a == b for a, b in pairs)
    rest = letters[GIVEN:]
    guessed = predicted(matrix, letters[GIVEN - 1], len(rest)) if rest else []
    ahead = 0
    while ahead < len(guessed) and guessed[ahead] == rest[ahead]:
        ahead += 1
    return len(pairs), right, same, ahead, len(rest)


def energies(every: Sequence[Fold]) -> list[RunEnergy]:
    """Estimate the energy of runs of which others of the same application are known, by application and node."""
    found: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for fold in every:
        run = fold.run
        like = [each for each in fold.learnt if each.application == run.application]
        if like:
            own = [each for each in like if each.rows.node == run.rows.node] or like
            reference = max(own, key=lambda each: _alike(run, each))
            measured, estimated = run.rows.energy_j(0, 1), _estimate(run, reference)
            if measured > 0 and estimated is not None:
                row = (estimated, measured, _by_letters(run, own))
                found.setdefault((run.application, run.rows.node), []).append(row)
    out = []
    for (application, node), rows in sorted(found.items()):
        estimated, measured, by_letters = np.array(rows).T
        error = float(np.mean(np.abs(estimated / measured - 1)))
        out.append(
            RunEnergy(
                application, node, len(rows), float(estimated.mean()), float(measured.mean()), float(measured.max()),
                error, float(by_letters.mean()),
            )
        )  # fmt: skip
    return out


def _alike(run: Spelling, other: Spelling) -> float:
    """Return how many letters of the executed part are those of another run, as a share; of the shorter part."""
    count = max(1, min(round(EXECUTED * len(run.letters)), len(other.letters)))
    return sum(a == b for a, b in zip(run.letters[:count], other.letters, strict=False)) / count


def _estimate(run: Spelling, reference: Spelling) -> float | None:
    """Return the estimate of a run's energy from its executed part (section 3.2): each run is cut at the same part.

    None where the reference took no energy in that part.
    """
    here, there = (each.rows.energy_j(0, EXECUTED) for each in (run, reference))
    return estimated_energy(here, there, reference.rows.energy_j(EXECUTED, 1)) if there > 0 else None


def _by_letters(run: Spelling, own: Sequence[Spelling]) -> float:
    """Return the energy profile of a run: each letter at its mean power in other runs of the application."""
    joules: dict[Letter, float] = {}
    seconds: dict[Letter, float] = {}
    for each in own:
        for letter, s, j in zip(each.letters, each.seconds.tolist(), each.joules.tolist(), strict=True):
            seconds[letter], joules[letter] = seconds.get(letter, 0.0) + s, joules.get(letter, 0.0) + j
    usual = sum(joules.values()) / sum(seconds.values())
    watts = sum(
        s * (joules[letter] / seconds[letter] if letter in seconds else usual)
        for letter, s in zip(run.letters, run.seconds.tolist(), strict=True)
    )
    return float(watts * run.rows.seconds / float(run.seconds.sum()))
