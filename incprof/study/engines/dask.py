"""Process items on the workers of a Dask scheduler, on any machine."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import contextmanager
from typing import Any, TypeVar

from incprof.errors import IncprofError
from incprof.study.engines.work import Work

Item = TypeVar("Item")
Result = TypeVar("Result")

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
            work.warn([f"--dask {address}: no worker is there any more: {len(work.left)} ranks are not read"])
    for place in work.left:
        work.give_up(place)


def _suspects(work: Work[Item, Result], places: list[int], client: Any, address: str) -> list[int]:
    """Process the items at these indices, and return the indices of those whose workers were killed repeatedly."""
    asked = {_asked(client, work.function, work.items[place]): place for place in places}
    waiting, alone_since, suspects = set(asked), time.monotonic(), []
    while waiting:
        ready, waiting = wait(waiting, timeout=POLL_S, return_when=FIRST_COMPLETED)
        suspects += [asked[future] for future in ready if not _taken(work, asked[future], future, address)]
        if ready or (client.status == "running" and client.scheduler_info(n_workers=-1)["workers"]):
            alone_since = time.monotonic()
        elif time.monotonic() - alone_since > WORKERS_S:
            raise _NoWorkersError
    return sorted(suspects)


def _asked(client: Any, function: Callable[[Item], Result], item: Item) -> Future[Result]:
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
