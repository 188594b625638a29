"""Speedup of a loop against a run with another number of threads, and how long the whole run will take.

Freitag, Corbalan and Labarta, "A Dynamic Periodicity Detector: Application to Speedup Computation", IPDPS 2001:
iterations of a loop are alike, so that some of them speak for the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import special

from incprof.model.loops import Loop, Times

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Speedup:
    """A loop with `threads` against itself with `base_threads`.

    relative: mean time of the baseline over the mean time now, with its interval. one_thread_s, serial_s: seconds of an
    iteration with one thread, and of the part of it that more threads do not shorten, by Amdahl's law; None where the
    two numbers of threads are the same. speedup: against one thread; None likewise.
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
    """Seconds that the whole run takes, from `done` of `expected` iterations, with an interval of 95 %."""

    done: int
    expected: int
    total_s: float
    low_s: float
    high_s: float


def _t_quantile(freedom: int) -> float:
    return float(special.stdtrit(freedom, 0.5 + CONFIDENCE / 2))


def amdahl(time_a: float, threads_a: int, time_b: float, threads_b: int) -> tuple[float, float]:
    """Seconds with one thread, and the serial part of them, from times with two different numbers of threads.

    Amdahl's law is time(p) = serial + parallel / p. Neither part is negative: times that would need that (more threads
    gave more than their number, or made it slower) give the nearest law: all parallel, or all serial.
    """
    parallel = (time_a - time_b) / (1 / threads_a - 1 / threads_b)
    serial = time_a - parallel / threads_a
    if parallel < 0:
        return time_a, time_a
    if serial < 0:
        return time_a * threads_a, 0.0
    return serial + parallel, serial


def speedup(now: Times, threads: int, base: Times, base_threads: int) -> Speedup | None:
    """Of the mean iterations; None without iterations on both sides. The interval is that of a ratio of two means."""
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
    """Variance of the logarithm of the mean."""
    return (times.std_s / times.mean_s) ** 2 / times.count


def estimate(loop: Loop, expected: int, end_s: float | None = None) -> Estimate | None:
    """How long the run takes in which this loop has `expected` iterations.

    The remaining iterations are taken to be draws from those that were timed: r of them take r times the mean, with a
    variance of s^2 (r + r^2 / n). Where the loop was left and came back, what is between its visits comes again too, in
    proportion. What comes after the loop is not known. end_s: when the run ended, if it has. None
    when fewer than two iterations were timed, or when a loop that goes on has more than were expected.
    """
    times, done = loop.times, loop.iterations
    if expected < 1 or times.count < 2:
        return None
    if done > expected and end_s is None:
        return None
    if done >= expected:
        total = end_s if end_s is not None else loop.last_s
        return Estimate(done, done, total, total, total)
    left = expected - done
    mean_s = max(times.mean_s, (loop.last_s - loop.first_s) / done) if loop.visits > 1 else times.mean_s
    total = loop.last_s + left * mean_s
    half = _t_quantile(times.count - 1) * times.std_s * math.sqrt(left + left * left / times.count)
    return Estimate(done, expected, total, max(total - half, loop.last_s), total + half)
