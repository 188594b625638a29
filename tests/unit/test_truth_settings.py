"""Whether sites stay the same: how two answers are compared."""

from truth.settings import same_sites


def test_the_same_sites_and_others():
    assert same_sites({"a", "b"}, {"b", "a"}) == 1.0
    assert same_sites({"a", "b"}, {"b", "c"}) == 0.5
    assert same_sites({"a"}, {"b"}) == 0.0
    assert same_sites(set(), set()) == 1.0
