import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from incprof.analysis.features import build_features, idle_intervals, most_varied, shares, varying_columns
from tests.unit.profiles import rows


def test_shares_sum_to_one_and_empty_rows_stay_empty():
    share = shares(csr_array(np.array([[1.0, 3.0], [0.0, 0.0], [0.0, 2.0]])))
    assert share.toarray().tolist() == [[0.25, 0.75], [0.0, 0.0], [0.0, 1.0]]


def test_shares_leave_their_input_alone():
    matrix = csr_array(np.array([[1.0, 3.0]]))
    shares(matrix)
    assert matrix.toarray().tolist() == [[1.0, 3.0]]


def test_constant_columns_are_dropped():
    matrix = csr_array(np.array([[5.0, 1.0, 0.0], [5.0, 0.0, 1.0], [5.0, 1.0, 0.0]]))
    assert varying_columns(matrix).tolist() == [1, 2]


def test_when_all_is_constant_the_largest_column_stays():
    assert varying_columns(csr_array(np.array([[1.0, 5.0], [1.0, 5.0]]))).tolist() == [1]


@settings(deadline=None)
@given(arrays(np.float64, (7, 12), elements=st.integers(0, 100).map(float)))
def test_the_columns_that_vary_most_are_kept(values):
    kept = most_varied(csr_array(values), most=5)
    deviation = ((values - values.mean(axis=0)) ** 2).sum(axis=0)
    assert deviation[kept].sum() >= np.sort(deviation)[-5:].sum() - 1e-6
    assert sorted(set(kept.tolist())) == kept.tolist()


def test_column_cap():
    matrix = csr_array(np.eye(50))
    assert len(most_varied(matrix, most=8)) == 8


def test_idle_is_measured_against_the_program_itself():
    sleepy = np.array([4.0, 5.0, 3.0, 0.0, 4.0])
    assert idle_intervals(sleepy, 100).tolist() == [False, False, False, True, False]
    busy = np.array([99.0, 100.0, 2.0, 98.0])
    assert idle_intervals(busy, 100).tolist() == [False, False, True, False]
    assert idle_intervals(np.zeros(2), 100).all()


def test_paper_features_are_seconds_and_robust_ones_shares():
    profile = rows("a=50 b=50", "a=20 b=5")
    assert np.allclose(build_features(profile, share=False).x, [[0.5, 0.5], [0.2, 0.05]])
    assert np.allclose(build_features(profile, share=True).x, [[0.5, 0.5], [0.8, 0.2]])
