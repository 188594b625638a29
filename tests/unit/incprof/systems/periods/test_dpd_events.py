"""Loops in streams of events: the paper's tables, and every loop of random streams against its definition."""

from __future__ import annotations

import threading
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from incprof.errors import UsageError
from incprof.systems.periods.dpd_events import LOOPS, Dpd, Loops, Rule, detect
from tests.unit.dpd_nests import Nest, rotated
from tests.unit.dpd_reference import DpdReference
from tests.unit.dpd_streams import TABLE_5, nest, repetitive

TABLE_1 = [1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8, 5, 6, 7, 8, 5, 6, 7, 8, 5, 6, 7, 9, 9]
Spans = set[tuple[int, int, int]]


def spans(loops: Loops) -> Spans:
    return {(int(one["period"]), int(one["first"]), int(one["last"])) for one in loops}


def maximal_repetitions(x: NDArray[np.int64], window: int) -> Spans:
    """Every stretch that repeats with a period below the window, cannot be longer, and is no multiple of a shorter one.

    At least two periods; three samples for period 1.
    """
    found: Spans = set()
    for period in range(1, min(window, len(x))):
        same = np.concatenate([[False], x[period:] == x[:-period], [False]])
        bounds = np.flatnonzero(same[1:] != same[:-1])
        for first, after in zip(bounds[::2].tolist(), bounds[1::2].tolist(), strict=True):
            pattern = x[first : first + period]
            shorter = [p for p in range(1, period) if period % p == 0]
            if after - first >= max(period, 2) and not any((pattern == np.roll(pattern, p)).all() for p in shorter):
                found.add((period, first, after + period - 1))
    return found


@pytest.mark.parametrize(("rule", "matches"), [("adaptive", None), ("window", 4)])
def test_table_1(rule: Rule, matches: int | None) -> None:
    """Period 4 from sample 12 to 23, counted from 1; starts at 13, 17 and 21; predictions 5 6 7 8; lost at 24."""
    trace = detect(TABLE_1, 8, rule=rule, matches=matches, ahead=(1,))
    assert (np.flatnonzero(trace.period) + 1).tolist() == list(range(12, 24))
    assert set(trace.period[11:23].tolist()) == {4}
    assert (np.flatnonzero(trace.start) + 1).tolist() == [13, 17, 21]
    within = trace.backing[0] == 2
    assert trace.predicted[0, within].tolist() == [5, 6, 7, 8] * 3
    assert (np.flatnonzero(within) + 1).tolist() == list(range(12, 24))


@pytest.mark.parametrize("name", list(TABLE_5))
@pytest.mark.parametrize("tolerance", [False, True])
def test_streams_like_table_5(name: str, tolerance: bool) -> None:
    """All levels are found, with their lengths in samples, and no others; the outermost one cuts the stream."""
    stream, periods = TABLE_5[name]
    trace = detect(stream, 300, tolerance=tolerance)
    assert trace.periods() == periods
    assert sorted(set(trace.period.tolist()) - {0}) == periods
    assert trace.period[-1] == periods[-1]
    starts = np.flatnonzero(trace.start & (trace.period == periods[-1]))
    assert set(np.diff(starts).tolist()) == {periods[-1]}


def test_levels_are_there_at_the_same_time() -> None:
    x, y = [1] * 6 + list(range(10, 28)), list(range(100, 105))
    detector = Dpd(300)
    detector.feed((x * 11 + y) * 3 + x * 3 + [1] * 4)
    assert detector.loops()["period"].tolist() == [269, 24, 1]
    detector.feed([1, 1, 10])
    assert detector.loops()["period"].tolist() == [269, 24]


@settings(max_examples=150, deadline=None)
@given(repetitive(), st.integers(2, 80))
def test_all_loops_of_random_streams(stream: list[int], window: int) -> None:
    """As the reference finds them; each is a maximal repetition, and what overlaps no other one is a loop."""
    x = np.asarray(stream, dtype=np.int64)
    found, reference = spans(detect(x, window).loops), DpdReference(window)
    reference.feed(x)
    assert found == spans(reference.loops())
    maximal = maximal_repetitions(x, window)
    assert found <= maximal
    assert {one for one in maximal if not any(overlaps(one, other) for other in maximal)} <= found


def overlaps(one: tuple[int, int, int], other: tuple[int, int, int]) -> bool:
    """Return whether two stretches share events, or lie side by side."""
    return one != other and one[1] <= other[2] + 1 and other[1] <= one[2] + 1


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.booleans())
def test_nests_have_their_loops(seed: int, levels: int, odd: bool) -> None:
    """Exactly the true ones, but for what only a later loop explains, which goes round less than three times."""
    nest = Nest(Random(seed), levels, odd)
    window = max(map(len, nest.loops)) + 2
    assume(window <= 4000)
    found = detect(nest.stream, window).loops
    contents = [content(nest.stream, loop) for loop in found]
    assert nest.loops <= set(contents)
    for loop, each in zip(found, contents, strict=True):
        if each not in nest.loops:
            enough = loop["own"] + 2 * loop["period"]
            assert loop["last"] - loop["own"] + 1 < 3 * loop["period"]
            assert any(loop["first"] < other["first"] < enough and other["last"] > loop["last"] for other in found)


def content(stream: list[int], loop: Loops) -> tuple[int, ...]:
    """Return an iteration, the same wherever it begins."""
    return rotated(tuple(stream[int(loop["first"]) :][: int(loop["period"])]))


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(repetitive(), st.integers(2, 70)), min_size=1, max_size=4),
    st.sampled_from([("adaptive", None), ("window", None), ("window", 3), ("window", 20)]),
)
def test_like_the_reference(pieces: list[tuple[list[int], int]], how: tuple[Rule, int | None]) -> None:
    """Runs, periods, starts, loops and predictions, with the window changed between pieces of a stream."""
    rule, matches = how
    detector, reference = (make(40, rule=rule, matches=matches) for make in (Dpd, DpdReference))
    ended = [np.zeros(0, dtype=LOOPS)]
    for stream, window in pieces:
        detector.resize(window)
        reference.resize(window)
        done = len(reference.ended)
        x = np.asarray(stream, dtype=np.int64)
        trace = detector.feed(x, ahead=(1, 5))
        for i, value in enumerate(stream):
            known = reference.sample(value)
            assert (trace.period[i], trace.start[i]) == known
            assert [(trace.predicted[j, i], trace.backing[j, i]) for j in (0, 1)] == [
                reference.predict(ahead) for ahead in (1, 5)
            ]
        assert detector.matches().tolist() == reference.run.tolist()
        ended.append(trace.loops)
        names = [name for name in LOOPS.names or () if name != "hash"]
        expected = np.array([one[()] for one in reference.ended], dtype=LOOPS)[done:]
        # Loops that a resize ended are not among those that samples end.
        tail = expected[len(expected) - len(trace.loops) :]
        assert trace.loops[names].tolist() == tail[names].tolist()
        assert detector.loops()[names].tolist() == [loop[names][()].tolist() for loop in reference.counted()]


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64, np.uint64])
def test_types(kind: type) -> None:
    trace = detect(np.asarray(TABLE_1, dtype=kind), 8)
    assert trace.periods() == [4]


def test_addresses_are_distinguished_in_all_bits() -> None:
    stream = [0, 1 << 63, 1 << 32, 1 << 16, (1 << 64) - 1]
    assert detect(np.asarray(stream * 3, dtype=np.uint64), 8).periods() == [5]


def test_more_kinds_of_events_than_symbols() -> None:
    """Symbols have 16 bits: those of events that left the window are used again."""
    n = 200_000
    x = np.arange(n) * 4096
    x[-10:] = [1, 2, 3, 4, 5, 1, 2, 3, 4, 5]
    assert spans(detect(x, 1000).loops) == {(5, n - 10, n - 1)}
    big = np.tile(np.arange(30_000), 3)
    assert spans(detect(big, 32768).loops) == {(30_000, 0, 89_999)}


def test_long_runs_are_exact_where_it_matters() -> None:
    """Counters have 16 bits and stop at their end; periods go on."""
    trace = detect(np.tile([1, 2, 3], 50_000), 50)
    assert spans(trace.loops) == {(3, 0, 149_999)}
    assert trace.start.sum() == 49_998
    assert trace.loops["whole"].tolist() == [49_998]


def test_pieces_are_the_stream() -> None:
    stream, _ = TABLE_5["hydro2d"]
    whole = detect(stream, 300)
    detector, rest = Dpd(300), list(stream)
    periods, loops = [], []
    for size in [1, 2, 700, 5, 60_000]:
        trace = detector.feed(rest[:size])
        rest = rest[size:]
        periods += trace.period.tolist()
        loops += trace.loops.tolist()
    assert periods == whole.period.tolist()
    assert loops + detector.loops().tolist() == whole.loops.tolist()


def test_a_loop_that_comes_back_is_the_same() -> None:
    """Whichever of its samples comes first, and however often it runs; another order is another loop."""
    stream = [1, 2, 3, 4] * 5 + [9, 8] + [3, 4, 1, 2] * 7 + [8, 9, 7] + [1, 3, 2, 4] * 4
    loops = detect(stream, 20).loops
    assert loops["period"].tolist() == [4, 4, 4]
    assert loops["id"].tolist() == [1, 1, 2]
    assert loops["visits"].tolist() == [1, 2, 1]
    assert loops["hash"][0] == loops["hash"][1] != loops["hash"][2]


def test_the_whole_next_period() -> None:
    detector = Dpd(20)
    detector.feed([5, 6, 7, 8] * 3 + [5])
    period = [detector.predict(ahead) for ahead in range(1, 5)]
    assert [each.value for each in period if each is not None] == [6, 7, 8, 5]
    prediction = detector.predict(3)
    assert prediction is not None
    assert (prediction.value, prediction.periodic) == (8, True)
    detector.feed([99])
    assert detector.predict() is None


def test_windows_that_grow_and_shrink() -> None:
    detector = Dpd(10)
    detector.feed(list(range(30)) * 3)
    assert len(detector.loops()) == 0
    detector.resize(100)
    assert detector.feed(list(range(30)) * 3).periods() == []
    assert detector.loops()["period"].tolist() == [30]
    detector.resize(31)
    detector.feed(range(30))
    assert detector.loops()["period"].tolist() == [30]
    detector.resize(30)
    assert len(detector.loops()) == 0


def test_detectors_in_threads_do_not_disturb_each_other() -> None:
    streams = [nest(np.random.default_rng(seed)) for seed in range(4)]
    alone = [detect(stream, 400).loops.tolist() for stream in streams]
    found: dict[int, list[object]] = {}

    def work(i: int) -> None:
        for _ in range(5):
            found[i] = detect(streams[i], 400).loops.tolist()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[i] for i in range(4)] == alone


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: Dpd(1), "window 1"),
        (lambda: Dpd(32769), "window 32769"),
        (lambda: Dpd(10, rule="other"), "rule 'other'"),  # type: ignore[arg-type]
        (lambda: Dpd(10, matches=3), "matches 3"),
        (lambda: Dpd(10, rule="window", matches=0), "matches 0"),
        (lambda: Dpd(10).resize(0), "window 0"),
        (lambda: Dpd(10).feed([1.5]), "float64"),
        (lambda: Dpd(10).feed(["a"]), "must be integers"),
        (lambda: Dpd(10).feed([[1], [2]]), r"shape \(2, 1\)"),
        (lambda: Dpd(10).feed([1], ahead=(0,)), "ahead"),
    ],
)
def test_bad_arguments(call: object, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        call()  # type: ignore[operator]


@pytest.mark.parametrize("stream", [[], [1], [1, 1], [1, 2, 3]])
def test_streams_without_loops(stream: list[int]) -> None:
    trace = detect(stream, 10, ahead=(1,))
    assert trace.periods() == []
    assert trace.period.tolist() == [0] * len(stream)
    assert trace.hit_rate(1) <= 1
