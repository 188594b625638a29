"""What patterns are used for: excerpts placed, samples forecast, segments, parts of a run."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.systems.periods.pattern_result import PatternOptions, level_changes
from incprof.systems.periods.pattern_uses import (
    KnownPattern,
    compare_sub_profiles,
    forecast,
    matches,
    place_in,
)
from incprof.systems.periods.phase_ta import find_patterns
from tests.unit.dtw_reference import by_definition
from tests.unit.made_series import SHAPES, profile

SHORT = st.lists(st.integers(-3, 3), min_size=1, max_size=6).map(lambda values: np.array(values, dtype=float))
LONGER = st.lists(st.integers(-3, 3), min_size=1, max_size=9).map(lambda values: np.array(values, dtype=float))


@given(SHORT, LONGER)
@settings(max_examples=200, deadline=None)
def test_the_place_is_the_best_of_all_parts(short, longer):
    place = place_in(short, longer)
    parts = [(begin, end) for begin in range(len(longer)) for end in range(begin + 1, len(longer) + 1)]
    every = [by_definition(short, longer[begin:end], squared=True) for begin, end in parts]
    assert place.distance == pytest.approx(min(every))
    assert by_definition(short, longer[place.begin : place.end], squared=True) == pytest.approx(place.distance)


def test_an_excerpt_that_goes_round_and_one_of_another_pattern():
    draw = np.random.default_rng(1)
    shapes = [np.convolve(draw.uniform(0, 1, 80), np.ones(5) / 5, "same") for _ in range(3)]
    known = [KnownPattern(shape, 1e-4) for shape in shapes]
    for number, shape in enumerate(shapes):
        excerpt = np.roll(shape, -60)[:40] + 0.005 * draw.standard_normal(40)
        best = matches(excerpt, known)[0]
        assert (best.pattern, best.is_part) == (number, True)
        assert (best.begin, best.end) == (pytest.approx(60, abs=2), pytest.approx(19, abs=2))
        alone = matches(excerpt, [known[number - 1]])[0]
        assert not alone.is_part
    with pytest.raises(ValueError, match="at least 8"):
        matches(shapes[0][:7], known)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["NEMO", "OpenFOAM"])
def test_forecasts_beat_the_same_again_and_hold_what_they_promise(name):
    truth = profile(24_000, SHAPES[name][-1:], seed=8)
    x, known = truth.values, 18_000
    patterns = find_patterns(x[:known]).patterns
    errors, inside = [], []
    for at in range(known, len(x) - 600, 97):
        coming = forecast(x[:at], patterns)
        if coming is None:
            continue
        true, period = x[at : at + len(coming.values)], patterns[coming.pattern].length
        again = x[at - period + np.arange(len(true)) % period]
        errors.append([np.abs(guess - true).mean() for guess in (coming.values, again, np.full(len(true), x[at - 1]))])
        inside.append(((coming.low <= true) & (true <= coming.high)).mean())
    own, again, last = np.mean(errors, axis=0)
    assert own < again < last
    assert np.mean(inside) > 0.75
    assert len(errors) > 15


def test_no_forecast_outside_a_pattern():
    draw = np.random.default_rng(0)
    x = np.concatenate([np.tile(draw.uniform(0, 1, 40), 20), draw.uniform(0, 1, 100)])
    patterns = find_patterns(x).patterns
    assert forecast(x, patterns) is None
    assert forecast(x[:800], patterns).position == pytest.approx(patterns[0].length - 1, abs=40)
    assert forecast(x[:5], patterns) is None
    assert forecast(x, ()) is None


@given(st.lists(st.integers(2, 30), min_size=1, max_size=8), st.integers(0, 1000))
@settings(max_examples=100, deadline=None)
def test_steps_are_where_the_level_changes(lengths, seed):
    levels = np.cumsum(np.random.default_rng(seed).choice([-1.0, 1.0], len(lengths)))
    values = np.repeat(levels, lengths)
    truth = np.flatnonzero(np.diff(values)) + 1
    found = level_changes(values)
    assert set(found) <= set(truth.tolist())
    assert found == sorted(set(found))
    if len(lengths) <= 2:
        assert found == truth.tolist()


def test_parts_of_equal_instances_are_as_good_as_the_whole():
    draw = np.random.default_rng(3)
    x = np.concatenate([draw.uniform(0, 1, 300), np.tile(draw.uniform(0, 1, 40), 60)])
    whole = find_patterns(x)
    options = PatternOptions(seed=5)
    (row,) = compare_sub_profiles(x, whole, [600], 4, options)
    assert [part.wgss for part in row.parts] == pytest.approx([0.0] * 4)
    assert all(part.start >= whole.patterns[0].instances[0, 0] for part in row.parts)
    assert row == compare_sub_profiles(x, whole, [600], 4, options)[0]
    with pytest.raises(ValueError, match="no pattern"):
        compare_sub_profiles(x[:300], find_patterns(x[:300]), [100], 2, options)
