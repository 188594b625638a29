"""Names for parallel regions, from the functions into which compilers put their code."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from incprof.errors import NoDataError
from incprof.model import Module
from incprof.model.loops import LoopRun, RegionCode
from incprof.names import region_of, without_marks
from incprof.readers.symbols.addr2line import look_up
from incprof.readers.symbols.demangle import display_names
from incprof.readers.symbols.line_tables import Place
from incprof.readers.symbols.source import find_symbols


def region_names(run: LoopRun) -> list[str]:
    """A name for each of run.functions: `function (file:line)`, as far as the files that hold them still say so."""
    names = [""] * len(run.functions)
    modules = {(code.module, code.build_id) for code in run.functions if code.module is not None}
    for path, build_id in sorted(modules, key=str):
        at = [i for i, code in enumerate(run.functions) if (code.module, code.build_id) == (path, build_id)]
        described = _named(str(path), build_id, [run.functions[i].address for i in at])
        for i, name in zip(at, described, strict=True):
            names[i] = name
    return [name or _plain(code) for name, code in zip(names, run.functions, strict=True)]


def _plain(code: RegionCode) -> str:
    return f"{Path(code.module).name}+{code.address:#x}" if code.module else f"{code.address:#x}"


def _named(path: str, build_id: str | None, addresses: list[int]) -> list[str]:
    try:
        found = find_symbols(Module(1, path, build_id, 0, 0, True), str(Path(path).parent))
    except (NoDataError, OSError):
        return [""] * len(addresses)
    if found.path is None:
        return [""] * len(addresses)
    owners = found.table.find(np.array(addresses, dtype=np.uint64)).tolist()
    mangled = [found.table.name(owner) if owner >= 0 else "" for owner in owners]
    starters = [name if (starter := region_of(name)) is None else starter for name in mangled]
    shown = map(without_marks, display_names(starters, fortran=found.table.fortran))
    places = look_up(found.path, addresses)
    return [_with_place(name, place) for name, place in zip(shown, places, strict=True)]


def _with_place(name: str, place: Place | None) -> str:
    where = f"{Path(place[0]).name}:{place[1]}" if place else ""
    if name and where:
        return f"{name} ({where})"
    return name or where
