"""Runs of nodes in the paper's letters: their alphabet, the transitions of each node, and their predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from incprof.errors import NoDataError
from incprof.model import FloatArray
from incprof.model.series import NodeSeries
from incprof.systems.nodes.analyse.comparable_rates import counters_of
from incprof.systems.nodes.analyse.learn import common_counters
from incprof.systems.nodes.analyse.paper import (
    Letter,
    Transitions,
    decode,
    estimated_energy,
    number_of,
    phases_but_idle,
    predicted,
    transitions,
)
from incprof.systems.nodes.analyse.spelling import NodeRows, Spelling, as_sets, rows_of, spell


@dataclass(frozen=True)
class Recording:
    """A recording of a node.

    Attributes:
        series: Its rows.
        application: The application that ran.
        source: The source file.
    """

    series: NodeSeries
    application: str
    source: str


@dataclass(frozen=True)
class LetterOptions:
    """Options for letters.

    Attributes:
        length_s: Duration of a letter, in seconds.
        ranked: Whether the order of the counters matters.
        select: Selection of relevant counters, a key of `paper.WAYS`.
        beta: Cache misses per cycle below which a row is idle; None: a row is idle if all rates are small.
    """

    length_s: float
    ranked: bool
    select: str
    beta: float | None


@dataclass(frozen=True)
class LetterOfAlphabet:
    """A letter of the alphabet.

    Attributes:
        letter: Its number; None for XXX.
        counters: Names of its counters, in order of rank.
        times: Number of occurrences.
        seconds: Total duration.
        power_w: Mean power.
        applications: Applications in which it occurs.
    """

    letter: Letter
    counters: tuple[str, ...]
    times: int
    seconds: float
    power_w: float
    applications: tuple[str, ...]


@dataclass(frozen=True)
class PaperLetters:
    """Runs in letters, and the predictions based on them.

    Attributes:
        options: Options for the letters.
        counters: Names of their counters.
        runs: Runs to learn from; without tests each is predicted from the others.
        tests: Runs predicted from `runs`.
        alphabet: All letters, by total time, descending.
        matrices: Transitions of the runs of each node.
        next_letters: Predictions of letters, for nodes with more than one run.
        energies: Predictions of energy, for applications with more than one run.
    """

    options: LetterOptions
    counters: tuple[str, ...]
    runs: tuple[Spelling, ...]
    tests: tuple[Spelling, ...]
    alphabet: tuple[LetterOfAlphabet, ...]
    matrices: Mapping[str, Transitions]
    next_letters: tuple[NextLetters, ...]
    energies: tuple[RunEnergy, ...]

    @property
    def simulated(self) -> bool:
        """Whether power comes from a formula in any of the files."""
        return any(each.rows.simulated for each in (*self.runs, *self.tests))


def paper_letters(learnt: Sequence[Recording], tests: Sequence[Recording], options: LetterOptions) -> PaperLetters:
    """Convert runs to letters, count their transitions, and predict runs from others.

    Recordings in which the node is always idle are omitted.

    Raises:
        NoDataError: power is missing, no counter that all have varies, or all nodes are idle.
    """
    every = [*learnt, *tests]
    names = common_counters([each.series for each in every])
    most = np.quantile(np.concatenate([counters_of(each.series, names) for each in every]), 0.995, axis=0)
    spelt = [_spelling(each, names, most, options) for each in every]
    kept = [each for each in spelt if each is not None]
    if not options.ranked:
        kept = as_sets(kept)
    count = sum(each is not None for each in spelt[: len(learnt)])
    runs, tried = kept[:count], kept[count:]
    if not runs:
        raise NoDataError("the nodes are idle in all rows: there is no run to spell")
    by_node: dict[str, list[Spelling]] = {}
    for run in runs:
        by_node.setdefault(run.rows.node, []).append(run)
    every_fold = folds(runs, tried)
    return PaperLetters(
        options, names, tuple(runs), tuple(tried), _alphabet(kept, names),
        {node: transitions(run.sequence for run in own) for node, own in sorted(by_node.items())},
        tuple(next_letters(every_fold)), tuple(energies(every_fold)),
    )  # fmt: skip


def _spelling(recording: Recording, names: Sequence[str], most: FloatArray, options: LetterOptions) -> Spelling | None:
    """Convert a recording to letters, without the idle times at both ends; None if all of it is idle."""
    all_rows = rows_of(recording.series, names, most, options.beta)
    rows: NodeRows = all_rows[all_rows.busy]
    if not len(rows.ends_s) or not np.isfinite(rows.watts).any():
        return None
    phases_found = phases_but_idle(
        rows.rates, rows.watts, names, rows.idle, ranked=options.ranked, select=options.select
    )
    return spell(recording.application, recording.source, rows, phases_found, options.length_s)


def _alphabet(runs: Sequence[Spelling], names: Sequence[str]) -> tuple[LetterOfAlphabet, ...]:
    """Collect the letters of runs."""
    called = {number: name for number, name in zip(number_of(names), names, strict=True) if number is not None}
    every = [
        (letter, float(s), float(j), run.application)
        for run in runs
        for letter, s, j in zip(run.letters, run.seconds, run.joules, strict=True)
    ]
    letters = []
    for letter in dict.fromkeys(each[0] for each in every):
        own = [each for each in every if each[0] == letter]
        seconds = sum(each[1] for each in own)
        counters = () if letter is None else tuple(called[number] for number in decode(letter))
        watts = sum(each[2] for each in own) / seconds
        letters.append(
            LetterOfAlphabet(letter, counters, len(own), seconds, watts, tuple(sorted({each[3] for each in own})))
        )
    return tuple(sorted(letters, key=lambda each: (-each.seconds, -1 if each.letter is None else each.letter)))


# Accuracy of the paper's predictions: next letters by its transition matrix, energy by its ratio (section 4, Table
# 2).
#
# Each run is predicted from other runs: from given training runs, or, without those, from all others of its node
# (leave one out).


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
        correct_ahead: Mean number of correct letters, from the second letter of a run until the first wrong one.
        to_come: Mean number of letters to predict so.
    """

    node: str
    learnt: int
    runs: int
    letters: int
    right: int
    same: int
    correct_ahead: float
    to_come: float


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
    by_node: dict[str, list[tuple[int, int, int, int, int, int]]] = {}
    for fold in every:
        own = [run for run in fold.learnt if run.rows.node == fold.run.rows.node]
        if own:
            matrix = transitions(run.sequence for run in own)
            by_node.setdefault(fold.run.rows.node, []).append((len(own), *_predict(matrix, fold.run.letters)))
    return [
        NextLetters(
            node, each[0][0], len(each), sum(r[1] for r in each), sum(r[2] for r in each), sum(r[3] for r in each),
            float(np.mean([r[4] for r in each])), float(np.mean([r[5] for r in each])),
        )
        for node, each in sorted(by_node.items())
    ]  # fmt: skip


def _predict(matrix: Transitions, letters: Sequence[Letter]) -> tuple[int, int, int, int, int]:
    """Return the numbers of letters predicted, correct, correct by repetition, correct ahead, and to come."""
    pairs = list(pairwise(letters))
    right = sum(predicted(matrix, a, 1) == [b] for a, b in pairs)
    same = sum(a == b for a, b in pairs)
    following = letters[GIVEN:]
    guessed = predicted(matrix, letters[GIVEN - 1], len(following)) if following else []
    correct_ahead = 0
    while correct_ahead < len(guessed) and guessed[correct_ahead] == following[correct_ahead]:
        correct_ahead += 1
    return len(pairs), right, same, correct_ahead, len(following)


def energies(every: Sequence[Fold]) -> list[RunEnergy]:
    """Estimate the energy of runs with other known runs of the application, by application and node."""
    errors_of: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for fold in every:
        run = fold.run
        like = [each for each in fold.learnt if each.application == run.application]
        if like:
            own = [each for each in like if each.rows.node == run.rows.node] or like
            reference = max(own, key=lambda each: _equal_share(run, each))
            measured, estimated = run.rows.energy_j(0, 1), _estimate(run, reference)
            if measured > 0 and estimated is not None:
                row = (estimated, measured, _by_letters(run, own))
                errors_of.setdefault((run.application, run.rows.node), []).append(row)
    out = []
    for (application, node), rows in sorted(errors_of.items()):
        estimated, measured, by_letters = np.array(rows).T
        error = float(np.mean(np.abs(estimated / measured - 1)))
        out.append(
            RunEnergy(
                application, node, len(rows), float(estimated.mean()), float(measured.mean()), float(measured.max()),
                error, float(by_letters.mean()),
            )
        )  # fmt: skip
    return out


def _equal_share(run: Spelling, other: Spelling) -> float:
    """Return the share of letters of the executed part that equal another run's, over the shorter of both."""
    count = max(1, min(round(EXECUTED * len(run.letters)), len(other.letters)))
    return sum(a == b for a, b in zip(run.letters[:count], other.letters, strict=False)) / count


def _estimate(run: Spelling, reference: Spelling) -> float | None:
    """Return the energy of a run, estimated from its executed part (section 3.2); runs are cut at the same share.

    None if the reference took no energy in that part.
    """
    own_j, reference_j = (each.rows.energy_j(0, EXECUTED) for each in (run, reference))
    return estimated_energy(own_j, reference_j, reference.rows.energy_j(EXECUTED, 1)) if reference_j > 0 else None


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
