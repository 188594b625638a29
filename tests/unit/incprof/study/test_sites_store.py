"""Placed sites are kept with the run, for later answers with the same phases."""

import json
from dataclasses import replace

import numpy as np
import pytest

from incprof.analysis.answer import find_phases
from incprof.analysis.sites.rates import Rate
from incprof.study.sites import store as stored_sites
from incprof.study.sites.store import FOUND, STORE, PlacedSite, digest, merged
from tests.unit.profiles import rows


def placed(heartbeat, name, phases, recorded, kind, *, function=0, loop=None, refusal=None):
    rate = Rate(1.0, "counted", 1, 0.1)
    return PlacedSite(
        heartbeat, name, phases, recorded, kind, None, function, loop, "a.c", 7, 0.0, rate, refusal=refusal
    )  # fmt: skip


@pytest.fixture
def run():
    profile = rows(*["a=90/1 main=10"] * 8, *["tiny=100/9 main=0"] * 8)
    return profile, find_phases(profile)


def remember(directory, profile, labels, sites, *, store=STORE):
    stored_sites.remember(directory, sites, store=store, phases=digest(profile, labels))


def as_placed(result, profile, directory, *, store=STORE):
    phases = digest(profile, result.labels)
    return stored_sites.as_placed(result, profile, directory, store=store, phases=phases)


def names(result):
    return [[(s.function.name, s.kind, s.heartbeat) for s in phase.sites] for phase in result.phases]


def test_sites_that_took_the_place_of_others(run, tmp_path):
    profile, result = run
    sites = [
        placed(1, "a:body", (0,), "a", "body"),
        placed(5, "inlined@30:loop", (1,), "main", "loop"),
        placed(0, "tiny:body", (1,), "tiny", "body", refusal="too often"),
    ]
    remember(str(tmp_path), profile, result.labels, sites)
    found = as_placed(result, profile, str(tmp_path))
    assert names(found) == [[("a", "body", 1)], [("inlined@30", "loop", 5)]]
    assert [profile.functions[s.index].name for phase in found.phases for s in phase.sites] == ["a", "main"]
    # Other phases, other sites.
    moved = replace(result, labels=np.roll(result.labels, 1))
    assert as_placed(moved, profile, str(tmp_path)) is moved


@pytest.mark.parametrize(
    "damage",
    ["", "{", "[]", '{"version": 1}', '{"version": 1, "asked": {}, "sites": [7]}', "null", '{"version": 9}'],
)
def test_damaged_memory_is_no_memory(run, tmp_path, damage):
    profile, result = run
    assert as_placed(result, profile, str(tmp_path)) is result
    (tmp_path / STORE).write_text(damage)
    assert as_placed(result, profile, str(tmp_path)) is result
    remember(str(tmp_path), profile, result.labels, [placed(1, "a:body", (0,), "a", "body")])
    stored = json.loads((tmp_path / STORE).read_text())
    for value in (None, "x", [], {}):
        stored["sites"] = value
        (tmp_path / STORE).write_text(json.dumps(stored))
        as_placed(result, profile, str(tmp_path))


def test_sites_at_one_place_are_one_heartbeat():
    sites = [
        placed(1, "f:body", (0,), "f<int>", "body"),
        placed(2, "f:body", (2,), "f<long>", "body"),
        placed(3, "g:loop", (1,), "g", "loop", function=1, loop=0),
        placed(3, "g:loop", (2,), "g", "loop", function=1, loop=4),
        placed(0, "h:body", (1,), "h", "body", function=2),
        placed(0, "x:body", (1,), "x", "body", refusal="no"),
        placed(0, "x:body", (2,), "x", "body", refusal="no"),
    ]
    found = merged(sites)
    assert [(s.heartbeat, s.phases) for s in found] == [
        (1, (0, 2)), (2, (1,)), (3, (1,)), (4, (2,)), (0, (1, 2)),
    ]  # fmt: skip
    assert [s.name for s in found] == ["f:body", "g@7@2:loop", "h:body", "g@7@4:loop", "x:body"]


def test_sites_found_in_the_source_are_those_of_every_answer(run, tmp_path):
    profile, result = run
    chosen = result.phases[0].sites[0]
    other = "loop" if chosen.kind == "body" else "body"
    sites = [
        placed(1, f"a@7:{other}", (0,), chosen.function.name, other),
        placed(2, "main:loop", (1,), "main", "loop"),
        placed(0, "tiny:body", (1,), "tiny", "body", refusal="too often"),
    ]
    remember(str(tmp_path), profile, result.labels, sites, store=FOUND)
    assert as_placed(result, profile, str(tmp_path)) is result  # no heartbeat has been put in
    found = as_placed(result, profile, str(tmp_path), store=FOUND)
    # Functions are named as in the recording.
    assert names(found) == [[(chosen.function.name, other, 1)], [("main", "loop", 2)]]
    first = found.phases[0].sites[0]
    assert (first.file, first.line, first.phase_pct, first.app_pct) == ("a.c", 7, chosen.phase_pct, chosen.app_pct)
    assert (first.cost.beats_hz, first.cost.rate_factor, first.cost.overhead_pct) == (1.0, 1, 0.1)
