"""Things done by the workers of a Dask scheduler, wherever they are."""

from __future__ import annotations

import gc
import logging
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from contextlib import contextmanager
from typing import Any, TypeVar

from incprof.errors import IncprofError
from incprof.study.engines.work import Work

Item = TypeVar("Item")
Result = TypeVar("Result")

# Seconds to wait for an answer of the scheduler, and for workers when there are none: batch systems start them late.
ANSWER_S, WORKERS_S = 15, 60
POLL_S = 0.5


def by_dask(work: Work[Item, Result], address: str) -> None:
    """Do what is left by the workers of the scheduler at an address. The scheduler repeats what a killed one has left.

    Raises:
        IncprofError: distributed is not installed, nobody answers, or the workers have no incprof.
    """
    with _client(address) as client:
        executor: Executor = client.get_executor(pure=False)
        places = {executor.submit(work.function, work.items[place]): place for place in work.left}
        waiting, alone_since = set(places), time.monotonic()
        while waiting:
            ready, waiting = wait(waiting, timeout=POLL_S, return_when=FIRST_COMPLETED)
            for future in ready:
                _take(work, places[future], future, address)
            if ready or (client.status == "running" and client.scheduler_info(n_workers=-1)["workers"]):
                alone_since = time.monotonic()
            elif time.monotonic() - alone_since > WORKERS_S:
                work.warn([f"--dask {address}: no worker is there any more: {len(waiting)} ranks are not read"])
                break
    for place in work.left:
        work.give_up(place)


def _take(work: Work[Item, Result], place: int, future: Future[Result], address: str) -> None:
    """Take what came of an item: nothing, where its worker was killed again and again, or the scheduler was."""
    from distributed.scheduler import KilledWorker

    try:
        work.done(place, future.result())
    except (KilledWorker, CancelledError):
        work.give_up(place)
    except ImportError as error:
        raise IncprofError(f"--dask {address}: a worker lacks what it needs: {error}: install incprof there") from None


@contextmanager
def _client(address: str) -> Iterator[Any]:
    """Give a connection to a scheduler while the body runs."""
    try:
        from distributed import Client
    except ImportError:
        raise IncprofError("--dask needs the package distributed: pip install 'incprof[dask]'") from None
    # What it has to say of lost connections is said in one line, here.
    logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)
    try:
        with _without_collection():
            client = Client(address, timeout=ANSWER_S, set_as_default=False)
    # Its event loop has ten seconds to start, and is asserted to have.
    except (OSError, ValueError, TypeError, ImportError, AssertionError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise IncprofError(f"--dask {address}: no scheduler answers: {reason}") from None
    try:
        yield client
    finally:
        client.close(timeout=ANSWER_S)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Collect no garbage meanwhile: a client found there closes itself, and waits for the lock that a new one holds."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
