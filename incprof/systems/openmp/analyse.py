"""Recorded loops around parallel regions: the loop that the user counts, its speedup, and estimates of the run time."""

from __future__ import annotations

import math
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
    """A loop, and its latest state. Times are in seconds since the start of the run.

    Attributes:
        id: Number in this process.
        kind: "detected" or "explicit".
        name: Name given in the source, if any.
        period: Least number of parallel regions in an iteration.
        depth: Number of loops around it.
        hash: Hash of its content.
        functions: Indices of the functions of an iteration, in order (the first 64); those of an inner loop once.
        longest_period: Greatest number of parallel regions in an iteration.
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


# Tolerance between a loop's iterations and an argument of the program, since the first or last few may be unrecorded.
MARGIN = 0.02


def counted_loop(loops: Iterable[Loop], iterations: int, run: LoopRun, baseline: LoopRun | None) -> tuple[Loop, bool]:
    """Return the loop that has `iterations` iterations in a whole run, and whether more than its time indicates so.

    In this order: the loop marked in the source; the only one with that many in a run that has ended; the only one with
    as many as a number among the program's arguments, in this run or in the baseline (`./app 100`, and one loop of 100
    iterations); the main loop, or if that has more iterations already, the longest other one.

    Args:
        loops: Loops of the run, at least one.
        iterations: Number of iterations in the whole run.
        run: The run.
        baseline: An earlier run of the same program, or None.
    """
    rows = list(loops)
    main = LoopRun.longest(rows)
    assert main is not None
    if main.kind == "explicit" or len(rows) == 1:
        return main, True
    exact = [loop for loop in rows if loop.iterations == iterations]
    if run.ended and len(exact) == 1:
        return exact[0], True
    possible = [loop for loop in rows if loop.iterations <= iterations] or rows
    named = {loop.identity for each_run in (run, baseline) if each_run and each_run.ended for loop in _named(each_run)}
    indicated = [loop for loop in possible if loop.identity in named]
    if len(indicated) == 1:
        return indicated[0], True
    return LoopRun.longest(indicated or possible) or main, len(possible) == 1


def _named(run: LoopRun) -> list[Loop]:
    """Return the loops with about as many iterations as an argument of the program."""
    numbers = {int(word) for word in run.arguments[1:] if word.isdecimal() and len(word) < 16}
    return [
        loop
        for loop in run.loops
        if any(abs(loop.iterations - number) <= max(1, MARGIN * number) for number in numbers if number > 1)
    ]


CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Speedup:
    """Speedup of a loop with `threads` relative to `base_threads`.

    Attributes:
        threads: Number of threads now.
        base_threads: Number of threads of the baseline.
        base_s: Mean time of an iteration in the baseline, in seconds.
        base_count: Number of iterations measured in the baseline.
        relative: Mean time of the baseline divided by the mean time now.
        low: Lower end of its interval.
        high: Upper end of its interval.
        one_thread_s: Seconds of an iteration with one thread, by Amdahl's law; None if both use equally many threads.
        serial_s: Part of it that more threads do not shorten; None likewise.
        speedup: Relative to one thread; None likewise.
    """

    threads: int
    base_threads: int
    base_s: float
    base_count: int
    relative: float
    low: float
    high: float
    one_thread_s: float | None
    serial_s: float | None
    speedup: float | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated time of the whole run.

    Attributes:
        done: Number of iterations done.
        expected: Number of iterations in the whole run.
        total_s: The estimate, in seconds.
        low_s: Lower end of its 95 % interval, in seconds.
        high_s: Upper end of its 95 % interval, in seconds.
    """

    done: int
    expected: int
    total_s: float
    low_s: float
    high_s: float


def _t_quantile(freedom: int) -> float:
    from scipy import special  # here: few reports estimate the time of a whole run, and it takes as long as all else

    return float(special.stdtrit(freedom, 0.5 + CONFIDENCE / 2))


def amdahl(time_a: float, threads_a: int, time_b: float, threads_b: int) -> tuple[float, float]:
    """Return the seconds with one thread, and their serial part, from times with two different numbers of threads.

    Amdahl's law is time(p) = serial + parallel / p. Neither part may be negative: for times that would require it (a
    superlinear speedup, or a slowdown) the nearest law is used: all parallel, or all serial.
    """
    parallel = (time_a - time_b) / (1 / threads_a - 1 / threads_b)
    serial = time_a - parallel / threads_a
    if parallel < 0:
        return time_a, time_a
    if serial < 0:
        return time_a * threads_a, 0.0
    return serial + parallel, serial


def speedup(now: Times, threads: int, base: Times, base_threads: int) -> Speedup | None:
    """Return the speedup of the mean iteration, with the interval of a ratio of means; None without iterations."""
    if min(now.count, base.count, threads, base_threads) < 1 or min(now.mean_s, base.mean_s) <= 0:
        return None
    relative = base.mean_s / now.mean_s
    spread = _log_error(now) + _log_error(base)
    factor = math.exp(min(_t_quantile(max(min(now.count, base.count) - 1, 1)) * math.sqrt(spread), 50.0))
    one, serial = (None, None)
    if base_threads != threads:
        one, serial = amdahl(base.mean_s, base_threads, now.mean_s, threads)
    against_one = one / now.mean_s if one is not None else None
    low, high = relative / factor, relative * factor
    return Speedup(threads, base_threads, base.mean_s, base.count, relative, low, high, one, serial, against_one)


def _log_error(times: Times) -> float:
    """Return the variance of the logarithm of the mean."""
    return (times.std_s / times.mean_s) ** 2 / times.count


def estimate(loop: Loop, expected: int, end_s: float | None = None) -> Estimate | None:
    """Estimate the time of a run in which this loop has `expected` iterations.

    The remaining r iterations are assumed to be draws from the n timed ones: they take r times the mean, with a
    variance of s^2 (r + r^2 / n). If the loop has several episodes, the time between them is assumed to recur in
    proportion. The time after the loop is unknown. end_s: when the run ended, if it has. None if fewer than two
    iterations were timed, or if a running loop has more iterations than expected.
    """
    times, done = loop.times, loop.iterations
    if expected < 1 or times.count < 2:
        return None
    if done > expected and end_s is None:
        return None
    if done >= expected:
        total = end_s if end_s is not None else loop.last_s
        return Estimate(done, done, total, total, total)
    remaining = expected - done
    mean_s = max(times.mean_s, (loop.last_s - loop.first_s) / done) if loop.episodes > 1 else times.mean_s
    total = loop.last_s + remaining * mean_s
    half = _t_quantile(times.count - 1) * times.std_s * math.sqrt(remaining + remaining * remaining / times.count)
    return Estimate(done, expected, total, max(total - half, loop.last_s), total + half)
