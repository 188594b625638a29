import json
import random

import pytest

from tests.unit.ekgfiles import EkgFile, beats, simple_run
from tests.unit.verbs import verb

answer = verb("heartbeats")


def run(directory, scale=1.0, *, seed=1, names=((1, "assemble:body"), (2, "solve:loop")), intervals=30, cut=0):
    """A run in which the second heartbeat is `scale` times as long."""
    draw = random.Random(seed)
    file = EkgFile(0)
    for number, name in names:
        file.beat(number, name)
    for _ in range(intervals):
        rows = [
            beats(0, number, [int(2e7 * (scale if at else 1) * draw.gauss(1, 0.03)) for _ in range(8)])
            for at, (number, _) in enumerate(names)
        ]
        file.interval(*rows)
    file.end()
    file.save(directory / "rank-00000.ekg", bytes(file.data[: len(file.data) - cut]))
    return directory


@pytest.fixture
def base(tmp_path):
    return run(tmp_path / "A")


def test_table(base, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    status, out, err = answer(capsys, base, run(tmp_path / "B", 1.2, seed=2))
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"A  {base}: app, 1 rank, 1 thread, 30 intervals of 1 s, 30 s"
    head, first, second = lines[3:6]
    assert head.split()[:5] == ["ID", "Name", "Mean", "A", "Mean"]
    assert "within noise" in first
    assert "slower" in second
    assert "solve:loop" in second
    assert len(lines) == 6


def test_same_run_passes_every_gate(base, capsys):
    gates = [word for metric in ("mean", "max", "min", "std", "count", "rate", "busy", "p95")
             for word in ("--fail-on", f"{metric}>0%", "--fail-on", f"{metric}<0%")]  # fmt: skip
    status, out, err = answer(capsys, base, base, *gates)
    assert (status, err) == (0, "")
    assert "slower" not in out


def test_a_broken_gate_is_3_after_the_table_with_a_line_each(base, tmp_path, capsys):
    b = run(tmp_path / "B", 1.2, seed=2)
    status, out, err = answer(
        capsys, base, b, "--fail-on", "mean>10%", "--fail-on", "2:max>1us", "--fail-on", "rate<-5%"
    )
    assert status == 3
    assert "solve:loop" in out
    one, other = err.splitlines()
    assert one.startswith("incprof: fails 'mean>10%': solve:loop (id 2): mean 20")
    assert "beyond noise: 95 % interval +1" in one
    assert other.startswith("incprof: fails '2:max>1us': solve:loop (id 2): max ")
    assert answer(capsys, base, b, "--fail-on", "mean>30%")[0] == 0
    assert answer(capsys, base, b, "--fail-on", "assemble:body:mean>10%")[0] == 0


def test_json(base, tmp_path, capsys):
    b = run(tmp_path / "B", 1.2, seed=2, names=((1, "assemble:body"), (7, "solve:loop")))
    status, out, err = answer(capsys, base, b, "--json", "--fail-on", "mean>10%")
    found = json.loads(out)
    assert (status, found["schema"]) == (3, "incprof.heartbeats-diff/1")
    assert (found["a"]["path"], found["b"]["path"]) == (str(base), str(b))
    first, second = found["heartbeats"]
    assert [first["verdict"], second["verdict"]] == ["noise", "slower"]
    assert (second["a"]["id"], second["b"]["id"], second["notes"]) == (2, 7, ["id 2 in A, 7 in B"])
    assert second["changes"]["mean_s"]["pct"] == pytest.approx(20, abs=2)
    low, high = second["mean_pct_interval"]
    assert low < 20 < high
    assert second["intervals"] == [30, 30]
    assert [(gate["condition"], gate["id"]) for gate in found["broken"]] == [("mean>10%", 2)]
    assert err == f"incprof: {found['broken'][0]['message']}\n"


def test_a_vanished_phase(base, tmp_path, capsys):
    b = run(tmp_path / "B", names=((1, "assemble:body"),))
    status, out, err = answer(capsys, base, b)
    assert (status, err) == (0, "")
    assert "not in B" in out
    status, _, err = answer(capsys, base, b, "--fail-on", "mean>10%")
    assert (status, err) == (
        3, "incprof: fails 'mean>10%': solve:loop (id 2): the phase vanished: 240 beats in A, none in B\n",
    )  # fmt: skip
    status, out, _ = answer(capsys, b, base, "--fail-on", "mean>10%")
    assert status == 0
    assert "not in A" in out


def test_filters_are_for_both(base, tmp_path, capsys):
    b = run(tmp_path / "B", 1.2, names=((1, "assemble:body"), (7, "solve:loop")))
    found = json.loads(answer(capsys, base, b, "--json", "--id", "7")[1])
    assert [beat["name"] for beat in found["heartbeats"]] == ["solve:loop"]
    found = json.loads(answer(capsys, base, b, "--json", "--time", ":10")[1])
    assert found["heartbeats"][0]["intervals"] == [10, 10]
    status, _, err = answer(capsys, base, b, "--id", "9")
    assert (status, err) == (2, f"incprof: --id 9: no such heartbeat in {base} or {b}\n")


def test_damage_is_5_unless_a_gate_fails(base, tmp_path, capsys):
    b = run(tmp_path / "B", 1.2, cut=200)
    assert answer(capsys, base, b)[0] == 5
    assert answer(capsys, b, base)[0] == 5
    status, _out, err = answer(capsys, base, b, "--fail-on", "mean>10%")
    assert status == 3
    assert err.splitlines()[0].startswith("incprof: B: ")
    assert err.splitlines()[-1].startswith("incprof: fails 'mean>10%'")


@pytest.mark.parametrize("gate", ["mean>10", "speed>1%", "mean>=10%", "poor", "nowhere:mean>1%"])
def test_conditions_that_make_no_sense_are_2(base, capsys, gate):
    status, _, err = answer(capsys, base, base, "--fail-on", gate)
    assert status == 2
    assert len(err.splitlines()) == 1


def test_arguments_that_do_not_go_together_are_2(base, tmp_path, capsys):
    assert answer(capsys, base, "--fail-on", "mean>10%")[0] == 2
    assert answer(capsys, base, base, "--csv", tmp_path / "x.csv")[0] == 2
    assert not (tmp_path / "x.csv").exists()


def test_nothing_there_is_4(base, tmp_path, capsys):
    assert answer(capsys, base, tmp_path / "nowhere")[0] == 4
    assert answer(capsys, tmp_path / "nowhere", base)[0] == 4


def test_of_many_heartbeats_the_relevant_ones_are_shown(tmp_path, capsys):
    for name, scale in (("A", 1.0), ("B", 1.5)):
        file = EkgFile(0)
        draw = random.Random(name)
        for _ in range(20):
            rows = [
                beats(0, i, [int((i + 1) * 1e5 * (scale if i == 7 else 1) * draw.gauss(1, 0.01))]) for i in range(99)
            ]
            file.interval(*(rows if name == "A" else rows[1:]))
        file.end().save(tmp_path / name / "rank-00000.ekg")
    lines = answer(capsys, tmp_path / "A", tmp_path / "B")[1].splitlines()
    assert len(lines) == 45
    assert lines[4].split()[0] == "0"
    assert "not in B" in lines[4]
    assert lines[5].split()[0] == "7"
    assert "slower" in lines[5]
    assert lines[-1].startswith("59 more heartbeats")
    assert len(answer(capsys, tmp_path / "A", tmp_path / "B", "--all")[1].splitlines()) == 4 + 99


def test_other_shapes_of_runs_are_reported(tmp_path, capsys):
    a, b = simple_run(tmp_path / "A"), simple_run(tmp_path / "B", ranks=2)
    _, out, _ = answer(capsys, a, b)
    assert "A has 1 ranks, B has 2" in out
