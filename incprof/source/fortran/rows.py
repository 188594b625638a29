"""The rows of a Fortran file, in either form."""

from __future__ import annotations

from incprof.source.fortran.fixed import fixed_rows
from incprof.source.fortran.free import free_rows
from incprof.source.fortran.lines import Lines, Row


def rows_of(text: str, *, fixed: bool) -> list[Row]:
    """Return the rows of a file, decoded as Latin-1, in the order of their lines."""
    lines = Lines(text)
    return list(fixed_rows(lines) if fixed else free_rows(lines))
