"""Loops of a stream of events with names, as it comes."""

import itertools
from collections import defaultdict
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from incprof.systems.periods.dpd_events import Dpd, detect
from incprof.systems.periods.stream_loops import AHEAD, LONGEST_NAME, MEMORY, MOST_LOOPS, MOST_NAMES, LoopStream
from tests.unit.dpd_nests import Nest, rotated
from tests.unit.dpd_streams import TABLE_5, nest, repetitive
from tests.unit.incprof.systems.periods.test_dpd_events import TABLE_1


def streamed(events, window=1024, *, tolerance=False, cuts=()):
    """Return the reported changes of a stream that comes in pieces, and the final answer."""
    stream = LoopStream(window, tolerance=tolerance)
    names = [str(event) for event in events]
    edges = [0, *sorted(cut % (len(names) + 1) for cut in cuts), len(names)]
    changes = [change for a, b in itertools.pairwise(edges) for change in stream.feed(names[a:b])]
    return changes, stream.end()


def told(changes):
    """Changes as numbers and names."""
    return [(change.at, *map(visit, (change.was, change.now))) for change in changes]


def visit(one):
    return one and (one.loop.id, one.loop.content, one.first, one.last)


def known(found):
    """All that is known of loops."""
    return [
        (loop.id, loop.content, loop.episodes, loop.events, loop.first, loop.last, loop.starts, loop.whole, loop.odd,
         loop.depth, loop.around and loop.around.id)
        for loop in found.loops
    ]  # fmt: skip


def test_table_1():
    """The paper counts from 1: period 4 from sample 12 to 23, lost at 24."""
    changes, found = streamed(TABLE_1, 8)
    content = ("5", "6", "7", "8")
    assert told(changes) == [(11, None, (1, content, 4, 11)), (23, (1, content, 4, 22), None)]
    (loop,) = found.loops
    assert (loop.period, loop.episodes, loop.events, loop.iterations) == (4, 1, 19, 4.75)
    assert (found.events, found.kinds, found.covered) == (25, 9, 19)


@pytest.mark.parametrize("name", list(TABLE_5))
def test_streams_like_table_5(name):
    """Loops within loops, the outermost first, each with what an iteration consists of."""
    stream, periods = TABLE_5[name]
    changes, found = streamed(stream, 300)
    assert [loop.period for loop in found.loops] == periods[::-1]
    assert [loop.depth for loop in found.loops] == list(range(len(periods)))
    outermost = found.loops[0]
    assert outermost.content == tuple(map(str, stream[4 : 4 + periods[-1]]))
    assert (outermost.episodes, outermost.first, outermost.last) == (1, 4, len(stream) - 1)
    assert outermost.iterations == (len(stream) - 4) / periods[-1]
    assert found.covered == len(stream) - 4
    assert changes[-1].now.loop is outermost


@pytest.mark.parametrize(
    ("inner", "trips", "end"), [(("k2", "k1"), 40, ("k1",)), ("abc", 10, "c"), ("abcd", 6, "ab"), ("aab", 5, "a")]
)
def test_a_loop_that_one_of_its_own_events_ends(inner, trips, end):
    """Two loops, however often the inner one ends and begins again; no share is above 100 %."""
    outer = [*inner] * trips + [*end]
    _, found = streamed(outer * 30)
    assert [loop.period for loop in found.loops] == [len(outer), len(inner)]
    assert [loop.episodes for loop in found.loops] == [1, 30]
    assert found.loops[0].iterations == 30
    assert 30 * trips * len(inner) <= found.loops[1].events <= found.events == 30 * len(outer)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.booleans())
def test_nests_have_exactly_their_loops(seed, levels, odd):
    nest = Nest(Random(seed), levels, odd)
    window = max(map(len, nest.loops)) + 2
    assume(window <= 4000)
    _, found = streamed(nest.stream, window)
    assert {rotated(tuple(map(int, loop.content))) for loop in found.loops} == nest.loops
    assert all(loop.events <= found.covered <= found.events for loop in found.loops)


@settings(max_examples=150, deadline=None)
@given(repetitive(), st.integers(2, 60), st.lists(st.integers(0, 400), max_size=4))
def test_every_visit_is_taken_that_no_later_loop_explains(stream, window, cuts):
    """Against the detector: visits, events, what lies in what, and the events in any of them."""
    _, found = streamed(stream, window, cuts=cuts)
    every = detect(np.asarray(stream, dtype=np.int64), window).loops
    spans = [(int(loop["period"]), int(loop["first"]), int(loop["last"]))
             for loop in every if not any(explains(other, loop) for other in every)]  # fmt: skip
    visits = defaultdict(list)
    for period, first, last in spans:
        visits[rotated(tuple(map(str, stream[first : first + period])))].append((first, last))
    assert {rotated(loop.content): (loop.episodes, loop.last) for loop in found.loops} == {
        content: (len(each), max(last for _, last in each)) for content, each in visits.items()
    }
    for loop in found.loops:
        mine = visits[rotated(loop.content)]
        assert loop.events == len({at for first, last in mine for at in range(first, last + 1)})
        around = [
            period
            for period, first, last in spans
            if period > loop.period and any(first <= a and b <= last for a, b in mine)
        ]
        assert (loop.around.period if loop.around else None) == min(around, default=None)
    covered = {at for _, first, last in spans for at in range(first, last + 1)}
    assert found.covered == len(covered)


def explains(later, loop):
    """Whether a loop went round less often than it must before a later one began that outlasts it."""
    enough = loop["own"] + max(2 * loop["period"], 3)
    more = later["last"] - later["first"] + 1 > max(2 * later["period"], 3)
    return more and loop["first"] < later["first"] < enough and later["last"] > loop["last"]


@settings(max_examples=150, deadline=None)
@given(repetitive(), st.integers(2, 60), st.lists(st.integers(0, 400), max_size=6), st.booleans())
def test_pieces_are_the_stream(stream, window, cuts, tolerance):
    whole, pieces = (streamed(stream, window, tolerance=tolerance, cuts=each) for each in ((), cuts))
    assert told(whole[0]) == told(pieces[0])
    assert known(whole[1]) == known(pieces[1])
    assert (whole[1].covered, whole[1].hits) == (pieces[1].covered, pieces[1].hits)


@settings(max_examples=150, deadline=None)
@given(repetitive(), st.integers(2, 60), st.booleans())
def test_changes_are_those_of_the_outermost_loop(stream, window, tolerance):
    """Against the detector, read after each event."""
    changes, _ = streamed(stream, window, tolerance=tolerance)
    detector, before, expected = Dpd(window, tolerance=tolerance), 0, []
    for at, event in enumerate(stream):
        period = int(detector.feed([event]).period[0])
        if period != before:
            first = int(detector.loops()["first"][0]) if period else None
            expected.append((at, before, period, first))
        before = period
    assert [
        (c.at, c.was.loop.period if c.was else 0, c.now.loop.period if c.now else 0, c.now.first if c.now else None)
        for c in changes
    ] == expected
    for earlier, later in itertools.pairwise(changes):
        assert visit(earlier.now) is None or visit(earlier.now)[:3] == visit(later.was)[:3]


@pytest.mark.parametrize("seed", range(3))
def test_predictions_are_counted_over_all_pieces(seed):
    stream = nest(np.random.default_rng(seed))
    stream = np.unique(stream, return_inverse=True)[1]
    _, found = streamed(stream, 300, cuts=(5, 6, 9, 400))
    trace = detect(stream, 300, memory=MEMORY, ahead=AHEAD)
    for ahead in AHEAD:
        assert found.hits[ahead] == pytest.approx(trace.hit_rate(ahead))
        assert found.hits[ahead] > 0.5
    assert sum(loop.starts for loop in found.loops) == trace.loops["starts"].sum()
    assert sum(loop.whole for loop in found.loops) == trace.loops["whole"].sum()


def test_a_loop_goes_on_over_an_odd_event():
    stream = list("abcdefgh") * 5 + ["?"] + list("abcdefgh") * 5
    assert [loop.episodes for loop in streamed(stream)[1].loops] == [2]
    (loop,) = streamed(stream, tolerance=True)[1].loops
    assert (loop.episodes, loop.odd, loop.events, loop.content) == (1, 1, 81, tuple("abcdefgh"))


def test_no_more_loops_are_kept_than_there_is_room_for():
    """Ever more loops go out of use; one that holds most of the events stays."""
    main = list("xyz")
    stream = main * 4000
    for number in range(3 * MOST_LOOPS):
        stream += [f"a{number}", f"b{number}"] * 2
    stream += main * 3000
    changes, found = streamed(stream, 16)
    assert len(found.loops) <= MOST_LOOPS + 1024
    assert found.forgotten > 0
    assert len(found.loops) + found.forgotten == 3 * MOST_LOOPS + 1
    assert (found.loops[0].content, found.loops[0].episodes) == (("x", "y", "z"), 2)
    assert found.covered == len(stream)
    assert changes[-1].now.loop is found.loops[0]


def test_what_is_remembered_does_not_grow_with_the_stream():
    stream = LoopStream(50)
    for start in range(0, 3 * MOST_NAMES, 5000):
        stream.feed([f"event {number}" for number in range(start, start + 5000)])
    sizes = (len(stream._names), len(stream._bare), len(stream._codes), len(stream._kinds))
    assert sizes == (150, 600, MOST_NAMES, MOST_NAMES + 1)
    found = stream.end()
    assert (found.kinds, found.covered, found.loops) == (None, 0, ())


def test_long_names_are_distinguished_and_cut_off():
    long = "f" * 5000
    changes, found = streamed([long + "a", long + "b"] * 3)
    assert found.kinds == 2
    assert found.loops[0].content == ("f" * LONGEST_NAME + "...",) * 2
    assert len(changes) == 1


def test_nothing_came():
    changes, found = streamed([])
    assert (changes, found.events, found.kinds, found.loops, found.covered) == ([], 0, 0, (), 0)
    assert found.hits == {1: 0.0, 5: 0.0}
