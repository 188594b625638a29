"""The loop that stands for a phase: by hand, and against a twin that looks at every loop again for every question."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.analysis.sites.rates import LoopLines, choose_loop
from incprof.analysis.thresholds import SITES


def loops(*spans, idle=(), refused=None):
    """Loops from (first, last) pairs in order; parents from how they enclose each other."""
    found = []
    for number, (first, last) in enumerate(spans):
        around = [i for i in range(number) if spans[i][0] <= first and last <= spans[i][1]]
        found.append(
            LoopLines(first, last, around[-1] if around else None, number not in idle, (refused or {}).get(number))
        )
    return found


def test_the_outermost_loop_that_holds_nearly_all():
    nest = loops((10, 40), (12, 30), (14, 20))
    choice = choose_loop({11: 1, 15: 95, 5: 4}, nest)
    assert (choice.loop, choice.share, choice.note) == (0, pytest.approx(0.96), None)


def test_one_of_two_loops_one_after_the_other():
    both = loops((10, 20), (30, 40), (32, 36))
    assert choose_loop({15: 3, 33: 97}, both).loop == 1
    choice = choose_loop({15: 40, 33: 60}, both)
    assert choice.loop == 1
    assert "largest of several loops: 60 %" in choice.note


def test_many_small_loops_are_a_body():
    choice = choose_loop({15: 34, 35: 33, 55: 33}, loops((10, 20), (30, 40), (50, 60)))
    assert choice.loop is None
    assert "no loop holds half" in choice.note
    assert choose_loop({15: 1}, []).note == "it has no loop"


def test_an_iteration_that_neither_calls_nor_loops_is_too_short():
    choice = choose_loop({11: 1}, loops((10, 20), idle={0}))
    assert choice.loop is None
    assert "too short" in choice.note
    # The loop of a do-while(0) around a busy one is passed over.
    assert choose_loop({13: 1}, loops((10, 20), (12, 15), idle={0})).loop == 1


def test_a_loop_that_takes_no_beat_leaves_it_to_the_one_inside():
    assert choose_loop({13: 1}, loops((10, 20), (12, 15), refused={0: "goto into it"})).loop == 1
    choice = choose_loop({13: 1}, loops((10, 20), refused={0: "goto into it"}))
    assert (choice.loop, choice.note) == (None, "its loop cannot hold a beat: goto into it")


def test_no_lines():
    assert choose_loop({}, loops((1, 2))).note == "no line numbers of its samples"
    assert choose_loop({1: 0.0}, loops((1, 2))).loop is None


def test_a_loop_around_several_phases_gives_way_to_the_one_of_this_phase():
    nest = loops((10, 50), (12, 20), (22, 30))
    assert choose_loop({15: 10}, nest).loop == 0
    assert choose_loop({15: 10}, nest, {25: 10}).loop == 1
    assert choose_loop({25: 10}, nest, {15: 10}).loop == 2
    # All phases in the same lines: they cannot be separated.
    assert choose_loop({15: 10}, nest, {15: 10, 25: 10}).loop == 0


@st.composite
def nests(draw):
    """Random loops that enclose each other or lie apart, outer ones first, and samples by line."""
    spans = []

    def fill(first, last, depth):
        at = first
        while at + 1 <= last and depth < 4 and len(spans) < 12 and draw(st.booleans()):
            start = draw(st.integers(at, last - 1))
            end = draw(st.integers(start + 1, last))
            spans.append((start, end))
            fill(start + 1, end - 1, depth + 1)
            at = end + 1

    fill(1, 60, 0)
    numbers = range(len(spans))
    idle = draw(st.sets(st.sampled_from(numbers))) if spans else set()
    refused = dict.fromkeys(draw(st.sets(st.sampled_from(numbers))), "no") if spans else {}
    weights = st.dictionaries(st.integers(1, 60), st.integers(0, 50), max_size=12)
    return loops(*spans, idle=idle, refused=refused), draw(weights), draw(weights)


@settings(deadline=None)
@given(nests())
def test_what_is_chosen_holds_what_it_should(case):
    nest, lines, elsewhere = case
    total = sum(lines.values())

    def share(loop):
        return sum(w for line, w in lines.items() if loop.first <= line <= loop.last) / total

    choice = choose_loop(lines, nest, elsewhere)
    usable = [loop for loop in nest if loop.busy and loop.refusal is None]
    nearly_all = [loop for loop in usable if total and share(loop) >= SITES.loop]
    if choice.loop is None:
        assert choice.note
        assert not nearly_all
        return
    chosen = nest[choice.loop]
    assert chosen in usable
    assert choice.share == pytest.approx(share(chosen))
    assert choice.share >= SITES.largest_loop - 1e-9
    if nearly_all:
        assert choice.share >= SITES.loop - 1e-9
        assert choice.note is None
    else:
        assert choice.share == pytest.approx(max(share(loop) for loop in nest))
    if not any(elsewhere.values()):
        better = [loop for loop in usable if share(loop) >= choice.share and loop.first < chosen.first]
        assert not [loop for loop in better if loop.last >= chosen.last]


def test_thousands_of_loops_take_no_time():
    nest = [LoopLines(i, 40_000 - i, i - 1 if i else None, True) for i in range(20_000)]
    assert choose_loop(dict.fromkeys(range(40000), 1.0), nest).loop == 0
