"""Which of the loops that the library saw are rows of the answer."""

from __future__ import annotations

from incprof.model.loops import Loop, LoopRun, RegionCode
from incprof.study.loops import Analyst


def loop(number: int, functions: tuple[int, ...], depth: int, iterations: int, visits: int, self_s: float) -> Loop:
    return Loop(
        number, "detected", None, 3, depth, f"{number:x}", functions,
        iterations=iterations, visits=visits, total_s=self_s, self_s=self_s,
    )  # fmt: skip


def rows(*loops: Loop) -> dict[int, float]:
    code = tuple(RegionCode(16 * i, None, None) for i in range(4))
    run = LoopRun("x.sa", "x", 0, 1, False, 0, code, loops, 1, 0, 0, 9.0, True, 0)
    answer = Analyst(None, None).answer(run, "x", None)
    return {found.loop.id: found.loop.self_s for found in answer.loops}


def test_equal_calls_in_a_row_are_no_loop_and_their_time_is_the_other_ones() -> None:
    around = loop(0, (0, 1, 1), 0, 50, 1, 2.0)
    assert rows(around, loop(1, (1,), 1, 100, 50, 1.0)) == {0: 3.0}
    assert rows(around, loop(1, (1,), 1, 101, 50, 1.0)) == {0: 2.0, 1: 1.0}


def test_an_iteration_without_its_inner_loop_is_no_other_loop() -> None:
    assert rows(loop(0, (0, 1, 2), 0, 50, 1, 2.0), loop(1, (0, 1), 0, 2, 1, 1.0)) == {0: 2.0}


def test_two_iterations_of_functions_of_its_own_are_a_loop() -> None:
    assert rows(loop(0, (0, 1), 0, 50, 1, 2.0), loop(1, (2, 3), 0, 2, 1, 1.0)) == {0: 2.0, 1: 1.0}
