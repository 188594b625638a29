from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.analysis.sites.rates import (
    BeatCost,
    CallLine,
    Executions,
    LoopLines,
    PhaseTime,
    choose_rate,
    iterations,
    phase_time,
)
from incprof.analysis.thresholds import SITES
from tests.unit.profiles import rows

COST = BeatCost(pair_ns=30, skipped_ns=3)


def array(*numbers):
    return np.array(numbers, dtype=float)


def rate(count, *, cpu=(1.0,), wall=(1.0,), phases=(0,), basis="counted", cost=COST):
    return choose_rate(Executions(array(*count), basis), PhaseTime(array(*cpu), array(*wall)), phases, cost)


def test_rare_beats_are_all_recorded():
    found = rate([1000])
    assert (found.factor, found.beats_hz, found.too_often) == (1, 1000, False)
    assert found.overhead_pct == pytest.approx(100 * 1000 * 30e-9)


def test_the_smallest_factor_that_is_cheap_enough():
    # 1e6 a second: 3 % with every beat, (30 / 5 + 3 * 0.8) ns of 1 us with every fifth.
    found = rate([1e6])
    assert found.factor == 5
    assert found.overhead_pct == pytest.approx(0.84)


def test_no_factor_is_large_enough():
    found = rate([1e7])
    assert found.too_often
    assert found.overhead_pct > SITES.overhead_pct


def test_the_phase_in_which_it_costs_most_decides():
    found = rate([10, 4e5], cpu=(1.0, 1.0), wall=(1.0, 1.0), phases=(0,))
    assert found.beats_hz == 10
    assert found.factor == 2


def test_cost_is_of_all_threads_together():
    # Four threads busy for a second: 4e5 beats are 0.3 % of their 4 s of CPU time.
    found = rate([4e5], cpu=(4.0,), wall=(1.0,))
    assert (found.factor, found.beats_hz) == (1, 4e5)
    assert found.overhead_pct == pytest.approx(0.3)


def test_nothing_is_known():
    found = rate([0], basis="unknown")
    assert (found.beats_hz, found.factor, found.overhead_pct) == (None, 1, None)
    assert rate([5], cpu=(0.0,), wall=(0.0,)).beats_hz == 0


@given(st.floats(0, 1e8), st.floats(0.1, 1000), st.floats(0, 100))
def test_a_factor_is_needed_and_enough(hz, pair, skipped):
    found = rate([hz], cost=BeatCost(pair, min(skipped, pair)))

    def overhead(factor):
        return 100 * hz * 1e-9 * (pair / factor + min(skipped, pair) * (1 - 1 / factor))

    assert found.overhead_pct == pytest.approx(overhead(found.factor))
    assert found.too_often == (found.overhead_pct >= SITES.overhead_pct)
    limit = SITES.overhead_pct * (1 - 1e-12)  # the two formulas round differently
    series = [a * 10**b for b in range(6) for a in (1, 2, 5)]
    assert all(overhead(smaller) >= limit for smaller in series if smaller < found.factor)


def test_time_of_phases_is_the_programs_own():
    profile = rows("a=80", "a=80", "b=40", "b=10")
    counted = replace(
        profile.counters,
        cpu_s=array(1.0, 1.0, 0.5, 0.1),
        profiler_s=array(0.2, 0.1, 0.0, 0.0),
        handler_s=array(0.0, 0.1, 0.0, 0.0),
        collector_s=np.zeros(4),
    )
    found = phase_time(replace(profile, counters=counted), np.array([0, 0, 1, -1]))
    assert found.cpu_s.tolist() == pytest.approx([1.6, 0.5])
    assert found.wall_s.tolist() == pytest.approx([1.6, 1.0])


def test_without_counters_self_time_has_to_do():
    profile = rows("a=80", "a=60", "b=40")
    nothing = dict.fromkeys(("cpu_s", "collector_s", "handler_s", "profiler_s"), np.zeros(3))
    profile = replace(profile, counters=replace(profile.counters, **nothing))
    found = phase_time(profile, np.array([0, 0, 1]))
    assert found.cpu_s.tolist() == pytest.approx([1.4, 0.4])
    assert found.wall_s.tolist() == pytest.approx([2.0, 1.0])


NEST = [LoopLines(10, 40, None, True), LoopLines(12, 20, 0, True), LoopLines(22, 30, 0, True)]


def test_the_line_of_the_loop_that_calls_most_often():
    calls = [CallLine(11, array(100)), CallLine(35, array(7)), CallLine(15, array(1e6)), CallLine(50, array(1e9))]
    found = iterations(calls, NEST, 0, array(1))
    assert (found.count.tolist(), found.basis) == ([100], "estimated")
    assert iterations(calls, NEST, 1, array(1)).count.tolist() == [1e6]


def test_inner_loops_bound_it():
    found = iterations([CallLine(15, array(800)), CallLine(25, array(300))], NEST, 0, array(1))
    assert (found.count.tolist(), found.basis) == ([300], "at most")
    found = iterations([CallLine(11, array(60), inlined=True), CallLine(25, array(300))], NEST, 0, array(1))
    assert (found.count.tolist(), found.basis) == ([60], "at most")


def test_no_call_at_all():
    assert iterations([], NEST, 0, array(4, 0)).basis == "at least"
    assert iterations([], NEST, 0, array(4, 0)).count.tolist() == [4, 0]
    assert iterations([CallLine(50, array(3, 3))], NEST, 2, array(0, 0)).basis == "unknown"


def test_thousands_of_loops_and_calls_take_no_time():
    nest = [LoopLines(i, 9_000 - i, i - 1 if i else None, True) for i in range(4_000)]
    calls = [CallLine(i, array(i)) for i in range(9_000)]
    assert iterations(calls, nest, 0, array(1)).basis == "estimated"
