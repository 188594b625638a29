"""The cost of a heartbeat."""

from __future__ import annotations

import time
from dataclasses import dataclass

from appekg._beat import beat
from appekg._loading import library

# The best of this many rounds, of this many beats each: other load on the machine makes some of them longer.
ROUNDS, BEATS = 9, 200


@dataclass(frozen=True)
class Cost:
    """The cost of a heartbeat for the thread that beats, in nanoseconds.

    Attributes:
        pair_ns: A begin and an end that are recorded.
        skipped_ns: A begin and an end that are skipped because of a rate factor.
    """

    pair_ns: float
    skipped_ns: float


def cost() -> Cost:
    """Measure the cost of a heartbeat of a compiled program on this machine. Starts nothing; takes 0.1 ms, once.

    Raises:
        ImportError: libappekg was not found.
        OSError: the measurement failed.
    """
    pair, skipped = library.ffi.new("double *"), library.ffi.new("double *")
    if library.ekg_cost(pair, skipped) != 0:
        raise OSError("libappekg was built without a clock: the cost of a heartbeat is not known")
    return Cost(pair[0], skipped[0])


class _Passing(beat):
    """A beat that calls the library without recording anything."""

    __slots__ = ()

    def __enter__(self) -> beat:
        library.ekg_is_enabled()
        return self

    def __exit__(self, *exception: object) -> None:
        library.ekg_is_enabled()


def python_ns() -> float:
    """Measure the overhead of `with appekg.beat(ID)` besides the heartbeat itself, in nanoseconds. Takes milliseconds.

    Raises:
        ImportError: libappekg was not found.
    """
    rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter_ns()
        for _ in range(BEATS):
            with _Passing(1):
                pass
        rounds.append(time.perf_counter_ns() - start)
    return min(rounds) / BEATS
