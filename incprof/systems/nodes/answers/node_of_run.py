"""A node that was sampled while a program was recorded on it: states and power in each of the program's phases."""

from __future__ import annotations

import numpy as np

from incprof.errors import NoDataError, UsageError
from incprof.model.nodes import NodeSeries
from incprof.study.study import Study
from incprof.systems.nodes.analyse.learn import decoded, learn
from incprof.systems.nodes.analyse.node_states import Alphabet, NodeStates
from incprof.systems.nodes.analyse.states_in_phases import PhaseOnNode, under
from incprof.systems.nodes.answers.nodes import Source, series_of


class NodeBeside:
    """States of the node on which a run was recorded, from files sampled at the same time.

    Raises, in the constructor:
        NoDataError: the files do not cover the run, or no states can be learnt from them.
        UsageError: the node, or the start time of the run, is unknown.
    """

    def __init__(self, study: Study, text: str, alphabet: Alphabet | None = None):
        """Read FILE or FILE+METER. alphabet: None: learn one from these files."""
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
        return under(self.node, self._ends, self._study.phases().labels)


def _node(study: Study, text: str) -> NodeSeries:
    """Return the series of the run's node: the only one, or that of its host."""
    series, _ = series_of([Source.of(text)], study.listener)
    host = study.profile.metadata.raw.get("host")
    own = [each for each in series if each.node == host] if len(series) > 1 else series
    if len(own) != 1:
        raise UsageError(f"{text} holds {len(series)} nodes, and none is the only one called {host}")
    return own[0]
