"""Files of nodes and their states: each file by itself, in several processes, or on other machines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from incprof.errors import IncprofError, NoDataError, UsageError
from incprof.model.nodes import NodeSeries
from incprof.study.engines import Work, mapped
from incprof.study.listener import Listener
from incprof.study.options import StudyOptions
from incprof.systems.nodes.analyse.learn import decoded, learn
from incprof.systems.nodes.analyse.node_states import Alphabet, NodeStates
from incprof.systems.nodes.read import read_nodes

# Greatest number of rows for learning; of more, parts of the nodes are used, each from another time of the day.
MOST_ROWS = 200_000
SHORTEST_PART = 3600


@dataclass(frozen=True)
class Source:
    """Input files that belong together.

    Attributes:
        application: The application that ran.
        paths: Files and directories.
    """

    application: str
    paths: tuple[str, ...]

    @staticmethod
    def of(text: str) -> Source:
        """Parse APP=FILE, FILE or FILE+METER: without APP it is the file's name without its number."""
        name, equals, path = text.partition("=")
        if equals and name and "/" not in name:
            if not path:
                raise UsageError(f"{text}: expected APPLICATION=FILE")
            return Source(name, _together(path))
        stem = os.path.basename(text.rstrip("/")).split(".")[0]
        return Source(stem.rstrip("0123456789").rstrip("-_") or stem, _together(text))


def _together(text: str) -> tuple[str, ...]:
    """Return the files of FILE+METER; a name that contains a plus is one file if it exists."""
    return (text,) if os.path.exists(text) else tuple(part for part in text.split("+") if part)


@dataclass(frozen=True)
class _Job:
    """Work on one source, in any process.

    Attributes:
        paths: Its files.
        alphabet: The alphabet to apply.
        rows: Whether rows are wanted in addition to segments.
    """

    paths: tuple[str, ...]
    alphabet: Alphabet
    rows: bool


@dataclass(frozen=True)
class _Done:
    nodes: tuple[NodeStates, ...]
    problem: str | None = None


def series_of(sources: Sequence[Source], listener: Listener) -> tuple[list[NodeSeries], list[str]]:
    """Read files; return the series of their nodes, and the application of each.

    Raises: as the readers do.
    """
    series, applications = [], []
    for source in sources:
        for each in read_nodes(source.paths):
            listener.warn(f"{each.node}: {note}" for note in each.notes)
            series.append(each)
            applications.append(source.application)
    return series, applications


def alphabet_of(sources: Sequence[Source], listener: Listener) -> Alphabet:
    """Learn an alphabet from files.

    Raises: as the readers do; NoDataError: no states can be learnt from them.
    """
    series: list[NodeSeries] = []
    applications: list[str] = []
    for source in _spread(sources):
        found, names = series_of([source], listener)
        series += found
        applications += names
        if sum(len(each.times) for each in series) >= 8 * MOST_ROWS:
            break
    rows = sum(len(each.times) for each in series)
    if rows > MOST_ROWS:
        listener.warn([f"learnt from {MOST_ROWS} of {rows} rows or more, from {len(series)} nodes"])
        series = _parts(series)
    return learn(series, applications)


def _spread(sources: Sequence[Source]) -> list[Source]:
    """Return all sources in an order in which the first few are spread over the list."""
    count = len(sources)
    order = sorted(range(count), key=lambda at: int(f"{at:020b}"[::-1], 2))
    return [sources[at] for at in order]


def _parts(series: Sequence[NodeSeries]) -> list[NodeSeries]:
    """Return a part of each series, at increasing times of day from series to series."""
    length = max(MOST_ROWS // len(series), SHORTEST_PART)
    out = []
    for at, each in enumerate(series):
        rows = len(each.times)
        first = int((at + 0.5) / len(series) * max(rows - length, 0))
        part = slice(first, first + length)
        out.append(replace(each, times=each.times[part], values=each.values[part]))
    return out


def states_of(
    sources: Sequence[Source], alphabet: Alphabet, options: StudyOptions, listener: Listener, *, rows: int | None = None
) -> list[NodeStates]:
    """Return the states of all nodes of some files, according to an alphabet.

    rows: number of files whose rows are wanted; default: all. The rows of a thousand nodes take much memory.

    Files that cannot be read are reported, and skipped if there are others.

    Raises:
        IncprofError: no file can be read.
    """
    with listener.progress("reading") as progress:
        work: Work[_Job, _Done] = Work(
            _do,
            [
                _Job(tuple(map(os.path.abspath, source.paths)), alphabet, rows is None or at < rows)
                for at, source in enumerate(sources)
            ],
            _lost,
            progress,
            listener.warn,
        )
        found = mapped(work, options)
    problems = [each.problem for each in found if each.problem]
    nodes = [node for each in found for node in each.nodes]
    if not nodes:
        raise NoDataError(problems[0] if problems else "no node in these files")
    listener.warn(problems)
    return nodes


def _do(job: _Job) -> _Done:
    try:
        return _Done(tuple(_small(decoded(each, job.alphabet), rows=job.rows) for each in read_nodes(job.paths)))
    except IncprofError as error:
        return _Done((), str(error))


def _small(states: NodeStates, *, rows: bool) -> NodeStates:
    """Return the same states in less memory: there may be a thousand nodes."""
    if not rows:
        return replace(states, times=np.empty(0), labels=np.empty(0, dtype=np.int16), watts=None)
    return replace(states, labels=states.labels.astype(np.int16))


def _lost(job: _Job) -> _Done:
    return _Done((), f"{job.paths[0]}: the process that read it was killed: there was no memory for it, perhaps")
