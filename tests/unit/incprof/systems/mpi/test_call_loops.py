"""Repeats and loops of sequences: against a search item by item, and on programs whose loops are known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.systems.mpi.analyse.call_loops import Hashes, Loop, LoopFinder, least_rotation, repeats_of

words = st.lists(st.integers(0, 3), max_size=60).map(np.array) | st.builds(
    lambda word, times, before: np.array(before + word * times),
    st.lists(st.integers(0, 4), min_size=1, max_size=9),
    st.integers(2, 6),
    st.lists(st.integers(0, 4), max_size=5),
)


def _by_hand(items: list[int], period: int) -> list[tuple[int, int]]:
    """First item and number of periods of stretches that repeat, found one item after the other."""
    found, free, at = [], 0, 0
    while at < len(items) - period:
        end = at
        while end < len(items) - period and items[end] == items[end + period]:
            end += 1
        if end - at >= period:
            first = max(at, free)
            count = (end + period - first) // period
            if count >= 2:
                found.append((first, count))
                free = first + count * period
        at = end + 1
    return found


@settings(deadline=None)
@given(words)
def test_repeats_of_every_period_are_those_found_item_by_item(items: np.ndarray) -> None:
    items = items.astype(np.int64)
    hashes = Hashes(items)
    for period in range(1, len(items)):
        found = repeats_of(items, hashes, period)
        assert list(zip(found.first.tolist(), found.count.tolist(), strict=True)) == _by_hand(items.tolist(), period)


@settings(deadline=None)
@given(words)
def test_iterations_of_a_loop_consist_of_the_same_and_follow_one_another(items: np.ndarray) -> None:
    items = items.astype(np.int64)
    loops = LoopFinder(items).find()

    def flat(loop: Loop) -> set[int]:
        """Kinds of events that may lie in an iteration."""
        return {e for i in loop.content for e in ([i] if i < loops.kinds else flat(loops.loops[i - loops.kinds]))}

    for loop in loops.loops:
        assert (loop.starts < loop.ends).all()
        assert (loop.starts[1:] >= loop.ends[:-1]).all()
        joined = loop.episode[1:] == loop.episode[:-1]
        assert (loop.starts[1:][joined] == loop.ends[:-1][joined]).all()
        for start, end in zip(loop.starts.tolist(), loop.ends.tolist(), strict=True):
            assert set(items[start:end].tolist()) == flat(loop)


@settings(deadline=None)
@given(words)
def test_loops_are_found_again_by_their_grammar(items: np.ndarray) -> None:
    found = LoopFinder(items).find()
    again = LoopFinder(items).follow(found.grammar)
    assert again.grammar == found.grammar
    for one, other in zip(found.loops, again.loops, strict=True):
        assert (one.starts.tolist(), one.ends.tolist()) == (other.starts.tolist(), other.ends.tolist())


def test_the_beginning_of_a_sequence_has_the_loops_of_all_of_it() -> None:
    step = [0, 1, 2, 1, 3]
    # Only the end shows that 1 2 1 is a loop of its own.
    events = np.array(step * 20 + [4, *[1, 2, 1] * 9])
    whole = LoopFinder(events).find()
    for end in range(15, 100):
        # What is of no kind that the whole has is in no loop.
        beginning = LoopFinder(np.append(events[:end], [7, 9])).follow(whole.grammar)
        for one, part in zip(whole.loops, beginning.loops, strict=True):
            assert part.starts.tolist() == one.starts[one.ends <= end].tolist()


@settings(deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_the_least_rotation_is_the_least_of_all(word: list[int]) -> None:
    assert least_rotation(tuple(word)) == min(tuple(word[i:] + word[:i]) for i in range(len(word)))


def _loops(events: list[int]) -> dict[tuple[int, ...], int]:
    """Iterations of each loop by its content, loops inside written as -1, -2, ... in the order of `found`."""
    loops = LoopFinder(np.array(events)).find()
    covered = np.zeros(len(events), dtype=bool)
    for loop in loops.loops:
        for start, end in zip(loop.starts.tolist(), loop.ends.tolist(), strict=True):
            covered[start:end] = True
    assert covered[10:-10].all()
    return {
        tuple(item if item < loops.kinds else loops.kinds - 1 - item for item in loop.content): loop.iterations
        for loop in loops.loops
    }


def _nested(depth: int, body: Callable[[], list[int]]) -> list[int]:
    """Events of loops in loops, each with an event of its own at its end: depth + 1, ..."""
    return body() if depth == 0 else [e for _ in range(3) for e in [*_nested(depth - 1, body), 10 + depth]]


def test_five_loops_in_each_other() -> None:
    found = _loops(_nested(5, lambda: [1, 2]))
    # Innermost: (1 2 11); each around it has the one inside and an event.
    assert found == {(1, 2, 11): 243, (-1, 12): 81, (-2, 13): 27, (-3, 14): 9, (-4, 15): 3}


def test_a_loop_that_converges_now_sooner_and_now_later() -> None:
    rng = np.random.default_rng(0)
    turns = rng.integers(1, 9, 50)
    events = [e for count in turns.tolist() for e in [0, *[1, 2] * count, 3]]
    assert _loops(events) == {(1, 2): int(turns.sum()), (0, -1, 3): 50}


def test_a_step_that_comes_now_and_then() -> None:
    events = [e for step in range(500) for e in [0, 1, 2, *([3] if step % 100 == 99 else [])]]
    assert _loops(events) == {(0, 1, 2): 500, (-1, 3): 5}


def test_two_loops_one_after_the_other_have_their_own_iterations() -> None:
    assert _loops([0, 1] * 300 + [2, 1] * 100) == {(0, 1): 300, (2, 1): 100}
