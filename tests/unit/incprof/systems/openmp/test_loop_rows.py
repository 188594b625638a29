"""Which of the loops that the library saw are rows of the answer."""

from __future__ import annotations

from io import StringIO

from incprof.systems.openmp.analyse import Loop, LoopRun, RegionCode
from incprof.systems.openmp.sections import Analyst, write_text


def loop(number: int, functions: tuple[int, ...], depth: int, iterations: int, visits: int, self_s: float) -> Loop:
    return Loop(
        number, "detected", None, 3, depth, f"{number:x}", functions,
        iterations=iterations, episodes=visits, total_s=self_s, self_s=self_s,
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


def counted(
    iterations: int, *loops: Loop, arguments: tuple[str, ...] = (), wanted: str | None = None
) -> tuple[int, int]:
    """The id of the loop that the iterations are taken for, and how many lines say so."""
    code = tuple(RegionCode(16 * i, None, None) for i in range(4))
    run = LoopRun("x.sa", "x", 0, 1, False, 0, code, loops, 1, 0, 0, 9.0, True, 0, arguments)
    answer = Analyst(None, iterations, wanted).answer(run, "x", None)
    return answer.loops[0].loop.id, sum("iterations" in note and "--loop" in note for note in answer.notes)


def test_iterations_are_those_of_the_loop_that_they_fit() -> None:
    """A loop of ten time steps, and of one: by the program's argument, by their number, or by the user's word."""
    ten, one = loop(0, (2, 0, 1), 0, 10, 1, 2.0), loop(1, (0, 1), 1, 100, 10, 1.9)
    assert counted(400, ten, one, arguments=("./md", "100")) == (1, 1)
    assert counted(40, ten, one, arguments=("./md", "10")) == (0, 0)
    assert counted(100, ten, one) == (1, 1)
    assert counted(400, ten, one) == (0, 1)
    assert counted(50, ten, one) == (0, 0)
    assert counted(400, ten, one, wanted="0x0") == (1, 0)
    assert counted(400, ten, one, wanted="nothing") == (0, 1)


def test_the_table_has_loops_below_those_around_them() -> None:
    """Also where the iterations of an inner one are counted, which is the first one in JSON."""
    ten, one = loop(0, (2, 0, 1), 0, 10, 1, 2.0), loop(1, (0, 1), 1, 100, 10, 1.9)
    code = tuple(RegionCode(16 * i, None, None) for i in range(4))
    run = LoopRun("x.sa", "x", 0, 1, False, 0, code, (ten, one), 1, 0, 0, 9.0, True, 0, ())
    answer, out = Analyst(None, 100, None).answer(run, "x", None), StringIO()
    assert answer.loops[0].loop.id == 1
    write_text(answer, out)
    rows = [line for line in out.getvalue().splitlines() if line.lstrip().startswith("0x")]
    assert [row.startswith(" ") for row in rows[:2]] == [False, True], rows


def test_a_loop_around_another_one_is_the_main_one_though_found_later() -> None:
    around, within = loop(0, (0, 1), 0, 9, 1, 1.7), loop(1, (0, 1), 1, 400, 10, 2.0)
    assert counted(50, around, within)[0] == 0
