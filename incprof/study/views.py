"""Input of plots, tables and files for other tools."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from incprof.analysis.views.stacks import stack_series
from incprof.errors import NoDataError, UsageError

if TYPE_CHECKING:
    import pandas as pd

    from incprof.analysis.thread_roles import ThreadRoles
    from incprof.analysis.views.stacks import StackSeries, StackTree
    from incprof.analysis.views.tracks import SelfSeries, TimeBins
    from incprof.model import BoolArray, Function, IntervalProfile
    from incprof.study.study import Study


def over_time(study: Study, bins: int, functions: int) -> tuple[TimeBins, SelfSeries, list[Function]]:
    """Return at most that many bins of time, the self time of the largest functions in them, and those functions."""
    from incprof.analysis.views.tracks import self_series, time_bins

    profile, labels = study.profile, study.phases(confidence=False).labels
    time = time_bins(profile, labels, bins)
    series = self_series(profile, labels, time, functions)
    return time, series, [profile.functions[int(i)] for i in series.functions]


def table(study: Study, name: str) -> pd.DataFrame:
    """Return a table of docs/reference/python.md by its name.

    Raises:
        ValueError: no table has that name.
    """
    from incprof.analysis.views.pandas_tables import TABLES, intervals_table, result_table, samples_table

    if name not in TABLES:
        raise ValueError(f"no table {name!r}: there are {', '.join(TABLES)}")
    if name == "profile":
        return study.recorded.to_pandas()
    if name == "samples":
        return samples_table(study.profile, libraries=study.libs != "drop")
    result = study.phases(confidence=name == "phases")
    return intervals_table(study.profile, result) if name == "intervals" else result_table(result, name)


def tree(study: Study, phase: int | None = None) -> StackTree:
    """Return the tree of call stacks with the time of each phase, or of one phase if given.

    Raises:
        NoDataError: there are no samples.
        UsageError: there is no such phase.
    """
    from incprof.analysis.views.stacks import stack_tree

    result = study.phases(confidence=False)
    keep = None if phase is None else _intervals_of(study, phase)
    stacks = stack_tree(study.profile, result.labels, result.k, keep, libraries=study.libs != "drop")
    if not stacks.frames:
        raise NoDataError(f"{study.run.directory}: no samples to export")
    return stacks


def stacks(study: Study, phase: int | None = None) -> StackSeries:
    """Return the samples as stacks in the order of time, or those of one phase if given.

    Raises:
        NoDataError: there are no samples.
        UsageError: there is no such phase.
    """
    keep = None if phase is None else _intervals_of(study, phase)
    series = stack_series(study.profile, keep, libraries=study.libs != "drop")
    if not len(series.stack):
        raise NoDataError(f"{study.run.directory}: no samples to export")
    return series


def gprof(study: Study) -> Callable[[BinaryIO], None]:
    """Return a function that writes the sum of all intervals as the gmon.out of the program itself."""
    from incprof.readers.stream.as_gmon import at_originals, stream_totals, write_gmon
    from incprof.symbols.symbol_files import find_symbols

    totals = stream_totals(study.process, libs=study.libs)
    for module in study.profile.metadata.modules[:1]:
        table = find_symbols(module, study.run.directory, study.exe).table
        totals = at_originals(totals, table, _callers(study.profile, module.name))
    return partial(write_gmon, totals)


def _callers(profile: IntervalProfile, module: str) -> Callable[[int], list[int]]:
    """Return a function from an address of a module to the addresses of the callers, nearest first."""
    import numpy as np

    from incprof.analysis.sites.times import heaviest_callers

    functions, samples = profile.functions, profile.samples
    weight = samples.weight.astype(np.float64)
    own = np.bincount(samples.node, weights=weight, minlength=len(profile.paths.parent)).astype(np.float64)
    at = {f.address: i for i, f in enumerate(functions) if f.module == module and f.address}

    def above(address: int) -> list[int]:
        # A thread begins in its region, without a caller: samples with a caller decide, even if there are few.
        callers = heaviest_callers(profile.paths, own, at[address], part=0.0) if address in at else []
        return [functions[i].address for i in callers if functions[i].module == module]

    return above


def _intervals_of(study: Study, phase: int) -> BoolArray:
    """Mark the intervals of a phase, (n,)."""
    result = study.phases(confidence=False)
    if not 0 <= phase < result.k:
        raise UsageError(f"--phase {phase}: the run has phases 0 to {result.k - 1}")
    mask: BoolArray = result.labels == phase
    return mask


# The roles of a process's threads.


def threads_of(study: Study) -> ThreadRoles:
    """Find the roles of the threads of a study's process.

    Raises:
        NoDataError: the recording does not distinguish threads.
    """
    from incprof.analysis.thread_roles import thread_roles

    roles = thread_roles(study.profile, study.phases())
    if roles is None:
        raise NoDataError(f"{study.run.directory}: --threads: the samples do not name their threads: record a stream")
    return roles
