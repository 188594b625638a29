"""Sites and call paths of real programs: callbacks, recursion, virtual calls, inlined functions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from incprof.analysis.answer import find_phases
from incprof.model.names import parse
from incprof.readers.run import open_run, read_profile
from tests.integration.collector import FIXTURES
from tests.integration.command_line import incprof
from tests.integration.conftest import Build, Record
from tests.recordings.kept import kept

SITES = {"order", "walk", "draw_all", "clear", "pull", "shift"}
# Library code and accessors: never a site, never a step.
SMALL = {"compare", "area", "operator-", "length", "operator[]", "size", "sqrt"}


@pytest.mark.parametrize("name", ["path-sites-O2", "path-sites-O3"])
def test_the_sites_are_what_a_person_would_name(name: str, tmp_path: Path) -> None:
    profile = read_profile(open_run(kept(name, tmp_path).run), inlined=True)
    result = find_phases(profile)
    sites = {(parse(site.function.name).last, site.kind) for phase in result.phases for site in phase.sites}
    assert {name for name, _ in sites} == SITES, [phase.sites for phase in result.phases]
    assert {kind for _, kind in sites} == {"body"}
    steps = {parse(step.function.name).last for phase in result.phases for step in phase.steps}
    assert {"clear", "pull", "shift"} <= steps
    assert not steps & SMALL


@pytest.mark.slow
def test_an_inlined_site_is_placed_and_gets_its_heartbeat(tmp_path: Path) -> None:
    run = kept("path-sites-O2", tmp_path).run

    def shown(*words: str | Path) -> str:
        done = incprof(*words, "--source", FIXTURES)
        assert done.returncode == 0, done.stderr
        return done.stdout

    found = json.loads(shown("sites", run, "--json"))
    pull = next(site for site in found["sites"] if site["name"] == "pull:body")
    text = (FIXTURES / "path_sites.cpp").read_text().splitlines()
    assert pull["file"] == "path_sites.cpp"
    assert "pull(std::vector<Vec> &at" in text[pull["line"] - 1]
    patch = shown("instrument", run)
    assert '"pull:body"' in patch


@pytest.mark.slow
def test_gmon_directories_have_no_paths_and_none_inlined(build: Build, record: Record) -> None:
    recording = record(build("path_sites.cpp"), interval=0.2, env={"INCPROF_FORMAT": "gmon"})
    plain, profile = (read_profile(open_run(recording.directory), inlined=inlined) for inlined in (False, True))
    assert profile.inlined is None
    assert profile.functions == plain.functions
    assert find_phases(profile).phases
