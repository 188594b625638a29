"""`incprof loops`, and `incprof periods` with `--events` and `--method dpd`."""

import json

import numpy as np
import pytest

from incprof.cli.main import main
from incprof.systems.periods import dpd_values as dpd_values
from incprof.systems.periods.dpd_events import detect
from tests.unit.dpd_streams import TABLE_5
from tests.unit.incprof.systems.periods.test_dpd_events import TABLE_1
from tests.unit.profiles import two_phase_run
from tests.unit.verbs import verb

answer = verb("periods")


def found(capsys, *args):
    status, out, err = answer(capsys, *args, "--json")
    assert (status, err) == (0, "")
    return [json.loads(line) for line in out.splitlines()]


@pytest.fixture
def table_1(tmp_path):
    path = tmp_path / "calls.txt"
    path.write_text("".join(f"{event}\n" for event in TABLE_1))
    return path


def test_json_of_table_1(table_1, capsys):
    """From the second 5 on, the next of each event is predicted rightly up to the last 7: 14 of 24, or 10 of 20."""
    (result,) = found(capsys, table_1, "--events")
    assert result == {
        "schema": "incprof.loops/1", "source": str(table_1), "events": 25, "kinds": 9, "window": 1024,
        "tolerance": False, "coverage_pct": 76.0, "hit_rate_pct": {"1": pytest.approx(100 * 14 / 24), "5": 50.0},
        "forgotten": 0,
        "loops": [
            {"id": 1, "around": None, "depth": 0, "period": 4, "content": ["5", "6", "7", "8"], "visits": 1,
             "iterations": 4.75, "events": 19, "share_pct": 76.0, "first": 4, "last": 22, "predicted": 3, "whole": 2,
             "odd": 0},
        ],
    }  # fmt: skip


@pytest.mark.parametrize(
    "words", [(), ("--json",), ("--json", "--follow", "--idle", 0), ("--tolerance", "--window", 30)]
)
def test_loops_answers_as_periods_with_events(table_1, capsys, words):
    assert main(["loops", str(table_1), *map(str, words)]) == 0
    assert capsys.readouterr() == answer(capsys, table_1, "--events", *words)[1:]


@pytest.mark.parametrize("words", [("--follow", "--range", "1:5"), ("--idle", "-1"), ("--window", "1"), ("--csv", "x")])
def test_loops_refuses(table_1, words):
    assert main(["loops", str(table_1), *words]) == 2


def test_text_of_table_1(table_1, capsys):
    status, out, err = answer(capsys, table_1, "--events")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"{table_1}, 25 events of 9 kinds, window 1024"
    assert lines[1] == "1 loop, 76.00 % of the events in it"
    assert lines[2] == "predicted 58.33 % of the next events, 50.00 % of the fifth, 2 of 3 iterations whole"
    assert lines[5].split() == ["1", "4", "1", "4.8", "76.00", "4", "22", "66.67"]
    assert lines[6:] == ["", "   1  5, 6, 7, 8"]


@pytest.mark.parametrize("name", list(TABLE_5))
@pytest.mark.parametrize("how", [hex, lambda event: f"solver::step<{event}>(int, double) const"])
def test_any_word_will_do(tmp_path, capsys, name, how):
    stream, periods = TABLE_5[name]
    path = tmp_path / "x"
    path.write_text("# events\n\n" + "".join(f"{how(event)}\n" for event in stream))
    (result,) = found(capsys, path, "--events", "--window", 300)
    assert result["events"] == len(stream)
    assert [loop["period"] for loop in result["loops"]] == periods[::-1]
    assert result["loops"][0]["content"] == [how(event) for event in stream[4 : 4 + periods[-1]]]
    trace = detect(stream, 300, memory=16384, ahead=(1, 5))
    assert result["hit_rate_pct"] == {str(far): pytest.approx(100 * trace.hit_rate(far)) for far in (1, 5)}
    text = answer(capsys, path, "--events")[1].splitlines()
    rows = text[5 : 5 + len(periods)]
    assert [(len(row) - len(row.lstrip())) // 2 for row in rows] == list(range(len(periods)))
    assert [line.split()[0] for line in text[6 + len(periods) :]] == [row.split()[0] for row in rows]
    assert all(len(line) <= 100 for line in text[1:])


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("time,region\n0,a\n1,b\n2,a\n3,b\n", "region"),
        ("time;region\n0;a\n1;b\n2;a\n3;b\n", "2"),
        ("11 open a\n12 read b\n11 open a\n12 read b\n", "3"),
    ],
)
def test_a_column_of_a_table(tmp_path, capsys, text, column):
    path = tmp_path / "x.csv"
    path.write_text(text)
    (result,) = found(capsys, path, "--events", "--column", column)
    assert [loop["content"] for loop in result["loops"]] == [["a", "b"]]
    assert result["events"] == 4 + (column == "2")


def test_a_part_of_the_events(table_1, capsys):
    (result,) = found(capsys, table_1, "--events", "--range", "8:20")
    assert (result["events"], result["coverage_pct"]) == (12, 100)
    assert answer(capsys, table_1, "--events", "--range", "25:30")[0] == 4


def test_no_loop(tmp_path, capsys):
    path = tmp_path / "x"
    path.write_text("a\nb\nc\nd\na\n")
    status, out, _ = answer(capsys, path, "--events")
    assert (status, out.splitlines()[1]) == (0, "no loop: nothing of less than 1024 events occurred twice in a row")
    (result,) = found(capsys, path, "--events")
    assert (result["loops"], result["coverage_pct"]) == ([], 0)


def test_an_odd_event(tmp_path, capsys):
    path = tmp_path / "x"
    path.write_text("".join(f"{event}\n" for event in [*"abcdefgh" * 5, "?", *"abcdefgh" * 5]))
    assert [found(capsys, path, "--events", *more)[0]["loops"][0]["visits"] for more in ([], ["--tolerance"])] == [2, 1]


def test_following_prints_changes_and_then_the_answer(table_1, capsys):
    *changes, last = found(capsys, table_1, "--events", "--follow", "--idle", 0)
    now = {"id": 1, "period": 4, "first": 4, "last": 11, "iterations": 2.0, "content": ["5", "6", "7", "8"]}
    assert changes == [
        {"schema": "incprof.loops.change/1", "at": 11, "was": None, "now": now},
        {"schema": "incprof.loops.change/1", "at": 23, "was": {**now, "last": 22, "iterations": 4.75}, "now": None},
    ]
    assert [last] == found(capsys, table_1, "--events")
    out = answer(capsys, table_1, "--events", "--follow", "--idle", 0)[1].splitlines()
    assert out[:2] == [
        "       11  begins   loop 1, period 4, from 4: 5, 6, 7, 8",
        "       23  ends     loop 1, 4.8 iterations, 4 to 22",
    ]
    assert out[2:] == answer(capsys, table_1, "--events")[1].splitlines()


def test_a_loop_around_another_one_is_a_change(tmp_path, capsys):
    path = tmp_path / "x"
    path.write_text("".join(f"{event}\n" for event in [*"aaab" * 4, *"aaac"]))
    changes = found(capsys, path, "--events", "--follow", "--idle", 0)[:-1]
    periods = [
        (change["at"], *(each and each["period"] for each in (change["was"], change["now"]))) for change in changes
    ]
    assert periods == [(2, None, 1), (3, 1, None), (6, None, 1), (7, 1, 4), (19, 4, None)]
    assert changes[-1]["was"]["iterations"] == 4.75
    line = answer(capsys, path, "--events", "--follow", "--idle", 0)[1].splitlines()[3]
    assert line == "        7  changes  loop 1, 3.0 iterations, 4 to 6; now loop 2, period 4, from 0: a x 3, b"


def series(tmp_path):
    draw = np.random.default_rng(0)
    values = np.concatenate([np.resize(draw.integers(0, 99, 44), 1200), np.resize(draw.integers(0, 99, 90), 1200)])
    path = tmp_path / "x.csv"
    path.write_text("cpus\n" + "".join(f"{value}\n" for value in values.tolist()))
    return values, path


def test_the_period_of_numbers(tmp_path, capsys):
    values, path = series(tmp_path)
    (result,) = found(capsys, path, "--method", "dpd", "--window", 200)
    trace = dpd_values.detect(values, 200, ahead=(1,))
    assert result["schema"] == "incprof.period/1"
    assert result["series"] == {"source": str(path), "column": "cpus", "samples": 2400}
    assert result["coverage_pct"] == pytest.approx(100 * np.mean(trace.period > 0))
    assert {each["period"] for each in result["periods"][:2]} == {44, 90}
    assert result["range"] == [values.min(), values.max()]
    text = answer(capsys, path, "--method", "dpd", "--window", 200)[1].splitlines()
    assert text[0] == f"{path}, cpus, 2400 samples, window 200"
    assert {line.split()[0] for line in text[5:7]} == {"44", "90"}


def test_following_the_period_of_numbers(tmp_path, capsys):
    values, path = series(tmp_path)
    *changes, last = found(capsys, path, "--method", "dpd", "--follow", "--idle", 0)
    period = dpd_values.detect(values, 400).period
    assert changes[0]["was"] is None
    assert (changes[0]["now"]["period"], changes[0]["at"]) == (44, int(np.argmax(period > 0)))
    assert changes[-1]["now"]["period"] == 90
    assert [last] == found(capsys, path, "--method", "dpd")
    lines = answer(capsys, path, "--method", "dpd", "--follow", "--idle", 0)[1].splitlines()
    assert lines[0] == f"{changes[0]['at']:>9}  begins   period 44, confidence exact"
    assert all(line.split()[1] in ("begins", "changes", "ends") for line in lines[: len(changes)])


def test_noise_has_no_period(tmp_path, capsys):
    path = tmp_path / "x"
    path.write_text("".join(f"{value!r}\n" for value in np.random.default_rng(0).random(2000).tolist()))
    assert answer(capsys, path, "--method", "dpd")[1].splitlines()[1] == "no period of less than 400 samples"


def test_a_column_of_a_run(tmp_path, capsys):
    run = two_phase_run(tmp_path / "two")
    (result,) = found(capsys, run, "--method", "dpd", "--column", "calls:write_out")
    assert result["series"]["samples"] == 20


@pytest.mark.parametrize(
    "words",
    [
        ["--events", "--theta", "1"], ["--events", "--plot", "x.svg"], ["--events", "--csv", "-"],
        ["--events", "--compare", "x"], ["--events", "--rank", "0"], ["--events", "--time", "none"],
        ["--events", "--method", "patterns"], ["--events", "--window", "1"], ["--events", "--window", "32769"],
        ["--events", "--no-align"], ["--events", "--column", "x"], ["--events", "--column", "2"],
        ["--events", "--follow", "--range", "1:2"], ["--method", "dpd", "--tolerance"], ["--tolerance"],
        ["--method", "dpd", "--alpha", "1"], ["--method", "dpd", "--window", "40000"], ["--method", "fft"],
    ],
)  # fmt: skip
def test_wrong_arguments(table_1, capsys, words):
    status, out, err = answer(capsys, table_1, *words)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1


@pytest.mark.parametrize("how", [["--events"], ["--method", "dpd"]])
@pytest.mark.parametrize("follow", [[], ["--follow", "--idle", "0"]])
@pytest.mark.parametrize(
    "data",
    [b"", b"# nothing\n", b"\x7fELF\2\1\1\0\0\0\n" * 9, b"x" * (3 << 20), b"1\nnan\n", b"1,2\n3\n", b"\xff\xfe1\0"],
    ids=["empty", "comment", "binary", "long", "nan", "torn", "utf-16"],
)
def test_what_is_no_stream(tmp_path, capsys, how, follow, data):
    path = tmp_path / "x"
    path.write_bytes(data)
    words = ["--column", "2"] if data.startswith(b"1,") else []
    status, out, err = answer(capsys, path, *how, *follow, *words)
    if data == b"1\nnan\n" and how == ["--events"]:
        assert (status, err) == (0, "")  # a word like any other
        return
    assert (status, out) == (4, "")
    assert err.startswith(f"incprof: {path}")
    assert err.count("\n") == 1


@pytest.mark.parametrize("what", ["missing", "directory"])
def test_what_cannot_be_opened(tmp_path, capsys, what):
    path = tmp_path if what == "directory" else tmp_path / "x"
    status, out, err = answer(capsys, path, "--events")
    assert (status, out, err.count("\n")) == (4, "", 1)
    assert str(path) in err
