import numpy as np
import pytest

from incprof.analysis.answer import find_phases, site_chooser
from incprof.analysis.answer.confidence import with_confidence
from incprof.analysis.phase_result import verdict
from tests.unit.profiles import noisy, rows
from tests.unit.synthetic import make_profile
from tests.variants import mostly_slow

A, B = {"solve": 0.9, "dot": 0.1}, {"write": 1.0}
NEAR = ({"solve": 0.50, "dot": 0.50}, {"solve": 0.72, "dot": 0.28})


def sure(profile, seed=0, **options):
    result = find_phases(profile, **options)
    chooser = site_chooser(profile, result.method)
    return with_confidence(chooser.profile, chooser.features, result, random_state=seed)


@pytest.mark.parametrize("method", mostly_slow(1, ["robust", "paper"]))
def test_phases_that_are_far_apart_are_sure(method):
    result = sure(noisy([A, B], [40, 40]), method=method, k=2)
    # Of the paper's method, 40 intervals each; of the other, some 4 000 samples.
    certain = 40 / 41 if method == "paper" else 4000 / 4001
    assert [phase.confidence for phase in result.phases] == [pytest.approx(certain, abs=0.001)] * 2


def test_more_samples_make_it_surer():
    few, many = (sure(noisy(NEAR, [40, 40], ticks=ticks)) for ticks in (12, 600))
    assert (few.k, many.k) == (2, 2)
    assert min(phase.confidence for phase in few.phases) < 0.9 < min(phase.confidence for phase in many.phases)
    assert few.k_again < many.k_again == 1.0


def test_the_number_of_clusters_recurs_unless_it_was_given():
    profile = noisy([A, B], [40, 40])
    assert sure(profile).k_again == 1.0
    assert sure(profile, k=2).k_again is None


def test_waiting_is_as_sure_as_its_length():
    result = sure(rows(*(["a=100"] * 10 + ["a=0"] * 5 + ["b=100"] * 10)))
    waiting = next(phase for phase in result.phases if phase.off_cpu)
    assert waiting.confidence == pytest.approx(500 / 501, abs=1e-4)


def test_the_same_seed_gives_the_same_bits():
    profile = noisy(NEAR, [40, 40], ticks=12)
    first, again, other = (sure(profile, seed) for seed in (1, 1, 2))
    assert [p.confidence for p in first.phases] == [p.confidence for p in again.phases]
    assert [p.confidence for p in first.phases] != [p.confidence for p in other.phases]


def test_one_steady_phase_differs_from_none():
    rng = np.random.default_rng(3)
    steady = find_phases(noisy([{"a": 0.5, "b": 0.3, "c": 0.2}], [150]))
    shares = rng.dirichlet(np.full(20, 0.4), size=150)
    nothing = find_phases(make_profile(np.stack([rng.multinomial(100, p) for p in shares]) / 100))
    assert (steady.k, verdict(steady)) == (1, "steady")
    assert steady.scatter < 1.5
    assert (nothing.k, verdict(nothing)) == (1, "no_distinct_phases")
    assert nothing.scatter > 4


@pytest.mark.parametrize("functions", [3, 6, 12])
def test_a_mix_that_wanders_is_not_called_steady(functions):
    rng = np.random.default_rng(1)
    walk = np.exp(np.cumsum(rng.normal(0, 0.08, (200, functions)), axis=0))
    shares = walk / walk.sum(axis=1, keepdims=True)
    found = find_phases(make_profile(np.stack([rng.multinomial(100, p) for p in shares]) / 100))
    assert (found.k, verdict(found)) == (1, "no_distinct_phases")


def test_a_second_of_something_else_in_thirty_is_a_phase():
    mix, rare = {"a": 0.5, "b": 0.3, "c": 0.2}, {"a": 0.3, "b": 0.2, "d": 0.5}
    found = find_phases(noisy([mix, rare] * 5, [30, 1] * 5))
    assert (found.k, verdict(found)) == (2, "phases")


def test_other_answers_of_one_phase():
    profile = noisy([A, B], [40, 40])
    assert verdict(find_phases(profile)) == "phases"
    assert verdict(find_phases(profile, k=1)) == "asked"
    assert verdict(find_phases(rows("a=60 b=40"))) == "too_few_intervals"
    assert verdict(find_phases(rows(*["a=100"] * 30))) == "steady"
