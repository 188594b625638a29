"""What lies between two phases, and what interrupts one."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from incprof.analysis.phases.in_time import fill_gaps, join_interruptions, visits_of, without_mixtures

A, B, C = np.eye(3)


def labels(text):
    return np.array([-1 if c == "." else int(c) for c in text], dtype=np.int64)


def shown(found):
    return "".join("." if x < 0 else str(x) for x in found)


@given(st.lists(st.integers(-1, 3), max_size=40))
def test_visits_hold_every_interval_once(values):
    found = labels("".join("." if v < 0 else str(v) for v in values))
    visits = visits_of(found)
    for first, end, cluster, size in zip(visits.first, visits.end, visits.cluster, visits.size, strict=True):
        assert set(found[first:end]) <= {cluster, -1}
        assert (found[first:end] == cluster).sum() == size
    assert visits.size.sum() == (found >= 0).sum()
    assert not (visits.cluster[1:] == visits.cluster[:-1]).any()


def test_intervals_between_two_phases_are_no_phase():
    x = np.vstack([[A] * 5, [0.5 * A + 0.5 * B], [B] * 5, [0.4 * A + 0.6 * B], [A] * 5])
    assert shown(without_mixtures(x, labels("00000122222100000"))) == "00000.11111.00000"


def test_a_ramp_is_no_phase_however_many_clusters_it_has():
    ramp = [(1 - t) * A + t * B for t in np.linspace(0.05, 0.95, 9)]
    x = np.vstack([[A] * 10, ramp, [B] * 10])
    found = shown(without_mixtures(x, labels("0" * 10 + "111222333" + "4" * 10)))
    assert re.fullmatch(r"0{10,12}\.{5,7}1{10,12}", found), found


def test_a_steady_mixture_is_a_phase():
    rng = np.random.default_rng(3)
    middle = [0.5 * A + 0.5 * B + rng.normal(0, 0.01) * (A - B) for _ in range(10)]
    x = np.vstack([[A] * 10, middle, [B] * 10])
    text = "0" * 10 + "1" * 10 + "2" * 10
    assert shown(without_mixtures(x, labels(text))) == text


def test_what_is_off_the_line_is_a_phase():
    x = np.vstack([[A] * 5, [C], [B] * 5, [C], [A] * 5])
    assert shown(without_mixtures(x, labels("00000122222100000"))) == "00000122222100000"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("000100001000110000", "000000000000000000"),  # a step that comes now and then
        ("000111000011100001", "000111000011100001"),  # stays too long
        ("000000010000000000", "000000010000000000"),  # once is no habit
        ("000122220001222200", "000122220001222200"),  # lies between two phases
        ("0.01.0000010.00.", "0.00.0000000.00."),
        ("01010101", "00000000"),  # faster than the interval
    ],
)
def test_interruptions_are_steps_of_the_phase_around(before, after):
    found = labels(before)
    half = 0.5 * np.eye(4)[np.maximum(found, 0)] + 0.5 * np.eye(4)[3]
    assert shown(join_interruptions(half, found)[0]) == after


def test_what_fills_its_intervals_is_a_phase():
    found = labels("000100001000110000")
    pure, mixed = np.eye(2)[found], 0.7 * np.eye(2)[found] + [0.3, 0.0]
    assert shown(join_interruptions(pure, found)[0]) == shown(found)
    assert shown(join_interruptions(mixed, found)[0]) == "0" * 18


@given(st.text("012.", max_size=40))
def test_clusters_are_only_joined(text):
    old = labels(text)
    new, joins = join_interruptions(np.ones((len(old), 2)), old)
    assert {join.rule for join in joins} <= {"interrupts"}
    assert np.array_equal(old < 0, new < 0)
    for cluster in set(old[old >= 0].tolist()):
        assert len(set(new[old == cluster].tolist())) == 1


@pytest.mark.parametrize(
    ("before", "ours", "after"),
    [
        ("00.00", "11111", "00000"),
        ("00..0", "11111", "00000"),
        ("0...0", "11111", "0...0"),
        ("00.11", "11111", "00.11"),
        ("00.00", "11011", "00.00"),
        (".00..", "11111", ".00.."),
        ("", "", ""),
    ],
)
def test_gaps_within_a_visit(before, ours, after):
    assert shown(fill_gaps(labels(before), np.array([c == "1" for c in ours], dtype=bool))) == after
