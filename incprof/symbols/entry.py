"""The entry point of a program in its source."""

from __future__ import annotations

from incprof.errors import NoDataError
from incprof.model import IntervalProfile, Run
from incprof.model.names import ENTRIES
from incprof.symbols.line_tables import Place
from incprof.symbols.source import find_symbols
from incprof.symbols.source_lines import lines_of


def main_place(run: Run, profile: IntervalProfile, *, exe: str | None = None) -> Place | None:
    """Return file and line at which the PROGRAM, or main, begins; None if the symbols or the lines are missing."""
    module = next((m for m in profile.metadata.modules if m.id == 0), None)
    if module is None:
        return None
    try:
        table = find_symbols(module, run.directory, exe).table
    except NoDataError:
        return None
    for entry in ENTRIES:
        for index in _named(table.names, table.name_end.tolist(), entry.encode()):
            place = lines_of(run, profile, module.name, [int(table.address[index])], exe=exe)[0]
            if place:
                return place
    return None


def _named(names: bytes, ends: list[int], wanted: bytes) -> list[int]:
    """Return which of the joined names equal this one."""
    starts = [0, *ends[:-1]]
    return [
        index
        for index, (start, end) in enumerate(zip(starts, ends, strict=True))
        if end - start == len(wanted) and names[start:end] == wanted
    ]
