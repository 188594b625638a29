"""A run as a line: each cell is a part of its time, whatever the intervals' lengths are."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from incprof.analysis.views.tracks import SUSPENDED, sign, stretched, with_suspensions


def test_an_interval_is_as_wide_as_it_is_long():
    labels = np.array([0, 1, 2])
    assert stretched(labels, 10, np.array([1.0, 4.8, 5.0])) == [0, 0, 1, 1, 1, 1, 1, 1, 1, 1]
    assert stretched(labels, 9) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_a_tie_goes_to_the_rarer_phase():
    assert stretched(np.array([0, 1, 0, 0]), 2) == [1, 0]
    assert stretched(np.array([0, 1, 0, 0]), 2, np.array([0.1, 0.2, 0.3, 0.4])) == [1, 0]


@given(
    st.lists(st.tuples(st.integers(-1, 3), st.floats(0.01, 10)), min_size=1, max_size=40),
    st.integers(1, 200),
)
def test_a_phase_has_its_part_of_the_line_but_for_its_ends(intervals: list[tuple[int, float]], width: int):
    labels = np.array([label for label, _ in intervals])
    seconds = np.array([length for _, length in intervals])
    line = Counter(stretched(labels, width, seconds.cumsum()))
    assert line.total() == width
    for label in np.unique(labels).tolist():
        part = width * seconds[labels == label].sum() / seconds.sum()
        # Each of its intervals may gain or lose a cell at either end.
        assert abs(line[label] - part) <= 2 * np.count_nonzero(labels == label)


def test_a_suspension_is_a_gap() -> None:
    """No cell of it has the phase before it, or behind it."""
    labels, ends = with_suspensions(np.array([3, 3, 4]), np.array([1.0, 2.0, 8.0]), np.array([[2.0, 7.0]]))
    cells = stretched(labels, 8, ends)
    assert cells == [3, 3, *[SUSPENDED] * 5, 4]
    assert "".join(map(sign, cells)) == "33     4"
    assert stretched(*with_suspensions(np.array([3]), np.array([1.0]), np.empty((0, 2)))[:1], 3) == [3, 3, 3]
