"""Files of nodes and what is found in them: each file by itself, in as many processes as there are, or elsewhere."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from incprof.analysis.dna.learn import decoded, learn
from incprof.analysis.dna.results import Alphabet, NodeStates
from incprof.errors import IncprofError, NoDataError, UsageError
from incprof.model.nodes import NodeSeries
from incprof.readers.nodes import read_nodes
from incprof.study.engines import Work, mapped
from incprof.study.listener import Listener
from incprof.study.options import StudyOptions

# An alphabet is learnt from so many rows; of more, from parts of the nodes, each from another time of the day.
MOST_ROWS = 200_000
SHORTEST_PART = 3600


@dataclass(frozen=True)
class Source:
    """A file, a directory or several of these that belong together, and the application that runs in it."""

    application: str
    paths: tuple[str, ...]

    @staticmethod
    def of(text: str) -> Source:
        """Understand APP=FILE, FILE or FILE+METER: without APP it is the file's name without its number."""
        name, equals, path = text.partition("=")
        if equals and name and "/" not in name:
            if not path:
                raise UsageError(f"{text}: expected APPLICATION=FILE")
            return Source(name, _together(path))
        stem = os.path.basename(text.rstrip("/")).split(".")[0]
        return Source(stem.rstrip("0123456789").rstrip("-_") or stem, _together(text))


def _together(text: str) -> tuple[str, ...]:
    """The files of FILE+METER; a name with a plus in it is one file where there is one."""
    return (text,) if os.path.exists(text) else tuple(part for part in text.split("+") if part)


@dataclass(frozen=True)
class _Job:
    """What is done for a file, wherever. rows: whether rows are wanted, beside stretches."""

    paths: tuple[str, ...]
    alphabet: Alphabet
    rows: bool


@dataclass(frozen=True)
class _Done:
    nodes: tuple[NodeStates, ...]
    problem: str | None = None


def series_of(sources: Sequence[Source], listener: Listener) -> tuple[list[NodeSeries], list[str]]:
    """Read files: the series of their nodes, and the application of each.

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

    Raises: as the readers do; NoDataError: nothing can be learnt from them.
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
    """All sources in an order in which the first few are from everywhere in the list."""
    count = len(sources)
    order = sorted(range(count), key=lambda at: int(f"{at:020b}"[::-1], 2))
    return [sources[at] for at in order]


def _parts(series: Sequence[NodeSeries]) -> list[NodeSeries]:
    """A part of each series, each later than the one before and then from the start again."""
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
    """Say the states of all nodes of some files, by an alphabet.

    rows: of so many files the rows are wanted; of all unless given. Those of a thousand nodes take much memory.

    Files that cannot be read are named, and left out where there are others.

    Raises:
        IncprofError: none can be read.
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
    """The same in less memory: there may be a thousand nodes."""
    if not rows:
        return replace(states, times=np.empty(0), labels=np.empty(0, dtype=np.int16), watts=None)
    return replace(states, labels=states.labels.astype(np.int16))


def _lost(job: _Job) -> _Done:
    return _Done((), f"{job.paths[0]}: the process that read it was killed: there was no memory for it, perhaps")
