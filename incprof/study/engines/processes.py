"""Things done in several processes of this machine."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from incprof.study.engines.work import Work

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_processes(work: Work[Item, Result], number: int) -> None:
    """Do what is left in so many processes. What a killed one has left is done again, and then each thing alone.

    A process that is killed takes all others of its pool with it. Somebody may have killed it by hand, or there was no
    memory for so many at once; only what gets a process of its own killed twice over is given up.
    """
    if _all_at_once(work, number):
        return
    work.warn([f"a process that read ranks was killed: {len(work.left)} of {len(work.items)} are read again"])
    if not _all_at_once(work, number):
        _one_by_one(work)


def _all_at_once(work: Work[Item, Result], number: int) -> bool:
    """Do what is left; whether all processes lived to the end."""
    with ProcessPoolExecutor(number) as pool:
        try:
            places = {pool.submit(work.function, work.items[place]): place for place in work.left}
            for future in as_completed(places):
                work.done(places[future], future.result())
        except BrokenProcessPool:
            return False
    return True


def _one_by_one(work: Work[Item, Result]) -> None:
    """Do what is left, one thing after the other, in a process that is replaced when it is killed."""
    while places := work.left:
        with ProcessPoolExecutor(1) as pool:
            for place in places:
                try:
                    work.done(place, pool.submit(work.function, work.items[place]).result())
                except BrokenProcessPool:
                    work.give_up(place)
                    break
