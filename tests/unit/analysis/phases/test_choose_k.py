import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.analysis.phases.kmeans import (
    chord_elbow,
    elbow,
    fit_range,
    judge,
    score_cuts,
    votes_of,
)
from incprof.analysis.segment_sums import calinski_harabasz, distances, silhouette
from incprof.model import by_first_appearance


def blobs(centers, size=40, scale=0.05, seed=0):
    rng = np.random.default_rng(seed)
    return np.vstack([rng.normal(c, scale, size=(size, len(c))) for c in centers])


CORNERS = [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)]


def test_elbow_of_a_clear_curve():
    assert elbow([1, 2, 3, 4, 5, 6, 7, 8], [100, 50, 5, 4, 3.5, 3, 2.8, 2.6]) == 3


def test_elbow_where_kneed_finds_none():
    from kneed import KneeLocator  # here: it imports matplotlib

    straight = [4.0, 3.0, 2.0, 1.0]
    assert KneeLocator([1, 2, 3, 4], straight, curve="convex", direction="decreasing").knee is None
    assert elbow([1, 2, 3, 4], straight) == chord_elbow([1, 2, 3, 4], straight)


@settings(deadline=None)
@given(st.lists(st.integers(0, 20) | st.floats(0, 1e6), min_size=3, max_size=16).filter(lambda y: min(y) < max(y)))
def test_elbow_is_a_k_of_the_curve_and_no_warning(inertia):
    ks = list(range(1, len(inertia) + 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for curve in (inertia, sorted(inertia, reverse=True)):
            assert elbow(ks, curve) in ks


@pytest.mark.parametrize("inertia", [[0.0], [0.0, 0.0], [0.0, 0.0, 0.0], [5.0, 5.0, 5.0, 5.0]])
def test_elbow_of_a_flat_curve_is_one(inertia):
    assert elbow(list(range(1, len(inertia) + 1)), inertia) == 1


def test_elbow_of_two_points_is_the_second():
    assert elbow([1, 2], [10.0, 0.0]) == 2


def test_chord_of_a_straight_line_is_deterministic():
    assert chord_elbow([1, 2, 3, 4], [4.0, 3.0, 2.0, 1.0]) == 1


def test_labels_count_up_in_order_of_appearance():
    assert by_first_appearance(np.array([7, 7, -1, 2, 7, 5])).tolist() == [0, 0, -1, 1, 0, 2]


def test_there_are_never_more_clusters_than_distinct_rows():
    x = np.repeat(np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]), 5, axis=0)
    assert [fit.k for fit in fit_range(x)] == [1, 2, 3]
    assert [fit.k for fit in fit_range(np.ones((4, 2)))] == [1]


def test_inertia_falls_and_stability_is_a_share():
    fits = fit_range(blobs(CORNERS[:4]))
    inertia = [fit.inertia for fit in fits]
    assert inertia == sorted(inertia, reverse=True)
    assert all(-1.0 <= fit.stability <= 1.0 for fit in fits)
    assert fits[3].stability > 0.9


def test_wide_data_is_clustered_on_its_principal_axes():
    x = blobs([np.eye(60)[0], np.eye(60)[1]], scale=0.01)
    fit = fit_range(x, max_k=2)[1]
    assert fit.labels.tolist() == [0] * 40 + [1] * 40
    assert fit.centers.shape == (2, 60)


def test_silhouette_is_that_of_scikit_learn():
    from sklearn.metrics import silhouette_score

    x = blobs(CORNERS[:3], scale=0.3)
    labels = fit_range(x)[2].labels
    assert silhouette(distances(x), labels) == pytest.approx(silhouette_score(x, labels))
    assert silhouette(distances(x), np.zeros(len(x), dtype=np.int64)) is None


def test_calinski_harabasz_is_that_of_scikit_learn():
    from sklearn.metrics import calinski_harabasz_score

    x = blobs(CORNERS[:3], scale=0.3)
    fits = fit_range(x)
    expected = calinski_harabasz_score(x, fits[2].labels)
    assert calinski_harabasz(fits[0].inertia, fits[2].inertia, len(x), 3) == pytest.approx(expected)
    assert calinski_harabasz(1.0, 1.0, 5, 1) is None


def test_what_counting_leaves_of_each_number_of_groups():
    x = blobs(CORNERS[:4], scale=0.1)
    fits = fit_range(x)
    noise = [np.full(len(x), 2 * 0.1**2) for _ in fits]
    scores = score_cuts(x, fits, noise)
    assert [score.k for score in scores] == list(range(1, 9))
    assert scores[2].noise_ratio > 2 > 1.2 > scores[3].noise_ratio > 0.8
    assert scores[0].misfits > len(x) / 2 > 5 > scores[3].misfits
    assert votes_of(scores) == {"elbow": None, "silhouette": 4, "calinski_harabasz": 4}


def test_a_given_k_wins_up_to_the_number_of_fits():
    x = blobs(CORNERS[:2])
    fits = fit_range(x, max_k=3)
    assert judge(x, fits, 3, 2).k == 3
    assert judge(x, fits, 8, 2).k == 3
    assert (judge(x, fits, None, 2).rule, judge(x, fits, None, 2).k) == ("elbow", 2)
