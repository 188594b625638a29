"""What an answer says against itself: no names, an interval that cuts iterations, sites that hold little."""

from dataclasses import replace

import numpy as np
import pytest

from incprof.analysis.answer.describe import summarise
from incprof.analysis.answer.find import find_phases, site_chooser
from incprof.analysis.phases.confidence import with_confidence
from incprof.analysis.phases.interval import proposed, rounded_up
from incprof.analysis.phases.results import Step
from incprof.analysis.phases.verdict import odd_intervals, verdict
from incprof.report.text.phases import write_text
from incprof.report.words.doubts import doubt_lines
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


def with_period(result, period_s):
    driver, step = (result.phases[0].functions[at].function for at in (0, 1))
    one = Step(1, step, "body", 0.5, 100, 0.1, driver=driver, period_s=period_s)
    return replace(result, phases=(replace(result.phases[0], steps=(one,)), *result.phases[1:]))


def test_code_without_names_is_not_called_steady(capsys):
    profile, run, result = answered(two_functions(first=0.9), names=["[unknown in app]", "main"])
    assert (result.k, verdict(result)) == (1, "nameless")
    chooser = site_chooser(profile, "robust")
    assert [phase.confidence for phase in with_confidence(chooser.features, result).phases] == [None]
    said = written(run, result, capsys)
    assert "one phase, of code without symbols" in said
    assert "90 % of the time is in code without symbols" in said
    assert "steady" not in said
    named = answered(two_functions(first=0.1), names=["[unknown in app]", "main"])
    assert (verdict(named[2]), doubt_lines(*named[1:])) == ("steady", [])


def test_code_that_a_run_time_makes_gets_names_otherwise():
    (line,) = doubt_lines(*answered(two_functions(first=0.9), names=["[unknown in [jit]]", "main"])[1:])
    assert "java and node" in line
    assert "strip" not in line


def test_steady_says_how_many_intervals_are_not(capsys):
    own = two_functions(100)
    own[20:100:20] = [0.0, 1.0]
    _, run, result = answered(own)
    assert (verdict(result), odd_intervals(result)) == ("steady", 4)
    assert "one phase; 4 of 100 intervals are unlike the rest (try record -i 0.05)" in written(run, result, capsys)


@pytest.mark.parametrize(
    ("period_s", "intervals", "interval_s", "rate_hz"),
    [
        (0.4, 60, None, None),  # shorter than half of an interval
        (0.6, 60, 0.05, None),
        (0.6, 400, 5.0, None),  # a long run has intervals enough that hold several
        (3.0, 60, 0.2, None),
        (25.0, 60, None, None),  # intervals are parts of it as it is
    ],
)
def test_the_interval_that_suits_iterations(period_s, intervals, interval_s, rate_hz, capsys):
    _, run, result = answered(two_functions(intervals))
    found = proposed(run, with_period(result, period_s))
    if interval_s is None:
        assert found is None
        return
    assert (found.interval_s, found.rate_hz) == (interval_s, rate_hz)
    assert f"record with -i {interval_s:g}" in written(run, with_period(result, period_s), capsys)


def test_an_interval_that_needs_more_samples_says_so():
    _, run, result = answered(two_functions(60), interval_s=0.5)
    found = proposed(run, with_period(result, 0.3))
    assert (found.interval_s, found.rate_hz) == (0.02, 250.0)
    # What it was recorded with is no advice.
    assert proposed(replace(run, interval_s=0.02), with_period(result, 0.3)) is None
    # Of iterations so short, no interval has samples enough; of a run whose intervals are pooled, neither.
    brief = replace(run, interval_s=0.1, duration_s=10.0, samples=1000)
    assert proposed(brief, with_period(result, 0.06)) is None
    assert proposed(replace(run, pooled=5), with_period(result, 0.3)) is None
    assert [rounded_up(v) for v in (0.03, 1.0, 7.0, 0.2)] == [0.05, 1.0, 10.0, 0.2]


def test_sites_that_hold_little_of_their_phase_are_said_not_to_stand_for_it():
    _, run, result = answered(two_functions())
    phase = result.phases[0]
    site = replace(phase.sites[0], phase_pct=15.0)
    little = replace(result, phases=(replace(phase, sites=(site,)),))
    (line,) = doubt_lines(run, little)
    assert line.startswith("no function represents phase 0 (its site has 15 % of it)")
    assert doubt_lines(run, result) == []


def test_notes_are_in_json_too(tmp_path, capsys):
    import json

    from incprof.cli import main

    writer = StreamWriter(["main", "solve"])
    for _ in range(30):
        writer.interval([Sample("main;solve", weight=25) for _ in range(4)])
    writer.end()
    assert main(["phases", str(writer.save(tmp_path / "run")), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["notes"] == []
