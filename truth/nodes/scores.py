"""Scores of states, predicted states and energy on the generated nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from incprof.model import IntArray
from incprof.model.series import NodeSeries
from incprof.systems.nodes.analyse.comparable_rates import counters_of
from incprof.systems.nodes.analyse.energy_forecast import Estimate, estimate
from incprof.systems.nodes.analyse.learn import decoded, learn
from incprof.systems.nodes.analyse.live import ENDED, Live
from incprof.systems.nodes.analyse.node_states import Alphabet
from incprof.systems.nodes.analyse.paper import TABLE1, phases
from truth.nodes.cases import known_program, node_case
from truth.nodes.play import START, Played
from truth.scores.boundaries import change_f1

TOLERANCE_S = 2.0
# Rows after a change at which the next state is predicted.
QUESTION_AFTER = 3
# Accepted error of the predicted end of a state, as a share of its length.
LATE = 0.1
BEGINNING = 0.2


@dataclass(frozen=True)
class StatesScore:
    """Agreement of labels (adjusted Rand index), of changes within 2 s (F1), states found and true ones."""

    ari: float
    f1: float
    states_found: int
    true: int


def states_score(family: str, number: int, method: str) -> StatesScore:
    """Find the states of a generated node by a method, and compare them with the truth."""
    from sklearn.metrics import adjusted_rand_score

    played = node_case(family, number)
    labels = METHODS[method](played.series)
    times = played.series.times
    return StatesScore(
        float(adjusted_rand_score(played.state, labels)),
        change_f1([(t, t) for t in times[_changes(played.state)]], times[_changes(labels)].tolist(), TOLERANCE_S),
        len(np.unique(labels)),
        len(np.unique(played.state)),
    )


def _own_labels(series: NodeSeries) -> IntArray:
    return decoded(series, learn([series], ["program"])).labels


def _paper(series: NodeSeries) -> IntArray:
    """Return the letters of Algorithm 1; sets of the same counters are the same letter."""
    phases_found = phases(counters_of(series, TABLE1), np.asarray(series.watts))
    codes: dict[frozenset[int], int] = {}
    label = [codes.setdefault(frozenset(phase.relevant), len(codes)) for phase in phases_found]
    return np.repeat(label, [phase.last - phase.first for phase in phases_found])


def _one_state(series: NodeSeries) -> IntArray:
    return np.zeros(len(series.times), dtype=np.int64)


METHODS = {"states": _own_labels, "paper": _paper, "one state": _one_state}


def _changes(labels: IntArray) -> IntArray:
    return np.flatnonzero(np.diff(labels) != 0) + 1


def next_score(number: int) -> tuple[int, int, int]:
    """Return the changes of a program with five known runs, the right next states, and those at the right time."""
    program = known_program(number, other_machine=False)
    alphabet = learn([played.series for played in program.runs], ["program"] * len(program.runs))
    names = _true_names(alphabet_labels(alphabet, program.runs), [played.state for played in program.runs])
    live, series, true = Live(alphabet), program.run.series, program.run.state
    table = counters_of(series, alphabet.scale.names)
    now = [live.feed(float(t), row) for t, row in zip(series.times, table, strict=True)]
    changes = _changes(true).tolist()
    questions = right = timely = 0
    for begin, end in pairwise(changes):
        if true[begin] < 0:
            continue
        prediction = now[min(begin + QUESTION_AFTER, end - 1)]
        questions += 1
        if prediction.next and names.get(prediction.next[0].state) == true[end]:
            right += 1
            length = series.times[end - 1] - series.times[begin - 1]
            timely += bool(abs(prediction.time_s + prediction.next[0].in_s - series.times[end - 1]) <= LATE * length)
    return questions, right, timely


def alphabet_labels(alphabet: Alphabet, runs: Sequence[Played]) -> list[IntArray]:
    """Return the states (rows,) of runs by an alphabet."""
    return [decoded(played.series, alphabet).labels for played in runs]


def _true_names(labels: Sequence[IntArray], true: Sequence[IntArray]) -> dict[int, int]:
    """Return the true state of each found one, by most of its rows in the known runs."""
    label, state = np.concatenate(labels), np.concatenate(true)
    names = {int(each): int(np.bincount(state[label == each] + 1).argmax()) - 1 for each in np.unique(label)}
    return {**names, ENDED: -1}


def energy_score(number: int) -> tuple[float, Estimate]:
    """Estimate a run's energy on another machine from its first fifth; return the true joules and the estimate."""
    program = known_program(number, other_machine=True)
    alphabet = learn([played.series for played in program.runs], ["program"] * len(program.runs))
    since = program.run.series.times - START
    ends = program.begins_s + BEGINNING * (program.ends_s - program.begins_s)
    first = (since > program.begins_s + 0.5) & (since <= ends + 0.5)
    in_run = (since > program.begins_s + 0.5) & (since <= program.ends_s + 0.5)
    series = program.run.series
    beginning = replace(series, times=series.times[first], values=series.values[first])
    return float(program.run.energy_j[in_run].sum()), estimate(beginning, alphabet)
