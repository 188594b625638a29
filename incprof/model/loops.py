"""The loops around a program's parallel regions, as one process recorded them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

NEARLY = 0.75


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds per iteration over `count` iterations; `std_s` is the sample's standard deviation. All 0 without any."""

    count: int = 0
    mean_s: float = 0.0
    std_s: float = 0.0
    min_s: float = 0.0
    max_s: float = 0.0


@dataclass(frozen=True, slots=True)
class RegionCode:
    """The function that holds a parallel region: link-time address in a module; None where that is not known."""

    address: int
    module: str | None
    build_id: str | None


@dataclass(frozen=True, slots=True)
class Loop:
    """An iterative region: its identity, and what is known of its iterations at `at_s`.

    kind: "detected" or "explicit". period, longest_period: parallel regions in an iteration, the fewest and the most.
    functions: indices of those of an iteration, in order (the first 64), those of a loop within it once. iterations:
    whole ones. times: with the program's threads, fewer: with fewer. first_s, last_s: begin of the first iteration and
    end of the last parallel region, since the start of the run. total_s: between begin and end of all visits; self_s:
    of that, in no loop that was found within this one (0 for explicit ones); parallel_s: in parallel regions.
    """

    id: int
    kind: str
    name: str | None
    period: int
    depth: int
    hash: str
    functions: tuple[int, ...]
    longest_period: int = 0
    at_s: float = 0.0
    visits: int = 0
    iterations: int = 0
    expected: int = 0
    threads: int = 0
    fewest_threads: int = 0
    first_s: float = 0.0
    last_s: float = 0.0
    total_s: float = 0.0
    self_s: float = 0.0
    parallel_s: float = 0.0
    times: Times = Times()
    fewer: Times = Times()

    @property
    def identity(self) -> tuple[str, str, int]:
        """The same for the same loop of the same program in another run."""
        return self.kind, self.hash, self.period if self.kind == "explicit" else 0


@dataclass(frozen=True, slots=True)
class LoopRun:
    """One process.

    `end_s` is its last sign of life, since the start; `ended`: whether the file has its end. `arguments`: of the
    program, its own name first.
    """

    path: str
    app: str
    rank: int
    pid: int
    forked: bool
    fewer_threads: int
    functions: tuple[RegionCode, ...]
    loops: tuple[Loop, ...]
    parallel_regions: int
    other_threads: int
    regions_lost: int
    end_s: float
    ended: bool
    damaged: int
    arguments: tuple[str, ...] = ()

    def main_loop(self) -> Loop | None:
        """Return the loop that the run is about."""
        return self.longest(self.loops)

    @staticmethod
    def longest(loops: Iterable[Loop]) -> Loop | None:
        """Return an explicit loop before a detected one, and of these the longest; None of none.

        A loop around another one may have been found an iteration later than that: the outermost of those that have
        nearly as much time is taken.
        """
        rows = list(loops)
        explicit = [loop for loop in rows if loop.kind == "explicit"] or rows
        most = max((loop.total_s for loop in explicit), default=0.0)
        long = [loop for loop in explicit if loop.total_s >= NEARLY * most]
        return min(long, key=lambda loop: (loop.depth, -loop.total_s, loop.id), default=None)
