"""Heartbeats of a Python program (about 3 s; the argument scales that, as in `python heartbeats.py 0.1`).

Two threads solve N = max(1, int(4000 * argument)) small systems each. Beats:
  1 assemble   2 N                 a `with` statement
  2 solve      2 N                 a decorated function
  3 batches    2 ceil(N / 100)     a decorated generator, open for as long as its batch is worked on
  4 done       2 pulses, one per thread

Run: EKG_DIR=ekg python heartbeats.py && incprof heartbeats ekg
"""

import sys
import threading
from collections.abc import Iterator

import appekg

SIZE = 24
assembling = appekg.beat(1)


def assemble(number: int) -> list[list[float]]:
    """One system's matrix."""
    with assembling:
        return [[1.0 / (1 + abs(i - j) + number % 7) + (i == j) for j in range(SIZE)] for i in range(SIZE)]


@appekg.beat(2)
def solve(rows: list[list[float]]) -> float:
    """The determinant, by elimination."""
    result = 1.0
    for k in range(SIZE):
        result *= rows[k][k]
        for i in range(k + 1, SIZE):
            factor = rows[i][k] / rows[k][k]
            for j in range(k, SIZE):
                rows[i][j] -= factor * rows[k][j]
    return result


@appekg.beat(3)
def batch(first: int, last: int) -> Iterator[int]:
    """The numbers of a batch of systems."""
    yield from range(first, last)


def work(systems: int, results: list[float]) -> None:
    """What a thread does."""
    total = 0.0
    for first in range(0, systems, 100):
        for number in batch(first, min(first + 100, systems)):
            total += solve(assemble(number))
    appekg.pulse(4)
    results.append(total)


def main() -> None:
    """Name the beats, start the threads, and wait for them."""
    systems = max(1, int(4000 * float(sys.argv[1] if len(sys.argv) > 1 else 1)))
    for number, name in enumerate(("assemble", "solve", "batches", "done"), start=1):
        appekg.name(number, name)
    results: list[float] = []
    threads = [threading.Thread(target=work, args=(systems, results)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{systems} systems each, equal results: {results[0] == results[1]}")


if __name__ == "__main__":
    main()
