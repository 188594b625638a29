"""What is done for each rank by itself is done by an executor: here, in several processes, or wherever they may be.

Whatever the engine is, results come in the order of what was asked, and so the answer is the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from incprof.study.listener import Progress
from incprof.study.options import StudyOptions

Item = TypeVar("Item")
Result = TypeVar("Result")


class Here(Executor):
    """Does what it is given at once, in this process."""

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Do it."""
        future: Future[Result] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def processes(options: StudyOptions) -> int:
    """Return how many processes there may be: those asked for, else one for each processor that this one may use."""
    return options.jobs or len(os.sched_getaffinity(0))


@contextmanager
def engine(options: StudyOptions, size: int) -> Iterator[Executor]:
    """Give an executor for so many things while the body runs."""
    number = min(processes(options), size)
    if number <= 1:
        yield Here()
        return
    with ProcessPoolExecutor(number) as pool:
        yield pool


def mapped(
    executor: Executor, function: Callable[[Item], Result], items: Sequence[Item], progress: Progress
) -> list[Result]:
    """Return what a function makes of each item, in their order, telling how far it is."""
    results = []
    for done, result in enumerate(executor.map(function, items, chunksize=1)):
        progress(done, len(items))
        results.append(result)
    return results
