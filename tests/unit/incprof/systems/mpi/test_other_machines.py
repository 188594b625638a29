"""Predictions from the beginning of a run elsewhere, where every kind of event takes longer or shorter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.model import FloatArray
from incprof.systems.mpi.analyse.event_phases import robust_phases
from incprof.systems.mpi.analyse.extrapolation import (
    KnownPhase,
    extrapolate,
    extrapolate_by_equation,
    measure_known_phases,
    ratio,
)
from incprof.systems.mpi.analyse.signature import Predicted, predicted
from tests.unit.incprof.systems.mpi.test_phases import OPTIONS, solver


def _elsewhere(base: FloatArray, target: FloatArray) -> Predicted:
    """Predict a run of the drawn solver, (n,) seconds of its events, from its beginning and a whole run."""
    kinds = np.array(solver().kinds)
    whole = robust_phases(kinds, base, float(base.sum()), OPTIONS)
    assert whole.grammar is not None
    known = [KnownPhase(one.loop, one.whole, one.weight, one.seconds, one.time_s) for one in whole.phases]
    events = predicted(whole, base, OPTIONS).events
    seen = measure_known_phases(kinds[:events], target[:events], whole.grammar, known)
    outside_s = float(base[events:][whole.label[events:] < 0].sum())
    return extrapolate(known, seen, outside_s, float(target[:events].sum()), OPTIONS.warm_up)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0.3, 3), min_size=3, max_size=3), st.floats(0, 1))
def test_phases_may_slow_down_by_factors_of_their_own_and_change_with_time(speeds: list[float], drift: float) -> None:
    program = solver()
    kinds, seconds = np.array(program.kinds), np.array(program.seconds)
    base = seconds * (1 + drift * np.arange(len(kinds)) / len(kinds))
    step, inner, output = speeds
    # The events of a phase alike; the last event, 1 s of about 100, lies in none and is taken to be as the rest.
    speed = np.array([1.0, step, inner, inner, step, output, float(np.mean(speeds))])
    target = base * speed[kinds]
    assert _elsewhere(base, target).pet_s == pytest.approx(float(target.sum()), rel=0.03)


def test_the_range_holds_what_came() -> None:
    program = solver()
    kinds, seconds = np.array(program.kinds), np.array(program.seconds)
    held = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        base, target = (seconds * rng.gamma(25, 1 / 25, len(kinds)) for _ in range(2))
        guess = _elsewhere(base, target * 1.5)
        held += guess.low_s <= float(target.sum()) * 1.5 <= guess.high_s
    assert held >= 34


def test_a_ratio_needs_something_to_compare() -> None:
    assert ratio(np.zeros(0), np.ones(3), 1) is None
    assert ratio(np.ones(3), np.zeros(3), 1) is None
    only = ratio(np.array([2.0]), np.ones(5), 1)
    assert only is not None
    assert only.range() == (2.0, 2.0)


def test_one_occurrence_varies_as_those_of_the_whole_run() -> None:
    """The ratio has an occurrence of each run, equation 1 of this one alone."""
    times = np.random.default_rng(1).normal(1.0, 0.1, 400)
    phase = KnownPhase(0, True, 400, 400.0, times)
    by_ratio = extrapolate([phase], [times[:1]], 0.0, 1.0, 0)
    by_equation = extrapolate_by_equation([phase], [times[:1]], 1.0, 0)
    for guess, variation in ((by_ratio, 0.1 * np.sqrt(2)), (by_equation, 0.1)):
        assert guess.high_s - guess.pet_s == pytest.approx(1.96 * variation * guess.pet_s, rel=0.1)
        assert guess.high_s - guess.pet_s == pytest.approx(guess.pet_s - guess.low_s)


def test_unobserved_calls_are_as_much_slower_as_the_rest() -> None:
    known = [KnownPhase(0, True, 100, 100.0, np.ones(100)), KnownPhase(1, True, 10, 20.0, np.full(10, 2.0))]
    guess = extrapolate(known, [np.full(10, 3.0), np.zeros(0)], 5.0, 30.0, 1)
    assert guess.pet_s == pytest.approx(30 + 90 * 3 + 20 * 3 + 5 * 3)


def test_the_range_holds_what_came_where_the_machine_changes_slowly() -> None:
    """A loop of 2 000 iterations, of which 100 are compared; the speed of the machine is another one every 100."""
    held = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        base, target = (np.repeat(rng.gamma(30, 1 / 30, 20), 100) for _ in range(2))
        known = [KnownPhase(0, True, 2000, float(base.sum()), base)]
        guess = extrapolate(known, [target[:100]], 0.0, float(target[:100].sum()), 1)
        held += guess.low_s <= float(target.sum()) <= guess.high_s
    assert held >= 34
