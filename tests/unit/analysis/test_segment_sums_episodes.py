"""Episodes of groups of intervals."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from incprof.analysis.segment_sums import episodes_of


def labels(text):
    return np.array([-1 if c == "." else int(c) for c in text], dtype=np.int64)


@given(st.lists(st.integers(-1, 3), max_size=40))
def test_visits_hold_every_interval_once(values):
    found = labels("".join("." if v < 0 else str(v) for v in values))
    visits = episodes_of(found)
    for first, end, group, size in zip(visits.first, visits.end, visits.group, visits.size, strict=True):
        assert set(found[first:end]) <= {group, -1}
        assert (found[first:end] == group).sum() == size
    assert visits.size.sum() == (found >= 0).sum()
    assert not (visits.group[1:] == visits.group[:-1]).any()
