"""Runs of several time scales: the interval of the recording changes neither phases nor sites."""

import pytest

from tests.variants import mostly_slow
from truth.split import half_of
from truth.timescales import FAMILY, answers_to


@pytest.mark.parametrize("run", mostly_slow(2, [2, 8, 14, 20]))
def test_phases_and_sites_are_the_same_at_every_interval(run):
    assert half_of(FAMILY, run) == "tune"
    for answer in answers_to(run):
        assert answer.k_right, answer
        assert answer.truth > 0.99, answer
        assert answer.same > 0.99, answer
        assert answer.same_sites, answer
