"""Sites without call paths, and what their heartbeats may cost."""

from dataclasses import replace

import numpy as np
import pytest

from incprof.analysis.answer import find_phases, site_chooser, within_budget
from incprof.analysis.sites.rates import BeatCost, calls_by_phase
from incprof.model import Inlined
from tests.unit.profiles import rows

COST = BeatCost(pair_ns=30.0, skipped_ns=3.0)


def named(result):
    return [[(site.function.name, site.kind) for site in phase.sites] for phase in result.phases]


def phases(*runs):
    """Find the phases of runs of ten equal intervals each."""
    profile = rows(*(line for line in runs for _ in range(10)))
    return profile, find_phases(profile)


def test_the_function_that_is_called_for_the_phase_wins_over_those_that_have_its_time():
    _, result = phases("hash=60/9000 copy=40/90 build=0/3", "hash=90/9000 query=0/5 write=10/7")
    assert named(result) == [[("build", "body")], [("query", "body")]]


def test_a_function_of_all_phases_is_the_last_resort():
    _, result = phases("kernel=80/100 tick=20/1", "output=80/100 tick=20/1")
    assert named(result) == [[("kernel", "body")], [("output", "body")]]


def test_one_long_call_is_a_loop():
    _, result = phases("solve=100", "write=100/20")
    assert named(result) == [[("solve", "loop")], [("write", "body")]]


def test_a_phase_is_covered_by_as_few_as_can_be():
    profile = rows(*(["a=95/5 x=5/1"] * 20 + ["b=95/5 x=5/1"] * 20) * 2)
    found = find_phases(profile, k=1)
    assert named(found) == [[("x", "body")]]


def test_beats_are_skipped_until_all_cost_less_than_the_budget():
    profile, result = phases("kernel=100/200000", "write=100/20")
    dear = within_budget(site_chooser(profile, "robust"), result, COST, 100.0)
    cheap = within_budget(site_chooser(profile, "robust"), result, COST, 0.25)
    sites = [site.cost for phase in dear.phases for site in phase.sites]
    assert sites[0].overhead_pct == pytest.approx(100 * 200000 * 30e-9)
    assert [cost.rate_factor for cost in sites] == [1, 1]
    assert dear.beats_pct == pytest.approx(0.6)
    factors = [site.cost.rate_factor for phase in cheap.phases for site in phase.sites]
    assert factors == [5, 1]
    assert cheap.beats_pct == pytest.approx(100 * 200000 * (30 / 5 + 3 * 0.8) * 1e-9)
    assert named(cheap) == named(result)


def test_a_site_that_is_too_dear_gives_way():
    profile, result = phases("tiny=60/9000000 kernel=40/8000000", "write=100/20")
    moved = within_budget(site_chooser(profile, "robust"), result, COST, 1.0)
    assert moved.beats_pct <= 1.0
    assert not {("tiny", "body"), ("kernel", "body")} & set(named(moved)[0])
    assert named(moved)[1] == [("write", "body")]
    kept = within_budget(site_chooser(profile, "robust"), result, COST, 1.0, move=False)
    assert named(kept) == named(result)
    assert kept.beats_pct > 1.0


def test_costs_of_loops_are_not_known():
    profile, result = phases("solve=100", "write=100/20")
    told = within_budget(site_chooser(profile, "robust"), result, COST, 1.0)
    assert [site.cost is None for phase in told.phases for site in phase.sites] == [True, False]
    assert np.isfinite(told.beats_pct)


def test_an_inlined_function_is_called_as_often_as_what_is_called_beside_it():
    profile, result = phases("row=90/1 search=10/9000000", "write=100/20")
    names = [function.name for function in profile.functions]
    row, search = names.index("row"), names.index("search")
    counted = calls_by_phase(profile, result.labels)
    inlined = Inlined(np.zeros(2, dtype=np.int64), np.array([row]), {row: (search,)})
    known = calls_by_phase(replace(profile, inlined=inlined), result.labels)
    assert known[:, row].tolist() == known[:, search].tolist() == counted[:, search].tolist()
    assert np.delete(known, row, axis=1).tolist() == np.delete(counted, row, axis=1).tolist()
