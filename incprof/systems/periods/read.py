"""A series of numbers from a file, or from a column of a recorded run or of heartbeats."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import numpy as np

from incprof.errors import NoDataError, UsageError
from incprof.model import FloatArray, IntervalProfile
from incprof.readers.series.columns import MOST_SAMPLES as MOST_SAMPLES
from incprof.readers.series.columns import Series as Series
from incprof.readers.series.columns import Wanted as Wanted
from incprof.readers.series.columns import series_from
from incprof.safe.inputs import open_series
from incprof.study.heartbeats.read import Filters, load, selected, summaries
from incprof.study.listener import Listener
from incprof.study.options import Libs


def read_series(path: str, wanted: Wanted, stdin: TextIO | None = None) -> Series:
    """Read a series from a file: .npy, .parquet, `perf stat -I`, or a table of text; "-" is standard input.

    Raises:
        NoDataError: the file does not exist, or holds no number, a number that is not finite, or decreasing time.
        UsageError: the column does not exist, several exist and none was named, or there are too many samples.
        IncprofError: pyarrow is needed and not installed.
    """
    from incprof.systems.periods.numpy_file import read_npy, read_parquet
    from incprof.systems.periods.text_file import read_text

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


OF_A_RUN = "self, off_cpu, self:FUNCTION or calls:FUNCTION"


def series_of(
    path: str,
    wanted: Wanted,
    listener: Listener,
    *,
    rank: int | None = None,
    exe: str | None = None,
    libs: Libs = "caller",
    interval_s: float | None = None,
) -> Series:
    """Read a series.

    Args:
        path: A file of numbers, a run directory, a directory of heartbeats or one of their files.
        wanted: The column and the range of samples.
        listener: Receives warnings about a directory.
        rank: Rank in a directory; default: the lowest of a run, or all heartbeats.
        exe: The program of a run, if it is not where it was recorded.
        libs: For a run: where time in libraries is counted.
        interval_s: Seconds between samples, if the input does not contain them.

    Raises:
        NoDataError, UsageError, IncprofError: as raised by the readers.
    """
    if Path(path).suffix == ".ekg" or (Path(path).is_dir() and any(Path(path).glob("*.ekg"))):
        series = _heartbeats(path, wanted, listener, rank)
    elif Path(path).is_dir():
        series = _recorded(path, wanted, listener, rank, exe, libs)
    elif rank is not None or exe is not None:
        raise UsageError(f"--rank and --exe are for directories, and {path} is none")
    else:
        series = read_series(path, wanted)
    return series if interval_s is None else replace(series, interval_s=interval_s)


def _recorded(path: str, wanted: Wanted, listener: Listener, rank: int | None, exe: str | None, libs: Libs) -> Series:
    """Read a column of an interval profile."""
    # Imported here: a file of numbers needs none of it.
    from incprof.readers import open_run, read_profile

    profile = read_profile(open_run(path, exe=exe), rank=rank, libs=libs, exe=exe, arcs=False)
    listener.warn(profile.warnings)
    if not profile.n_intervals:
        raise NoDataError(f"{path}: no complete interval")
    name = wanted.column or "self"
    return _cut(_profile_column(profile, name, path), name, profile.metadata.interval_s, path, wanted)


def _profile_column(profile: IntervalProfile, name: str, path: str) -> FloatArray:
    """Return self time, calls or time off the CPU for each interval, (n,)."""
    kind, _, function = name.partition(":")
    if name == "off_cpu":
        return profile.off_cpu_s
    if kind not in ("self", "calls"):
        raise UsageError(f"{path}: no column {name!r}: take {OF_A_RUN}")
    table = profile.self_s if kind == "self" else profile.calls
    if not function:
        return np.asarray(table.sum(axis=1), dtype=np.float64).ravel()
    meant = [at for at, each in enumerate(profile.functions) if function in (each.name, each.mangled)]
    if not meant:
        raise UsageError(f"{path}: no function {function!r} was recorded: incprof phases {path} names the largest")
    return np.asarray(table[:, meant].sum(axis=1), dtype=np.float64).ravel()


def _heartbeats(path: str, wanted: Wanted, listener: Listener, rank: int | None) -> Series:
    """Read the count or the mean duration of a heartbeat for each interval."""
    found = load(path, Filters(ranks=None if rank is None else frozenset([rank])))
    listener.warn(found.warnings)
    which, _, what = (
        (wanted.column or "").rpartition(":") if ":" in (wanted.column or "") else (wanted.column or "", "", "count")
    )
    if what not in ("count", "mean"):
        which, what = wanted.column or "", "count"
    if which:
        found = selected(found, [frozenset([int(which)]) if which.isdigit() else which])
    beats = summaries(found)
    if len(beats) != 1:
        names = ", ".join(f"{beat.id} ({beat.name})" if beat.name else str(beat.id) for beat in beats[:12])
        raise UsageError(f"{path} has {len(beats)} heartbeats: name one with --column ID:count or ID:mean ({names})")
    series = beats[0].series
    values = np.asarray(series.count if what == "count" else series.mean_s, dtype=np.float64)
    interval = min(process.interval_s for process in found.processes)
    return _cut(np.nan_to_num(values) if what == "count" else values, f"{beats[0].id}:{what}", interval, path, wanted)


def _cut(values: FloatArray, name: str, interval_s: float, path: str, wanted: Wanted) -> Series:
    """Return the wanted range, checked like a series from a file."""
    part = values[wanted.first : wanted.last]
    return replace(series_from([part], None, name, path, wanted), interval_s=interval_s)
