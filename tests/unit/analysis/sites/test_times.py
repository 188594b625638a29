"""Sites from the tree of calls: small trees by hand, and random ones against a twin that walks from the top."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from incprof.analysis.features import build_features
from incprof.analysis.sites import SURE, SiteChooser, at_least, cut, limits
from incprof.analysis.sites.times import ChainTimes, chain_times
from incprof.analysis.thresholds import SITES
from incprof.model import Function
from incprof.model.calltree import CallTree
from incprof.readers.run import open_run, read_profile
from tests.unit.streamwriter import Sample, StreamWriter


def recorded(tmp_path, functions, *phases):
    """Record ten intervals of each phase, a second each.

    phases: ({path: ticks per interval}, {(caller, callee): calls per interval, 0 for one call in all}).
    """
    writer = StreamWriter(functions)
    for ticks, calls in phases:
        for i in range(10):
            samples = [Sample(path, weight=weight) for path, weight in ticks.items()]
            writer.interval(samples, arcs={arc: n or 1 for arc, n in calls.items() if n or i == 0})
    writer.end()
    return read_profile(open_run(writer.save(tmp_path / "run")))


def chosen(profile, phases, excluded=()):
    """Return the sites of each phase, largest first, by name and kind."""
    chooser = SiteChooser(profile, build_features(profile, share=True), literal=False)
    index = {function.name: i for i, function in enumerate(profile.functions)}
    banned = frozenset((index[name], kind) for name, kind in excluded)
    labels = np.arange(profile.n_intervals) * phases // profile.n_intervals
    found = chooser.of_all(labels, excluded=banned)
    return [[(profile.functions[site.function].name, site.kind) for site in sites] for sites in found]


def test_the_highest_function_that_does_not_last_on_is_the_site(tmp_path):
    build = (
        {"main;build;hash": 40, "main;build;copy": 60},
        {("main", "build"): 30, ("build", "hash"): 9000, ("build", "copy"): 90},
    )
    query = ({"main;query;hash": 90, "main": 10}, {("main", "query"): 5, ("query", "hash"): 9000})
    profile = recorded(tmp_path, ["main", "build", "query", "hash", "copy"], build, query)
    assert chosen(profile, 2) == [[("build", "body")], [("query", "body")]]
    # One that cannot be had gives way to what it calls.
    assert chosen(profile, 2, [("build", "body")])[0] == [("copy", "body")]


def test_the_sites_are_the_same_however_many_phases_there_are(tmp_path):
    step = ({"main;step;force": 70, "main;step;move": 30}, {("main", "step"): 10, ("step", "force"): 10})
    profile = recorded(tmp_path, ["main", "step", "force", "move"], step, step, step)
    assert chosen(profile, 1) == [[("step", "body")]]
    assert chosen(profile, 3) == [[("step", "body")]] * 3


def test_the_steps_of_a_driver_that_lasts_on_are_its_sites(tmp_path):
    evolve = (
        {"main;evolve;drift": 40, "main;evolve;force;walk": 50, "main;evolve": 10},
        {("main", "evolve"): 0, ("evolve", "drift"): 20, ("evolve", "force"): 20, ("force", "walk"): 9000},
    )
    other = ({"main;write": 100}, {("main", "write"): 40})
    profile = recorded(tmp_path, ["main", "evolve", "drift", "force", "walk", "write"], evolve, other)
    assert chosen(profile, 2) == [[("force", "body"), ("drift", "body")], [("write", "body")]]


@pytest.mark.parametrize(("calls", "own"), [(10_000_000, 5), (20, 60)], ids=["tiny calls", "own work"])
def test_a_driver_that_works_itself_or_calls_what_is_tiny_is_a_loop(tmp_path, calls, own):
    solve = ({"main;solve;cell": 100 - own, "main;solve": own}, {("main", "solve"): 0, ("solve", "cell"): calls})
    other = ({"main;write": 100}, {("main", "write"): 40})
    profile = recorded(tmp_path, ["main", "solve", "cell", "write"], solve, other)
    assert chosen(profile, 2)[0] == [("solve", "loop")]


@pytest.mark.parametrize(("calls", "sites"), [(30_000, [("place", "body")]), (30_000_000, [("main", "loop")])])
def test_short_calls_stand_for_a_phase_that_has_nothing_else_unless_they_are_tiny(tmp_path, calls, sites):
    place = ({"main;place": 100}, {("main", "place"): calls})
    other = ({"main;write": 100}, {("main", "write"): 40})
    assert chosen(recorded(tmp_path, ["main", "place", "write"], place, other, other), 3)[0] == sites


def test_phases_below_one_dispatcher_get_distinguishing_sites(tmp_path):
    # Each job is short enough to watch; what it does differs.
    pack = ({"main;job;stage;pack": 90, "main;job;stage": 10}, {("main", "job"): 10, ("stage", "pack"): 50})
    unpack = ({"main;job;stage;unpack": 90, "main;job;stage": 10}, {("main", "job"): 10, ("stage", "unpack"): 50})
    names = ["main", "job", "stage", "pack", "unpack"]
    profile = recorded(tmp_path, names, pack, unpack)
    assert chosen(profile, 2) == [[("pack", "body")], [("unpack", "body")]]
    # The same functions in other shares: no phase has any of them to itself.
    alike = ({"main;job;stage;pack": 60, "main;job;stage": 40}, {("main", "job"): 10, ("stage", "pack"): 50})
    assert chosen(recorded(tmp_path / "alike", names, pack, alike), 2) == [[("job", "body")], [("job", "body")]]


def test_a_phase_that_the_sites_of_the_run_do_not_hold_gets_its_own(tmp_path):
    steps = ({"main;step": 100}, {("main", "step"): 20})
    own = ({"main": 70, "main;step": 30}, {("main", "step"): 5})
    assert chosen(recorded(tmp_path, ["main", "step"], steps, own, steps), 3)[1] == [("main", "loop")]


def test_one_sample_is_no_site_and_small_ones_need_a_part_of_the_run(tmp_path):
    few = ({"main;a": 1}, {("main", "a"): 20, ("main", "b"): 20})
    writer = StreamWriter(["main", "a", "b"])
    for i in range(40):
        path = "main;b" if i in (7, 30) else "main;a"
        writer.interval([Sample(path)], arcs=few[1])
    writer.end()
    profile = read_profile(open_run(writer.save(tmp_path / "run")))
    chooser = SiteChooser(profile, build_features(profile, share=True), literal=False)
    (sites,) = chooser.of_all(np.zeros(40, dtype=np.int64))
    assert [profile.functions[site.function].name for site in sites] == ["a"]


def test_recursion_counts_once_and_goes_as_deep_as_it_likes(tmp_path):
    deep = ";".join(["main", *["descend"] * 400])
    first = ({deep: 50, "main;descend": 50}, {("main", "descend"): 20, ("descend", "descend"): 900})
    second = ({"main;write": 100}, {("main", "write"): 40})
    profile = recorded(tmp_path, ["main", "descend", "write"], first, second)
    assert chosen(profile, 2)[0] == [("descend", "body")]


def test_a_phase_of_waiting_threads_alone_has_no_site(tmp_path):
    profile = recorded(tmp_path, ["main", "work"], ({"main;work": 10}, {("main", "work"): 20}), ({"": 10}, {}))
    assert chosen(profile, 2) == [[("work", "body")], []]


def by_name(profile):
    times = chain_times(profile)
    names = [profile.functions[f].name if f >= 0 else "" for f in times.chains.function.tolist()]
    paths = [""]
    for i in range(1, len(names)):
        above = paths[times.chains.parent[i]]
        paths.append(f"{above};{names[i]}" if above else names[i])
    return times, {path: i for i, path in enumerate(paths)}


def test_calls_between_two_functions_are_shared_out_by_time(tmp_path):
    ticks = {"main;a;leaf": 30, "main;b;a;leaf": 10, "main;b": 60}
    arcs = {("main", "a"): 2, ("b", "a"): 6, ("a", "leaf"): 400, ("main", "b"): 1}
    times, at = by_name(recorded(tmp_path, ["main", "a", "b", "leaf"], (ticks, arcs)))
    assert times.calls[at["main;a"]] == 20
    assert times.calls[at["main;b;a"]] == 60
    assert times.calls[at["main;a;leaf"]] == pytest.approx(3000)
    assert times.calls[at["main;b;a;leaf"]] == pytest.approx(1000)
    assert times.seconds[at["main;a"]] == pytest.approx(10 * 0.30 / 20)


def test_waiting_makes_calls_longer_but_not_their_work(tmp_path):
    times, at = by_name(recorded(tmp_path, ["main", "write"], ({"main;write": 5}, {("main", "write"): 10})))
    assert times.seconds[at["main;write"]] == pytest.approx(0.1)
    assert times.cpu_s[at["main;write"]] == pytest.approx(0.005)


def test_calls_of_an_uncounted_function_have_no_upper_bound(tmp_path):
    # Samples alternate between two functions that were built without calls to mcount, and stay long in a third.
    writer = StreamWriter(["main", "even", "odd", "stays"])
    for i in range(40):
        turns = [Sample(f"main;{'even' if j % 2 else 'odd'}", weight=1) for j in range(50)]
        stays = [Sample("main;stays") for _ in range(50)]
        writer.interval([*turns, *stays] if i % 2 else [*stays, *turns], arcs={("main", "main"): 1} if i < 1 else {})
    writer.end()
    times, at = by_name(read_profile(open_run(writer.save(tmp_path / "run"))))
    unsure = {path.rpartition(";")[2] for path, chain in at.items() if chain and times.unsure[chain]}
    assert unsure == {"even", "odd"}
    assert times.seconds[at["main;stays"]] == np.inf


@given(st.floats(0.0, 1.0), st.floats(0.5, 1e6))
def test_the_lower_bound_of_a_share_is_where_the_count_would_be_so_far_off(share, ticks):
    found = at_least(share, ticks)
    assert 0 <= found <= share + 1e-12
    square = SURE**2 / ticks
    off = np.roots([1 + square, -2 * share - square, share**2])
    assert found == pytest.approx(float(off.real.min()), abs=1e-6)


def twin(times, long, short, weight, fit):
    """From the top, with recursion: what a chain and those below it give, and how much of the time they hold."""
    parent, function = times.chains.parent.tolist(), times.chains.function.tolist()

    def at(chain):
        below = [at(c) for c in range(1, len(parent)) if parent[c] == chain and weight[c] > 0]
        sites, inside = [site for found, _ in below for site in found], sum(h for _, h in below)
        if chain == 0:
            return sites, inside
        most = inside >= SITES.half * weight[chain]
        if fit[chain] and ((long[chain] and not most) or (not long[chain] and not short[chain])):
            return [(function[chain], "loop" if long[chain] else "body", chain)], weight[chain]
        return ([], 0.0) if short[chain] and not long[chain] and not most else (sites, inside)

    return sorted(at(0)[0])


@st.composite
def trees(draw):
    size = draw(st.integers(2, 14))
    parent = [0, *(draw(st.integers(0, i - 1)) for i in range(1, size))]
    function = [-1, *(draw(st.integers(0, 5)) for _ in range(1, size))]
    chains = CallTree(np.array(parent), np.array(function), np.zeros(1, dtype=np.int64))
    own = np.array([0, *(draw(st.integers(0, 50)) for _ in range(1, size))], dtype=float)
    nothing, no, named = np.zeros(size), np.zeros(size, dtype=np.bool_), np.array(function) >= 0
    times = ChainTimes(chains, csr_array(own[None, :]), nothing, nothing, nothing, no, no, named)
    flags = st.lists(st.booleans(), min_size=size, max_size=size).map(np.array)
    return times, draw(flags), draw(flags), chains.inclusive(own), draw(flags)


@given(trees())
def test_the_cut_from_below_is_the_cut_from_the_top(case):
    times, long, short, weight, fit = case
    found = cut(times, long, short, weight, weight >= 0, fit)
    assert sorted((s.function, s.kind, c) for s in found for c in s.chains) == twin(times, long, short, weight, fit)


@given(trees())
def test_no_site_is_below_another(case):
    times, long, short, weight, fit = case
    chains = [c for site in cut(times, long, short, weight, weight >= 0, fit) for c in site.chains]
    above = times.chains.ancestors().toarray()
    assert above[np.ix_(chains, chains)].sum() == len(chains)


SORT = "_ZSt4sortIPiEvT_S1_"
LOOP = "_ZSt16__introsort_loopIPilEvT_S1_T0_"


def test_the_standard_library_is_no_site_where_its_caller_can_be(tmp_path):
    order = ({f"main;order;{SORT};{LOOP};{LOOP};less": 70, f"main;order;{SORT};{LOOP}": 30}, {("main", "order"): 30})
    other = ({"main;write": 100}, {("main", "write"): 40})
    profile = recorded(tmp_path, ["main", "order", SORT, LOOP, "less", "write"], order, other)
    assert chosen(profile, 2)[0] == [("order", "body")]


def test_a_thread_that_begins_in_the_standard_library_has_its_own_sites(tmp_path):
    start = "_ZNSt6thread11_State_implINS_8_InvokerISt5tupleIJPFvvEEEEEE6_M_runEv"
    crew = ({f"{start};crew;work": 100}, {("crew", "work"): 30})
    other = ({"main;write": 100}, {("main", "write"): 40})
    profile = recorded(tmp_path, ["main", start, "crew", "work", "write"], crew, other)
    assert chosen(profile, 2)[0] == [("work", "body")]


def test_a_thread_lives_as_long_as_its_samples_go_however_few_they_are(tmp_path):
    # Ten seconds, of which `main` has 0.6 on the processor: it was there all the time.
    writer = StreamWriter(["main", "make", "crew"])
    for i in range(10):
        samples = [Sample("main;make", weight=3), Sample("crew", weight=60, thread=1), Sample("main;make", weight=3)]
        writer.interval(samples, arcs={("main", "make"): 40} | ({("", "main"): 1, ("", "crew"): 1} if i == 0 else {}))
    writer.end()
    profile = read_profile(open_run(writer.save(tmp_path / "run")))
    assert chosen(profile, 1) == [[("crew", "loop"), ("make", "body")]]


@pytest.mark.parametrize("kind", ["<listcomp>", "<genexpr>", "<lambda>"])
def test_a_part_of_a_statement_is_no_site(tmp_path, kind):
    inner = f"load.{kind}"
    load = ({f"main;load;{inner};parse": 20, f"main;load;{inner}": 60, "main;load": 20}, {("main", "load"): 30})
    other = ({"main;write": 100}, {("main", "write"): 40})
    profile = recorded(tmp_path, ["main", "load", inner, "parse", "write"], load, other)
    assert chosen(profile, 2)[0] == [("load", "body")]


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


def test_calls_that_differ_in_their_last_digit_are_of_one_kind():
    """Ten calls of a second each in ten intervals, added up in two ways."""
    chains = CallTree(np.array([0, 0, 0]), np.array([-1, 0, 1]), np.zeros(1, dtype=np.int64))
    seconds = np.array([np.inf, 1.0, np.nextafter(1.0, 2.0)])
    own, no = np.array([[0.0, 1000.0, 1000.0]]), np.zeros(3, dtype=np.bool_)
    times = ChainTimes(chains, csr_array(own), np.full(3, 10.0), seconds, seconds, no, no, ~no)
    assert limits(times, 100.0).long.tolist() == [True, False, False]


def test_a_function_that_threads_of_python_begin_with_is_called_once_by_each(tmp_path):
    starts = ["threading.py:Thread._bootstrap", "threading.py:Thread._bootstrap_inner", "threading.py:Thread.run"]
    writer = StreamWriter(["main", "serve", *starts, "handle", "parse"])
    path = ";".join([*starts, "handle", "parse"])
    for interval in range(10):
        writer.interval(
            [Sample("main;serve", weight=2), *(Sample(path, thread=1 + interval * 20 + i) for i in range(20))]
        )
    writer.end()
    profile = read_profile(open_run(writer.save(tmp_path / "run")))
    modules = tuple(replace(module, counts=False) for module in profile.metadata.modules)
    profile = replace(profile, metadata=replace(profile.metadata, modules=modules))
    times = chain_times(profile)
    names = [profile.functions[f].name if f >= 0 else "" for f in times.chains.function]
    assert not times.unsure[names.index("handle")]
