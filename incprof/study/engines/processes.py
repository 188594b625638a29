"""Process items in several processes of this machine."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from incprof.study.engines.work import Work

Item = TypeVar("Item")
Result = TypeVar("Result")


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
