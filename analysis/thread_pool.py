"""Run work in threads, or in fewer of them if memory is short."""

from __future__ import annotations

import _thread
import os
import threading
from collections.abc import Callable, Iterable


def spread(work: Callable[[int], object], items: Iterable[int], threads: int | None) -> None:
    """Run `work` for every item, in at most so many threads, including this one; its results are dropped.

    threads: None is one per processor that this process may use.

    threading.Thread waits for a new thread to report that it runs, and waits forever if memory for that was short. This
    function waits only for threads that have taken an item.

    Raises: the first exception of `work`; items that were not taken by then are left.
    """
    crew = _Crew(work, list(items))
    count = threads or len(os.sched_getaffinity(0))
    try:
        for _ in range(min(count, len(crew.items)) - 1):
            _thread.start_new_thread(crew.help, ())
    except (RuntimeError, MemoryError):
        pass  # the threads that were started do all the work
    crew.help()
    crew.wait()


class _Crew:
    """Items to be taken, and the number of threads at work on one."""

    def __init__(self, work: Callable[[int], object], items: list[int]):
        self.items = items
        self._work = work
        self._next, self._busy = 0, 0
        self._change = threading.Condition()
        self._failed: BaseException | None = None

    def help(self) -> None:
        """Take items until there is none."""
        while True:
            with self._change:
                if self._next == len(self.items) or self._failed is not None:
                    return
                item = self.items[self._next]
                self._next, self._busy = self._next + 1, self._busy + 1
            failed: BaseException | None = None
            try:
                self._work(item)
            except BaseException as error:
                failed = error
            with self._change:
                self._busy -= 1
                self._failed = self._failed or failed
                self._change.notify_all()

    def wait(self) -> None:
        """Wait for the other threads, and raise the first failure."""
        with self._change:
            while self._busy:
                self._change.wait()
        if self._failed is not None:
            raise self._failed
