"""Series of numbers at equal distances in time, from files of several kinds. docs/periods.md lists them."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TextIO

from incprof.errors import NoDataError
from incprof.inputs import open_series
from incprof.readers.series.columns import Series, Wanted


def read_series(path: str, wanted: Wanted, stdin: TextIO | None = None) -> Series:
    """Read a series from a file: .npy, .parquet, `perf stat -I`, or a table of text; "-" is standard input.

    Raises:
        NoDataError: there is no such file, it holds no number, one that is not finite, or time that does not increase.
        UsageError: the column is not there, or there are several and none was named, or too many samples.
        IncprofError: pyarrow is needed and not installed.
    """
    from incprof.readers.series.binary import read_npy, read_parquet
    from incprof.readers.series.text import read_text

    if path == "-":
        return read_text(stdin or _standard_input(), "stdin", wanted)
    if not Path(path).exists():
        raise NoDataError(f"{path}: no such file")
    if Path(path).suffix == ".npy":
        return read_npy(path, wanted)
    if Path(path).suffix in (".parquet", ".pq"):
        return read_parquet(path, wanted)
    with io.TextIOWrapper(io.BufferedReader(open_series(path)), encoding="utf-8-sig", errors="replace") as text:
        return read_text(text, path, wanted)


def _standard_input() -> TextIO:
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    return sys.stdin
