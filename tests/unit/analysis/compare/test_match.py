from incprof.analysis.compare.match_names import pair_beats
from tests.unit.beatmaker import beat


def pairs(a, b):
    """The ids of each pair, None for a run without it."""
    return [(pair.a and pair.a.id, pair.b and pair.b.id) for pair in pair_beats(a, b)]


def test_same_id_and_name():
    found = pair_beats([beat(1, "a"), beat(2)], [beat(1, "a"), beat(2)])
    assert [(pair.id, pair.name, pair.notes) for pair in found] == [(1, "a", ()), (2, None, ())]


def test_a_name_that_moved_is_followed_and_reported():
    found = pair_beats([beat(1, "a"), beat(2, "b")], [beat(2, "a"), beat(1, "b")])
    assert [(pair.a.id, pair.b.id) for pair in found] == [(1, 2), (2, 1)]
    assert found[0].notes == ("id 1 in A, 2 in B",)


def test_an_id_is_enough_where_a_name_is_missing():
    (found,) = pair_beats([beat(3)], [beat(3, "solve")])
    assert (found.name, found.notes) == ("solve", ("named only in B ('solve'), matched by its id",))


def test_one_id_with_two_names_is_two_heartbeats():
    found = pair_beats([beat(3, "x")], [beat(3, "y")])
    assert [(pair.a is None, pair.b is None) for pair in found] == [(False, True), (True, False)]
    assert all("not the same heartbeat" in pair.notes[0] for pair in found)


def test_one_name_for_several_ids():
    assert pairs([beat(1, "n"), beat(2, "n")], [beat(2, "n"), beat(5, "n")]) == [(1, 5), (2, 2)]
    assert pairs([beat(1, "n")], [beat(4, "n"), beat(5, "n")]) == [(1, 4), (None, 5)]


def test_nothing_is_lost_or_taken_twice():
    a = [beat(i, name) for i, name in enumerate(["a", None, "c", "d", None, "a"])]
    b = [beat(i, name) for i, name in enumerate(["c", "b", None, "d", None, "e", "a"])]
    found = pairs(a, b)
    assert sorted(one for one, _ in found if one is not None) == list(range(6))
    assert sorted(other for _, other in found if other is not None) == list(range(7))
