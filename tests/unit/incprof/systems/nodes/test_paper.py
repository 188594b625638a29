"""The paper's printed facts: its letters, LU's boundaries, Table 2."""

from itertools import pairwise

import numpy as np
import pytest

from incprof.systems.nodes.analyse import paper, power
from incprof.systems.nodes.analyse.paper import (
    TABLE1,
    as_set,
    by_correlation,
    by_regression,
    decode,
    encode,
    letter_of,
    number_of,
    predicted,
    probability,
    transitions,
)


def test_letters_of_the_paper():
    # 17692 is 0x451C, which is not sorted: its counters are in the order of their rank.
    assert encode((4, 5, 1, 12)) == 17692
    assert decode(17692) == (4, 5, 1, 12)
    assert [TABLE1[at] for at in decode(17692)] == ["cache-misses", "bus-cycles", "instructions", "disk-write-bytes"]
    assert encode((0, 1, 2, 5)) == 293
    assert as_set(17692) == encode((1, 4, 5, 12)) == 0x145C


def test_sixteen_bits_and_back():
    assert all(encode(decode(letter)) == letter for letter in range(1 << 16))
    for wrong in ((1, 2, 3), (1, 2, 3, 16), (-1, 2, 3, 4)):
        with pytest.raises(ValueError, match="expected four numbers"):
            encode(wrong)
    with pytest.raises(ValueError, match="expected a letter"):
        decode(1 << 16)


def test_columns_of_others_take_what_table_1_leaves():
    assert number_of(["instructions", "mine", "yours", "ours"]) == [1, 14, 15, 0]
    assert number_of([*TABLE1, "a", "b", "c"])[-3:] == [14, 15, None]


def of_counters(order, rows, rng, level=200):
    """Rates whose correlation with power falls in this order; the others have none."""
    watts = rng.normal(level, 10, rows)
    rates = rng.normal(1000, 10, (rows, len(TABLE1)))
    for rank, at in enumerate(order):
        rates[:, at] = 1000 + 5 * (watts - level) * (-1) ** rank + rng.normal(0, 2 + 4 * rank, rows)
    return rates, watts


def lu_like(boundaries, rng):
    """A series whose power goes with other counters after each boundary, as Figure 1 draws LU."""
    sets = [(4, 5, 1, 12), (0, 1, 2, 5), (4, 5, 1, 12), (8, 9, 10, 11)]
    levels = (205, 165, 205, 145)
    spans = zip(sets, boundaries, boundaries[1:], levels, strict=False)
    parts = [of_counters(s, b - a, rng, level) for s, a, b, level in spans]
    return np.concatenate([r for r, _ in parts]), np.concatenate([w for _, w in parts])


def test_boundaries_of_an_lu_like_series():
    boundaries = [0, 60, 90, 120, 160]
    rates, watts = lu_like(boundaries, np.random.default_rng(0))
    found = paper.phases(rates, watts)
    # The set of an interval that grows changes after its content does: each is found late, by a step at most.
    late = np.array([phase.last for phase in found]) - boundaries[1:]
    assert len(late) == 4
    assert late[-1] == 0
    assert np.all((late >= 0) & (late <= len(TABLE1) + 2))
    assert [as_set(phase.letter) for phase in found[:3]] == [as_set(17692), 293, as_set(17692)]
    assert set(decode(found[3].letter)) == {8, 9, 10, 11}
    assert all(a.last == b.first for a, b in pairwise(found))


def test_letter_of_rows_and_xxx():
    rates, watts = of_counters((4, 5, 1, 12), 100, np.random.default_rng(1))
    assert letter_of(TABLE1, rates, watts, ranked=True) == 17692
    assert letter_of(TABLE1, rates, watts) == as_set(17692)
    assert letter_of(TABLE1, rates, np.full(100, 200.0)) is None
    assert letter_of(TABLE1, np.ones_like(rates), watts) is None
    assert letter_of(TABLE1[:3], rates[:, :3], watts) is None


def test_correlation_has_no_sign_and_ties_go_by_number():
    y = np.arange(10.0)
    x = np.column_stack([np.ones(10), -y, y, 2 * y, np.where(y == 3, 0, y)])
    assert by_correlation(x, y, 4) == (1, 2, 3, 4)


def test_regression_keeps_significant_columns_and_fails_on_redundant_ones():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(200, 6))
    y = 3 * x[:, 2] + 0.5 * x[:, 4] + rng.normal(size=200)
    assert by_regression(x, y)[:2] == (2, 4)
    twice = np.column_stack([x[:, 2], x[:, 2] + rng.normal(0, 1e-6, 200)])
    assert by_regression(twice, y) == ()


def test_argmax_of_the_transition_matrix():
    matrix = transitions([[293, 17692, 293, 17692, 293, None], [293, 17692]])
    assert matrix[293] == {17692: 3, None: 1}
    assert [probability(matrix[293], each) for each in (17692, None, 7)] == [0.75, 0.25, 0]
    assert predicted(matrix, 293, 4) == [17692, 293, 17692, 293]
    assert predicted(matrix, 7, 4) == []


def test_energy_of_the_rest_by_the_executed_part():
    assert paper.relative_energy(30, 20) == 1.5
    assert paper.estimated_energy(30, 20, 80) == 150


def test_idle_is_below_the_mean_and_three_deviations():
    assert power.idle_below(np.array([1.0, 3.0])) == 5.0


def test_idle_rows_are_xxx_and_parted_from_the_rest():
    rates, watts = of_counters((4, 5, 1, 12), 60, np.random.default_rng(1))
    quiet = np.zeros(60, dtype=bool)
    quiet[:10] = quiet[50:] = True
    found = paper.phases_but_idle(rates, watts, TABLE1, quiet)
    assert [(phase.first, phase.last, phase.letter is None) for phase in (found[0], found[-1])] == [
        (0, 10, True),
        (50, 60, True),
    ]
    assert found[1].first == 10
    assert all(phase.letter is not None for phase in found[1:-1])
    share = power.misses_per_cycle(rates, TABLE1)
    assert share == pytest.approx(rates[:, 4] / rates[:, 0])
    assert power.misses_per_cycle(rates[:, :2], TABLE1[:2]) is None


def test_rows_are_idle_where_all_rates_are_small_and_for_long():
    names, most = ("cpu", "net-rx-bytes"), np.array([2.0, 1e8])
    rates = np.array([[0.1, 0], [1.9, 0], [0.1, 9e7], [0.1, 5e5], [0.1, 5e5], [2.0, 0], [0.0, 0]])
    found = power.idle_rows(names, rates, most)
    assert found.tolist() == [True, False, False, True, True, False, True]
    # In the middle of a run only what lasts is idle; at its ends it may be cut off.
    assert power.long_idle(found, 3).tolist() == [True, False, False, False, False, False, True]
    assert power.long_idle(found, 2).tolist() == found.tolist()
