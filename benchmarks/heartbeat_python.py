"""A heartbeat from Python: `with appekg.beat(1)` and the bare calls, next to two readings of the clock.

    python benchmarks/heartbeat_python.py ROUNDS

Prints per round, in nanoseconds of the thread's CPU time: two of time.perf_counter_ns(), begin and end, the with block.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import appekg

BATCH = 5000


def clocks() -> None:
    """Read the clock twice, as a program without heartbeats would time a block."""
    for _ in range(BATCH):
        time.perf_counter_ns()
        time.perf_counter_ns()


def calls() -> None:
    """Call the binding's functions."""
    for _ in range(BATCH):
        appekg.begin(1)
        appekg.end(1)


def blocks() -> None:
    """Use the context manager, created once."""
    beat = appekg.beat(1)
    for _ in range(BATCH):
        with beat:
            pass


def timed(batch: Callable[[], None]) -> float:
    """Return the nanoseconds of CPU time for one of a batch."""
    start = time.thread_time_ns()
    batch()
    return (time.thread_time_ns() - start) / BATCH


def main() -> None:
    """Run the batches in turn."""
    calls()
    for _ in range(int(sys.argv[1])):
        print(f"{timed(clocks):.2f} {timed(calls):.2f} {timed(blocks):.2f}")


if __name__ == "__main__":
    main()
