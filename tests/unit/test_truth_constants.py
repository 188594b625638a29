"""What the answers hang on: which constants there are, and what half of one is."""

import pytest

from truth.constants import MODULES, changed, constants


@pytest.mark.parametrize(
    ("value", "factor", "other"),
    [(4, 0.5, 2), (1, 0.5, 1), (3, 2.0, 6), (0.4, 2.0, 0.8), (0.98, 2.0, 1.0), (7.0, 2.0, 14.0)],
)
def test_a_constant_keeps_its_kind(value, factor, other):
    got = changed(value, factor)
    assert got == other
    assert type(got) is type(value)


def test_all_modules_are_looked_through():
    found = {f"{module.__name__.rpartition('.')[2]}.{name}" for module, name in constants([])}
    assert {name.partition(".")[0] for name in found} == set(MODULES)
    assert "abrupt.SURE" in found
    assert [name for _, name in constants(["abrupt.SURE", "ways.NEAR"])] == ["SURE", "NEAR"]
