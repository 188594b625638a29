"""Where a program begins in its source."""

from __future__ import annotations

from pathlib import Path

from incprof.errors import NoDataError
from incprof.model import IntervalProfile, Run
from incprof.names import ENTRIES
from incprof.readers.symbols.line_tables import Place
from incprof.readers.symbols.lines import lines_of
from incprof.readers.symbols.source import find_symbols


def main_place(run: Run, profile: IntervalProfile, *, exe: str | None = None) -> Place | None:
    """File and line at which the PROGRAM, or main, begins; None when the symbols or the lines do not say."""
    module = next((m for m in profile.metadata.modules if m.id == 0), None)
    if module is None:
        return None
    try:
        table = find_symbols(module, run.directory, exe).table
    except NoDataError:
        return None
    for entry in ENTRIES:
        for index in _named(table.names, table.name_end.tolist(), entry.encode()):
            place = lines_of(run, profile, Path(module.path).name, [int(table.address[index])], exe=exe)[0]
            if place:
                return place
    return None


def _named(names: bytes, ends: list[int], wanted: bytes) -> list[int]:
    """Which of the joined names are this one."""
    starts = [0, *ends[:-1]]
    return [
        index
        for index, (start, end) in enumerate(zip(starts, ends, strict=True))
        if end - start == len(wanted) and names[start:end] == wanted
    ]
