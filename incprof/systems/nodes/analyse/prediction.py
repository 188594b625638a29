"""Accuracy of the paper's predictions: next letters by its transition matrix, energy by its ratio (section 4, Table 2).

Each run is predicted from other runs: from given training runs, or, without those, from all others of its node (leave
one out).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from incprof.systems.nodes.analyse.paper import estimated_energy
from incprof.systems.nodes.analyse.spelling import Spelling
from incprof.systems.nodes.analyse.transitions import Letter, Transitions, predicted, transitions

# Share of a run that is executed before its energy is estimated.
EXECUTED = 0.2
# Number of letters known before the rest of a run is predicted.
GIVEN = 2


@dataclass(frozen=True)
class NextLetters:
    """Accuracy of predicted letters on a node.

    Attributes:
        node: Name of the node.
        learnt: Number of training runs, for each predicted run.
        runs: Number of predicted runs.
        letters: Number of letters whose next letter was predicted.
        right: Correct predictions.
        same: Correct predictions by repeating the letter.
        ahead: Mean number of correct letters, from the second letter of a run until the first wrong one.
        rest: Mean number of letters to predict so.
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
    """Energy of the runs of an application on a node, a row of Table 2. All energies are in joules.

    Attributes:
        application: Name of the application.
        node: Name of the node.
        runs: Number of estimated runs.
        estimated_j: Mean of the estimates, from the first fifth of each run.
        measured_j: Mean of the measured energies.
        peak_j: Greatest measured energy.
        error: Mean of |estimated - measured| / measured.
        letters_j: Mean energy of the runs' letters, at their power in other runs of the application.
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
        """The paper's accuracy: estimated over measured energy."""
        return self.estimated_j / self.measured_j


@dataclass(frozen=True)
class Fold:
    """A run, and the runs from which it is predicted."""

    run: Spelling
    learnt: tuple[Spelling, ...]


def folds(runs: Sequence[Spelling], tests: Sequence[Spelling]) -> list[Fold]:
    """Pair runs with training runs: tests with all runs, or each run with all others if there are no tests."""
    if tests:
        return [Fold(test, tuple(runs)) for test in tests]
    return [Fold(run, (*runs[:at], *runs[at + 1 :])) for at, run in enumerate(runs)]


def next_letters(every: Sequence[Fold]) -> list[NextLetters]:
    """Predict the letters of runs from the transition matrix of their node; nodes are in the order of their names.

    Runs of nodes without another run are omitted.
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
    """Return the numbers of letters predicted, correct, correct by repetition, correct ahead, and to come."""
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
    """Estimate the energy of runs with other known runs of the application, by application and node."""
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
    """Return the share of letters of the executed part that equal another run's, over the shorter of both."""
    count = max(1, min(round(EXECUTED * len(run.letters)), len(other.letters)))
    return sum(a == b for a, b in zip(run.letters[:count], other.letters, strict=False)) / count


def _estimate(run: Spelling, reference: Spelling) -> float | None:
    """Return the energy of a run, estimated from its executed part (section 3.2); runs are cut at the same share.

    None if the reference took no energy in that part.
    """
    here, there = (each.rows.energy_j(0, EXECUTED) for each in (run, reference))
    return estimated_energy(here, there, reference.rows.energy_j(EXECUTED, 1)) if there > 0 else None


def _by_letters(run: Spelling, own: Sequence[Spelling]) -> float:
    """Return the energy of a run's letters, each at its mean power in other runs of the application."""
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
