"""Calls that were not counted, estimated from samples, and the error of the estimate."""

import numpy as np
import pytest

from incprof.model.time_use import estimate_calls


def sampled(lengths_in: np.ndarray, lengths_out: np.ndarray, distance: float) -> tuple[int, int, int]:
    """Entries that samples at a distance show, samples inside, and all samples, of calls and the pauses after them."""
    borders = np.cumsum(np.ravel(np.column_stack([lengths_in, lengths_out])))
    times = np.arange(distance / 2, borders[-1], distance)
    inside = np.searchsorted(borders, times, side="right") % 2 == 0
    entered = int((inside & ~np.concatenate([[False], inside[:-1]])).sum())
    return entered, int(inside.sum()), len(times)


@pytest.mark.parametrize(("length", "pause"), [(5.0, 5.0), (3.5, 8.0), (20.0, 3.5)])
def test_calls_that_last_for_several_samples_are_all_detected(length: float, pause: float) -> None:
    calls = 400
    found = estimate_calls(*sampled(np.full(calls, length), np.full(calls, pause), 1.0))
    assert found.is_known
    assert found.low == calls
    assert found.high is not None
    assert found.high >= calls


@pytest.mark.parametrize("seed", range(5))
def test_calls_of_random_length_lie_between_the_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    calls = 500
    found = estimate_calls(*sampled(rng.exponential(8.0, calls), rng.exponential(8.0, calls), 1.0))
    assert found.high is not None
    assert found.low <= calls <= found.high


def test_short_calls_may_be_any_number() -> None:
    rng = np.random.default_rng(1)
    found = estimate_calls(*sampled(rng.exponential(0.01, 5000), rng.exponential(0.01, 5000), 1.0))
    assert not found.is_known
    assert estimate_calls(1, 100, 100).high is None
    assert estimate_calls(0, 0, 0).high is None
