"""The sliding window: kernels and Fourier transform against the definition."""

import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.analysis._native import native, pointer
from incprof.analysis._native_ffi import ffi
from incprof.systems.periods.pattern_result import PatternOptions
from incprof.systems.periods.phase_ta import coverage, estimated_coverage, parts_of, tune, window_grid
from incprof.systems.periods.scan import (
    fast_size,
    lags_fft,
    length_groups,
    noise_level,
    scan,
)
from tests.unit.made_series import SHAPES, profile
from tests.unit.scan_reference import base_period, carriers, lags, scan_by_definition

# The package has a function of this name.
tuning = sys.modules[tune.__module__]


def wave(samples, period, noise, seed=0):
    draw = np.random.default_rng(seed)
    shape = draw.uniform(0, 1, period)
    return np.tile(shape, samples // period + 1)[:samples] + noise * draw.standard_normal(samples)


@pytest.mark.parametrize("half", [2, 3, 31, 32, 33, 64, 100])
@pytest.mark.parametrize("metric", ["l2", "l1"])
def test_distances_of_shifted_windows(half, metric):
    inside = np.random.default_rng(half).standard_normal(2 * half)
    got = np.empty(half)
    native().incprof_lags(pointer(inside), half, int(metric == "l1"), pointer(got))
    expected = [inside[half:] - inside[half - k : 2 * half - k] for k in range(1, half + 1)]
    if metric == "l1":
        np.testing.assert_allclose(got, [np.abs(step).sum() for step in expected], rtol=1e-12)
    else:
        np.testing.assert_allclose(got, [np.linalg.norm(step) for step in expected], rtol=1e-12)
        np.testing.assert_allclose(lags_fft(inside + 1000), got, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(lags(inside, metric), got, rtol=1e-12)


@given(st.integers(0, 10_000), st.integers(2, 80), st.integers(2, 30), st.sampled_from([0.0, 0.1, 0.5]), st.booleans())
@settings(max_examples=200, deadline=None)
def test_the_base_period_is_that_of_the_definition(seed, half, period, noise, manhattan):
    options = PatternOptions(metric="l1" if manhattan else "l2")
    inside = wave(2 * half, period, noise, seed)
    f, right = lags(inside, options.metric), inside[half:].copy()
    spread = native().incprof_carriers(pointer(right), half)
    assert spread == pytest.approx(carriers(right), rel=1e-9)
    closeness = ffi.new("struct incprof_closeness *", (noise, 0.0, options.depth, options.shortest))
    limit = ffi.new("struct incprof_limit *")
    scratch = pointer(np.empty(half))
    got = native().incprof_base_period(pointer(f), half, spread, int(manhattan), closeness, scratch, limit)
    expected, close = base_period(f, spread, noise, options)
    assert got == expected
    assert (limit.distance, limit.share) == pytest.approx((close.distance, close.share))


@pytest.mark.parametrize("metric", ["l2", "l1"])
@pytest.mark.parametrize("window", [5, 40, 90])
def test_a_scan_is_that_of_the_definition(window, metric):
    x = np.concatenate([wave(700, 33, 0.05), np.random.default_rng(5).standard_normal(300), wave(500, 20, 0.02, 7)])
    options = PatternOptions(metric=metric)
    fast, exact = (each(x, window, options, noise_level(x)) for each in (scan, scan_by_definition))
    assert fast.starts.tolist() == exact.starts.tolist()
    assert fast.periods.tolist() == exact.periods.tolist()
    assert window < 33 or len(fast.starts)


def test_large_windows_by_fourier_transform_give_the_same():
    x = wave(12_000, 700, 0.05)
    fast, exact = (scan(x, 1500, PatternOptions(exact=exact), noise_level(x)) for exact in (False, True))
    plain = scan_by_definition(x, 1500, PatternOptions(), noise_level(x))
    assert fast.periods.tolist() == exact.periods.tolist() == plain.periods.tolist()
    assert set(fast.periods.tolist()) == {700}


def test_a_family_has_its_lowest_period_for_a_base():
    x = wave(3000, 50, 0.05)
    assert set(scan(x, 400, PatternOptions(), noise_level(x)).periods.tolist()) == {50}


def test_the_window_goes_on_by_whole_periods_or_by_the_slide():
    found = scan(wave(3000, 50, 0.0), 120, PatternOptions(), 0.0)
    assert np.diff(found.starts).tolist() == [50] * (len(found.starts) - 1)
    assert (found.starts[0], found.starts[-1]) == (120, 2870)
    late = np.concatenate([np.zeros(1000), wave(1000, 50, 0.0)])
    # The second instance of the window may be the first one that is close by itself.
    assert (scan(late, 120, PatternOptions(slide=7), 0.0).starts[0] - 120) % 7 in (0, 50 % 7)
    assert scan(late, 120, PatternOptions(slide=1), 0.0).starts[0] < 1100
    assert scan(late, 120, PatternOptions(slide=950), 0.0).starts[0] == 1070


def test_noise_is_estimated():
    assert noise_level(wave(5000, 900, 0.0)) > 0
    smooth = np.sin(np.arange(20_000) / 300)
    assert noise_level(smooth + 0.1 * np.random.default_rng(0).standard_normal(20_000)) == pytest.approx(0.1, rel=0.05)
    assert noise_level(np.ones(2)) == 0


def test_the_grid_of_windows():
    grid = window_grid(2, 10_000)
    assert grid[0] == 2
    assert grid[-1] == 10_000
    assert (np.diff(grid) >= 1).all()
    assert max(b / a for a, b in pairwise(grid[8:])) < 1.2
    assert window_grid(2, 1) == []


def test_tuning_logs_every_window_and_prefers_the_smaller_of_equal_ones():
    x = wave(4000, 60, 0.0)
    found, tried = tune(x, PatternOptions(), 0.0)
    best = max(one.coverage for one in tried)
    assert found.window == min(one.window for one in tried if one.coverage >= 0.9 * best)
    assert [one.window for one in tried] == sorted({one.window for one in tried})
    assert set(window_grid(2, 2000)) <= {one.window for one in tried}
    fixed, only = tune(x, PatternOptions(window=77), 0.0)
    assert (fixed.window, [one.window for one in only]) == (77, [77])


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name != "HPCG")) for name in sorted(SHAPES)]
)
def test_parts_of_a_long_series_choose_a_window_that_covers_as_much(name, monkeypatch):
    x = profile(180_000, SHAPES[name], seed=3).values
    options, noise = PatternOptions(longest_window=1500), noise_level(x)
    whole, _ = tune(x, options, noise)
    monkeypatch.setattr(tuning, "LONG", len(x))
    found, tried = tune(x, options, noise)
    assert found.window in [one.window for one in tried if not one.sampled]
    assert any(one.sampled for one in tried)
    assert coverage(found, len(x), options) >= 0.95 * coverage(whole, len(x), options)


def test_what_is_periodic_for_a_short_while_is_looked_for_in_the_whole_series(monkeypatch):
    draw = np.random.default_rng(2)
    x = np.concatenate([draw.standard_normal(61_000), wave(9000, 60, 0.05)])
    options = PatternOptions(longest_window=200)
    whole = tune(x, options, noise_level(x))
    monkeypatch.setattr(tuning, "LONG", len(x))
    assert tune(x, options, noise_level(x))[1] == whole[1]


def test_parts_lie_within_the_series_and_apart():
    for samples, window in [(1 << 18, 2), (1 << 18, 10_000), (5_000_000, 100), (300_000, 700)]:
        parts = parts_of(samples, window)
        assert all(start >= 0 and end <= samples and end - start >= 16 * window for start, end in parts)
        assert all(first[1] <= second[0] for first, second in pairwise(parts))
    x = wave(1 << 18, 60, 0.05)
    whole = coverage(scan(x, 100, PatternOptions(), 0.05), len(x), PatternOptions())
    assert estimated_coverage(x, 100, PatternOptions(), 0.05) == pytest.approx(whole, abs=0.02)


@given(st.integers(1, 100_000))
def test_fast_sizes(least):
    size = fast_size(least)
    assert least <= size <= max(1.12 * least, least + 3)
    for factor in (2, 3, 5):
        while size % factor == 0:
            size //= factor
    assert size == 1


def test_groups_of_lengths():
    options = PatternOptions(alpha=0.05, length_tolerance=0.10)
    lengths = np.array([100, 105, 95, 200, 300, 301, 50])
    weights = np.array([100, 100, 100, 40, 400, 400, 10])
    groups = [lengths[group].tolist() for group in length_groups(lengths, weights, 1000, options)]
    assert groups == [[300, 301], [100, 105, 95]]


def test_lengths_that_chance_spreads_evenly_are_no_group():
    lengths = np.arange(10, 1000)
    assert length_groups(lengths, np.ones(990), 990 * 5, PatternOptions()) == []
