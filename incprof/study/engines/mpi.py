"""Process items on the other ranks of `mpirun -n N python -m mpi4py.futures -m incprof ...`."""

from __future__ import annotations

import sys
from concurrent.futures import as_completed
from typing import TypeVar

from incprof.study.engines.work import Work

Item = TypeVar("Item")
Result = TypeVar("Result")


def under_mpi() -> bool:
    """Return whether this process is the first of several ranks, which distributes work."""
    if "mpi4py.futures" not in sys.modules:
        return False
    from mpi4py import MPI

    return int(MPI.COMM_WORLD.Get_size()) > 1


def by_mpi(work: Work[Item, Result]) -> None:
    """Process the remaining items on the other ranks. If one is killed, MPI ends them all."""
    from mpi4py.futures import MPIPoolExecutor

    with MPIPoolExecutor() as pool:
        places = {pool.submit(work.function, work.items[place]): place for place in work.left}
        for future in as_completed(places):
            work.done(places[future], future.result())
