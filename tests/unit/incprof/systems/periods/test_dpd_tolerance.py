"""Loops that go on over single odd samples, and those that do not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.systems.periods.dpd_events import Dpd, detect
from tests.unit.dpd_streams import repetitive

PATTERN = [3, 1, 4, 1, 5, 9, 2, 6]


def disturbed(kind: str, at: int, periods: int = 12) -> list[int]:
    stream = PATTERN * periods
    middle = periods // 2 * len(PATTERN) + at
    changes = {"odd": [77], "additional": [77, stream[middle]], "missing": []}
    return stream[:middle] + changes[kind] + stream[middle + 1 :]


@pytest.mark.parametrize("kind", ["odd", "additional", "missing"])
@pytest.mark.parametrize("at", range(8))
def test_one_odd_sample(kind: str, at: int) -> None:
    """The loop goes on and its segments find their beginnings again; without tolerance there are two loops."""
    stream = disturbed(kind, at)
    trace = detect(stream, 50, tolerance=True, ahead=(1,))
    assert trace.periods() == [8]
    (loop,) = trace.loops
    assert (loop["first"], loop["last"], loop["odd"], loop["visits"]) == (0, len(stream) - 1, 1, 1)
    assert set(trace.period[15:].tolist()) == {8}
    starts = np.flatnonzero(trace.start)
    length = {"odd": 8, "additional": 9, "missing": 7}[kind]
    lengths = np.diff(starts).tolist()
    # What comes instead of the first sample of a period, or before it, may belong to either period.
    assert sorted({*lengths}) in ([8], sorted({8, length}))
    assert sum(one != 8 for one in lengths) == (kind != "odd")
    assert [stream[i] for i in starts.tolist()].count(PATTERN[0]) >= len(starts) - 1
    assert loop["starts"] - loop["whole"] in ((1, 2) if kind == "missing" else (1,))
    misses = np.flatnonzero(trace.predicted[0, 15:-1] != np.asarray(stream[16:]))
    assert len(misses) <= 3

    strict = detect(stream, 50).loops
    strict = strict[strict["period"] == 8]
    assert strict[["id", "visits", "odd"]].tolist() == [(1, 1, 0), (1, 2, 0)]


def test_several_single_ones() -> None:
    stream = PATTERN * 4 + [77] + PATTERN * 3 + PATTERN[:3] + PATTERN[4:] + PATTERN * 4
    (loop,) = detect(stream, 50, tolerance=True).loops
    assert (loop["odd"], loop["last"]) == (2, len(stream) - 1)


@pytest.mark.parametrize("between", [[77, 78], [77] * 8, [5, 6, 5], [3, 3, 3, 3, 3]])
def test_more_than_one_ends_it(between: list[int]) -> None:
    trace = detect(PATTERN * 5 + between + PATTERN * 5, 50, tolerance=True)
    eights = trace.loops[trace.loops["period"] == 8]
    assert eights["first"].tolist()[0] == 0
    assert eights["last"].tolist()[0] <= 5 * 8
    assert eights["visits"].tolist() == [1, 2]


def test_an_odd_sample_in_every_other_period_is_a_longer_loop() -> None:
    stream = (PATTERN * 2 + [77]) * 12
    assert detect(stream, 50, tolerance=True).period[-1] == 17


def test_a_missing_sample_makes_no_other_loop() -> None:
    """Around it the stream repeats with a period less by one, for just two of them, which the loop explains."""
    stream = disturbed("missing", 4)
    assert stream[45:52] == stream[52:59]
    for tolerance in (False, True):
        assert detect(stream, 50, tolerance=tolerance).periods() == [8]


def test_windows_change_while_a_loop_waits() -> None:
    for window in (9, 20, 400):
        detector = Dpd(50, tolerance=True)
        detector.feed([*PATTERN * 4, 77, *PATTERN[1:4]])
        detector.resize(window)
        detector.feed(PATTERN[4:] + PATTERN * 3)
        assert detector.loops()[["period", "odd"]].tolist() == [(8, 1)]
    detector = Dpd(50, tolerance=True)
    detector.feed([*PATTERN * 4, 77, *PATTERN[1:4]])
    detector.resize(8)
    assert detector.feed(PATTERN[4:] + PATTERN * 3).periods() == []
    assert len(detector.loops()) == 0


@settings(max_examples=100, deadline=None)
@given(repetitive(), st.integers(2, 80))
def test_what_holds_in_any_stream(stream: list[int], window: int) -> None:
    """Loops start and end where the stream bears them out but for their odd samples."""
    x = np.asarray(stream, dtype=np.int64)
    trace = detect(x, window, tolerance=True)
    for loop in trace.loops:
        period, first, last = int(loop["period"]), int(loop["first"]), int(loop["last"])
        assert 0 <= first <= last < len(x)
        assert last - first + 1 >= 2 * period
        assert (x[first : first + period] == x[first + period : first + 2 * period]).all()
        assert loop["whole"] <= loop["starts"]
        if loop["odd"] == 0:
            assert (x[first : last + 1 - period] == x[first + period : last + 1]).all()
    assert (trace.period[trace.start] > 0).all()
