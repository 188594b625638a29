"""Runs of nodes in the paper's letters: their alphabet, the transitions of each node, and their predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from incprof.errors import NoDataError
from incprof.model import FloatArray
from incprof.model.nodes import NodeSeries
from incprof.systems.nodes.analyse.comparable_rates import counters_of
from incprof.systems.nodes.analyse.learn import common_counters
from incprof.systems.nodes.analyse.letters import decode
from incprof.systems.nodes.analyse.node_input import NodeRows, rows_of
from incprof.systems.nodes.analyse.paper import phases_but_idle
from incprof.systems.nodes.analyse.paper_counters import number_of
from incprof.systems.nodes.analyse.prediction import NextLetters, RunEnergy, energies, folds, next_letters
from incprof.systems.nodes.analyse.spelling import Spelling, as_sets, spell
from incprof.systems.nodes.analyse.transitions import Letter, Transitions, transitions


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
        way: Selection of relevant counters, a key of `paper.WAYS`.
        beta: Cache misses per cycle below which a row is idle; None: a row is idle if all rates are small.
    """

    length_s: float
    ranked: bool
    way: str
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
    whole = rows_of(recording.series, names, most, options.beta)
    rows: NodeRows = whole[whole.busy]
    if not len(rows.ends_s) or not np.isfinite(rows.watts).any():
        return None
    found = phases_but_idle(rows.rates, rows.watts, names, rows.idle, ranked=options.ranked, way=options.way)
    return spell(recording.application, recording.source, rows, found, options.length_s)


def _alphabet(runs: Sequence[Spelling], names: Sequence[str]) -> tuple[LetterOfAlphabet, ...]:
    """Collect the letters of runs."""
    called = {number: name for number, name in zip(number_of(names), names, strict=True) if number is not None}
    every = [
        (letter, float(s), float(j), run.application)
        for run in runs
        for letter, s, j in zip(run.letters, run.seconds, run.joules, strict=True)
    ]
    found = []
    for letter in dict.fromkeys(each[0] for each in every):
        own = [each for each in every if each[0] == letter]
        seconds = sum(each[1] for each in own)
        counters = () if letter is None else tuple(called[number] for number in decode(letter))
        watts = sum(each[2] for each in own) / seconds
        found.append(
            LetterOfAlphabet(letter, counters, len(own), seconds, watts, tuple(sorted({each[3] for each in own})))
        )
    return tuple(sorted(found, key=lambda each: (-each.seconds, -1 if each.letter is None else each.letter)))
