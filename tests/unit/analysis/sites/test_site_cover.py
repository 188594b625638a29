"""Algorithm 1 against a twin that follows the paper's lines one by one with lists and dictionaries."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.analysis.sites.site_cover import Choice, activity, choose_sites, number_heartbeats
from tests.unit.profiles import rows
from tests.unit.synthetic import make_profile


def algorithm_1(own, calls, members, distance, coverage=0.95):
    """The paper's lines 3-21 on dense lists; ties by larger time, then by column."""
    busy = [i for _, i in sorted(zip(distance, members, strict=True)) if any(own[i])]
    functions = range(len(own[0]))
    rank = [sum(own[i][f] > 0 for i in busy) / max(len(busy), 1) for f in functions]
    chosen, covered = [], 0
    for interval in busy:
        if covered >= coverage * len(busy):
            break
        active = [f for f in functions if own[interval][f] > 0]
        if any(f in active for f, _, _ in chosen):
            continue
        total = sum(own[interval])
        f = min(active, key=lambda f: (calls[interval][f], -rank[f], -round(own[interval][f] / total, 12), f))
        kind = "body" if calls[interval][f] > 0 else "loop"
        have = {g for g, _, _ in chosen}
        new = sum(own[i][f] > 0 and not any(own[i][g] > 0 for g in have) for i in busy)
        chosen.append((f, kind, new))
        covered += new
    return [Choice(*c) for c in chosen]


@st.composite
def tiny_runs(draw):
    n, f = draw(st.integers(1, 8)), draw(st.integers(1, 5))
    cell = st.sampled_from([0, 0, 0, 1, 2, 5, 50])
    own = draw(st.lists(st.lists(cell, min_size=f, max_size=f), min_size=n, max_size=n))
    calls = draw(st.lists(st.lists(st.integers(0, 3), min_size=f, max_size=f), min_size=n, max_size=n))
    members = sorted(draw(st.sets(st.integers(0, n - 1), min_size=1)))
    distance = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=len(members), max_size=len(members)))
    return own, calls, members, distance


@settings(deadline=None)
@given(tiny_runs())
def test_literal_sites_are_those_of_the_paper(run):
    own, calls, members, distance = run
    profile = make_profile(np.array(own, dtype=float), np.array(calls))
    found = choose_sites(activity(profile, literal=True), np.array(members), np.array(distance))
    assert found == algorithm_1(own, calls, members, distance)


@settings(deadline=None)
@given(tiny_runs(), st.booleans())
def test_sites_cover_95_percent_of_the_active_intervals(run, literal):
    own, calls, members, distance = run
    profile = make_profile(np.array(own, dtype=float), np.array(calls))
    found = choose_sites(activity(profile, literal=literal), np.array(members), np.array(distance))
    active = sum(any(own[i]) for i in members)
    assert sum(choice.covered for choice in found) >= 0.95 * active
    assert all(choice.covered > 0 for choice in found)
    assert len({choice.function for choice in found}) == len(found)


def sites(profile, *, literal):
    n = profile.n_intervals
    chosen = choose_sites(activity(profile, literal=literal), np.arange(n), np.zeros(n))
    return [(profile.functions[c.function].name, c.kind, c.covered) for c in chosen]


def test_one_stray_tick_elects_a_site_only_by_the_letter():
    profile = rows("kernel=99/7 main=1", "kernel=100/7", "kernel=100/7")
    assert sites(profile, literal=True)[0] == ("main", "loop", 1)
    assert sites(profile, literal=False) == [("kernel", "body", 3)]


def test_kind_is_decided_by_the_majority():
    profile = rows("f=100/1", "f=100", "f=100", "f=100")
    assert sites(profile, literal=True) == [("f", "body", 4)]
    assert sites(profile, literal=False) == [("f", "loop", 4)]


def test_fewer_calls_win():
    profile = rows(*["outer=50/2 inner=50/900"] * 4)
    assert sites(profile, literal=False) == [("outer", "body", 4)]


def test_time_outside_the_program_elects_a_site_only_by_the_letter():
    profile = rows("[outside]=90 worker=10/7", "[outside]=100", "[outside]=60 worker=40/7")
    assert sites(profile, literal=True) == [("[outside]", "loop", 3)]
    assert sites(profile, literal=False) == [("worker", "body", 2)]


def test_functions_that_take_turns_all_become_sites():
    profile = rows(*["a=90/1 x=10/9", "b=90/1 y=10/9", "c=90/1 z=10/9"] * 10)
    assert sorted(sites(profile, literal=False)) == [("a", "body", 10), ("b", "body", 10), ("c", "body", 10)]


def test_heartbeat_ids_are_unique_per_function_and_kind():
    phases = [[Choice(4, "loop", 1)], [Choice(2, "body", 1), Choice(4, "loop", 1)], [Choice(4, "body", 1)]]
    assert number_heartbeats(phases) == {(4, "loop"): 1, (2, "body"): 2, (4, "body"): 3}


def test_the_next_best_site_stands_for_what_one_covers_that_cannot_be_had():
    profile = rows(*["outer=50/2 inner=45/900 other=5/3"] * 4)
    act = activity(profile, literal=False)
    n = np.arange(4)
    first = choose_sites(act, n, np.zeros(4))
    assert [profile.functions[c.function].name for c in first] == ["outer"]
    refused = {(first[0].function, "body")}
    second = choose_sites(act, n, np.zeros(4), excluded=refused)
    assert [(profile.functions[c.function].name, c.covered) for c in second] == [("other", 4)]
    everything = {(f, kind) for f in range(3) for kind in ("body", "loop")}
    assert choose_sites(act, n, np.zeros(4), excluded=everything) == []


@settings(deadline=None)
@given(tiny_runs(), st.booleans(), st.sets(st.tuples(st.integers(0, 4), st.sampled_from(["body", "loop"]))))
def test_what_is_excluded_is_never_chosen(run, literal, excluded):
    own, calls, members, distance = run
    act = activity(make_profile(np.array(own, dtype=float), np.array(calls)), literal=literal)
    found = choose_sites(act, np.array(members), np.array(distance), excluded=excluded)
    assert not excluded & {(c.function, c.kind) for c in found}
    assert len({c.function for c in found}) == len(found)
    assert all(c.covered > 0 for c in found)
