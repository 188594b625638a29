"""A node that was sampled while a program was recorded on it: its states and its power under the program's phases."""

from __future__ import annotations

import numpy as np

from incprof.analysis.dna.learn import decoded, learn
from incprof.analysis.dna.results import Alphabet, NodeStates
from incprof.analysis.dna.under import PhaseOnNode, under
from incprof.errors import NoDataError, UsageError
from incprof.model.nodes import NodeSeries
from incprof.study.dna.nodes import Source, series_of
from incprof.study.study import Study


class NodeBeside:
    """The states of the node that a run was on, from files that were sampled meanwhile.

    Raises, when made:
        NoDataError: nothing of the run's time is in them, or nothing can be learnt from them.
        UsageError: it cannot be said which node is meant, or when the run was.
    """

    def __init__(self, study: Study, text: str, alphabet: Alphabet | None = None):
        """Read FILE or FILE+METER. alphabet: learnt from these files where None."""
        series = _node(study, text)
        start = study.profile.metadata.raw.get("start_unix_ns")
        if not isinstance(start, int) or start <= 0:
            raise UsageError(f"{text}: the recording has no start time: a node cannot be aligned with it")
        self._ends = start / 1e9 + np.concatenate([[0.0], study.profile.end_s])
        if series.times[-1] <= self._ends[0] or series.times[0] >= self._ends[-1]:
            raise NoDataError(f"{text} is of another time than the run: give what was sampled beside it")
        self._study = study
        self.alphabet = alphabet or learn([series], [study.profile.metadata.app])
        self.node: NodeStates = decoded(series, self.alphabet)

    @property
    def phases(self) -> tuple[PhaseOnNode, ...]:
        """Power, energy and states of each phase."""
        return under(self.node, self._ends, self._study.confident.labels)


def _node(study: Study, text: str) -> NodeSeries:
    """The series of the node that the run was on: the only one, or that of its host."""
    series, _ = series_of([Source.of(text)], study.listener)
    host = study.profile.metadata.raw.get("host")
    own = [each for each in series if each.node == host] if len(series) > 1 else series
    if len(own) != 1:
        raise UsageError(f"{text} holds {len(series)} nodes, and none is the only one called {host}")
    return own[0]
