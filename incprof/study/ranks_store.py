"""Cache of the shared phases of all ranks beside the run: the next answer reads only the ranks they were found in."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from incprof.analysis.ranks.ranks_result import RanksResult
from incprof.model import FloatArray, IntArray
from incprof.safe.jsonstore import JsonStore
from incprof.study.ranks_read import Together

STORE, VERSION = "ranks.json", 2


@dataclasses.dataclass(frozen=True)
class Kept:
    """A cached result.

    Attributes:
        ranks: all ranks relabelled with the phases.
        problems: missing or omitted input, a line each.
        phases: which phases these were, as returned by `digest`.
    """

    ranks: RanksResult
    problems: tuple[str, ...]
    phases: str


class RanksStore:
    """The cached result for some ranks of a run, valid while files and options are the same."""

    def __init__(self, asked: Together):
        self._key = _key(asked)
        self._store = JsonStore(asked.run.directory, STORE, VERSION)

    def load(self) -> Kept | None:
        """Return the cached result; None if there is none for these files and options."""
        return self._store.load(lambda stored: decoded(Kept, stored["kept"]) if stored["key"] == self._key else None)

    def save(self, kept: Kept) -> None:
        """Store the result, if the directory is writable."""
        if self._key is not None:
            self._store.save({"key": self._key, "kept": encoded(kept)})


def _key(asked: Together) -> str | None:
    """Return the identity of these files and options; None where it cannot be determined."""
    wanted, options = set(asked.ranks), asked.options
    files = []
    for process in asked.run.processes:
        if process.rank in wanted:
            # A series has many files.
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
    """Convert dataclasses, tuples and arrays to values of JSON."""
    if dataclasses.is_dataclass(value):
        return {field.name: encoded(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [encoded(one) for one in value] if isinstance(value, tuple) else value


def decoded(kind: Any, value: Any) -> Any:
    """Convert the output of `encoded` back to a value of this type.

    Raises:
        KeyError, TypeError, ValueError: the value is not of this type.
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
