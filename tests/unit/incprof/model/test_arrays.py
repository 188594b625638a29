"""The distinct values of an array, against numpy's own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from incprof.model import distinct, numbered

SHAPES = arrays.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=20)


@given(arrays.arrays(st.sampled_from([np.int8, np.int32, np.int64, np.uint64]), SHAPES))
def test_as_numpy_has_them(values: np.ndarray) -> None:
    found = distinct(values)
    assert found.dtype == values.dtype
    assert np.array_equal(found, np.unique(values))


@pytest.mark.parametrize("values", [[], [3], [2, 2], [5, -1, 5]])
def test_few(values: list[int]) -> None:
    given_values = np.array(values, dtype=np.int64)
    assert distinct(given_values).tolist() == sorted(set(values))
    assert given_values.tolist() == values


@pytest.mark.parametrize("values", [[], [0], [5, 5, 1, 0, 5], [2**40, 3, 2**40], [-1, 4, -1], [7, 70_000, 7]])
def test_numbered_as_numpy_has_it(values: list[int]) -> None:
    array = np.array(values, dtype=np.int64)
    expected, place = np.unique(array, return_inverse=True)
    found = numbered(array)
    assert found[0].tolist() == expected.tolist()
    assert found[1].tolist() == place.tolist()
