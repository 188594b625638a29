"""`check --hot`: which functions are named, and what is refused."""

from __future__ import annotations

import json

import pytest

from incprof.cli.main import main
from tests.unit.streamwriter import Sample, StreamWriter


def saved(folder, **metadata) -> str:
    """4 s of CPU time; `leaf` is called 200 000 000 times a second, `solve` 20 000 000 and `main` once."""
    writer = StreamWriter(["main", "solve", "leaf"], **metadata)
    for _ in range(4):
        arcs = {("main", "solve"): 20_000_000, ("solve", "leaf"): 200_000_000}
        writer.interval([Sample("main;solve", weight=100)], arcs=arcs)
    writer.end()
    return str(writer.save(folder / "run"))


def told(capsys, *words: str) -> dict:
    assert main(["check", "--hot", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("call_ps", "named"), [(1000, ["leaf", "solve"]), (300, ["leaf"]), (20, [])])
def test_as_few_are_named_as_leave_one_percent(tmp_path, capsys, call_ps, named):
    found = told(capsys, saved(tmp_path, call_ps=call_ps))
    program_s = 4 - 4 * 220_000_000 * call_ps * 1e-12
    assert found["program_s"] == pytest.approx(program_s, rel=0.02)
    assert [one["name"] for one in found["functions"]] == named
    for one in found["functions"]:
        assert one["seconds"] == pytest.approx(one["calls"] * call_ps * 1e-12)
        assert one["pct"] == pytest.approx(100 * one["seconds"] / found["program_s"], rel=1e-4)
    assert found["left_pct"] == pytest.approx(found["pct"] - sum(one["pct"] for one in found["functions"]), abs=1e-4)
    assert found["left_pct"] <= 1


def test_counting_that_is_estimated_at_more_than_there_was(tmp_path, capsys):
    found = told(capsys, saved(tmp_path, call_ps=5000))
    assert found["program_s"] == pytest.approx(880_000_000 * 2 / 6e9, abs=1e-6)
    assert [one["name"] for one in found["functions"]] == ["leaf", "solve"]


def test_text_has_the_same_numbers(tmp_path, capsys):
    run = saved(tmp_path, call_ps=1000)
    assert main(["check", "--hot", run]) == 0
    text = capsys.readouterr().out
    assert "counting 880000000 calls at 1 ns took" in text
    assert text.index("leaf ") < text.index("solve ")


def test_nothing_is_worth_leaving_out(tmp_path, capsys):
    assert main(["check", "--hot", saved(tmp_path, call_ps=10)]) == 0
    assert "nothing is worth leaving out" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("metadata", "why"), [({}, "lacks the cost of counting a call"), ({"call_ps": 0}, "lacks the cost")]
)
def test_a_recording_that_does_not_know_what_a_call_costs(tmp_path, capsys, metadata, why):
    assert main(["check", "--hot", saved(tmp_path, **metadata)]) == 4
    assert why in capsys.readouterr().err


def test_a_program_whose_calls_were_not_counted(tmp_path, capsys):
    writer = StreamWriter(["main"], call_ps=1000)
    writer.interval([Sample("main", weight=100)])
    writer.end()
    assert main(["check", "--hot", str(writer.save(tmp_path / "run"))]) == 4
    assert "no calls were counted" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["check"],
        ["check", "app", "--hot", "RUN"],
        ["check", "app", "--source", "."],
        ["check", "--hot", "RUN", "--source", "."],
        ["check", "--hot", "RUN", "--patch", "OUT"],
        ["check", "--hot", "RUN", "--cmake", "-"],
        ["check", "--hot", "RUN", "--cmake", "THERE"],
    ],
)
def test_wrong_command_lines_write_nothing(tmp_path, capsys, words):
    there = tmp_path / "there"
    there.write_text("mine")
    places = {"RUN": saved(tmp_path, call_ps=1000), "OUT": str(tmp_path / "out"), "THERE": str(there)}
    assert main([places.get(word, word) for word in words]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert there.read_text() == "mine"
    assert not (tmp_path / "out").exists()
