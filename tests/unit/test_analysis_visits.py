"""When groups of intervals come: what interrupts a phase, and what is only a moment."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.analysis.phases.inclusive import Inclusive
from incprof.analysis.phases.visits import fill_gaps, visits_of, without_interruptions


def labels(text):
    return np.array([-1 if c == "." else int(c) for c in text], dtype=np.int64)


def shown(found):
    return "".join("." if x < 0 else str(x) for x in found)


@given(st.lists(st.integers(-1, 3), max_size=40))
def test_visits_hold_every_interval_once(values):
    found = labels("".join("." if v < 0 else str(v) for v in values))
    visits = visits_of(found)
    for first, end, group, size in zip(visits.first, visits.end, visits.group, visits.size, strict=True):
        assert set(found[first:end]) <= {group, -1}
        assert (found[first:end] == group).sum() == size
    assert visits.size.sum() == (found >= 0).sum()
    assert not (visits.group[1:] == visits.group[:-1]).any()


def ticks(labels, mixes, each=100.0):
    """Ticks from above of intervals that have the mix of their group."""
    counts = np.asarray(mixes)[np.maximum(labels, 0)] * each
    total = np.full(len(labels), each)
    return Inclusive(counts, total, np.arange(counts.shape[1]), np.zeros((len(labels), 0), dtype=np.bool_))


HALF = 0.5 * np.eye(4) + [0.0, 0.0, 0.0, 0.5]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("000100001000110000", "000000000000000000"),  # a step that comes now and then
        ("000111000011100001", "000111000011100001"),  # stays too long
        ("000000010000000000", "000000000000000000"),  # a moment, inside of a phase
        ("000000011000000000", "000000011000000000"),  # once is no habit, and the run is short
        ("00000000011000000000", "000000000..000000000"),  # of a longer one it is nothing
        ("000122220001222200", "000.2222000.222200"),
        ("0.01.0000010.00.", "0.00.0000000.00."),
        ("01010101", "11111111"),  # faster than the interval
    ],
)
def test_interruptions_are_steps_of_the_phase_around(before, after):
    found = labels(before)
    assert shown(without_interruptions(ticks(found, HALF), found)[0]) == after


def test_what_fills_its_intervals_is_a_phase():
    found = labels("000100001000110000")
    assert shown(without_interruptions(ticks(found, np.eye(2)), found)[0]) == shown(found)
    assert shown(without_interruptions(ticks(found, [[1.0, 0.0], [0.3, 0.7]]), found)[0]) == "0" * 18


@given(st.text("012.", max_size=40))
def test_groups_are_only_joined_or_left_out(text):
    old = labels(text)
    new, joins = without_interruptions(ticks(old, np.ones((3, 2))), old)
    assert (new[old < 0] < 0).all()
    for group in set(old[old >= 0].tolist()):
        assert len(set(new[old == group].tolist())) == 1
    assert {one for one, _ in joins} <= set(old.tolist())


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
