"""A stream to an IntervalProfile (docs/formats.md)."""

from __future__ import annotations

from dataclasses import replace

from incprof.errors import NoDataError
from incprof.model import IntervalProfile
from incprof.readers.profile_builder import build_profile
from incprof.readers.stream.collect import collect
from incprof.readers.stream.decoder import StreamDecoder
from incprof.readers.stream.records import Libs
from incprof.readers.stream.regions import with_regions_joined
from incprof.readers.stream.unreadable import with_unreadable_grouped
from incprof.readers.stream.window import Source
from incprof.readers.symbols.function_space import FunctionSpace
from incprof.readers.symbols.modules import SymbolLoader
from incprof.readers.symbols.tail_calls import TailCalls


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

    arcs: whether the profile shall have them. nameless: a program without symbols is one nameless function.

    Raises: NoDataError when there is no complete interval, no symbols, or `exe` is another program.
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
