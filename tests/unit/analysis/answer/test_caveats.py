"""Caveats of an answer: no names, sites with a small share."""

from dataclasses import replace

import numpy as np

from incprof.analysis.answer import find_phases, site_chooser
from incprof.analysis.answer.confidence import with_confidence
from incprof.analysis.answer.describe import summarise
from incprof.analysis.phase_result import verdict
from incprof.report.text.phases_text import write_text
from incprof.report.words.phase_words import caveat_lines
from tests.unit.streamwriter import Sample, StreamWriter
from tests.unit.synthetic import make_profile


def answered(own, **more):
    profile = make_profile(own, **more)
    return profile, summarise(profile, 1), find_phases(profile)


def two_functions(n=60, first=0.7):
    rng = np.random.default_rng(1)
    return rng.multinomial(100, [first, 1 - first], size=n) / 100


def written(run, result, capsys):
    import sys

    write_text(run, result, sys.stdout)
    return " ".join(capsys.readouterr().out.split())


def test_code_without_names_is_not_called_steady(capsys):
    profile, run, result = answered(two_functions(first=0.9), names=["[unknown in app]", "main"])
    assert (result.k, verdict(result)) == (1, "nameless")
    chooser = site_chooser(profile, "robust")
    assert [phase.confidence for phase in with_confidence(chooser.profile, chooser.features, result).phases] == [None]
    said = written(run, result, capsys)
    assert "one phase, of code without symbols" in said
    assert "90 % of the time is in code without symbols" in said
    assert "steady" not in said
    named = answered(two_functions(first=0.1), names=["[unknown in app]", "main"])
    assert (verdict(named[2]), caveat_lines(named[2])) == ("steady", [])


def test_interpreted_methods_have_their_names_elsewhere():
    (line,) = caveat_lines(answered(two_functions(first=0.9), names=["<interpreted Java>", "main"])[2])
    assert "a Java flight recording names them" in line


def test_code_that_a_run_time_makes_gets_names_otherwise():
    (line,) = caveat_lines(answered(two_functions(first=0.9), names=["[unknown in [jit]]", "main"])[2])
    assert "java and node" in line
    assert "strip" not in line


def test_sites_with_a_small_share_of_their_phase_are_reported():
    _, _, result = answered(two_functions())
    phase = result.phases[0]
    site = replace(phase.sites[0], phase_pct=15.0)
    little = replace(result, phases=(replace(phase, sites=(site,)),))
    (line,) = caveat_lines(little)
    assert line.startswith("no function represents phase 0 (its site has 15 % of it)")
    (line,) = caveat_lines(replace(result, phases=(replace(phase, sites=()),)))
    assert line.startswith("no function represents phase 0; most of its own time is in ")
    assert caveat_lines(replace(result, phases=(replace(phase, sites=(), off_cpu=True),))) == []
    assert caveat_lines(result) == []


def test_notes_are_in_json_too(tmp_path, capsys):
    import json

    from incprof.cli.main import main

    writer = StreamWriter(["main", "solve"])
    for _ in range(30):
        writer.interval([Sample("main;solve", weight=25) for _ in range(4)])
    writer.end()
    assert main(["phases", str(writer.save(tmp_path / "run")), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["notes"] == []


def test_shares_beside_a_run_time_that_spins_are_explained():
    phase = replace(answered(two_functions())[2].phases[0], mostly="openmp")
    spent = {"work": 1.0, "openmp": 3.0, "off_cpu": 9.0} | dict.fromkeys(("mpi", "io", "waiting", "device"), 0.0)
    result = replace(answered(two_functions(first=0.9))[2], phases=(replace(phase, spent=spent),))
    assert "the OpenMP run-time has 75 % of phase 0: sites and steps have shares of the rest" in caveat_lines(result)[0]
