"""Where things are done that are done for each rank by itself: here, in several processes, by Dask, by MPI.

Every engine does the same, and results come in the order of what was asked: so the answer is the same, whichever it is.
What no process lives to do is lost, and the rest is done.
"""

from __future__ import annotations

import os
from typing import TypeVar

from incprof.inputs import notice_others
from incprof.study.engines.work import Work
from incprof.study.options import StudyOptions

__all__ = ["Work", "mapped"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def mapped(work: Work[Item, Result], options: StudyOptions) -> list[Result]:
    """Do all of it where the options say, and return the results in the order of the items.

    Raises:
        IncprofError: there is no such engine.
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
