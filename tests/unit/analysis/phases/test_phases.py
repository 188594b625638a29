from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.analysis.answer import find_phases
from incprof.errors import NoDataError, UsageError
from tests.unit.profiles import noisy, rows
from tests.unit.synthetic import make_profile

A = {"solve": 0.8, "dot": 0.15, "norm": 0.05}
B = {"assemble": 0.7, "sort": 0.2, "norm": 0.1}
C = {"write": 0.9, "pack": 0.1}


@pytest.mark.parametrize(
    ("mixes", "lengths"),
    [([A], [60]), ([A, B], [40, 30]), ([A, B, C], [50, 40, 10]), ([A, B, A, C, A], [30, 20, 30, 20, 30])],
)
def test_phases_are_found(mixes, lengths):
    result = find_phases(noisy(mixes, lengths))
    kinds = [mixes.index(mix) for mix in mixes]
    order = list(dict.fromkeys(kinds))
    truth = np.repeat([order.index(kind) for kind in kinds], lengths)
    assert result.k == len(order)
    assert (result.labels == truth).mean() > 0.97
    assert [phase.id for phase in result.phases] == list(range(result.k))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ticks", [20, 100, 1000])
def test_one_phase_is_an_answer(seed, ticks):
    result = find_phases(noisy([A], [150], ticks=ticks, seed=seed))
    assert result.k == 1
    assert (result.labels == 0).all()


def test_paper_follows_kneed_and_leaves_nothing_out():
    result = find_phases(noisy([A, B, C], [40, 40, 40]), method="paper")
    assert (result.k, result.rule) == (3, "elbow")
    assert (result.labels >= 0).all()
    assert result.labels.tolist() == result.clusters.tolist()


def test_a_function_called_or_still_running_is_one_phase():
    profile = rows(*(["f=60 g=40", "f=95 g=5"] * 20))
    split = find_phases(profile, method="paper")
    merged = find_phases(profile)
    assert split.k == 2
    assert merged.k == 1


def test_a_border_interval_belongs_to_a_phase_beside_it_or_to_none():
    before, after = noisy([A], [20]), noisy([B], [20])
    names = sorted({f.name for f in (*before.functions, *after.functions)})
    own = np.zeros((41, len(names)))
    for profile, at in ((before, 0), (after, 21)):
        for i, function in enumerate(profile.functions):
            own[at : at + 20, names.index(function.name)] = profile.self_s.toarray()[:, i]
    own[20] = (own[19] + own[21]) / 2
    result = find_phases(make_profile(own, names=names))
    assert np.delete(result.labels, 20).tolist() == [0] * 20 + [1] * 20


def test_waiting_is_a_phase_without_sites():
    result = find_phases(rows(*(["a=100"] * 10 + ["a=0"] * 5 + ["b=100"] * 10)))
    assert result.labels.tolist() == [0] * 10 + [1] * 5 + [2] * 10
    waiting = result.phases[1]
    assert (waiting.off_cpu, waiting.sites, waiting.functions) == (True, (), ())
    assert not result.phases[0].off_cpu


def test_a_short_wait_is_no_phase():
    result = find_phases(rows(*(["a=100"] * 40 + ["a=0"] + ["a=100"] * 40)))
    assert result.k == 1
    assert np.flatnonzero(result.labels < 0).tolist() == [40]


@pytest.mark.parametrize("method", ["paper", "robust"])
def test_k_can_be_given(method):
    profile = noisy([A, B, C], [40, 40, 40])
    for k in (1, 2, 5, 8):
        result = find_phases(profile, method=method, k=k)
        assert (result.k, result.rule) == (k, "user")


def test_k_counts_waiting():
    profile = rows(*(["a=100"] * 10 + ["a=0"] * 5 + ["b=100"] * 10))
    assert find_phases(profile, k=3).k == 3
    assert find_phases(profile, k=2).k == 2


def test_more_phases_than_intervals_differ():
    result = find_phases(rows("a=100", "b=100", "a=100"), k=5)
    assert result.k == 2
    assert any("5 phases" in line for line in result.warnings)


def test_one_interval():
    result = find_phases(rows("a=60/1 b=40/3"))
    assert (result.k, result.labels.tolist()) == (1, [0])
    assert any("one interval" in line for line in result.warnings)
    assert result.scores[0].silhouette is None


@pytest.mark.parametrize("method", ["paper", "robust"])
def test_identical_intervals(method):
    result = find_phases(rows(*["a=60/1 b=40/3"] * 30), method=method)
    assert (result.k, result.labels.tolist()) == (1, [0] * 30)


def test_zero_samples_and_zero_intervals_are_no_data():
    with pytest.raises(NoDataError, match="no samples in 2 intervals"):
        find_phases(make_profile(np.zeros((2, 3))))
    with pytest.raises(NoDataError, match="no complete interval"):
        find_phases(make_profile(np.zeros((0, 3))))


@pytest.mark.parametrize(("key", "value"), [("method", "magic"), ("k", 0), ("k", 17)])
def test_wrong_options_are_named(key, value):
    with pytest.raises(UsageError, match=str(value)):
        find_phases(rows("a=1"), **{key: value})


def test_numbers_add_up():
    profile = noisy([A, B], [30, 30])
    result = find_phases(profile)
    assert sum(phase.intervals for phase in result.phases) == (result.labels >= 0).sum()
    for phase in result.phases:
        mine = profile.self_s.toarray()[result.labels == phase.id]
        assert sum(top.self_s for top in phase.functions) == pytest.approx(mine.sum())
        assert sum(top.share for top in phase.functions) == pytest.approx(1.0)
        assert sum(site.phase_pct for site in phase.sites) >= 95.0
        for site in phase.sites:
            assert site.app_pct == pytest.approx(site.phase_pct * phase.app_pct / 100)


def test_same_input_same_answer_also_with_threads():
    profile = noisy([A, B, C], [50, 40, 30], seed=4)
    answers = [find_phases(profile), find_phases(profile), find_phases(profile, jobs=4)]
    assert repr(answers[0]) == repr(answers[1]) == repr(answers[2])


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.permutations(range(6)))
def test_the_order_of_functions_does_not_matter(order):
    profile = noisy([A, B], [30, 20])
    order = [i for i in order if i < len(profile.functions)]
    own = profile.self_s.toarray()[:, order]
    shuffled = make_profile(own, names=[profile.functions[i].name for i in order])
    first, second = find_phases(profile), find_phases(shuffled)
    assert first.labels.tolist() == second.labels.tolist()
    names = [[(s.function.name, s.kind) for p in r.phases for s in p.sites] for r in (first, second)]
    assert names[0] == names[1]


def test_many_rare_functions_do_not_matter():
    profile = noisy([A, B], [40, 40])
    rng = np.random.default_rng(0)
    rare = np.zeros((80, 3000))
    rare[np.repeat(np.arange(80), 3), rng.integers(0, 3000, 240)] = 0.01
    wide = make_profile(np.hstack([profile.self_s.toarray(), rare]))
    result = find_phases(wide)
    assert result.k == 2
    assert result.features < 300


def test_short_intervals_with_few_ticks():
    profile = noisy([A, B], [300, 300], ticks=5)
    short = replace(
        profile, metadata=replace(profile.metadata, interval_s=0.05), start_s=0.05 * profile.start_s,
        end_s=0.05 * profile.end_s,
    )  # fmt: skip
    assert find_phases(short).k == 2


def test_moments_of_many_kinds_are_no_phases():
    odd = [{f"o{i}": 0.6, f"p{i}": 0.4} for i in range(24)]
    mixes, lengths = [{"a": 1.0}, {"b": 1.0}, *odd], [40, 40] + [2] * len(odd)
    result = find_phases(noisy(mixes, lengths))
    assert result.labels[:80].tolist() == [0] * 40 + [1] * 40
    assert not set(result.labels[80:].tolist()) & {0, 1}
