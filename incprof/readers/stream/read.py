"""Read a stream as an IntervalProfile (docs/reference/formats.md)."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from incprof.errors import NoDataError
from incprof.model import LIBRARY, OWN, IntervalProfile
from incprof.model.names import without_marks
from incprof.readers.profile_builder import build_profile
from incprof.readers.stream.collect import collect
from incprof.readers.stream.decoder import StreamDecoder
from incprof.readers.stream.moved_time import moved
from incprof.readers.stream.records import Libs
from incprof.readers.stream.regions import with_regions_joined
from incprof.readers.stream.window import Source
from incprof.symbols.function_space import FunctionSpace
from incprof.symbols.modules import SymbolLoader
from incprof.symbols.tail_calls import TailCalls

HASHED = re.compile(r"\w*_(?=[a-f]*[0-9])[0-9a-f]{32,64}")


def is_unreadable(mangled: str) -> bool:
    """Return whether a function's name is a hash."""
    return HASHED.fullmatch(without_marks(mangled)) is not None


def with_unreadable_grouped(profile: IntervalProfile) -> IntervalProfile:
    """Return the profile with such functions merged into their nearest callers of the same module, if they have one."""
    hidden = [is_unreadable(function.mangled) for function in profile.functions]
    if not any(hidden):
        return profile
    paths, label = profile.paths, [function.module for function in profile.functions]
    parent, function = paths.parent.tolist(), paths.function.tolist()
    for node, own in enumerate(function):
        caller = function[parent[node]]
        # A parent comes before its children: its name has been replaced already.
        if own >= 0 and hidden[own] and caller >= 0 and not hidden[caller] and label[caller] == label[own]:
            function[node] = caller
    grouped = np.array(function, dtype=paths.function.dtype)
    samples = profile.samples
    sample = np.flatnonzero(np.isin(samples.kind, (OWN, LIBRARY)) & (grouped != paths.function)[samples.node])
    self_s = moved(profile, profile.self_s, sample, grouped[samples.node[sample]].astype(np.int64))
    return replace(profile, self_s=self_s, paths=replace(paths, function=grouped))


def read_stream(
    path: str,
    directory: str,
    *,
    libs: Libs = "caller",
    exe: str | None = None,
    arcs: bool = True,
    nameless: bool = False,
) -> IntervalProfile:
    """Read the stream at `path` of the run in `directory`; `exe` replaces the recorded program's symbols.

    arcs: keep call arcs in the profile. nameless: a program without symbols is one nameless function.

    Raises: NoDataError if there is no complete interval, no symbols, or `exe` is another program.
    """
    with Source(path) as source:
        found = collect(source)
        if not found.n_intervals:
            raise NoDataError(f"{path}: no complete interval: the program ran for less than one, or was killed in it")
        modules = tuple(found.modules[number] for number in sorted(found.modules))
        found.metadata = replace(found.metadata, modules=modules)
        symbols = SymbolLoader(directory, exe, nameless=nameless)
        space = FunctionSpace(modules, symbols.load)
        tail_calls = TailCalls(space, modules, symbols.code)
        parts = StreamDecoder(found, space, libs, arcs=arcs, tail_calls=tail_calls).decode()
    parts.warnings += symbols.warnings
    return with_unreadable_grouped(with_regions_joined(build_profile(parts, space)))
