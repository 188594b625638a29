"""Generated cases: what they say about themselves agrees with what they hold."""

import numpy as np
import pytest

from truth.cases import all_names, make_case
from truth.families import FAMILIES, NUMBERS
from truth.families_overlap import OVERLAP
from truth.play import play
from truth.split import HELD, TUNE, half_of, half_of_name
from truth.story import Episode, Scenario, edges_of, interval_phases, true_labels
from truth.truths import LOOP
from truth.work import Leaf, Piece, TruePhase, TrueSite, Work


def column(case, name):
    return [f.name for f in case.profile.functions].index(name)


@pytest.mark.slow
@pytest.mark.parametrize("family", list(FAMILIES))
def test_a_case_matches_its_description(family):
    case = make_case(family, 0)
    profile, truth = case.profile, case.truth
    assert len(case.labels) == profile.n_intervals
    assert set(case.labels.tolist()) - {-1} == set(range(len(truth.phases)))
    np.testing.assert_allclose(profile.inclusive_s()[:, [0]].sum(), profile.self_s.sum())
    assert profile.counters.samples.sum() == len(profile.samples.time_s)
    assert (np.diff(profile.samples.time_s) >= 0).all()
    assert profile.arcs.count.sum() == profile.calls.sum()
    names = [f.name for f in profile.functions]
    inclusive = np.zeros((profile.n_intervals, len(names)))
    for node, function in enumerate(profile.paths.function.tolist()[1:], start=1):
        inclusive[:, function] += profile.inclusive_s()[:, [node]].toarray().ravel()
    total = profile.self_s.sum(axis=1)
    for number, phase in enumerate(truth.phases):
        own = case.labels == number
        for site in phase.sites:
            time = inclusive[:, names.index(site.function)]
            called = profile.calls[:, [names.index(site.function)]].toarray().ravel() > 0
            assert time[own].sum() > 0.02 * total[own].sum()
            # The site identifies its phase: it has next to nothing in the intervals of others.
            others = (case.labels >= 0) & ~own
            assert time[others].sum() <= 0.02 * max(total[others].sum(), 1)
            if not site.function.endswith("_rare"):
                assert (called[own].mean() > 0.4) == (site.kind != LOOP)
        assert set(phase.steps) <= set(names)


def test_the_same_case_has_the_same_bytes():
    first, second, other = make_case("ramps", 1), make_case("ramps", 1), make_case("ramps", 2)
    assert (first.profile.self_s != second.profile.self_s).nnz == 0
    assert first.profile.samples.time_s.tobytes() == second.profile.samples.time_s.tobytes()
    assert first.profile.self_s.sum() != other.profile.self_s.sum()


def test_each_family_is_split_in_halves():
    for family, count in NUMBERS.items():
        halves = [half_of(family, number) for number in range(count)]
        assert halves.count(TUNE) == halves.count(HELD) == count / 2
    for half in (TUNE, HELD):
        names = list(all_names(half))
        assert len([name for name, _ in names if name in NUMBERS]) == sum(NUMBERS.values()) / 2
        assert {name for name, _ in names if name not in NUMBERS} == {n for n in OVERLAP if half_of_name(n) == half}


def test_the_rule_of_the_split_is_the_one_that_was_written_down():
    # If this fails, the held-out half is no longer held out.
    assert [half_of(name, 0) for name in ("count-01", "count-02", "ramps", "noise", "jitter", "stray")] == [
        "tune",
        "held",
        "tune",
        "held",
        "tune",
        "tune",
    ]


def test_a_rare_step_is_rare_and_long():
    case = make_case("rare-step", 0)
    (rare,) = [step for step in case.truth.phases[0].steps if step.endswith("_rare")]
    calls = case.profile.calls[:, [column(case, rare)]].toarray().ravel()
    often = case.profile.calls[:, [column(case, case.truth.phases[0].steps[0])]].toarray().ravel()
    assert 19 <= often.sum() / calls.sum() <= 61
    assert case.profile.self_s[:, [column(case, rare)]].sum() / calls.sum() > 0.1


def test_recursion_has_paths_of_many_depths():
    case = make_case("recursive", 0)
    own = column(case, "descend0")
    tree = case.profile.paths
    depth = np.zeros(len(tree.parent), dtype=int)
    for node in range(1, len(depth)):
        depth[node] = depth[tree.parent[node]] + (tree.function[node] == own)
    assert depth.max() >= 4
    arcs = case.profile.arcs
    assert (arcs.count[(arcs.caller == own) & (arcs.callee == own)] > 0).any()


def test_wandering_shares_stay_near_their_neighbours():
    profile = make_case("noise-walk", 0).profile
    own = profile.self_s.toarray()
    own = own[:, own.sum(axis=0) > 0.02 * own.sum()]
    own = own - own.mean(axis=0)
    near, far = (own[1:] * own[:-1]).sum(), (own[80:] * own[:-80]).sum()
    assert near > 0.5 * (own**2).sum() > 2 * far


def two_phases(fade_s=0.0):
    def work(i, stack):
        truth = TruePhase(f"p{i}", (TrueSite(f"f{i}", "body"),))
        return Work(truth, stack, (Piece(f"f{i}", 0.125, (Leaf((), 1.0),)),), jitter=0.0)

    return Scenario((work(0, ("main",)), work(1, ("main", "drive"))), (Episode(0, 3.5, fade_s), Episode(1, 4.5)))


def test_a_border_inside_an_interval_makes_it_a_transition():
    story = two_phases()
    assert true_labels(interval_phases(story, np.arange(9.0))).tolist() == [0, 0, 0, -1, 1, 1, 1, 1]


def test_a_fade_is_a_transition():
    story = two_phases(fade_s=3.0)
    seconds = interval_phases(story, np.arange(9.0))
    assert true_labels(seconds).tolist() == [0, -1, -1, 1, 1, 1, 1, 1]
    # From 0.5 to 3.5 s the first phase goes from all to nothing: its mean there is one half.
    np.testing.assert_allclose(seconds[:4, 0].sum(), 0.5 + 1.5, atol=0.02)


def test_a_story_is_played_to_the_tick():
    story = two_phases()
    rng = np.random.default_rng(0)
    recorded = play(story, edges_of(story, rng), rng)
    profile = recorded.profile(1.0, 100.0, np.array([1]), np.array([7]), rng)
    assert profile.end_s.tolist() == [1, 3, 4, 5, 6, 7, 8]
    names = [f.name for f in profile.functions]
    own = np.rint(profile.self_s.toarray() * 100)
    assert own[:, names.index("f0")].tolist() == [100, 100, 50, 0, 0, 0, 0]
    assert own[:, names.index("f1")].tolist() == [0, 0, 50, 100, 100, 100, 0]
    calls = profile.calls.toarray()
    assert calls[:, names.index("f0")].tolist() == [8, 8, 4, 0, 0, 0, 0]
    assert calls[:, names.index("drive")].tolist() == [0, 0, 1, 0, 0, 0, 0]
    assert calls[:, names.index("main")].tolist() == [1, 0, 0, 0, 0, 0, 0]
