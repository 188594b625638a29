"""The period of a series over time, as it comes."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.errors import UsageError
from incprof.systems.periods.dpd_values import PeriodStream, detect

WINDOW = 60


def streamed(values, window=WINDOW, cuts=()):
    stream = PeriodStream(window)
    edges = [0, *sorted(cut % (len(values) + 1) for cut in cuts), len(values)]
    changes = [change for a, b in itertools.pairwise(edges) for change in stream.feed(values[a:b])]
    return changes, stream.end()


def pieces(seed, *periods):
    """Pieces of 300 samples of these periods, exact ones; 0 stands for noise."""
    draw = np.random.default_rng(seed)
    return np.concatenate([np.resize(draw.integers(0, 1000, period or 300), 300) for period in periods]).astype(float)


def runs(values):
    """Stretches of the same period: period, first, last."""
    period = detect(values, WINDOW).period
    edges = [0, *(np.flatnonzero(np.diff(period)) + 1).tolist(), len(period)]
    return [(int(period[a]), a, b - 1) for a, b in itertools.pairwise(edges)]


def test_begins_changes_and_ends():
    """Periods are so far from each other that each change is one."""
    values = pieces(0, 0, 7, 19, 0)
    changes, found = streamed(values)
    trace = detect(values, WINDOW)
    expected = runs(values)
    assert {period for period, _, _ in expected} == {0, 7, 19}
    assert [(change.now.period if change.now else 0, change.at) for change in changes] == [
        (period, first) for period, first, _ in expected[1:]
    ]
    for change in changes:
        assert trace.period[change.at] == (change.now.period if change.now else 0) != trace.period[change.at - 1]
        assert change.now is None or change.now.first == change.at
        assert change.was is None or change.was.last == change.at - 1
    assert {(each.period, each.stretches, each.samples) for each in found.periods} == {
        (period, sum(one[0] == period for one in expected), int((trace.period == period).sum())) for period in (7, 19)
    }
    assert found.coverage == np.mean(trace.period > 0)
    assert (found.samples, found.low, found.high) == (1200, values.min(), values.max())


def test_an_exact_period_is_reported_as_exact():
    changes, found = streamed(pieces(1, 12))
    assert changes[0].now.confidence == np.inf
    assert found.periods[0].confidence == np.inf
    assert found.off == 0
    assert found.predicted == int((detect(pieces(1, 12), WINDOW).period[:-1] > 0).sum())


def test_a_little_drift_is_no_change():
    """A period that grows from 40 to 42 stays one stretch."""
    phase = np.cumsum(2 * np.pi / np.linspace(40, 42, 3000))
    changes, found = streamed(np.sin(phase) + 0.4 * np.sin(2 * phase), 200)
    assert len(set(detect(np.sin(phase) + 0.4 * np.sin(2 * phase), 200).period.tolist()) - {0}) > 1
    (change,) = changes
    assert (change.was, change.now.period) == (None, pytest.approx(40, abs=1))
    (each,) = found.periods
    assert (each.stretches, each.first, each.last) == (1, change.at, 2999)
    assert each.period in (40, 41, 42)
    assert 2.5 < each.confidence < np.inf


def test_the_same_period_again():
    values = pieces(2, 7, 0, 7)
    each = next(each for each in streamed(values)[1].periods if each.period == 7)
    mine = [one for one in runs(values) if one[0] == 7]
    assert len(mine) >= 2
    assert (each.stretches, each.first, each.last) == (len(mine), mine[0][1], mine[-1][2])


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 100), st.lists(st.sampled_from([0, 2, 5, 7, 8, 29, 30]), max_size=4), st.lists(st.integers(0, 1200))
)
def test_pieces_are_the_series(seed, periods, cuts):
    values = pieces(seed, *periods) if periods else np.zeros(0)
    whole, cut = streamed(values), streamed(values, cuts=cuts)
    assert whole == cut
    trace = detect(values, WINDOW, ahead=(1,))
    assert sum(each.samples for each in cut[1].periods) == int((trace.period > 0).sum())


def test_what_is_no_number():
    stream = PeriodStream()
    with pytest.raises(UsageError, match="sample 1 is nan"):
        stream.feed(np.array([1.0, np.nan]))
    assert stream.end().samples == 0
