"""Which interval a sample lies in, whether samples come in order of time or not."""

from dataclasses import replace

import numpy as np
import pytest

from incprof.model import Samples
from tests.unit.synthetic import make_profile


@pytest.mark.parametrize("order", ["in time", "in any"])
@pytest.mark.parametrize("intervals", [1, 2, 7])
@pytest.mark.parametrize("samples", [0, 1, 60])
def test_as_looked_up(order: str, intervals: int, samples: int) -> None:
    profile = make_profile(np.ones((intervals, 1)))
    rng = np.random.default_rng(intervals + samples)
    # Some lie at borders, some after the end.
    time = rng.choice(np.arange(0, 2 * intervals + 3) / 2.0, samples)
    time = np.sort(time) if order == "in time" else time
    none = np.zeros(samples, dtype=np.int64)
    profile = replace(profile, samples=Samples(time, none, none, none, none + 1, none))
    expected = [min([i for i in range(intervals) if t <= profile.end_s[i]], default=intervals - 1) for t in time]
    assert profile.interval_of_samples().tolist() == expected
