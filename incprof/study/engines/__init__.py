"""Engines that process ranks independently: this process, several processes, Dask, or MPI.

All engines return the same results, in the order of the items. An item whose process is killed each time is lost; the
others are done.
"""

from __future__ import annotations

import os
from typing import TypeVar

from incprof.safe.inputs import notice_others
from incprof.study.engines.work import Work
from incprof.study.options import StudyOptions

__all__ = ["Work", "mapped"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def mapped(work: Work[Item, Result], options: StudyOptions) -> list[Result]:
    """Process all items with the engine of the options, and return the results in the order of the items.

    Raises:
        IncprofError: the engine does not exist.
    """
    from incprof.study.engines.mpi import by_mpi, under_mpi

    notice_others()
    number = min(options.jobs or len(os.sched_getaffinity(0)), len(work.items))
    if options.dask is not None:
        from incprof.study.engines.dask import by_dask

        by_dask(work, options.dask)
    elif under_mpi():
        by_mpi(work)
    elif number > 1:
        from incprof.study.engines.processes import in_processes

        in_processes(work, number)
    else:
        for place in work.left:
            work.done(place, work.function(work.items[place]))
    return work.results()
