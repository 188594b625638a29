import csv
import io
import json

import pytest

from tests.unit.profiles import two_phase_run
from tests.unit.streamwriter import Sample, StreamWriter
from tests.unit.verbs import verb

answer = verb("phases")


def test_json_has_the_promised_keys(tmp_path, capsys):
    status, out, err = answer(capsys, two_phase_run(tmp_path / "run"), "--json")
    found = json.loads(out)
    assert (status, err) == (0, "")
    assert found["schema"] == "incprof.phases/1"
    assert found["run"] == {
        "app": "app", "rank": 0, "ranks": 1, "intervals": 20, "recorded_intervals": 20,
            "interval_s": 1.0, "pooled": 1, "rate_hz": 100.0,
            "samples": 60, "counted": True,
        "reached_hz": pytest.approx(3, rel=0.02),
        "overhead_pct": None, "duration_s": 20.0, "off_cpu_s": 0.0, "by_waits": False, "counting": None,
    }  # fmt: skip
    assert (found["rank"], found["method"], found["k"]) == (0, "robust", 2)
    assert found["labels"] == [0] * 10 + [1] * 10
    assert found["end_s"] == [float(i) for i in range(1, 21)]
    assert [score["k"] for score in found["scores"]][:2] == [1, 2]
    assert found["scores"][0]["silhouette"] is None
    first, second = found["phases"]
    assert (first["id"], first["intervals"], first["app_pct"], first["seconds"]) == (0, 10, 50.0, 10.0)
    assert first["functions"][0]["name"] == "solve"
    assert first["functions"][0]["share"] > 0.95
    site = first["sites"][0]
    assert {key: site[key] for key in ("heartbeat", "function", "kind")} == {
        "heartbeat": 1, "function": "solve", "kind": "loop",
    }  # fmt: skip
    # The rest is outside of all functions.
    assert (site["phase_pct"], site["app_pct"]) == (pytest.approx(98, abs=1), pytest.approx(49, abs=0.5))
    assert (second["sites"][0]["function"], second["sites"][0]["kind"]) == ("write_out", "body")
    assert second["functions"][0]["calls"] == 50
    assert {"file", "line"} <= site.keys()
    assert [(s["function"], s["kind"], s["calls"]) for s in second["steps"]] == [("write_out", "body", 50)]
    assert second["steps"][0]["mean_s"] == pytest.approx(9.88 / 50, abs=0.001)


def test_a_program_that_has_become_another_one(tmp_path, capsys):
    run = tmp_path / "run"
    works = StreamWriter(["main", "work"], pid=77)
    for _ in range(12):
        works.interval([Sample("main;work", weight=90)], arcs={("main", "work"): 5})
    works.end()
    for name in (None, "rank-00000.77.gmon"):
        works.save(run, name)
    *_, said = answer(capsys, run)[2].splitlines()
    assert said == "incprof: rank 0 became another program by exec, on record and not shown here: --pid 77"


def test_the_process_that_works_is_shown_and_others_by_their_numbers(tmp_path, capsys):
    run = tmp_path / "run"
    waits, works = StreamWriter(["main", "work"]), StreamWriter(["main", "work"])
    for _ in range(12):
        waits.interval([], counters={2: 0})
        works.interval([Sample("main;work", weight=90)], arcs={("main", "work"): 5})
    for writer, name in ((waits, None), (works, "rank-00000.77.gmon")):
        writer.end()
        writer.save(run, name)
    status, out, _ = answer(capsys, run)
    assert (status, "shown: process 77 (others: --pid)" in out) == (0, True)
    status, _, err = answer(capsys, run, "--pid", 4711)
    assert (status, err.count("\n")) == (4, 1)
    status, out, err = answer(capsys, run, "--pid", 77, "--json")
    assert (status, err) == (0, "")
    assert [phase["sites"][0]["function"] for phase in json.loads(out)["phases"]] == ["work"]
    status, _, err = answer(capsys, run, "--pid", 78)
    assert (status, err.splitlines()) == (2, [f"incprof: {run}: no process 78, only 77, 4711"])


def test_same_bytes_whatever_the_number_of_jobs(tmp_path, capsys):
    run = two_phase_run(tmp_path / "run")
    first = answer(capsys, run, "--json")
    assert answer(capsys, run, "--json", "--jobs", 3) == first


def test_text_shows_table_ribbon_and_functions(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "90")
    status, out, err = answer(capsys, two_phase_run(tmp_path / "run"), "--details")
    lines = out.splitlines()
    assert (status, err) == (0, "")
    assert lines[0].startswith("app, rank 0, 20 intervals of 1 s, 20 s, 60 samples, overhead not known")
    assert "0" * 45 + "1" * 45 in lines
    header = next(line for line in lines if "Function" in line)
    for name in ("Phase", "% of phase", "% of run", "Kind", "Heartbeat", "Where"):
        assert name in header
    assert any(line.split()[:5] == ["0", "solve", "98.0", "49.0", "loop"] for line in lines)
    assert any(line.split()[:5] == ["1", "write_out", "98.0", "49.0", "body"] for line in lines)
    assert any("50 calls  write_out" in line for line in lines)
    assert out.isascii()
    assert max(len(line.rstrip()) for line in lines) <= 90


def test_an_answer_is_a_head_a_ribbon_and_a_table(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    status, out, _ = answer(capsys, two_phase_run(tmp_path / "run"))
    head, phases, blank, ribbon, time, gap, table, *rows = out.splitlines()
    assert (status, phases, blank, gap) == (0, "2 phases", "", "")
    assert head.startswith("app, rank 0, 20 intervals of 1 s")
    assert (ribbon, time.split()) == ("0" * 50 + "1" * 50, ["0", "s", "20", "s"])
    assert table.split() == "Phase Function % of phase % of run Kind Heartbeat Where".split()
    assert [row.split()[1] for row in rows] == ["solve", "write_out"]


def test_a_brief_answer_is_a_line_for_each_phase_in_80_columns(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    run = two_phase_run(tmp_path / "run", ranks=(2, 5))
    status, out, _ = answer(capsys, run, "--brief")
    *head, last, first, second = out.splitlines()
    assert (status, last) == (0, "")
    assert "0" * 40 + "1" * 40 in head
    assert max(map(len, out.splitlines())) <= 80
    assert [line.split()[:6] for line in (first, second)] == [
        ["0", "50.0", "%", "10", "s", "solve"], ["1", "50.0", "%", "10", "s", "write_out"],
    ]  # fmt: skip
    assert first.endswith("solve (loop), [app]")
    for option in ("--details", "--explain", "--threads", "--per-rank"):
        status, out, err = answer(capsys, run, "--brief", option)
        assert (status, out, err) == (2, "", f"incprof: {option}: --brief cannot show it: leave out one of them\n")
    assert answer(capsys, run, "--brief", "--json")[0] == 2


def test_csv_has_a_row_for_each_interval(tmp_path, capsys):
    status, out, _ = answer(capsys, two_phase_run(tmp_path / "run"), "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert status == 0
    assert [row["phase"] for row in rows] == ["0"] * 10 + ["1"] * 10
    assert rows[3] == {"interval": "3", "end_s": "4.000000", "phase": "0", "cluster": "0"}


def test_several_ranks_are_answered_for_the_lowest(tmp_path, capsys):
    run = two_phase_run(tmp_path / "run", ranks=(2, 5))
    assert "rank 2 of 2 ranks (the others: --rank)" in answer(capsys, run)[1]
    assert json.loads(answer(capsys, run, "--json", "--rank", 5)[1])["rank"] == 5
    status, out, err = answer(capsys, run, "--rank", 3)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1


def test_k_and_method(tmp_path, capsys):
    run = two_phase_run(tmp_path / "run")
    assert json.loads(answer(capsys, run, "--json", "--k", 1)[1])["k"] == 1
    assert "only 2 of them differ" in answer(capsys, run, "--k", 3)[2]
    assert json.loads(answer(capsys, run, "--json", "--method", "paper")[1])["method"] == "paper"


@pytest.mark.parametrize(
    "args",
    [
        ("--k", "17"),
        ("--k", "9", "--method", "paper"),
        ("--k", "0"),
        ("--jobs", "0"),
        ("--seed", "-1"),
        ("--method", "x"),
    ],
)
def test_wrong_arguments(tmp_path, capsys, args):
    status, out, err = answer(capsys, two_phase_run(tmp_path / "run"), *args)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1


def test_libs_from_the_environment(tmp_path, capsys, monkeypatch):
    run = two_phase_run(tmp_path / "run")
    monkeypatch.setenv("INCPROF_LIBS", "drop")
    dropped = json.loads(answer(capsys, run, "--json")[1])
    charged = json.loads(answer(capsys, run, "--json", "--libs", "caller")[1])
    self_s = [found["phases"][0]["functions"][0]["self_s"] for found in (dropped, charged)]
    assert self_s[1] - self_s[0] == pytest.approx(1.0)
    monkeypatch.setenv("INCPROF_LIBS", "nonsense")
    assert answer(capsys, run)[0] == 2


def test_torn_run_is_answered_with_exit_code_5(tmp_path, capsys):
    run = two_phase_run(tmp_path / "run")
    stream = run / "rank-00000.gmon"
    stream.write_bytes(stream.read_bytes()[:-60])
    status, out, err = answer(capsys, run, "--json")
    assert status == 5
    assert json.loads(out)["k"] == 2
    assert err.startswith("incprof: ")


def test_no_data_is_one_line_and_exit_code_4(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("hello")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/rank-00000.gmon").write_text("hello\n" * 100)
    for name in ("empty", "missing", "file", "other"):
        status, out, err = answer(capsys, tmp_path / name)
        assert (status, out, err.count("\n"), str(tmp_path / name) in err) == (4, "", 1, True)


def test_zero_samples(tmp_path, capsys):
    writer = StreamWriter()
    writer.interval([])
    writer.interval([])
    writer.end()
    status, out, err = answer(capsys, writer.save(tmp_path / "run"))
    assert (status, out) == (4, "")
    assert "no samples in 2 intervals" in err


def test_one_interval(tmp_path, capsys):
    writer = StreamWriter()
    writer.interval([Sample("main;solve", weight=100)])
    writer.end()
    status, out, err = answer(capsys, writer.save(tmp_path / "run"))
    assert status == 0
    assert (out.splitlines()[1], err) == ("one steady phase", "")


def test_time_outside_of_the_program_is_not_waiting(tmp_path, capsys):
    writer = StreamWriter(["main", "solve", "io"])
    for i in range(30):
        # A stack that could not be unwound, or a thread of a library; then nothing at all.
        ticks = {0: [Sample("main;solve", weight=95)], 1: [Sample("", 3, weight=90)], 2: []}[i // 10]
        writer.interval(ticks)
    writer.end()
    status, out, _ = answer(capsys, writer.save(tmp_path / "run"), "--details")
    assert status == 0
    assert "(outside the program)" in out
    assert "its samples have no function of the program on their stacks" in out
    assert "waits" not in out
    first, second = json.loads(answer(capsys, tmp_path / "run", "--json")[1])["phases"]
    assert (first["off_cpu"], second["off_cpu"], second["mostly"], second["sites"]) == (False, False, "work", [])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--resolution", "-1"), "--resolution -1: expected seconds, 0 or more"),
        (("--resolution", "nan"), "--resolution nan: expected seconds, 0 or more"),
        (("--resolution", "inf"), "--resolution inf: expected seconds, 0 or more"),
        (("--resolution", "2", "--method", "paper"), "--resolution needs --method robust"),
    ],
)
def test_a_resolution_that_cannot_be_meant_is_refused(tmp_path, capsys, arguments, said):
    status, out, err = answer(capsys, two_phase_run(tmp_path / "run"), *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_a_resolution_joins_what_is_shorter(tmp_path, capsys):
    run = two_phase_run(tmp_path / "run")
    assert answer(capsys, run, "--resolution", 1)[1].splitlines()[1] == "2 phases"
    assert answer(capsys, run, "--resolution", 15)[1].splitlines()[1] != "2 phases"


def test_a_card_has_only_what_was_recorded(tmp_path, capsys, monkeypatch):
    run = two_phase_run(tmp_path / "run")
    first, second = json.loads(answer(capsys, run, "--card", "--json")[1])["phases"]
    # All ticks are the program's: 100, 101 and 102 in turn, at 100 per second.
    assert (first["card"], second["card"]) == ({"cpu_s": 10.09}, {"cpu_s": 10.1})
    assert "card" not in json.loads(answer(capsys, run, "--json")[1])["phases"][0]
    assert "cards\nPhase  Time" in answer(capsys, run, "--card")[1]
    assert answer(capsys, run, "--card", "--brief")[0] == 2


def test_cards_of_ranks_have_their_efficiency(tmp_path, capsys):
    run = two_phase_run(tmp_path / "run", ranks=(0, 1, 2))
    found = json.loads(answer(capsys, run, "--card", "--json")[1])["phases"][0]["card"]["mpi"]
    # Three ranks that do the same, and nothing in MPI.
    assert (found["ranks"], found["load_balance"], found["mpi_s"]) == (3, 1.0, 0.0)
    assert found["parallel_efficiency"] == pytest.approx(found["communication_efficiency"])
    assert "Parallel  Balance" in answer(capsys, run, "--card")[1]
