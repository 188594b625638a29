"""The harness: methods are run, scored, and drawn together into a page."""

from dataclasses import replace

import numpy as np
import pytest

from tests.unit.profiles import rows
from truth.__main__ import main
from truth.answers import METHODS, Answer
from truth.cases import make_case
from truth.evaluate import evaluate
from truth.page import page
from truth.recordings import label
from truth.scores.sites import Matches
from truth.tables import PHASES, by_method, number, spread, table
from truth.truths import TruePhase, TrueSite, Truth, phase_from


def outcome(method, run="shares-90-10", split="tune"):
    case = make_case(run, 0)
    return evaluate(case.name, run, split, case.profile, case.labels, case.truth, method)


@pytest.mark.slow
@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_answers_about_two_clear_phases(method):
    if method == "change points":
        pytest.importorskip("ruptures")
    case = make_case("shares-90-10", 0)
    answer = METHODS[method](case.profile)
    assert answer.labels.shape == case.labels.shape
    assert answer.k == len(np.unique(answer.labels[answer.labels >= 0])) >= 2
    assert {kind for _, kind in answer.sites} <= {"body", "loop"}
    assert answer.steps <= set(range(len(case.profile.functions)))


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("lines", [["a=10"], ["a=10", "b=10"], ["a=10"] * 6])
def test_every_method_survives_small_runs(method, lines):
    if method == "change points":
        pytest.importorskip("ruptures")
    answer = METHODS[method](rows(*lines))
    assert len(answer.labels) == len(lines)


def test_a_perfect_answer_scores_one(monkeypatch):
    case = make_case("lifted", 0)
    names = [f.name for f in case.profile.functions]
    sites = frozenset((names.index(s.function), s.kind) for phase in case.truth.phases for s in phase.sites)
    steps = frozenset(names.index(step) for phase in case.truth.phases for step in phase.steps)
    monkeypatch.setitem(METHODS, "perfect", lambda _: Answer(len(case.truth.phases), case.labels, sites, steps))
    got = evaluate(case.name, "lifted", "tune", case.profile, case.labels, case.truth, "perfect")
    assert got.k_right
    assert (got.labels.ari, got.labels.boundary_f1, got.labels.coverage) == (1, 1, 1)
    assert got.sites.functions.f1 == got.sites.places.f1 == got.sites.near_recall == got.steps.f1 == 1
    assert set(got.sites.hops) == {0}


def test_of_noise_only_the_number_of_phases_is_scored():
    got = outcome("robust", "noise")
    assert got.labels is None
    assert got.sites.functions == got.steps == Matches(0, 0, 0, 0)
    assert not got.truth.distinct


def test_a_summary_counts_what_applies():
    one = outcome("robust")
    noise = replace(one, k=5, truth=Truth((), (0, 1), distinct=False))
    single = replace(one, k=1, truth=Truth(one.truth.phases[:1], (1,)))
    unknown = replace(one, labels=None)
    (row,) = by_method([one, noise, single, unknown], PHASES)[2:]
    cells = dict(zip(["method", *(name for name, _ in PHASES)], row.strip("| ").split(" | "), strict=True))
    assert (cells["runs"], cells["k exact"], cells["one phase"], cells["noise"]) == ("4", "75 %", "100 %", "0 %")
    assert cells["ARI"] == spread([one.labels.ari] * 3)
    assert dict(PHASES)["ARI"]([unknown]) == "-"
    assert spread([1, 2, 3, 4, 5]) == "3.00 (2.00-4.00)"


def test_a_page_has_its_tables_and_keeps_the_held_half_in_sums():
    tune = outcome("robust")
    kept = replace(tune, family="a family held out", split="held")
    real = [replace(tune, run="zstd", labels=None, method=method) for method in ("paper", "robust")]
    text = page([tune, kept], [], real, ["halo: mpirun is not installed"])
    assert "### Generated runs: held out" in text
    assert "a family held out" not in text
    assert "- mpirun is not installed: halo" in text
    assert "| zstd | 2 |" in text
    held = [replace(each, run="sqlite", split="held") for each in real]
    assert "sqlite" not in page([], [], real + held, [])
    assert text == page([tune, kept], [], real, ["halo: mpirun is not installed"])


def test_tables_by_hand():
    assert table(["a", "b"], [["1", "2"]]) == ["| a | b |", "|---|---|", "| 1 | 2 |"]
    assert [number(None), number(-0.001), number(0.995)] == ["-", "0.00", "0.99"]
    lines = by_method([outcome("paper")], [("P", lambda o: number(o[0].sites.functions.precision))])
    assert lines[0] == "| method | P |"
    assert lines[2].startswith("| `paper` | ")


def test_intervals_are_labelled_by_the_log():
    profile = rows(*["a=10"] * 6)
    profile = replace(profile, metadata=replace(profile.metadata, raw={"start_mono_ns": 50_000_000_000}))
    log = "50.000000000 52.05 set up\n52.05 53.5 solve\n53.5 55.0 set up\n"
    # 0-1 s, 1-2, then 0.05 of the first phase; half and half; and nothing is logged in the last second.
    assert label(profile, log, ["solve", "set up"]).tolist() == [1, 1, 0, -1, 1, -1]
    with pytest.raises(ValueError, match="'other' that the truth does not know"):
        label(profile, "50.0 51.0 other\n", ["solve"])


def test_truth_files_hold_the_right_answer():
    phase = phase_from(
        {
            "name": "solve",
            "sites": [{"function": "cg", "kind": "loop", "or": [{"function": "matvec", "kind": "body"}]}],
            "steps": [{"function": "matvec", "period_ms": 3}],
            "also": [{"function": "dot", "kind": "body"}],
        }
    )
    site = TrueSite("cg", "loop", (("matvec", "body"),))
    assert phase == TruePhase("solve", (site,), ("matvec",), (("dot", "body"),), timed=("matvec",))
    inner = {"function": "dot", "count": 8, "steps": [{"function": "sum"}, {"function": "matvec"}]}
    nested = phase_from({"name": "all", "steps": [{"function": "solve", "steps": [inner]}, {"function": "matvec"}]})
    assert nested.steps == ("solve", "dot", "sum", "matvec")
    assert nested.timed == ("dot",)
    with pytest.raises(ValueError, match="neither body nor loop"):
        phase_from({"name": "x", "sites": [{"function": "f", "kind": "bdoy"}]})


@pytest.mark.slow
def test_the_quick_suite_runs_and_is_the_same_twice(capsys):
    pages = []
    for _ in range(2):
        assert main(["--quick", "--methods", "paper", "robust", "--split", "tune"]) == 0
        pages.append(capsys.readouterr().out)
    assert pages[0] == pages[1]
    assert "| `robust` | 5 |" in pages[0]
    assert "held out\n" not in pages[0]


def test_nothing_found_adds_nothing():
    assert Matches(0, 0, 0, 0) + Matches(1, 1, 1, 1) == Matches(1, 1, 1, 1)
