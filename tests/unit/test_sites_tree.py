"""Sites from the tree of calls: small trees by hand, and random ones against a twin that walks from the top."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from incprof.analysis.options.sites import SITES
from incprof.analysis.phases.features import build_features
from incprof.analysis.sites.choice import SiteChooser
from incprof.analysis.sites.tree import (
    PhaseTree,
    TreeTimes,
    by_phase,
    sites_of_phase,
    tree_times,
)
from incprof.model import Function
from incprof.model.calltree import CallTree
from incprof.readers import open_run, read_profile
from tests.unit.streamwriter import Sample, StreamWriter


def tree(tmp_path, functions, *phases):
    """Record ten intervals of each phase.

    phases: ({path: ticks per interval}, {(caller, callee): calls per interval, 0 for one call in all}).
    """
    writer = StreamWriter(functions)
    for ticks, calls in phases:
        for i in range(10):
            samples = [Sample(path, weight=weight) for path, weight in ticks.items()]
            writer.interval(samples, arcs={arc: n or 1 for arc, n in calls.items() if n or i == 0})
    writer.end()
    profile = read_profile(open_run(writer.save(tmp_path / "run")))
    return profile, by_phase(tree_times(profile), np.repeat(np.arange(len(phases)), 10), len(phases))


def test_phases_with_the_same_site_get_sites_that_tell_them_apart(tmp_path):
    update = ({"main;single;access;update": 95, "main;single;access": 5}, {})
    check = ({"main;single;access": 100}, {})
    star = ({"main;star;access;update": 98, "main;star;access": 2}, {})
    profile, found = tree(tmp_path, ["main", "star", "single", "access", "update"], update, check, star)
    assert named(profile, found, 0) == named(profile, found, 1)[:1] == [("single", "loop", 1.0)]
    assert chosen_of(profile, 3) == [[("update", "loop")], [("single", "loop")], [("star", "loop")]]


def chosen_of(profile, phases):
    chooser = SiteChooser(profile, build_features(profile, share=True), literal=False)
    chosen = chooser.of_all(np.repeat(np.arange(phases), 10))
    return [[(profile.functions[site.function].name, site.kind) for site in sites] for sites in chosen]


def test_the_lowest_of_those_that_say_as_much_and_small_ones_where_they_make_the_difference(tmp_path):
    calls = {("verlet", "force"): 70, ("verlet", "build"): 3}
    relax = ({"main;min;force": 100}, {("min", "force"): 70})
    melt = ({"main;run;verlet;force": 70, "main;run;verlet;build": 30}, calls)
    rdf = {"main;run;verlet;force": 50, "main;run;verlet;build": 15, "main;run;verlet;output;rdf": 35}
    names = ["main", "min", "run", "verlet", "force", "build", "output", "rdf"]
    profile, found = tree(tmp_path, names, relax, melt, (rdf, calls | {("verlet", "output"): 30}))
    # run and verlet have all of two phases: a loop in verlet goes round once a step.
    assert [named(profile, found, phase) for phase in (1, 2)] == [[("verlet", "loop", 1.0)]] * 2
    assert chosen_of(profile, 3) == [[("min", "loop")], [("verlet", "loop")], [("verlet", "loop"), ("output", "body")]]


def named(profile, found, phase, excluded=()):
    index = {function.name: i for i, function in enumerate(profile.functions)}
    banned = frozenset((index[name], kind) for name, kind in excluded)
    return [
        (profile.functions[s.function].name, s.kind, round(s.share, 2)) for s in sites_of_phase(found, phase, banned)
    ]


def test_a_site_is_lifted_to_the_function_that_is_called_for_the_phase(tmp_path):
    build = (
        {"main;build;hash": 60, "main;build;copy": 40},
        {("main", "build"): 3, ("build", "hash"): 9000, ("build", "copy"): 90},
    )
    query = ({"main;query;hash": 90, "main": 10}, {("main", "query"): 5, ("query", "hash"): 9000})
    profile, found = tree(tmp_path, ["main", "build", "query", "hash", "copy"], build, query)
    assert named(profile, found, 0) == [("build", "body", 1.0)]
    assert named(profile, found, 1) == [("query", "body", 0.9)]
    # One that cannot be had gives way to what it calls for this phase alone.
    assert named(profile, found, 0, [("build", "body")]) == [("copy", "body", 0.4)]


def test_the_steps_of_a_driver_that_lives_on_are_its_sites(tmp_path):
    evolve = (
        {"main;evolve;drift": 40, "main;evolve;force;walk": 50, "main;evolve": 10},
        {("main", "evolve"): 0, ("evolve", "drift"): 20, ("evolve", "force"): 20, ("force", "walk"): 9000},
    )
    other = ({"main;write": 100}, {("main", "write"): 4})
    profile, found = tree(tmp_path, ["main", "evolve", "drift", "force", "walk", "write"], evolve, other)
    assert named(profile, found, 0) == [("force", "body", 0.5), ("drift", "body", 0.4)]


@pytest.mark.parametrize(("calls", "own"), [(10_000_000, 5), (20, 50)], ids=["tiny calls", "own work"])
def test_a_driver_that_works_itself_or_calls_what_is_tiny_is_a_loop(tmp_path, calls, own):
    solve = ({"main;solve;cell": 100 - own, "main;solve": own}, {("main", "solve"): 0, ("solve", "cell"): calls})
    other = ({"main;write": 100}, {("main", "write"): 4})
    profile, found = tree(tmp_path, ["main", "solve", "cell", "write"], solve, other)
    assert named(profile, found, 0) == [("solve", "loop", 1.0)]


def test_a_phase_without_a_function_of_its_own_gets_the_one_that_comes_nearest(tmp_path):
    first = ({"main;a": 70, "main;b": 30}, {("main", "a"): 5, ("main", "b"): 5})
    second = ({"main;a": 30, "main;b": 70}, {("main", "a"): 5, ("main", "b"): 5})
    profile, found = tree(tmp_path, ["main", "a", "b"], first, second, first)
    assert [named(profile, found, phase) for phase in (0, 1)] == [[("a", "body", 0.7)], [("b", "body", 0.7)]]
    # main, in all phases alike, tells nothing.
    assert named(profile, found, 1, [("b", "body")]) == []


def test_recursion_counts_once_and_goes_as_deep_as_it_likes(tmp_path):
    deep = ";".join(["main", *["descend"] * 400])
    first = ({deep: 50, "main;descend": 50}, {("main", "descend"): 2, ("descend", "descend"): 900})
    second = ({"main;write": 100}, {("main", "write"): 4})
    profile, found = tree(tmp_path, ["main", "descend", "write"], first, second)
    assert named(profile, found, 0) == [("descend", "body", 1.0)]
    assert found.share.max() == 1.0


def test_a_phase_of_waiting_threads_alone_has_no_site(tmp_path):
    profile, found = tree(tmp_path, ["main", "work"], ({"main;work": 10}, {("main", "work"): 1}), ({"": 10}, {}))
    assert named(profile, found, 0) == [("work", "body", 1.0)]
    assert named(profile, found, 1) == []


def twin(found, phase):
    """From the top, with recursion and without merging: what a function and those below it give."""
    parent, function = found.tree.chains.parent.tolist(), found.tree.chains.function.tolist()
    inclusive, seconds = found.inclusive[phase], found.tree.seconds

    def at(chain):
        below = [site for c in range(len(parent)) if c and parent[c] == chain
                 and inclusive[c] >= SITES.noticed * SITES.least * inclusive[0] for site in at(c)]  # fmt: skip
        f = function[chain]
        if chain == 0 or found.specific[phase, f] < SITES.specific:
            return below
        share = inclusive[chain] / inclusive[0]
        if found.short[phase, f]:
            return [(f, "body", share)]
        steps = [s for s in below if s[1] == "loop" or seconds[s[0]] >= SITES.shortest_s]
        return steps if sum(s[2] for s in steps) >= SITES.instead_of_driver * share else [(f, "loop", share)]

    total = {}
    for f, kind, share in at(0):
        total[f, kind] = total.get((f, kind), 0.0) + share
    return {key: share for key, share in total.items() if share >= SITES.least}


@st.composite
def phase_trees(draw):
    size, functions = draw(st.integers(2, 14)), 6
    parent = [0, *(draw(st.integers(0, i - 1)) for i in range(1, size))]
    function = [-1, *(draw(st.integers(0, functions - 1)) for _ in range(1, size))]
    chains = CallTree(np.array(parent), np.array(function), np.zeros(1, dtype=np.int64))
    own = np.array([[0, *(draw(st.integers(0, 50)) for _ in range(1, size))]], dtype=float)
    row = st.lists(st.sampled_from([0.3, 0.79, 0.8, 1.0]), min_size=functions, max_size=functions)
    flags = st.lists(st.booleans(), min_size=functions, max_size=functions)
    times = st.lists(st.sampled_from([1e-7, 1e-5, 1.0, np.inf]), min_size=functions, max_size=functions)
    nothing = csr_array((1, functions))
    calls = TreeTimes(
        chains, nothing, nothing, nothing, nothing, np.array(draw(times)), np.zeros(functions, dtype=bool)
    )
    inclusive = chains.inclusive(own)
    share = np.full((1, functions), 0.5)
    return PhaseTree(calls, inclusive, share, np.array([draw(row)]), np.array([draw(flags)]))


@given(phase_trees())
def test_the_walk_from_below_is_the_walk_from_the_top(found):
    expected = twin(found, 0) if found.inclusive[0, 0] > 0 else {}
    got = {(site.function, site.kind): site.share for site in sites_of_phase(found, 0)}
    missing = sum(expected.values()) < SITES.half
    assert got.keys() - expected.keys() == set() or (missing and len(got.keys() - expected.keys()) == 1)
    assert {key: got[key] for key in expected} == pytest.approx(expected)
    assert sum(expected.values()) <= 1 + 1e-9


SORT = "_ZSt4sortIPiEvT_S1_"
LOOP = "_ZSt16__introsort_loopIPilEvT_S1_T0_"


def test_the_standard_library_is_no_site_where_its_caller_can_be(tmp_path):
    order = ({f"main;order;{SORT};{LOOP};{LOOP};less": 70, f"main;order;{SORT};{LOOP}": 30}, {("main", "order"): 3})
    other = ({"main;write": 100}, {("main", "write"): 4})
    profile, found = tree(tmp_path, ["main", "order", SORT, LOOP, "less", "write"], order, other)
    assert named(profile, found, 0) == [("order", "body", 1.0)]
    # What it calls for its caller may be one.
    assert named(profile, found, 0, [("order", "body")]) == [("less", "loop", 0.7)]


def test_a_thread_that_begins_in_the_standard_library_has_its_own_sites(tmp_path):
    start = "_ZNSt6thread11_State_implINS_8_InvokerISt5tupleIJPFvvEEEEEE6_M_runEv"
    crew = ({f"{start};crew;work": 100}, {("crew", "work"): 3})
    other = ({"main;write": 100}, {("main", "write"): 4})
    profile, found = tree(tmp_path, ["main", start, "crew", "work", "write"], crew, other)
    assert named(profile, found, 0) == [("work", "body", 1.0)]


@pytest.mark.parametrize(
    ("mangled", "library"),
    [
        (SORT, True), ("_ZNSt6vectorIiSaIiEE17_M_realloc_insertIJiEEEvPiDpOT_", True),
        ("_ZNKSt8functionIFvvEEclEv", True), ("_ZN9__gnu_cxx13new_allocatorIiE8allocateEmPKv", True),
        ("_ZNSolsEi", True), ("_ZZNSt8__detail4testEvENKUlvE_clEv", True), ("_ZlsRSoRK3Foo", False),
        ("_Z4sortSt6vectorIiSaIiEE", False), ("sort", False), ("St", False), ("_ZN5Stack4pushEi", False),
    ],
)  # fmt: skip
def test_which_names_are_of_the_standard_library(mangled, library):
    assert Function("app", mangled, mangled, 1).is_library is library
