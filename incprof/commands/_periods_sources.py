"""Where a series comes from: a file, or a column of a recorded run or of heartbeats."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from incprof.errors import NoDataError, UsageError

if TYPE_CHECKING:
    from incprof.model import FloatArray, IntervalProfile
    from incprof.readers.series.read import Series, Wanted

OF_A_RUN = "self, off_cpu, self:FUNCTION or calls:FUNCTION"


def add_source_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that say which series is meant."""
    from incprof.commands._periods import positive, sample_range

    of = f"of a run {OF_A_RUN}, of heartbeats ID:count or ID:mean"
    parser.add_argument("--column", metavar="NAME", help=f"a name, a number, or A/B for a ratio; {of}")
    parser.add_argument("--time", metavar="NAME", help="column with the time (found by its name), or none")
    parser.add_argument("--interval", type=float, metavar="S", help="seconds between samples, if the file does not say")
    parser.add_argument("--range", type=sample_range, metavar="A:B", default=(0, None), help="only samples A to B")
    parser.add_argument("--most", type=positive, metavar="N", help="refuse series of more samples (20000000)")
    parser.add_argument("--rank", type=int, metavar="R", help="rank of a run or of heartbeats (the lowest; all)")
    parser.add_argument("--exe", metavar="FILE", help="the program of a run, if it is not where it was recorded")


def wanted_of(args: argparse.Namespace) -> Wanted:
    """Return what of a file the arguments mean.

    Raises:
        UsageError: the interval is none.
    """
    from incprof.readers.series.read import MOST_SAMPLES, Wanted

    if args.interval is not None and not 0 < args.interval < 1e9:
        raise UsageError(f"--interval {args.interval:g}: expected seconds above 0")
    first, last = args.range
    return Wanted(args.column, args.time, first, last, args.most or MOST_SAMPLES)


def read_source(path: str, args: argparse.Namespace) -> Series:
    """Read the series that the arguments mean.

    Raises:
        NoDataError, UsageError, IncprofError: as the readers do.
    """
    from dataclasses import replace

    from incprof.readers.series.read import read_series

    wanted = wanted_of(args)
    if Path(path).is_dir() or Path(path).suffix == ".ekg":
        series = _of_directory(path, wanted, args)
    elif args.rank is not None or args.exe is not None:
        raise UsageError(f"--rank and --exe are for directories, and {path} is none")
    else:
        series = read_series(path, wanted)
    return series if args.interval is None else replace(series, interval_s=args.interval)


def _of_directory(path: str, wanted: Wanted, args: argparse.Namespace) -> Series:
    """Read a column of heartbeats if there are any, else of a recorded run."""
    if Path(path).suffix == ".ekg" or any(Path(path).glob("*.ekg")):
        return _heartbeats(path, wanted, args)
    return _recorded(path, wanted, args)


def _recorded(path: str, wanted: Wanted, args: argparse.Namespace) -> Series:
    """Read a column of an interval profile."""
    from incprof.commands._common import chosen_libs, warn
    from incprof.readers import open_run, read_profile

    run = open_run(path, exe=args.exe)
    profile = read_profile(run, rank=args.rank, libs=chosen_libs(None), exe=args.exe, arcs=False)
    warn(profile.warnings)
    if not profile.n_intervals:
        raise NoDataError(f"{path}: no complete interval")
    name = wanted.column or "self"
    return _cut(_profile_column(profile, name, path), name, profile.metadata.interval_s, path, wanted)


def _profile_column(profile: IntervalProfile, name: str, path: str) -> FloatArray:
    """Return self time, calls or time off the CPU per interval, (n,)."""
    import numpy as np

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


def _heartbeats(path: str, wanted: Wanted, args: argparse.Namespace) -> Series:
    """Read count or mean duration of a heartbeat per interval."""
    import numpy as np

    from incprof.commands._beats import load, selected, summaries
    from incprof.commands._common import warn

    ranks = None if args.rank is None else frozenset([args.rank])
    found = load(path, argparse.Namespace(rank=ranks, thread=None, time=None, id=None))
    warn(found.warnings)
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
    """Return the part that is meant, looked at as that of a file is."""
    from dataclasses import replace

    from incprof.readers.series.read import series_from

    part = values[wanted.first : wanted.last]
    return replace(series_from([part], None, name, path, wanted), interval_s=interval_s)
