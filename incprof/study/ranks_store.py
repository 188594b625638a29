"""All ranks in the phases of all, kept beside the run: another answer about it reads only what these were found in."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from incprof.analysis.ranks.results import RanksResult
from incprof.jsonstore import JsonStore
from incprof.model import FloatArray, IntArray
from incprof.study.ranks_read import Together

STORE, VERSION = "ranks.json", 2


@dataclasses.dataclass(frozen=True)
class Kept:
    """What is kept. problems: what was missing or left out, a line each. phases: which these were, as `digest` says."""

    ranks: RanksResult
    problems: tuple[str, ...]
    phases: str


class RanksStore:
    """What is known of some ranks of a run, as long as files and options are the same."""

    def __init__(self, asked: Together):
        self._key = _key(asked)
        self._store = JsonStore(asked.run.directory, STORE, VERSION)

    def load(self) -> Kept | None:
        """Return what was kept; None if there is nothing of these files and options."""
        return self._store.load(lambda stored: decoded(Kept, stored["kept"]) if stored["key"] == self._key else None)

    def save(self, kept: Kept) -> None:
        """Keep it, if the directory can be written to."""
        if self._key is not None:
            self._store.save({"key": self._key, "kept": encoded(kept)})


def _key(asked: Together) -> str | None:
    """Return what says that an answer is of these files and options; None where that cannot be told."""
    wanted, options = set(asked.ranks), asked.options
    files = []
    for process in asked.run.processes:
        if process.rank in wanted:
            # Many files make up a series.
            paths = sorted(Path(process.path).iterdir()) if process.series else [Path(process.path)]
            try:
                states = [(path.name, os.stat(path)) for path in paths if path.is_file() and path.suffix != ".json"]
            except OSError:
                return None
            files += [(name, state.st_size, state.st_mtime_ns) for name, state in states]
    first = asked.shown if options.method == "paper" else None
    how = (options.method, options.k, options.level, options.seed, options.settings, asked.libs, asked.exe, first)
    return hashlib.sha256(json.dumps([asked.ranks, files, how]).encode()).hexdigest()


def encoded(value: Any) -> Any:
    """Return dataclasses, tuples and arrays as what JSON can hold."""
    if dataclasses.is_dataclass(value):
        return {field.name: encoded(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [encoded(one) for one in value] if isinstance(value, tuple) else value


def decoded(kind: Any, value: Any) -> Any:
    """Return what `encoded` made of a value of this type.

    Raises:
        KeyError, TypeError, ValueError: it is no such thing.
    """
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        return kind(**{field.name: decoded(hints[field.name], value[field.name]) for field in dataclasses.fields(kind)})
    if kind in (FloatArray, IntArray):
        return np.array(value, dtype=np.float64 if kind == FloatArray else np.int64)
    if get_origin(kind) is UnionType:
        return None if value is None else decoded(get_args(kind)[0], value)
    if get_origin(kind) is tuple:
        inner = get_args(kind)
        kinds = [inner[0]] * len(value) if inner[-1] is Ellipsis else inner
        return tuple(decoded(one, part) for one, part in zip(kinds, value, strict=True))
    if kind is float and isinstance(value, int | float):
        return float(value)
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is no {kind}")
    return value
