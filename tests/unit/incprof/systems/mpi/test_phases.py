"""Phases and predictions of drawn programs whose time is known."""

from __future__ import annotations

import numpy as np
import pytest

from incprof.model import FloatArray, IntArray
from incprof.systems.mpi.analyse.event_phases import ProcessPhases, SignatureOptions, robust_phases
from incprof.systems.mpi.analyse.signature import predicted

OPTIONS = SignatureOptions()


class Program:
    """Events and their times, as a program would leave them."""

    def __init__(self) -> None:
        self.kinds: list[int] = []
        self.seconds: list[float] = []

    def do(self, *events: tuple[int, float]) -> None:
        for kind, seconds in events:
            self.kinds.append(kind)
            self.seconds.append(seconds)

    def found(self) -> tuple[ProcessPhases, FloatArray]:
        kinds: IntArray = np.array(self.kinds)
        tick_s = np.array(self.seconds)
        return robust_phases(kinds, tick_s, float(tick_s.sum()), OPTIONS), tick_s


def solver(steps: int = 1000, output: int = 100) -> Program:
    """A solver that converges in every step, and writes now and then."""
    rng, program = np.random.default_rng(1), Program()
    program.do((0, 0.5))
    for step in range(steps):
        program.do((1, 0.01))
        for _ in range(int(rng.integers(20, 40))):
            program.do((2, 0.001), (3, 0.0005))
        program.do((4, 0.002))
        if step % output == output - 1:
            program.do((5, 0.5))
    program.do((6, 1.0))
    return program


def test_steps_iterations_and_output_are_phases_of_their_own() -> None:
    program = solver()
    found, _ = program.found()
    assert [(phase.kinds, phase.weight) for phase in found.phases] == [
        ((5,), 10),
        ((1, 4), 1000),
        ((2, 3), program.kinds.count(2)),
    ]
    assert found.phases[0].seconds == pytest.approx(5.0)
    assert found.outside_s == pytest.approx(1.5)


def test_the_time_of_a_solver_follows_from_its_beginning() -> None:
    found, tick_s = solver().found()
    guess = predicted(found, tick_s, OPTIONS)
    assert guess.pet_s == pytest.approx(found.aet_s, rel=1e-3)
    assert guess.low_s <= guess.pet_s <= guess.high_s
    # Output has to be seen four times.
    assert guess.set_s == pytest.approx(0.4 * found.aet_s, rel=0.05)


def test_of_a_thousand_equal_steps_one_percent_is_enough() -> None:
    program = Program()
    for _ in range(1000):
        program.do((0, 0.01), (1, 0.002), (1, 0.002), (2, 0.001))
    found, tick_s = program.found()
    assert [(phase.kinds, phase.weight) for phase in found.phases] == [((0, 1, 1, 2), 1000)]
    guess = predicted(found, tick_s, OPTIONS)
    assert guess.pet_s == pytest.approx(found.aet_s)
    assert guess.set_s <= 0.01 * found.aet_s


def test_an_inner_loop_that_always_turns_as_often_is_no_phase() -> None:
    program = Program()
    for _ in range(1000):
        program.do((0, 0.01), *[(1, 0.001), (2, 0.001)] * 5)
    found, _ = program.found()
    assert [phase.weight for phase in found.phases] == [1000]


def test_long_iterations_are_cut_into_what_repeats_inside() -> None:
    program = Program()
    for _ in range(5):
        program.do(*[(0, 0.01), (1, 0.001)] * 1000, (2, 0.001), *[(3, 0.01)] * 1000, (4, 0.001))
    found, tick_s = program.found()
    assert [(phase.kinds, phase.weight) for phase in found.phases] == [((0, 1), 5000), ((3,), 5000)]
    assert predicted(found, tick_s, OPTIONS).pet_s == pytest.approx(found.aet_s)


def test_nothing_repeats() -> None:
    program = Program()
    program.do(*((kind, 0.1) for kind in range(10)))
    found, tick_s = program.found()
    assert (found.phases, found.coverage) == ((), pytest.approx(0.0))
    assert predicted(found, tick_s, OPTIONS).pet_s == pytest.approx(1.0)


def test_no_events_at_all() -> None:
    found, tick_s = Program().found()
    assert predicted(found, tick_s, OPTIONS).pet_s == 0.0


def test_a_start_that_takes_long_is_no_part_of_what_is_measured() -> None:
    program = Program()
    program.do((0, 5.0))
    for _ in range(1000):
        program.do((1, 0.004), (2, 0.001))
    found, tick_s = program.found()
    guess = predicted(found, tick_s, OPTIONS)
    assert guess.set_s - 5.0 == pytest.approx(OPTIONS.least * found.aet_s)


def two_halves(late_s: float) -> tuple[ProcessPhases, FloatArray]:
    """A loop of 100 s, and behind it another one."""
    program = Program()
    for _ in range(1000):
        program.do((0, 0.05), (1, 0.05))
    for _ in range(100):
        program.do((2, late_s / 200), (3, late_s / 200))
    return program.found()


def test_no_more_is_measured_than_a_twentieth_and_four_seconds() -> None:
    rng = np.random.default_rng(3)
    for factor, most_s in ((0.1, 0.5), (1.0, 4.0), (10.0, 4.0)):
        program = solver()
        program.seconds = [factor * one for one in program.seconds]
        tick_s = np.array(program.seconds) * rng.gamma(0.3, 1 / 0.3, len(program.seconds))
        kinds = np.array(program.kinds)
        found = robust_phases(kinds, tick_s, float(tick_s.sum()), OPTIONS)
        begin_s = float(np.cumsum(tick_s)[found.phases[0].starts[0]])
        longest = max(float(np.cumsum(tick_s)[phase.ends[3] - 1]) for phase in found.phases)
        assert predicted(found, tick_s, OPTIONS).set_s <= max(begin_s + 1.1 * most_s, longest)


def test_a_large_phase_that_comes_late_is_waited_for_unless_most_leaves_it_out() -> None:
    found, tick_s = two_halves(50.0)
    assert predicted(found, tick_s, OPTIONS).set_s > 100
    short = predicted(found, tick_s, SignatureOptions(most=0.1))
    assert short.set_s <= 15.1
    assert short.phases[1].measured == 0
    assert short.pet_s == pytest.approx(150.0)


def test_a_small_phase_that_comes_late_is_not_waited_for() -> None:
    found, tick_s = two_halves(4.0)
    assert len(found.phases) == 2
    short = predicted(found, tick_s, OPTIONS)
    assert short.set_s < 10
    assert (short.phases[1].measured, short.pet_s) == (0, pytest.approx(104.0))


@pytest.mark.parametrize(("occurrences", "warm_up"), [(1, 0), (5, 2)])
def test_exactly_the_requested_occurrences_are_measured(occurrences: int, warm_up: int) -> None:
    found, tick_s = two_halves(50.0)
    options = SignatureOptions(occurrences=occurrences, warm_up=warm_up, least=0.0, precise=float("inf"), most=0.1)
    guess = predicted(found, tick_s, options)
    assert guess.phases[0].measured == occurrences
    assert guess.set_s == pytest.approx(0.1 * (occurrences + warm_up))
