"""What engines are given to do in tests; processes of theirs import it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from incprof.study.phase_options import StudyOptions
from incprof.study.rank_engines import Work, mapped
from incprof.study.ranks_read import RankJob, RankRead, read_rank
from incprof.systems.mpi.analyse.mpi_events import ProcessEvents
from incprof.systems.mpi.process_events import Places, process_events

Item = tuple[int, str, str]


def squared(item: Item) -> int:
    """The square of a number. "kill": the process that computes it is killed; "once": if the file is not there yet.

    "slow": it takes a second.
    """
    number, how, marker = item
    first = how == "once" and not Path(marker).exists()
    if first:
        Path(marker).touch()
    if first or how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "slow":
        time.sleep(1)
    return number * number


def lost(item: Item) -> int:
    return -item[0]


def read_or_die(job: RankJob) -> RankRead:
    """Read a rank; a worker that reads rank 2 dies."""
    if job.rank == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return read_rank(job)


def events_or_die(path: str, places: Places) -> ProcessEvents:
    """Read a trace; a worker that reads that of rank 2 dies."""
    if path.endswith("rank-00002.mpi"):
        os.kill(os.getpid(), signal.SIGKILL)
    return process_events(path, places)


def results(items: list[Item], options: StudyOptions) -> tuple[list[int], list[str]]:
    """What an engine makes of items, and what it has to say."""
    said: list[str] = []
    return mapped(Work(squared, items, lost, lambda done, total: None, said.extend), options), said


if __name__ == "__main__":
    print(results([(i, "kill" if i == 3 else "", "") for i in range(8)], StudyOptions()))
