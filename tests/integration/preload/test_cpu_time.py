"""All CPU time is accounted for, and the program's waits are not cut short by it.

Bound: a thread's ticks are its CPU time divided by the period, rounded up or down at random (its first expiry is
uniform over a period), so their standard deviation is at most half a tick per thread, sqrt(n)/2 for n threads. Five of
those are allowed, plus one tick and 10 ms for what comes before a thread's timer and after it: by chance, one run in a
million has more.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest

from incprof.model import LIBRARY, OWN, PROFILER, UNKNOWN
from tests.integration.collector import Recording
from tests.integration.conftest import Build, Record
from tests.variants import mostly_slow

RATE = 250


@pytest.fixture
def program(build: Build) -> Path:
    return build("cpu.c", flags="-O2 -pthread")


def bound_s(threads: int) -> float:
    """Five standard deviations and the slack, see above."""
    return (5 * math.sqrt(threads) / 2 + 1) / RATE + 0.01


def accounted_s(recording: Recording) -> float:
    """Self, library, unknown and profiler time, and the interval thread's."""
    ticks = recording.ticks(OWN, LIBRARY, UNKNOWN, PROFILER)
    return ticks / RATE + float(recording.profile.counters.collector_s.sum())


def agree(found_s: float, expected_s: float, bound: float) -> None:
    """Compare, unless other work leaves so little that the kernel's timers fire late (recording.md)."""
    if abs(found_s - expected_s) > bound and os.getloadavg()[0] > 2 * (os.cpu_count() or 1):
        pytest.skip(f"the machine is too busy for timers of CPU time: {found_s:.3f} of {expected_s:.3f} s")
    assert found_s == pytest.approx(expected_s, abs=bound)


@pytest.mark.parametrize(("mode", "threads"), mostly_slow(2, [("many", 8), ("library", 1), ("single", 1)]))
def test_ticks_equal_getrusage(program: Path, record: Record, clock: str, mode: str, threads: int) -> None:
    recording = record([program, mode], clock=clock, rate=RATE)
    used_s = recording.outcome.values()["cpu_us"] / 1e6
    agree(accounted_s(recording), used_s, bound_s(threads + 1))


def test_threads_shorter_than_a_tick(program: Path, record: Record, clock: str) -> None:
    """1 000 threads of half a millisecond: a timer that starts with a full period would see nothing of them.

    The kernel's work to create and end a thread, up to 20 us, lies outside the thread's timer.
    """
    recording = record([program, "storm"], clock=clock, rate=RATE)
    used_s = recording.outcome.values()["cpu_us"] / 1e6
    # Bernoulli with p = cpu / period for each thread; one tick's worth of chance at most.
    share = min(used_s * RATE / 1000, 0.5)
    five_sd = 5 * math.sqrt(1000 * share * (1 - share)) / RATE
    difference = used_s - accounted_s(recording)
    assert -five_sd - 0.02 <= difference <= five_sd + 0.02 + 1000 * 0.00002
    assert recording.calls()["burn_us"] == 1000


def test_samples_of_short_threads_are_where_they_work(program: Path, record: Record) -> None:
    """2 000 threads of half a millisecond, each half of it in another function, of which the kernel's tick finds 250.

    Ticks that it misses count for those, not for the start routine, and none is more likely late in a thread.
    """
    recording = record([program, "halves"], clock="cpu", rate=RATE)
    halves = {"first_half": 0, "second_half": 0, "": 0}
    for path, ticks in recording.paths().items():
        halves[next((name for name in path if name in halves), "")] += ticks
    first, second, others = halves.values()
    assert others <= 0.15 * (first + second), halves
    # Five standard deviations of 250 samples, each of which counts for several ticks.
    assert first / (first + second) == pytest.approx(0.5, abs=0.2), halves


def test_library_time_belongs_to_its_caller(program: Path, record: Record, clock: str) -> None:
    recording = record([program, "library"], clock=clock, rate=RATE)
    profile = recording.profile
    self_s = dict(zip((f.mangled for f in profile.functions), np.ravel(profile.self_s.sum(axis=0)), strict=True))
    for name in ("in_sin", "in_memcpy"):
        agree(self_s[name], recording.outcome.values()[name] / 1e6, bound_s(1))
    assert recording.ticks(LIBRARY) > recording.ticks(OWN)


def test_waits_are_not_interrupted(build: Build, record: Record, clock: str) -> None:
    """nanosleep, usleep, poll, select, epoll_wait, sem_timedwait, pthread_cond_timedwait, accept, read, recv."""
    waiting = build("waiting.c", flags="-O2 -pthread")
    recording = record(waiting, clock=clock, rate=1000)
    assert set(recording.outcome.values().values()) == {0}
    assert recording.profile.counters.samples.sum() > 20
