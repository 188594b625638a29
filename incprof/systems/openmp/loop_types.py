"""Loops around a program's parallel regions, as recorded by one process."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

NEARLY = 0.75


@dataclass(frozen=True, slots=True)
class Times:
    """Times of iterations; all 0 without any.

    Attributes:
        count: Number of iterations.
        mean_s: Mean, in seconds.
        std_s: Standard deviation of the sample, in seconds.
        min_s: Minimum, in seconds.
        max_s: Maximum, in seconds.
    """

    count: int = 0
    mean_s: float = 0.0
    std_s: float = 0.0
    min_s: float = 0.0
    max_s: float = 0.0


@dataclass(frozen=True, slots=True)
class RegionCode:
    """The function that contains a parallel region.

    Attributes:
        address: Link-time address in the module.
        module: Path of the module; None if unknown.
        build_id: Build-id of the module; None if unknown.
    """

    address: int
    module: str | None
    build_id: str | None


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop, and its state at `at_s`. Times are in seconds since the start of the run.

    Attributes:
        id: Number in this process.
        kind: "detected" or "explicit".
        name: Name given in the source, if any.
        period: Least number of parallel regions in an iteration.
        depth: Number of loops around it.
        hash: Hash of its content.
        functions: Indices of the functions of an iteration, in order (the first 64); those of an inner loop once.
        longest_period: Greatest number of parallel regions in an iteration.
        at_s: Time of this state.
        episodes: Number of episodes.
        iterations: Number of complete iterations.
        expected: Number of iterations announced by the program, 0 if none.
        threads: Number of threads.
        fewest_threads: Least number of threads.
        first_s: Begin of the first iteration.
        last_s: End of the last parallel region.
        total_s: Seconds between begin and end of all episodes.
        self_s: The part of it in no detected inner loop (0 for explicit loops), in seconds.
        parallel_s: Seconds in parallel regions.
        times: Times of iterations with the program's threads.
        fewer: Times of iterations with fewer threads.
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
    episodes: int = 0
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
        """Key that the same loop of the same program has in every run."""
        return self.kind, self.hash, self.period if self.kind == "explicit" else 0


@dataclass(frozen=True, slots=True)
class LoopRun:
    """One process.

    Attributes:
        path: Path of its file.
        app: The program.
        rank: Its rank.
        pid: Its process id.
        forked: Whether it is a forked child.
        fewer_threads: Number of threads with which some iterations are measured as baseline, 0 for none.
        functions: Functions with parallel regions.
        loops: Its loops.
        parallel_regions: Number of parallel regions executed.
        other_threads: Number of parallel regions started by other threads, which are not analysed.
        regions_lost: How often a new loop could not be stored because there were too many.
        end_s: Time of its last record, in seconds since the start.
        ended: Whether its file is complete.
        damaged: Number of damaged lines.
        arguments: Arguments of the program, its own name first.
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
        """Return the main loop of the run."""
        return self.longest(self.loops)

    @staticmethod
    def longest(loops: Iterable[Loop]) -> Loop | None:
        """Return the longest explicit loop, else the longest detected one; None without loops.

        An outer loop may have been detected an iteration later than the one inside it: of loops with nearly as much
        time, the outermost is returned.
        """
        rows = list(loops)
        explicit = [loop for loop in rows if loop.kind == "explicit"] or rows
        most = max((loop.total_s for loop in explicit), default=0.0)
        long = [loop for loop in explicit if loop.total_s >= NEARLY * most]
        return min(long, key=lambda loop: (loop.depth, -loop.total_s, loop.id), default=None)
