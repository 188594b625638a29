"""Scores of labels: cases worked out by hand, and what holds for any labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from truth.scores import coverage, k_is_right, right_by_phase, samples_right, score_labels, transition_score
from truth.scores.boundaries import boundaries, boundary_f1, change_f1


def row(text):
    return np.array([-1 if c == "." else int(c) for c in text])


LABELS = st.integers(1, 30).flatmap(lambda n: st.tuples(*[arrays(np.int64, n, elements=st.integers(-1, 3))] * 2))


def test_boundaries_by_hand():
    assert boundaries(row("0011")) == [(2, 2)]
    assert boundaries(row("00.11..0")) == [(2, 3), (5, 7)]
    assert boundaries(row("00..00")) == []
    assert boundaries(row("..0..")) == []
    assert boundaries(row("")) == []


@pytest.mark.parametrize(
    ("truth", "found", "f1"),
    [
        ("000111", "000111", 1.0),
        ("000111", "001111", 1.0),  # one interval off
        ("000111", "011111", 0.0),  # two
        ("0000.111", "1111.000", 1.0),
        ("0000.111", "00000111", 1.0),
        ("00...111", "00000011", 1.0),  # anywhere in the range, and one beside it
        ("00...1111", "000000001", 0.0),  # 8 is three off the range 2..5
        ("000000", "000111", 0.0),
        ("000000", "111111", 1.0),
        ("000111", "010111", 0.5),  # changes 1, 2, 3 for a change at 3: 2 * 1 / (1 + 3)
        ("000111000", "000111111", 2 / 3),
        ("000111000", "000000000", 0.0),
    ],
)
def test_boundary_f1_by_hand(truth, found, f1):
    assert boundary_f1(row(truth), row(found)) == pytest.approx(f1)


def test_one_found_change_counts_for_one_true_change():
    # Changes at 2 and 3, one found at 2: half of 2 / (2 + 1).
    assert boundary_f1(row("0012"), row("0011")) == pytest.approx(2 / 3)
    assert boundary_f1(row("0012"), row("0122")) == 1.0


def test_changes_in_seconds():
    assert change_f1([], [], 2.0) == 1.0
    assert change_f1([(10.0, 10.0), (20.0, 20.0)], [12.0], 2.0) == pytest.approx(2 / 3)
    assert change_f1([(10.0, 10.0)], [12.1], 2.0) == 0.0


def test_coverage_and_transitions_by_hand():
    truth = row("00.11.0")
    assert coverage(truth, row("0.11110")) == pytest.approx(4 / 5)
    assert coverage(row("..."), row("000")) == 1
    assert transition_score(row("0011"), row("0011")) is None
    assert transition_score(truth, row("0001100")) == 1
    assert transition_score(truth, row("00.11.0")) == 1
    assert transition_score(truth, row("0021100")) == 0.5  # the first one is a phase of its own
    # At the ends there is one neighbour.
    assert transition_score(row(".00."), row("2001")) == 0
    assert transition_score(row("...."), row("0000")) == 0
    assert transition_score(row("...."), row("....")) == 1


def test_ari_by_hand():
    # Pairs: 6 of 15 together in truth, 3 + 3; found 2,4 -> 1 + 6 = 7; both 1 + 3 = 4.
    expected = 6 * 7 / 15
    assert score_labels(row("000111"), row("001111")).ari == pytest.approx((4 - expected) / (6.5 - expected))
    assert score_labels(row("0000"), row("1111")).ari == 1
    assert score_labels(row("0000"), row("1112")).ari == 0
    # What the truth leaves open does not count.
    assert score_labels(row("00.11"), row("77888")).ari == 1


def test_different_lengths_are_refused():
    with pytest.raises(ValueError, match="3 true labels, 2 found"):
        score_labels(row("000"), row("00"))


def test_k():
    assert k_is_right(2, (2, 3))
    assert not k_is_right(1, (2, 3))


@given(LABELS)
def test_bounds(pair):
    scores = score_labels(*pair)
    assert -1 <= scores.ari <= 1 + 1e-12
    assert 0 <= scores.coverage <= 1
    assert scores.transitions is None or 0 <= scores.transitions <= 1
    assert 0 <= scores.boundary_f1 <= 1
    assert boundary_f1(*pair) >= boundary_f1(*pair, tolerance=0)


@given(LABELS, st.permutations(range(4)))
def test_numbers_of_phases_do_not_matter(pair, order):
    truth, found = pair
    renamed = np.where(found >= 0, np.array(order)[found], -1)
    one, other = score_labels(truth, found), score_labels(truth, renamed)
    for name in ("ari", "coverage", "transitions", "boundary_f1"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-9)


@given(LABELS)
def test_perfect_is_one(pair):
    truth = pair[0]
    scores = score_labels(truth, truth)
    assert scores.ari == pytest.approx(1)
    assert (scores.coverage, scores.boundary_f1) == (1, 1)
    assert scores.transitions in (None, 1)


@given(LABELS)
def test_time_runs_backwards_with_the_same_boundaries(pair):
    truth, found = pair
    assert boundary_f1(truth, found) == pytest.approx(boundary_f1(truth[::-1], found[::-1]))


def test_samples_are_right_under_one_matching_of_phases():
    even = np.ones(8)
    assert samples_right(row("00001111"), row("11110000"), even) == 1
    # Two found phases within a true one: the larger is matched.
    assert samples_right(row("00001111"), row("00021111"), even) == 7 / 8
    # Two true phases in a found one: one of them is wrong.
    assert samples_right(row("00001111"), row("00000000"), even) == 1 / 2
    assert samples_right(row("0000111."), row("0000.111"), even) == 6 / 7
    assert samples_right(row("...."), row("0000"), even[:4]) == 1


def test_samples_right_counts_samples_not_intervals():
    assert samples_right(row("0011"), row("0022"), np.array([1.0, 1.0, 8.0, 0.0])) == 1
    assert samples_right(row("0011"), row("0012"), np.array([1.0, 1.0, 8.0, 2.0])) == 10 / 12


def test_a_true_phase_stands_for_one_found_phase_only():
    # The second half of a phase that was split in two is wrong, however pure.
    assert right_by_phase(row("0000001111."), row("00001122222"), np.ones(11)).tolist() == [4, 0, 4]
