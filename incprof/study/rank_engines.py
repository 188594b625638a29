"""Engines that process ranks independently: this process, several processes, Dask, or MPI.

All engines return the same results, in the order of the items. An item whose process is killed each time is lost; the
others are done.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ProcessPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from incprof.errors import IncprofError
from incprof.safe.inputs import notice_others
from incprof.study.phase_options import Progress, StudyOptions

__all__ = ["Work", "mapped"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def mapped(work: Work[Item, Result], options: StudyOptions) -> list[Result]:
    """Process all items with the engine of the options, and return the results in the order of the items.

    Raises:
        IncprofError: the engine does not exist.
    """
    notice_others()
    number = min(options.jobs or len(os.sched_getaffinity(0)), len(work.items))
    if options.dask is not None:
        by_dask(work, options.dask)
    elif under_mpi():
        by_mpi(work)
    elif number > 1:
        in_processes(work, number)
    else:
        for place in work.left:
            work.done(place, work.function(work.items[place]))
    return work.results()


# Process items on the workers of a Dask scheduler, on any machine.


# Seconds to wait for a reply of the scheduler, and for workers when there are none: batch systems start them late.
ANSWER_S, WORKERS_S = 15, 60
POLL_S = 0.5


class _NoWorkersError(Exception):
    """There have been no workers for a while."""


def by_dask(work: Work[Item, Result], address: str) -> None:
    """Process the remaining items on the workers of the scheduler at an address.

    The scheduler repeats the items of a killed worker. It cannot detect which of the worker's items killed it. So an
    item whose workers were killed several times is repeated alone, and is given up only if its worker is killed again.

    Raises:
        IncprofError: distributed is not installed, the scheduler does not reply, or the workers have no incprof.
    """
    with _client(address) as client:
        try:
            for place in _suspects(work, work.left, client, address):
                if _suspects(work, [place], client, address):
                    work.give_up(place)
        except _NoWorkersError:
            work.warn([f"--dask {address}: all workers are gone: {len(work.left)} ranks were not read"])
    for place in work.left:
        work.give_up(place)


def _suspects(work: Work[Item, Result], places: list[int], client: Any, address: str) -> list[int]:
    """Process the items at these indices, and return the indices of those whose workers were killed repeatedly."""
    place_of = {_submitted(client, work.function, work.items[place]): place for place in places}
    waiting, alone_since, suspects = set(place_of), time.monotonic(), []
    while waiting:
        ready, waiting = wait(waiting, timeout=POLL_S, return_when=FIRST_COMPLETED)
        suspects += [place_of[future] for future in ready if not _taken(work, place_of[future], future, address)]
        if ready or (client.status == "running" and client.scheduler_info(n_workers=-1)["workers"]):
            alone_since = time.monotonic()
        elif time.monotonic() - alone_since > WORKERS_S:
            raise _NoWorkersError
    return sorted(suspects)


def _submitted(client: Any, function: Callable[[Item], Result], item: Item) -> Future[Result]:
    """Submit an item. distributed's own executor fails if a worker is killed after its result has been fetched."""

    async def done() -> Result:
        result: Result = await client.submit(function, item, pure=False)
        return result

    return asyncio.run_coroutine_threadsafe(done(), client.loop.asyncio_loop)


def _taken(work: Work[Item, Result], place: int, future: Future[Result], address: str) -> bool:
    """Take the result of an item, and return whether its workers survived; no result if the scheduler was killed."""
    from distributed.scheduler import KilledWorker

    try:
        work.done(place, future.result())
    except KilledWorker:
        return False
    except CancelledError:
        work.give_up(place)
    except ImportError as error:
        raise IncprofError(f"--dask {address}: a worker lacks what it needs: {error}: install incprof there") from None
    return True


@contextmanager
def _client(address: str) -> Iterator[Any]:
    """Provide a connection to a scheduler while the body runs."""
    try:
        from distributed import Client
    except ImportError:
        raise IncprofError("--dask needs the package distributed: pip install 'incprof[dask]'") from None
    # Its messages about lost connections are replaced by one line here.
    for name in ("distributed", "distributed.client"):  # the second has a level of its own
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        with _without_collection():
            client = Client(address, timeout=ANSWER_S, set_as_default=False)
    # Its event loop must start within ten seconds, which it asserts.
    except (OSError, ValueError, TypeError, ImportError, AssertionError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise IncprofError(f"--dask {address}: no scheduler answers: {reason}") from None
    try:
        yield client
    finally:
        client.close(timeout=ANSWER_S)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Suspend garbage collection: a client found there closes itself, and waits for the lock that a new one holds."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


# Process items on the other ranks of `mpirun -n N python -m mpi4py.futures -m incprof ...`.


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


# Process items in several processes of this machine.


def in_processes(work: Work[Item, Result], number: int) -> None:
    """Process the remaining items in that many processes. The items of a killed one are repeated, then each alone.

    A killed process takes all others of its pool with it. It may have been killed by hand, or memory did not suffice
    for so many at once; only an item that kills a process of its own twice is given up.
    """
    if _all_at_once(work, number):
        return
    work.warn([f"a process that read ranks was killed: {len(work.left)} of {len(work.items)} are read again"])
    if not _all_at_once(work, number):
        _one_by_one(work)


def _all_at_once(work: Work[Item, Result], number: int) -> bool:
    """Process the remaining items; return whether all processes survived."""
    with ProcessPoolExecutor(number) as pool:
        try:
            places = {pool.submit(work.function, work.items[place]): place for place in work.left}
            for future in as_completed(places):
                work.done(places[future], future.result())
        except BrokenProcessPool:
            return False
    return True


def _one_by_one(work: Work[Item, Result]) -> None:
    """Process the remaining items one by one, in a process that is replaced when it is killed."""
    while places := work.left:
        with ProcessPoolExecutor(1) as pool:
            for place in places:
                try:
                    work.done(place, pool.submit(work.function, work.items[place]).result())
                except BrokenProcessPool:
                    work.give_up(place)
                    break


# Independent items of work, and their results.


class Work(Generic[Item, Result]):
    """A function, its items, and their results.

    Args:
        function: computes a result; it and the items can be pickled.
        lost: the result of an item whose process was killed each time.
        progress: called with (done, total).
        warn: called with warnings, a line each.
    """

    def __init__(
        self,
        function: Callable[[Item], Result],
        items: Sequence[Item],
        lost: Callable[[Item], Result],
        progress: Progress,
        warn: Callable[[Iterable[str]], None],
    ):
        self.function, self.items = function, items
        self.warn = warn
        self._lost, self._progress = lost, progress
        self._results: dict[int, Result] = {}

    @property
    def left(self) -> list[int]:
        """Indices of items without a result yet, ascending."""
        return [place for place in range(len(self.items)) if place not in self._results]

    def done(self, place: int, result: Result) -> None:
        """Store the result of an item."""
        self._results[place] = result
        self._progress(len(self._results), len(self.items))

    def give_up(self, place: int) -> None:
        """Mark an item as lost."""
        self.done(place, self._lost(self.items[place]))

    def results(self) -> list[Result]:
        """Return the results of all items, in their order."""
        return [self._results[place] for place in range(len(self.items))]
