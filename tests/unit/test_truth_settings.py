"""Whether sites stay the same: how two answers are compared, and what a run with longer intervals is."""

import numpy as np
import pytest

from incprof.readers import open_run, read_profile
from tests.unit.profiles import two_phase_run
from truth.settings import joined_intervals, same_sites


@pytest.mark.parametrize("times", [1, 2, 3, 7, 50])
def test_longer_intervals_hold_what_the_shorter_ones_did(tmp_path, times):
    profile = read_profile(open_run(two_phase_run(tmp_path / "run", intervals=20)))
    longer = joined_intervals(profile, times)
    assert longer.n_intervals == -(-20 // times)
    assert (longer.start_s[0], longer.end_s[-1]) == (profile.start_s[0], profile.end_s[-1])
    assert longer.metadata.interval_s == times * profile.metadata.interval_s
    assert np.allclose(longer.self_s.sum(axis=0), profile.self_s.sum(axis=0))
    assert (longer.calls.sum(axis=0) == profile.calls.sum(axis=0)).all()
    assert longer.arcs.count.sum() == profile.arcs.count.sum()
    assert longer.counters.samples.sum() == profile.counters.samples.sum()
    first = slice(0, times)
    assert np.allclose(longer.self_s.toarray()[0], profile.self_s.toarray()[first].sum(axis=0))
    assert longer.counters.threads[0] == profile.counters.threads[first].max()
    mine = longer.arcs.interval == 0
    assert longer.arcs.count[mine].sum() == profile.arcs.count[profile.arcs.interval < times].sum()


def test_the_same_sites_and_others():
    assert same_sites({"a", "b"}, {"b", "a"}) == 1.0
    assert same_sites({"a", "b"}, {"b", "c"}) == 0.5
    assert same_sites({"a"}, {"b"}) == 0.0
    assert same_sites(set(), set()) == 1.0
