"""`incprof validate`: its answer, its gate, and its messages for invalid input."""

import json

import pytest

from tests.unit.ekgfiles import SECOND, EkgFile, beats
from tests.unit.profiles import two_phase_run
from tests.unit.verbs import verb

MS = 10**6
PAIR = {"pair_ns": 100.0, "skipped_ns": 10.0}


def heartbeats(directory, *, intervals=20, turn=10, rank=0, names=("solve:loop", "write_out:body"), **metadata):
    """10 beats of 100 ms in each second: of the first heartbeat up to second `turn`, then of the second."""
    file = EkgFile(rank, metadata=PAIR | metadata)
    for number, name in enumerate(names, 1):
        file.beat(number, name)
    file.thread(0, 4711)
    for i in range(intervals):
        file.interval(beats(0, 1 if i < turn else 2, [100 * MS] * 10), own_ns=MS, threads=1)
    file.end().save(directory / f"rank-{rank:05}.ekg")
    return directory


@pytest.fixture
def runs(tmp_path):
    return two_phase_run(tmp_path / "gmon"), heartbeats(tmp_path / "ekg")


answer = verb("validate")


def test_json(runs, capsys):
    status, out, err = answer(capsys, *runs, "--json")
    found = json.loads(out)
    assert (status, err) == (0, "")
    assert found["schema"] == "incprof.validate/1"
    assert found["run"].items() >= {"app": "app", "rank": 0, "intervals": 20, "interval_s": 1.0}.items()
    assert (found["agreement"], found["kappa"], found["balanced"]) == pytest.approx((1, 1, 1))
    assert (found["compared_s"], found["total_s"]) == (20, 20)
    assert found["alignment"]["kind"] == "warp"
    assert (found["alignment"]["stretch"], found["alignment"]["warp_max"]) == (1, 0)
    assert found["confusion"] == {"phases": [0, 1], "seconds": [[10, 0], [0, 10]], "silent": [0, 0]}
    first, second = found["phases"]
    assert first == {
        "id": 0, "seconds": 10, "heartbeats": [1], "missing": [], "same_as": 0, "recall": 1, "coverage": 1, "busy": 1,
        "spill_beats": 0, "spill_busy": 0, "rate_hz": 10, "mean_s": 0.1,
    }  # fmt: skip
    assert second["heartbeats"] == [2]
    assert found["heartbeats"][1] == {
        "id": 2, "name": "write_out:body", "rate_factor": 1, "count": 100, "pulses": 0, "phases": [1],
    }  # fmt: skip
    assert found["timeline"] == {
        "end_s": [10, 20], "recorded": [0, 1], "heartbeats": [0, 1], "compared": [True, True],
    }  # fmt: skip
    assert (found["notes"], found["others"]) == ([], [])


def test_overhead(runs, tmp_path, capsys):
    """200 pairs of 100 ns and 20 ms of the interval thread in 20 s of one thread; a loop's iterations are not known."""
    cost = json.loads(answer(capsys, *runs, "--json")[1])["overhead"]
    assert cost == {
        "beats": 200, "skipped": 0, "pair_ns": 100, "skipped_ns": 10, "own_s": 0.02, "seconds": 0.02002,
        "base": "wall", "base_s": 20, "pct": pytest.approx(0.1001), "beats_pct": 0.0001, "predicted_pct": None,
    }  # fmt: skip
    unknown = heartbeats(tmp_path / "old", pair_ns=None)
    assert json.loads(answer(capsys, runs[0], unknown, "--json")[1])["overhead"] is None
    assert "what a heartbeat costs is not in this run's files" in answer(capsys, runs[0], unknown)[1]


def test_beats_of_python_have_the_price_of_python(runs, tmp_path, capsys):
    (runs[0] / "beat-cost.json").write_text('{"version": 1, "pair_ns": 30.0, "skipped_ns": 3.0, "python_ns": 700.0}')
    python = heartbeats(tmp_path / "python", exe="/usr/bin/python3.11", app="python3.11")
    cost = json.loads(answer(capsys, runs[0], python, "--json")[1])["overhead"]
    assert (cost["pair_ns"], cost["skipped_ns"], cost["beats_pct"]) == (800, 710, 0.0008)
    assert "200 of 800 ns" in answer(capsys, runs[0], python)[1]


def test_text(runs, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "72")
    status, out, err = answer(capsys, *runs)
    lines = out.splitlines()
    assert (status, err) == (0, "")
    assert lines[0] == "app, rank 0, 20 intervals of 1 s recorded, 20 of 1 s with heartbeats"
    assert lines[1].startswith("two runs of the same length; timelines aligned by time-warping (mean shift 0.0 %")
    assert lines[2].startswith(
        "agreement 1.000 (1.000 without warping), kappa 1.000, mean recall 1.000, 100.0 % of the"
    )
    assert lines[4] == "recorded    " + "0" * 30 + "1" * 30
    assert lines[5] == "heartbeats  " + "0" * 30 + "1" * 30
    overhead = next(line for line in lines if line.startswith("overhead"))
    assert overhead.endswith("of the threads' wall time: beats 0.0001 % (200 of 100 ns), interval thread 20 ms")
    # A table is as wide as its figures and names need.
    assert [line.split()[-1] for line in lines[8:11]] == ["Heartbeats", "solve:loop", "write_out:body"]
    assert all(len(line) <= 72 for line in (*lines[3:8], *lines[11:-1]) if not line.startswith("overhead"))


def test_text_of_two_stories(runs, tmp_path, capsys):
    _, out, _ = answer(capsys, runs[0], heartbeats(tmp_path / "late", turn=15), "--align", "scale")
    assert "agreement 0.750," in out
    assert "% of phase   as 0  as 1" in out
    assert "         1   50.0  50.0" in out


def test_gate(runs, tmp_path, capsys):
    assert answer(capsys, *runs, "--min-agreement", "1")[0] == 0
    late = heartbeats(tmp_path / "late", turn=15)
    status, out, err = answer(capsys, runs[0], late, "--align", "scale", "--min-agreement", "0.9", "--json")
    assert (status, err) == (3, "incprof: agreement 0.750 is below 0.9\n")
    assert json.loads(out)["agreement"] == 0.75


@pytest.mark.parametrize("value", ["1.1", "-0.1", "nan", "x"])
def test_a_gate_that_cannot_be(runs, capsys, value):
    status, _, err = answer(capsys, *runs, f"--min-agreement={value}")
    assert status == 2
    assert "expected a number from 0 to 1" in err


def test_one_process_by_its_clock(tmp_path, capsys):
    """Recording and heartbeats say host, pid and both clocks: they are laid over each other to the nanosecond."""
    from tests.unit.streamwriter import Sample, StreamWriter

    same = {"host": "node7", "pid": 4711, "start_mono_ns": 5 * SECOND, "start_unix_ns": 1_700_000_005 * SECOND}
    writer = StreamWriter(["main", "solve", "write_out"], **same)
    for i in range(20):
        what = "solve" if i < 10 else "write_out"
        writer.interval([Sample(f"main;{what}", weight=100)], arcs={("main", what): 5})
    writer.end()
    gmon = writer.save(tmp_path / "gmon")
    names = ("solve:body", "write_out:body")
    later = same | {"start_mono_ns": 7 * SECOND, "start_unix_ns": 1_700_000_007 * SECOND}
    ekg = heartbeats(tmp_path / "ekg", turn=8, intervals=18, names=names, **later)
    status, out, _ = answer(capsys, gmon, ekg, "--json")
    found = json.loads(out)
    assert (status, found["alignment"]["kind"]) == (0, "clock")
    assert found["alignment"]["recorded_s"] == [2, 20]
    assert found["confusion"] == {"phases": [0, 1], "seconds": [[8, 0], [0, 10]], "silent": [2, 0]}
    # 5 calls of either function in each of 10 seconds at 100 ns; the recording has 1 s of CPU time in each interval.
    assert found["overhead"]["base"] == "cpu"
    assert found["overhead"]["predicted_pct"] == pytest.approx(
        100 * 100 * 100e-9 / found["overhead"]["base_s"], abs=1e-6
    )
    # Calls of inlined functions are not counted.
    writer = StreamWriter(["main", "solve", "write_out"], **same)
    for i in range(20):
        what = "solve" if i < 10 else "write_out"
        writer.interval([Sample(f"main;{what}", weight=100)], arcs={("main", "solve"): 5} if i < 10 else {})
    writer.end()
    inlined = writer.save(tmp_path / "inlined")
    assert json.loads(answer(capsys, inlined, ekg, "--json")[1])["overhead"]["predicted_pct"] is None
    for other in ({"pid": 4712}, {"host": "node8"}, {"start_mono_ns": 9 * SECOND}, {"start_mono_ns": None}):
        heartbeats(tmp_path / "ekg", turn=8, intervals=18, names=names, **(later | other))
        assert json.loads(answer(capsys, gmon, ekg, "--json")[1])["alignment"]["kind"] == "warp"
        status, _, err = answer(capsys, gmon, ekg, "--align", "clock")
        assert status == 2
        assert err.startswith("incprof: --align clock is for heartbeats of the recorded process")


def test_ranks(tmp_path, capsys):
    gmon = two_phase_run(tmp_path / "gmon", ranks=(0, 1))
    heartbeats(tmp_path / "ekg", rank=1)
    assert json.loads(answer(capsys, gmon, tmp_path / "ekg", "--rank", 1, "--json")[1])["run"]["rank"] == 1
    status, _, err = answer(capsys, gmon, tmp_path / "ekg")
    assert status == 2
    assert "rank" in err
    assert err.count("\n") == 1


def test_directories_the_wrong_way_round(runs, capsys):
    gmon, ekg = runs
    status, _, err = answer(capsys, ekg, gmon)
    assert (status, err) == (
        2, f"incprof: {ekg} holds heartbeats: give the recording first, as in incprof validate GMON-DIR EKG-DIR\n"
    )  # fmt: skip
    status, _, err = answer(capsys, gmon, gmon)
    assert (status, err) == (
        2, f"incprof: {gmon} holds a recording: give heartbeats second, as in incprof validate GMON-DIR EKG-DIR\n"
    )  # fmt: skip


def test_nothing_to_compare(runs, tmp_path, capsys):
    gmon, _ = runs
    (tmp_path / "empty").mkdir()
    heartbeats(tmp_path / "none", intervals=0)
    cases = {
        tmp_path / "missing": "no such directory",
        tmp_path / "empty": "",
        tmp_path / "none": "no complete interval yet",
        heartbeats(
            tmp_path / "other", names=("a", "b")
        ): "the sites are solve:loop, write_out:body; the heartbeats are a, b",
    }
    for directory, words in cases.items():
        status, out, err = answer(capsys, gmon, directory)
        assert (status, out, err.count("\n")) == (4, "", 1)
        assert words in err


def test_damage_is_a_warning_and_partial_data(runs, tmp_path, capsys):
    gmon, ekg = runs
    file = ekg / "rank-00000.ekg"
    file.write_bytes(file.read_bytes()[:-200])
    status, out, err = answer(capsys, gmon, ekg)
    assert status == 5
    assert "agreement" in out
    assert err.startswith("incprof: ")


def test_names_do_nothing_to_a_terminal(runs, tmp_path, capsys):
    found = heartbeats(tmp_path / "odd", names=("solve:loop", "write_out:body", "\x1b[2J"))
    assert "\x1b" not in answer(capsys, runs[0], found)[1]
