"""Scores of sites and steps: the published tables, cases worked out by hand, and what holds for any sites."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.profiles import rows
from truth.cases import make_case
from truth.scores.sites import Matches, call_graph, distances_from, match, score_periods, score_sites, score_steps

# The published tables II to VI: what the paper's method found, and what was instrumented by hand.
PUBLISHED = {
    "Graph500": (
        "validate_bfs_result:loop run_bfs:body run_bfs:loop make_one_edge:body",
        "make_graph_data_structure:body generate_kronecker_range:body run_bfs:body validate_bfs_result:body",
    ),
    "MiniFE": (
        "sum_in_symm_elem_matrix:body cg_solve:loop init_matrix:loop generate_matrix_structure:loop "
        "impose_dirichlet:loop make_local_matrix:loop",
        "cg_solve:loop perform_elem_loop:loop init_matrix:loop impose_dirichlet:loop make_local_matrix:loop",
    ),
    "MiniAMR": (
        "check_sum:body allocate:loop pack_block:body unpack_block:body",
        "check_sum:body stencil_calc:body comm:body",
    ),
    "LAMMPS": (
        "PairLJCut::compute/loop NPairHalf::build/loop NPairHalf::build/body Velocity::create/loop",
        "PairLJCut::compute/body NPairHalf::build/body",
    ),
    "Gadget2": (
        "force_treeevaluate_shortrange:body pm_setup_nonperiodic_kernel:body force_update_node_recursive:body",
        "find_next_sync_point_and_drift:body domain_decomposition:body compute_accelerations:body "
        "advance_and_find_timesteps:body",
    ),
}


def places(text):
    return {tuple(word.replace("/", ":").rsplit(":", 1)) for word in text.split()}


def published(app):
    found, manual = PUBLISHED[app]
    return score_sites([{place} for place in places(manual)], places(found), {})


def test_the_published_tables_score_as_computed_from_the_paper():
    functions, typed = Matches(0, 0, 0, 0), Matches(0, 0, 0, 0)
    for app in PUBLISHED:
        scores = published(app)
        functions, typed = functions + scores.functions, typed + scores.places
    assert functions == Matches(19, 9, 18, 9)
    assert [round(x, 3) for x in (functions.precision, functions.recall, functions.f1)] == [0.474, 0.5, 0.486]
    assert [round(x, 3) for x in (typed.precision, typed.recall, typed.f1)] == [0.333, 0.389, 0.359]


@pytest.mark.parametrize(
    ("app", "f1", "typed"),
    [
        ("Graph500", 0.57, 0.25),
        ("MiniFE", 0.73, 0.73),
        ("MiniAMR", 0.29, 0.29),
        ("LAMMPS", 0.80, 0.33),
        ("Gadget2", 0, 0),
    ],
)
def test_each_published_table(app, f1, typed):
    scores = published(app)
    assert scores.functions.f1 == pytest.approx(f1, abs=0.005)
    assert scores.places.f1 == pytest.approx(typed, abs=0.005)


def test_alternatives_and_accepted_places():
    true = [places("work:body drive:loop"), places("solve:loop")]
    assert score_sites(true, places("drive:loop solve:loop"), {}).places == Matches(2, 2, 2, 2)
    assert score_sites(true, places("drive:body"), {}).places == Matches(1, 0, 2, 0)
    assert score_sites(true, places("drive:body"), {}).functions == Matches(1, 1, 2, 1)
    assert score_sites(true, places("other:body"), {}, places("other:body")).places == Matches(0, 0, 2, 0)
    assert score_sites([], set(), {}).places.f1 == 1
    assert score_sites([], places("a:body"), {}).places.f1 == 0
    assert score_sites(true, set(), {}).functions.f1 == 0


def test_two_phases_with_one_site_ask_for_it_once():
    assert score_sites([places("f:body"), places("f:body")], places("f:body"), {}).places == Matches(1, 1, 1, 1)


def test_hops_by_hand():
    graph = {"main": {"drive"}, "drive": {"main", "step"}, "step": {"drive", "leaf"}, "leaf": {"step"}, "alone": set()}
    scores = score_sites([places("step:body"), places("main:loop"), places("alone:body")], places("leaf:body"), graph)
    assert sorted(scores.hops, key=str) == [1, 3, None]
    assert (scores.near, scores.near_recall) == (1, 1 / 3)
    assert score_sites([], set(), graph).near_recall == 1


def test_steps_by_hand():
    assert score_steps({"a", "b", "c"}, {"a", "x"}, {"b"}) == Matches(2, 1, 3, 2)
    assert score_steps({"a"}, {"x"}, set(), {"x"}) == Matches(1, 1, 1, 0)
    assert score_steps(set(), set(), {"a"}).f1 == 1


def test_periods_by_hand():
    assert score_periods([(100.0, 100), (109.0, 100), (111.0, 100), (89.0, 100)]) == Matches(4, 2, 0, 0)
    assert score_periods([]).precision == 1


def test_the_call_graph_of_a_case():
    case = make_case("lifted", 0)
    names = [f.name for f in case.profile.functions]
    graph = call_graph(case.profile, names)
    for phase in case.truth.phases:
        step = phase.steps[0]
        assert any(name.startswith(step + "_leaf") for name in graph[step])
        assert "main" in graph[step] or "main" in {far for near in graph[step] for far in graph[near]}


def test_a_profile_without_calls_has_no_edges():
    profile = rows("a=10", "b=10")
    assert call_graph(profile, ["a", "b"]) == {"a": set(), "b": set()}


NAMES = st.sampled_from("abcdef")
PLACES = st.sets(st.tuples(NAMES, st.sampled_from(["body", "loop"])), max_size=6)
GRAPHS = st.lists(st.tuples(NAMES, NAMES), max_size=10)


@given(st.lists(PLACES.filter(bool), max_size=5), PLACES, PLACES, GRAPHS)
def test_bounds(true, found, accepted, edges):
    graph = {name: {b for a, b in edges if a == name} | {a for a, b in edges if b == name} for name in "abcdef"}
    scores = score_sites(true, found, graph, accepted)
    for counts in (scores.functions, scores.places):
        assert 0 <= counts.right <= counts.found
        assert 0 <= counts.hit <= counts.true
        low, high = sorted([counts.precision, counts.recall])
        assert 0 <= low <= high <= 1
        assert low - 1e-12 <= counts.f1 <= high + 1e-12  # but for rounding
    assert scores.places.recall <= scores.functions.recall or scores.functions.true < scores.places.true
    assert scores.functions.recall <= scores.near_recall <= 1


@given(st.lists(PLACES.filter(bool), max_size=5), PLACES)
def test_order_does_not_matter_and_all_is_perfect(true, found):
    assert score_sites(true, found, {}) == score_sites(true[::-1], sorted(found, reverse=True), {})
    everything = set().union(*true)
    scores = score_sites(true, everything, {})
    assert scores.functions.f1 == scores.places.f1 == scores.near_recall == 1


@given(GRAPHS, st.sets(NAMES, min_size=1))
def test_distances_are_shortest(edges, start):
    index = {name: i for i, name in enumerate("abcdef")}
    graph = {name: {b for a, b in edges if a == name} | {a for a, b in edges if b == name} for name in "abcdef"}
    # Floyd and Warshall's way, as the oracle.
    far = np.full((6, 6), np.inf)
    np.fill_diagonal(far, 0)
    for a, b in edges:
        if a != b:
            far[index[a], index[b]] = far[index[b], index[a]] = 1
    for k in range(6):
        far = np.minimum(far, far[:, [k]] + far[[k], :])
    found = distances_from(start, graph)
    for name in "abcdef":
        best = min(far[index[s], index[name]] for s in start)
        assert found.get(name, np.inf) == best


def test_counts_add_up():
    assert Matches(1, 1, 2, 1) + Matches(3, 0, 1, 0) == Matches(4, 1, 3, 1)
    assert match([{1, 2}, {3}], {2, 5}) == Matches(2, 1, 2, 1)
