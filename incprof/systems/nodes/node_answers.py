"""Files of nodes and their states: each file by itself, in several processes, or on other machines."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from incprof.errors import IncprofError, NoDataError, UsageError
from incprof.model import FloatArray
from incprof.model.series import NodeSeries
from incprof.safe.inputs import read_input
from incprof.safe.jsonstore import replacing
from incprof.safe.printable import parse_json
from incprof.study.phase_options import Listener, StudyOptions
from incprof.study.rank_engines import Work, mapped
from incprof.study.study import Study
from incprof.systems.nodes.analyse.comparable_rates import Emissions, Scale
from incprof.systems.nodes.analyse.learn import decoded, learn
from incprof.systems.nodes.analyse.node_states import (
    Alphabet,
    KnownRun,
    NodeStates,
    PhaseOnNode,
    Segment,
    State,
    overlay,
)
from incprof.systems.nodes.analyse.power import PowerModel
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
        read, names = series_of([source], listener)
        series += read
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
        results = mapped(work, options)
    problems = [each.problem for each in results if each.problem]
    nodes = [node for each in results for node in each.nodes]
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
    return _Done((), f"{job.paths[0]}: the process that read it was killed, perhaps for lack of memory")


# An alphabet in a file (docs/reference/formats.md).


SCHEMA = "incprof.dna-alphabet/1"
MOST_BYTES = 256 << 20
# Significant digits of numbers: measurements have fewer.
DIGITS = 9


def write_alphabet(alphabet: Alphabet, path: str) -> None:
    """Write an alphabet; equal alphabets produce identical bytes.

    Raises: OSError.
    """
    emissions = alphabet.emissions
    content = {
        "schema": SCHEMA,
        "simulated": alphabet.simulated,
        "counters": [{"name": n, "matters_from": _short(f)} for n, f in zip(*_scale(alphabet.scale), strict=True)],
        "whitening": _table(emissions.whitening),
        "stay": _short(emissions.stay),
        "strange": _short(emissions.unknown_from),
        "states": [
            _state(s, m, d) for s, m, d in zip(alphabet.states, emissions.means, emissions.scatters, strict=True)
        ],
        "runs": [
            {
                "application": run.application,
                "node": run.node,
                "stretches": [
                    [s.state, round(s.begins_s, 6), round(s.ends_s, 6), _number(s.energy_j)] for s in run.segments
                ],
            }
            for run in alphabet.runs
        ],
    }
    with replacing(Path(path)) as file:
        file.write(json.dumps(content, allow_nan=False).encode("ascii") + b"\n")


def read_alphabet(path: str) -> Alphabet:
    """Read an alphabet.

    Raises:
        NoDataError: it is not an alphabet, or is damaged.
        IncprofError: it cannot be read.
    """
    try:
        document = parse_json(read_input(path, MOST_BYTES))
    except OSError as error:
        raise IncprofError(
            f"{path}: {error.strerror or error}: expected a file that incprof dna learn -o wrote"
        ) from None
    except ValueError:
        raise NoDataError(f"{path}: not an alphabet: expected a file that incprof dna learn -o wrote") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise NoDataError(f"{path}: not an alphabet of this release ({SCHEMA}): learn it again")
    try:
        return _understood(document)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise NoDataError(f"{path}: a damaged alphabet ({str(error)[:80]}): learn it again") from None


def _understood(document: dict[str, Any]) -> Alphabet:
    """Convert a JSON object to an alphabet, assuming that it is valid.

    Raises: KeyError, TypeError, ValueError, IndexError if it is not.
    """
    names = tuple(str(each["name"]) for each in document["counters"])
    scale = Scale(names, _array([each["matters_from"] for each in document["counters"]], (len(names),)))
    states = document["states"]
    shape = (len(states), len(names))
    emissions = Emissions(
        _array(document["whitening"], (len(names), len(names))), _array([s["mean"] for s in states], shape),
        _array([s["scatter"] for s in states], shape), float(document["stay"]), float(document["strange"]),
    )  # fmt: skip
    if not states or np.any(scale.floor <= 0) or np.any(emissions.scatters <= 0):
        raise ValueError("impossible numbers")
    power_models = tuple(
        State(
            at,
            str(s["name"]),
            bool(s["idle"]),
            _array(s["rates"], (len(names),)),
            s["letter"],
            _power(s["power"], len(names)),
        )
        for at, s in enumerate(states)
    )
    runs = tuple(
        KnownRun(str(run["application"]), str(run["node"]), tuple(_segment(s, len(states)) for s in run["stretches"]))
        for run in document["runs"]
    )
    return Alphabet(scale, emissions, power_models, runs, bool(document["simulated"]))


def _segment(values: list[Any], states: int) -> Segment:
    state, begins, ends, joules = values
    if not -1 <= int(state) < states or not float(begins) < float(ends):
        raise ValueError("an impossible segment")
    return Segment(int(state), float(begins), float(ends), None if joules is None else float(joules))


def _state(state: State, mean: FloatArray, scatter: FloatArray) -> dict[str, object]:
    power = state.power
    return {
        "name": state.name,
        "idle": state.idle,
        "letter": state.letter,
        "rates": _table(state.rates),
        "mean": _table(mean),
        "scatter": _table(scatter),
        "power": None if power is None else {
            "base_w": _short(power.base_w), "watts_per": _table(power.watts_per), "mean_w": _short(power.mean_w),
            "low_w": _short(power.low_w), "high_w": _short(power.high_w),
        },
    }  # fmt: skip


def _power(fields: dict[str, Any] | None, counters: int) -> PowerModel | None:
    if fields is None:
        return None
    watts_per = _array(fields["watts_per"], (counters,))
    return PowerModel(
        float(fields["base_w"]), watts_per, float(fields["mean_w"]), float(fields["low_w"]), float(fields["high_w"])
    )


def _scale(scale: Scale) -> tuple[tuple[str, ...], list[float]]:
    return scale.names, scale.floor.tolist()


def _array(values: object, shape: tuple[int, ...]) -> FloatArray:
    array = np.array(values, dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(f"{array.shape} numbers, {shape} expected")
    return array


def _table(values: FloatArray) -> list[Any]:
    return [_table(each) if np.ndim(each) else _short(each) for each in values]


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _number(value: float | None) -> float | None:
    return None if value is None else _short(value)


# A node that was sampled while a program was recorded on it: states and power in each of the program's phases.


class NodeOverlay:
    """States of the node on which a run was recorded, from files sampled at the same time.

    Raises, in the constructor:
        NoDataError: the files do not cover the run, or no states can be learnt from them.
        UsageError: the node, or the start time of the run, is unknown.
    """

    def __init__(self, study: Study, text: str):
        """Read FILE or FILE+METER, and learn an alphabet from these files."""
        series = _node(study, text)
        start = study.profile.metadata.raw.get("start_unix_ns")
        if not isinstance(start, int) or start <= 0:
            raise UsageError(f"{text}: the recording has no start time: a node cannot be aligned with it")
        self._ends = start / 1e9 + np.concatenate([[0.0], study.profile.end_s])
        if series.times[-1] <= self._ends[0] or series.times[0] >= self._ends[-1]:
            raise NoDataError(f"{text} does not overlap the run in time: give counters sampled during it")
        self._study = study
        self.alphabet = learn([series], [study.profile.metadata.app])
        self.node: NodeStates = decoded(series, self.alphabet)

    @property
    def phases(self) -> tuple[PhaseOnNode, ...]:
        """Power, energy and states of each phase."""
        return overlay(self.node, self._ends, self._study.phases().labels)


def _node(study: Study, text: str) -> NodeSeries:
    """Return the series of the run's node: the only one, or that of its host."""
    series, _ = series_of([Source.of(text)], study.listener)
    host = study.profile.metadata.raw.get("host")
    own = [each for each in series if each.node == host] if len(series) > 1 else series
    if len(own) != 1:
        raise UsageError(f"{text} holds {len(series)} nodes, and not exactly one is called {host}")
    return own[0]
