"""Workers that a pool ends by SIGTERM: what they did is in the run directory, however long its intervals are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from incprof.readers.run import open_all, read_profile
from tests.integration.command_line import incprof
from tests.integration.hosts import ticks

POOL = """
import multiprocessing, sys, time

def work(milliseconds):
    # The clock is read seldom: a busy machine preempts a thread that reads it, before the next tick can come.
    end = time.thread_time() + milliseconds / 1000
    while time.thread_time() < end:
        sum(range(50_000))
    return milliseconds

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(2) as pool:
        print(pool.map(work, [60] * 4))
"""

EXECUTOR = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
from pool import work

if __name__ == "__main__":
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(sys.argv[1])) as pool:
        print(list(pool.map(work, [60] * 4)))
"""


def ticks_in_all(place: Path) -> list[int]:
    """Ticks of each process but the first one of the first run; workers that exec are launches of their own."""
    found = []
    for directory in sorted(place.glob("run*")):
        run = open_all(directory)
        found += [
            ticks(read_profile(run, process=p)) for p in run.processes if directory.name != "run" or not p.primary
        ]
    return found


@pytest.mark.parametrize("program", [POOL, EXECUTOR], ids=["Pool", "ProcessPoolExecutor"])
@pytest.mark.parametrize(
    "way", ["fork", *(pytest.param(way, marks=pytest.mark.slow) for way in ("forkserver", "spawn"))]
)
def test_what_workers_did_is_there(tmp_path: Path, way: str, program: str) -> None:
    """240 ms of work, of which a tick is 10 ms; what is left over at the end of a worker is less than one."""
    (tmp_path / "pool.py").write_text(POOL)
    (tmp_path / "main.py").write_text(program)
    words = [sys.executable, tmp_path / "main.py", way]
    done = incprof("record", "-i", "60", "-o", tmp_path / "run", "--", *words)
    assert (done.returncode, done.stdout) == (0, "[60, 60, 60, 60]\n"), done.stderr
    assert sum(ticks_in_all(tmp_path)) >= 16
