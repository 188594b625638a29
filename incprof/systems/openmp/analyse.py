"""Find the loop whose iterations the user counts, its speedup, and estimates of the run time."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from incprof.systems.openmp.loop_types import Loop, LoopRun, Times

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
