"""incprof phases --explain: the sentences, and the numbers behind them."""

import io
import json

import numpy as np
import pytest

from incprof.analysis.answer import find_phases, site_chooser
from incprof.analysis.explain import explain
from incprof.analysis.explain.site_reasons import RefusedSite
from incprof.cli.main import main
from incprof.readers.run import open_run, read_profile
from incprof.report.text.site_text import write_explanation
from incprof.report.words.display_names import SHORT
from incprof.report.words.site_evidence import refused_line
from tests.unit.profiles import noisy, rows
from tests.unit.streamwriter import Sample, StreamWriter


@pytest.fixture
def run(tmp_path):
    """main calls build (which calls hash) for 12 intervals, then solve, one long call, which calls tiny steps."""
    writer = StreamWriter(["main", "build", "hash", "solve", "step"])
    for i in range(24):
        if i < 12:
            samples = [Sample("main;build;hash", weight=59 + i % 3), Sample("main;build", weight=40)]
            writer.interval(samples, arcs={("main", "build"): 30, ("build", "hash"): 9000})
        else:
            samples = [Sample("main;solve;step", weight=69 + i % 3), Sample("main;solve", weight=30)]
            arcs = {("solve", "step"): 1_000_000} | ({("main", "solve"): 1} if i == 12 else {})
            writer.interval(samples, arcs=arcs)
    writer.end()
    return writer.save(tmp_path / "run")


def explained(profile, result):
    return explain(site_chooser(profile, result.method), result)


def told(profile, **options):
    result = find_phases(profile, **options)
    out = io.StringIO()
    write_explanation(result, explained(profile, result), out)
    return out.getvalue()


def test_sites_explain_the_rejection_of_callers_and_callees(run):
    text = told(read_profile(open_run(run)))
    build, solve = text.split("Why phase 1")
    assert "Site build (body)" in build
    assert "holds 100 % of the phase, and 100 % of its share in all phases is here" in build
    flat = " ".join(build.split())
    assert (
        "not its caller main: a call of it lasts 24.1 s, and a function whose calls last longer than 240 ms is a driver"
        in flat
    )
    assert "not hash, which it calls: it holds 60 % of its time, and of two possible sites, the higher one is" in flat
    assert "body: 360 calls, 33.4 ms a call, not longer than 240 ms" in build
    assert "runner-up: hash (body), 60 % of the phase" in build
    assert "Site solve (loop)" in solve
    assert "calls of 702 ns are too short for a beat" in " ".join(solve.split())
    assert "loop: one call, 12 s a call, longer than 240 ms" in solve


def test_a_large_function_that_is_no_site_is_explained(tmp_path):
    """Nothing was reported about it."""
    writer = StreamWriter(["main", "big", "tiny"])
    for _ in range(12):
        samples = [Sample("main;big", weight=60), Sample("main;tiny", weight=40)]
        writer.interval(samples, arcs={("main", "big"): 30, ("main", "tiny"): 10**7})
    writer.end()
    profile = read_profile(open_run(writer.save(tmp_path / "run")))
    text = told(profile)
    assert "Site big (body)" in text
    assert "No site\n    tiny holds 40 % of the phase, but calls of 40 ns are too short for a beat" in text
    refused = explained(profile, find_phases(profile)).refused
    assert [each and each.function for each in refused] == ["tiny"]
    unknown = refused_line(RefusedSite("tiny", 0.4, None), SHORT)
    assert unknown == (
        "tiny holds 40 % of the phase, but its calls are not counted, and may be too short for a beat (-pg counts them)"
    )


def test_the_explanation_gives_the_choice_of_k_and_its_alternatives(run):
    text = told(read_profile(open_run(run)))
    assert text.startswith(
        "\nWhy 2 phases (method robust)\n  k = 2 groups, of samples in time: between every two of them, the share of"
    )
    assert "phase 0 to 1 at 12 s: solve from 0 % to 100 %" in text
    assert "the two closest phases (0 and 1): --level 1 (build differs by 100 % of the time)" in " ".join(text.split())
    assert "k = 1 would leave" in text
    assert "nearest is phase 1" in text.split("Why phase 0")[1]


def test_what_is_left_out_is_counted():
    lines = ["a=100"] * 25 + ["a=50 b=50"] + ["b=100"] * 25
    profile = rows(*lines, "b=0", *["b=100"] * 5)
    why = explained(profile, find_phases(profile)).run.left_out
    none = int((find_phases(profile).labels < 0).sum())
    assert why.idle + why.borders + why.strays == none


def test_a_checkpoint_that_recurs_is_a_phase():
    """Below no driver, what lasts for seconds and comes again is a stage as a person would name it."""
    usual, rare = {"solve": 0.9, "poll": 0.1}, {"solve": 0.3, "write": 0.7}
    result = find_phases(noisy([usual, rare] * 6, [20, 2] * 6))
    assert (result.k_clusters, result.k) == (2, 2)


def test_the_odd_interval_is_the_one_that_differs():
    lines = ["a=90/1 b=10/1"] * 15 + ["a=80/1 b=20/1"] + ["a=90/1 b=10/1"] * 15
    profile = rows(*lines)
    result = find_phases(profile, k=1)
    assert explained(profile, result).phases[0].odd == 15


@pytest.mark.parametrize("method", ["robust", "paper"])
def test_without_call_paths_self_time_and_calls_explain(method):
    text = told(rows(*(["outer=50/2 inner=50/900"] * 12 + ["write=100/7"] * 12)), method=method)
    assert "runs in 100 % of the phase's intervals" in text
    assert "not its caller: self time alone does not show which function that is" in text


@pytest.mark.parametrize("method", ["robust", "paper"])
def test_lines_fit_and_json_is_the_same(run, capsys, method):
    assert main(["phases", str(run), "--explain", "--method", method]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 100
    assert main(["phases", str(run), "--explain", "--json", "--method", method]) == 0
    why = json.loads(capsys.readouterr().out)["explain"]
    flat = " ".join(text.split())
    sentences = [*why["run"]["text"]]
    for phase in why["phases"]:
        sentences += phase["text"] + [line for site in phase["sites"] for line in site["text"]]
    assert sentences
    assert all(sentence in flat for sentence in sentences)


def test_without_the_option_nothing_is_explained(run, capsys):
    assert main(["phases", str(run), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert "explain" not in answer
    assert answer["verdict"] == "phases"
    assert all(0 < phase["confidence"] < 1 for phase in answer["phases"])
    build = answer["phases"][0]["sites"][0]
    assert (build["beats_hz"], build["rate_factor"]) == (30.0, 1)
    assert np.isclose(build["overhead_pct"], 30 * 30e-9 * 100, rtol=0.1)


def test_a_budget_must_be_a_percentage(run, capsys):
    for wrong in ("0", "-1", "101", "nan"):
        assert main(["phases", str(run), "--overhead", wrong]) == 2
        assert "expected a percentage" in capsys.readouterr().err
