"""Profiles that are empty, tiny, huge or broken: an answer, or one clear line."""

import io
import resource
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from incprof.analysis.answer import find_phases, site_chooser, within_budget
from incprof.analysis.answer.confidence import with_confidence
from incprof.analysis.explain import explain
from incprof.analysis.sites.rates import BeatCost
from incprof.errors import NoDataError
from incprof.report.text.site_text import write_explanation
from tests.unit.synthetic import make_profile

METHODS = pytest.mark.parametrize("method", ["robust", "paper"])


def everything(profile, method):
    """All that `incprof phases --explain` computes."""
    chooser = site_chooser(profile, method)
    result = find_phases(profile, method=method, chooser=chooser)
    result = within_budget(chooser, result, BeatCost(30.0, 3.0), 1.0)
    result = with_confidence(chooser.profile, chooser.features, result)
    write_explanation(result, explain(chooser, result), io.StringIO())
    return result


@METHODS
@pytest.mark.parametrize("shape", [(0, 3), (5, 3), (4, 0), (0, 0)])
def test_an_empty_recording_is_one_line(method, shape):
    with pytest.raises(NoDataError) as error:
        find_phases(make_profile(np.zeros(shape)), method=method)
    assert "\n" not in str(error.value)


@METHODS
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1.0])
@pytest.mark.parametrize("where", ["self_s", "calls"])
def test_what_is_no_number_is_refused_with_its_interval(method, value, where):
    own = np.random.default_rng(0).random((30, 3))
    profile, broken = make_profile(own, np.ones((30, 3))), own.copy()
    broken[3, 1] = value
    with pytest.raises(NoDataError, match="interval 3 has a"):
        find_phases(replace(profile, **{where: csr_array(broken)}), method=method)


@METHODS
def test_invalid_or_too_large_times_are_refused(method):
    profile = make_profile(np.ones((9, 2)))
    with pytest.raises(NoDataError, match="start or an end"):
        find_phases(replace(profile, end_s=np.where(np.arange(9) == 4, np.nan, profile.end_s)), method=method)
    with pytest.raises(NoDataError, match="is not a number"):
        find_phases(replace(profile, self_s=csr_array(np.full((9, 2), 1e308))), method=method)


@METHODS
@pytest.mark.parametrize("own", [[[0.5, 0.2]], [[0.9]] * 30, [[0.01]] * 2, [[1e-9, 2e-9]] * 20, [[0.5, 0.5]] * 3])
def test_tiny_profiles_are_one_phase(method, own):
    result = everything(make_profile(np.array(own)), method)
    assert result.k == 1
    assert result.labels.tolist() == [0] * len(own)


@pytest.mark.slow
@METHODS
def test_a_hundred_thousand_functions(method):
    rng = np.random.default_rng(0)
    own = csr_array(random_array((300, 100_000), density=0.001, rng=rng))
    assert everything(make_profile(own), method).k >= 1


@pytest.mark.slow
def test_very_many_intervals_are_clustered_in_bounded_memory():
    rng, n = np.random.default_rng(0), 200_000
    label = np.arange(n) // 1000 % 2
    shares = np.array([[0.7, 0.2, 0.1, 0.0], [0.0, 0.1, 0.2, 0.7]])
    own = np.empty((n, 4))
    for phase in (0, 1):
        own[label == phase] = rng.multinomial(100, shares[phase], size=n // 2) / 100
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = everything(make_profile(csr_array(own)), "robust")
    assert result.k == 2
    # Of 100 samples in an interval, one is enough.
    assert (result.labels == label).mean() > 0.9
    # Nothing grows with the square of the intervals: that would be 300 GB.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_000_000
