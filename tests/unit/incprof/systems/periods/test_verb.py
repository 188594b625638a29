import contextlib
import csv
import io
import itertools
import json
import os
import signal
import sys
import threading

import numpy as np
import pytest

from incprof.cli.main import main
from tests.unit.ekgfiles import EkgFile, beats, simple_run
from tests.unit.made_series import SHAPES, profile
from tests.unit.profiles import two_phase_run
from tests.unit.streamwriter import Sample, StreamWriter
from tests.unit.verbs import json_of, verb

answer = verb("periods")
found = json_of("periods")


def table(path, values, interval=0.005):
    rows = (f"{at * interval:.3f},{value!r}\n" for at, value in enumerate(values.tolist()))
    path.write_text("time,ipc\n" + "".join(rows))
    return path


@pytest.fixture(scope="module")
def truth():
    return profile(8000, SHAPES["NEMO"], seed=1)


@pytest.fixture
def series(tmp_path, truth):
    return table(tmp_path / "nemo.csv", truth.values)


def test_json_has_the_promised_keys(series, truth, capsys):
    result = found(capsys, series)
    assert result["schema"] == "incprof.periods/1"
    assert result["series"] == {
        "source": str(series), "column": "ipc", "samples": len(truth.values), "interval_s": 0.005,
        "duration_s": pytest.approx(len(truth.values) * 0.005),
    }  # fmt: skip
    (pattern,) = result["patterns"]
    assert pattern["length"] == len(pattern["values"]) == pytest.approx(224, abs=4)
    assert len(pattern["instances"]) == pytest.approx(len(truth.instances), abs=1)
    assert result["coverage_pct"] == pytest.approx(100 * truth.periodic().mean(), abs=1)
    assert {start for start, _ in pattern["regions"]} <= {start for start, _ in pattern["instances"]}
    assert (
        pattern["wgss"]
        == pattern["wgss_history"][-1]
        == pytest.approx(pattern["wgss_per_instance"] * len(pattern["instances"]))
    )
    assert result["summary"].startswith(f"1({len(pattern['instances'])})[")
    assert {one["window"] for one in result["tuning"]} >= {result["window"], 2}
    assert result["options"]["alpha"] == 0.05
    assert result["options"]["iterations"] == 31
    assert result["warnings"] == []


def test_text(series, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    status, out, err = answer(capsys, series)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert "8" in lines[0]
    assert lines[0].endswith(" s")
    assert "samples of 5 ms" in lines[0]
    instances = len(found(capsys, series)["patterns"][0]["instances"])
    assert lines[1].startswith(f"1 pattern, {instances} repetitions of 1.1")
    assert lines[1].endswith("% of the run")
    assert "WGSS" not in out
    assert f"pattern 0 rests on {instances} repetitions: from some 100 on" in lines[-1]
    assert set(lines[3]) == {"0", "."}
    assert len(lines[3]) == 80
    assert lines[4].endswith("s")


def test_text_in_the_papers_notation(series, capsys):
    status, out, err = answer(capsys, series, "--paper")
    assert (status, err) == (0, "")
    assert "window 2 x" in out.splitlines()[0]
    assert out.splitlines()[1].startswith(f"{found(capsys, series)['summary']}  #rp(#i)[#pa]")
    assert "WGSS" in out
    assert "[" in answer(capsys, "--follow", series, "--idle", 0, "--paper")[1].splitlines()[-1]
    assert "node 0  " in answer(capsys, series, "--compare", series, "--paper")[1]


def test_a_pattern_with_enough_instances(tmp_path, capsys):
    values = np.tile(np.random.default_rng(0).uniform(0, 1, 20), 101)
    few, many = (table(tmp_path / f"{count}.csv", values[: 20 * count]) for count in (99, 100))
    assert [found(capsys, path)["patterns"][0]["enough_instances"] for path in (few, many)] == [False, True]
    assert "pattern 0 rests on 99 repetitions" in answer(capsys, few)[1]
    assert "rests on" not in answer(capsys, many)[1]


def test_segments_of_a_pattern(tmp_path, capsys):
    shape = np.repeat([1.0, 0.2, 0.6, 0.6, 1.0], [10, 25, 15, 10, 5])
    (pattern,) = found(capsys, table(tmp_path / "x.csv", np.tile(shape, 40)))["patterns"]
    segments = pattern["segments"]
    assert segments[0]["begin"] == 0
    assert segments[-1]["end"] == pattern["length"] == 65
    assert all(one["end"] == other["begin"] for one, other in itertools.pairwise(segments))
    assert sum(one["share_pct"] for one in segments) == pytest.approx(100)
    (low,) = (one for one in segments if one["level"] == "low")
    assert (low["end"] - low["begin"], low["mean"]) == (25, pytest.approx(0.2))
    assert "low   points" in answer(capsys, tmp_path / "x.csv")[1]


def test_a_forecast_of_the_rest_of_an_instance(tmp_path, capsys):
    shape = np.random.default_rng(4).uniform(0, 1, 50)
    path = table(tmp_path / "x.csv", np.tile(shape, 41)[: 40 * 50 + 30])
    result = found(capsys, path, "--forecast", "rest")
    forecast, values = result["forecast"], result["patterns"][0]["values"]
    assert forecast["position"] == 49 - len(forecast["values"])
    assert forecast["values"] == pytest.approx(values[forecast["position"] + 1 :])
    assert forecast["low"] == forecast["high"] == pytest.approx(forecast["values"])
    assert found(capsys, path, "--forecast", 120)["forecast"]["values"] == pytest.approx(
        np.roll(shape, -30).tolist() * 2 + np.roll(shape, -30)[:20].tolist()
    )
    assert "next 120 samples (600 ms)" in answer(capsys, path, "--forecast", 120)[1]
    lines = answer(capsys, "--follow", path, "--idle", 0, "--json", "--forecast", "rest")[1].splitlines()
    assert json.loads(lines[-1])["forecast"] == forecast
    assert "next " in answer(capsys, "--follow", path, "--idle", 0, "--forecast", 5)[1]
    none = table(tmp_path / "none.csv", np.arange(300.0))
    assert found(capsys, none, "--forecast", 5)["forecast"] is None
    assert "no forecast" not in answer(capsys, none)[1]
    assert "no forecast" in answer(capsys, none, "--forecast", 5)[1]


@pytest.mark.slow
def test_sub_profiles_against_the_whole(tmp_path, truth, capsys):
    path = table(tmp_path / "x.csv", truth.values)
    words = (path, "--sub-profiles", "15s,20s,1h", "--offsets", 3)
    result = found(capsys, *words)
    rows, (pattern,) = result["sub_profiles"], result["patterns"]
    assert [row["samples"] for row in rows] == [3000, 4000, 720_000]
    assert [len(row["parts"]) for row in rows] == [3, 3, 0]
    assert rows[0]["reference_wgss"] == pytest.approx(pattern["wgss"])
    for row in rows[:2]:
        wgss = np.array([part["wgss"] for part in row["parts"]])
        assert row["mean_increase_pct"] == pytest.approx(100 * (wgss.mean() / pattern["wgss"] - 1))
        assert all(
            pattern["instances"][0][0] <= part["start"] <= len(truth.values) - row["samples"] for part in row["parts"]
        )
    assert found(capsys, *words)["sub_profiles"] == rows
    assert found(capsys, *words, "--seed", 1)["sub_profiles"] != rows
    text = answer(capsys, *words)[1]
    assert "3 of 3" in text
    assert "longer than what follows the initialisation" in text
    np.save(tmp_path / "x.npy", truth.values)
    assert answer(capsys, tmp_path / "x.npy", "--sub-profiles", "1m")[0] == 2
    assert found(capsys, table(tmp_path / "none.csv", np.arange(300.0)), "--sub-profiles", "1s")["sub_profiles"] == []


@pytest.fixture
def known(series, tmp_path, capsys):
    path = tmp_path / "patterns.json"
    path.write_text(answer(capsys, series, "--json")[1])
    return path


def test_an_excerpt_is_found_in_given_patterns(known, truth, tmp_path, capsys):
    pattern = json.loads(known.read_text())["patterns"][0]
    start = pattern["instances"][2][0]
    np.save(tmp_path / "ex.npy", truth.values[start + 40 : start + 140])
    result = found(capsys, tmp_path / "ex.npy", "--match", known)
    assert result["schema"] == "incprof.periods.match/1"
    assert result["match"] == result["candidates"][0]
    assert (result["match"]["begin"], result["match"]["end"]) == (pytest.approx(40, abs=8), pytest.approx(139, abs=8))
    assert answer(capsys, tmp_path / "ex.npy", "--match", known)[1].startswith("pattern 0 of ")
    np.save(tmp_path / "noise.npy", np.random.default_rng(0).uniform(0, 1.2, 100))
    assert found(capsys, tmp_path / "noise.npy", "--match", known)["match"] is None
    assert answer(capsys, tmp_path / "noise.npy", "--match", known)[1].startswith("none of ")
    np.save(tmp_path / "flat.npy", np.full(50, pattern["values"][7]))
    assert "too flat" in answer(capsys, tmp_path / "flat.npy", "--match", known)[1]


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"schema": "incprof.periods/1"}', '{"schema": "incprof.periods/1", "patterns": []}',
        '{"schema": "incprof.periods/1", "patterns": [{"values": [1, "x"], "wgss_per_sample": 1}]}',
        '{"schema": "incprof.periods/1", "patterns": [{"values": [1, 2e200], "wgss_per_sample": 1}]}',
        '{"schema": "incprof.periods/1", "patterns": [{"values": [1, NaN], "wgss_per_sample": 1}]}',
        '{"schema": "incprof.periods/1", "patterns": [{"values": [1, 2], "wgss_per_sample": -1}]}',
        '{"schema": "incprof.periods/1", "patterns": [3]}', "[" * 100_000,
    ],
)  # fmt: skip
def test_files_without_patterns(series, tmp_path, capsys, text):
    path = tmp_path / "known.json"
    path.write_text(text)
    status, out, err = answer(capsys, series, "--match", path)
    assert (status, out, err.count("\n")) == (4, "", 1)
    assert str(path) in err
    assert answer(capsys, series, "--match", tmp_path / "missing.json")[0] == 4


def test_too_short_an_excerpt(known, capsys, tmp_path):
    np.save(tmp_path / "x.npy", np.arange(7.0))
    assert answer(capsys, tmp_path / "x.npy", "--match", known)[0] == 4


def test_the_same_bytes_every_time(series, capsys):
    first = answer(capsys, series, "--json", "--threads", 1)[1]
    second = answer(capsys, series, "--json", "--threads", 2)[1]
    assert first.replace('"threads": 1', "") == second.replace('"threads": 2', "")


def test_patterns_as_csv(series, tmp_path, capsys):
    values = found(capsys, series)["patterns"][0]["values"]
    status, out, _ = answer(capsys, series, "--csv", "-")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert status == 0
    assert [float(row["value"]) for row in rows] == pytest.approx(values, rel=1e-8)
    target = tmp_path / "patterns.csv"
    assert answer(capsys, series, "--csv", target)[0] == 0
    assert target.read_text() == out
    assert answer(capsys, series, "--csv", target)[0] == 2
    assert answer(capsys, series, "--csv", target, "--force")[0] == 0
    assert answer(capsys, series, "--csv", "-", "--json")[0] == 2


@pytest.mark.parametrize("form", ["svg", pytest.param("png", marks=pytest.mark.slow)])
def test_the_picture(series, tmp_path, capsys, form):
    pytest.importorskip("matplotlib")
    first, second = tmp_path / f"a.{form}", tmp_path / f"b.{form}"
    for target in (first, second):
        assert answer(capsys, series, "--plot", target)[0] == 0
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes().startswith(b"\x89PNG" if form == "png" else b"<?xml")
    if form == "svg":
        assert first.read_text().count("#bbbbbb") == 10
    assert answer(capsys, series, "--plot", tmp_path / "a.eps")[0] == 2


def test_a_node_is_compared_with_others(tmp_path, capsys):
    shape = np.sin(np.linspace(0, 6, 100)) + np.linspace(1, 2, 100)
    draw = np.random.default_rng(0)
    paths = [
        table(tmp_path / f"{name}.csv", np.tile(each, 30) + 0.005 * draw.standard_normal(3000))
        for name, each in (("a", shape), ("b", shape), ("c", shape[::-1]))
    ]
    result = found(capsys, paths[0], "--compare", paths[1], "--compare", paths[2])
    assert [node["summary"] for node in result["nodes"][:3]] == ["1(30)[30]"] * 3
    assert [(pair["nodes"], pair["same"]) for pair in result["nodes"][3:]] == [
        ([0, 1], True), ([0, 2], False), ([1, 2], False),
    ]  # fmt: skip
    out = answer(capsys, paths[0], "--compare", paths[1])[1]
    assert "nodes 0 and 1: mean step" in out
    assert out.rstrip().endswith("same")


def test_parameters_reach_the_search(series, capsys):
    result = found(capsys, series, "--window", 300, "--alpha", "5%", "--iterations", 2, "--no-align", "--metric", "l1")
    assert (result["window"], len(result["tuning"])) == (300, 1)
    assert result["options"]["metric"] == "l1"
    assert result["options"]["align"] is False
    assert all(len(pattern["wgss_history"]) <= 3 for pattern in result["patterns"])
    assert found(capsys, series, "--alpha", 1)["patterns"] == []


@pytest.mark.parametrize(
    "words",
    [
        ["--window", "0"], ["--window", "1"], ["--alpha", "0"], ["--alpha", "nan"], ["--gap", "0.5"], ["--range", "5"],
        ["--range", "9:3"], ["--column", "z"], ["--interval", "0"], ["--threads", "99999"], ["--medoid-sample", "-1"],
        ["--follow", "--range", "1:2"], ["--follow", "--plot", "x.svg"], ["--most", "10"], ["--theta", "2"],
        ["--longest-window", "1"], ["--rank", "0"], ["--exe", "app"], ["--follow", "--rank", "1"],
        ["--offsets", "3"], ["--sub-profiles", "0"], ["--sub-profiles", "1m,x"], ["--sub-profiles", "1ms"],
        ["--follow", "--sub-profiles", "1m"], ["--forecast", "0"], ["--forecast", "-1"], ["--match", "x", "--csv", "y"],
        ["--match", "x", "--forecast", "rest"], ["--match", "x", "--follow"], ["--events", "--match", "x"],
        ["--events", "--paper"],
    ],
)  # fmt: skip
def test_wrong_arguments(series, capsys, words):
    status, out, err = answer(capsys, series, *words)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "status", "word"),
    [
        ("", 4, "empty"), ("ipc\n", 4, "no sample"), ("1\nnan\n", 4, "nan"), ("1\ninf\n", 4, "inf"),
        ("1\nzwei\n", 4, "is not a number"), ("time,a\n1,1\n0,1\n", 4, "time does not increase"),
        ("1\n1e308\n", 4, "too large"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(tmp_path, capsys, text, status, word):
    path = tmp_path / "x.csv"
    path.write_text(text)
    got, out, err = answer(capsys, path)
    assert (got, out) == (status, "")
    assert err.count("\n") == 1
    assert word in err


@pytest.mark.parametrize("values", [[1.0], [1.0, 2.0], [3.0] * 1000, list(range(500))])
def test_an_honest_no_period(tmp_path, capsys, values):
    path = table(tmp_path / "x.csv", np.array(values, dtype=float))
    status, out, err = answer(capsys, path)
    assert (status, err) == (0, "")
    assert out.splitlines()[1].startswith("no period")
    assert found(capsys, path)["patterns"] == []


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--window", 5000, "--range", ":7000"], "a window of 2 x 5000 samples is longer than the 7000"),
        (["--alpha", 1], "windows covers 100 % of the series"),
        (["--cluster-share", 1], "but no shape recurs often enough (100 %)"),
    ],
)
def test_why_there_is_no_period(series, capsys, words, reason):
    assert reason in answer(capsys, series, *words)[1].splitlines()[1]


def test_a_column_of_a_recorded_run(tmp_path, capsys):
    writer = StreamWriter(["main", "solve", "halo"])
    for interval in range(120):
        solve = (90, 60, 60, 20, 5)[interval % 5]
        writer.interval([Sample("main;solve", weight=solve), Sample("main;halo", weight=100 - solve)])
    writer.end()
    writer.save(tmp_path / "run")
    result = found(capsys, tmp_path / "run", "--column", "self:solve")
    (pattern,) = result["patterns"]
    assert pattern["length"] == 5
    assert sorted(pattern["values"]) == pytest.approx([0.05, 0.2, 0.6, 0.6, 0.9])
    assert found(capsys, tmp_path / "run")["patterns"] == []
    assert answer(capsys, tmp_path / "run", "--column", "self:nothing")[0] == 2
    assert answer(capsys, tmp_path / "run", "--column", "what")[0] == 2
    two = two_phase_run(tmp_path / "two")
    assert found(capsys, two, "--column", "calls:write_out")["series"]["samples"] == 20
    assert found(capsys, two, "--column", "off_cpu", "--range", "5:15")["series"]["samples"] == 10


def test_a_heartbeat(tmp_path, capsys):
    file = EkgFile(0).beat(1, "step").thread(0, 4711)
    for interval in range(90):
        file.interval(beats(0, 1, [10_000_000] * (9, 3, 5, 1, 2, 7)[interval % 6]))
    (tmp_path / "ekg").mkdir()
    file.end().save(tmp_path / "ekg" / "rank-00000.ekg")
    (pattern,) = found(capsys, tmp_path / "ekg")["patterns"]
    assert sorted(pattern["values"]) == [1, 2, 3, 5, 7, 9]
    assert found(capsys, tmp_path / "ekg", "--column", "step:mean")["series"]["column"] == "1:mean"
    several = simple_run(tmp_path / "several")
    assert answer(capsys, several)[0] == 2
    assert found(capsys, several, "--column", "2:count")["series"]["samples"] == 4
    assert answer(capsys, several, "--column", "3")[0] == 2


def test_no_such_file_or_directory(tmp_path, capsys):
    assert answer(capsys, tmp_path / "x.csv")[0] == 4
    (tmp_path / "empty").mkdir()
    assert answer(capsys, tmp_path / "empty")[0] == 4


def test_standard_input(series, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(series.read_text()))
    assert found(capsys, "-")["patterns"] == found(capsys, series)["patterns"]


def test_following_ends_with_the_whole_answer(series, capsys):
    status, out, err = answer(capsys, "--follow", series, "--idle", 0, "--json")
    assert (status, err) == (0, "")
    states = [json.loads(line) for line in out.splitlines()]
    assert len(states) > 1
    assert states[-1]["patterns"] == found(capsys, series)["patterns"]
    lines = answer(capsys, "--follow", series, "--idle", 0)[1].splitlines()
    assert "samples" in lines[-1]
    assert f"{len(states[-1]['patterns'][0]['instances'])} repetitions" in lines[-1]


@contextlib.contextmanager
def piped(monkeypatch):
    """A pipe that is standard input, and its other end."""
    reading, writing = os.pipe()
    with open(reading) as stdin, open(writing, "w") as writer:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield writer


def test_following_a_pipe(series, capsys, monkeypatch):
    with piped(monkeypatch) as writer:
        copying = threading.Thread(target=lambda: (writer.write(series.read_text()), writer.close()))
        copying.start()
        out = answer(capsys, "--follow", "-", "--idle", 0)[1]
        copying.join()
    (pattern,) = found(capsys, series)["patterns"]
    assert f"1 pattern, {len(pattern['instances'])} repetitions of {pattern['length']} samples" in out.splitlines()[-1]


@pytest.mark.parametrize("text", ["1\nx\n", "", "1" * (1 << 21)])
def test_following_what_is_no_series(capsys, monkeypatch, text):
    with piped(monkeypatch) as writer:
        writing = threading.Thread(target=lambda: _written(writer, text))
        writing.start()
        status, out, err = answer(capsys, "--follow", "-")
        sys.stdin.close()
        writing.join()
    assert (status, out) == (4, "")
    assert err.startswith("incprof: stdin: ")
    assert err.count("\n") == 1


def _written(writer, text):
    with contextlib.suppress(BrokenPipeError):
        writer.write(text)
        writer.close()


def test_following_shows_what_a_slow_pipe_has_brought_so_far(series, capsys, monkeypatch):
    """The sampler goes on when it has seen what is found of its first samples."""
    rows = series.read_text().splitlines(keepends=True)
    with piped(monkeypatch) as writer:
        shown, seen = threading.Event(), []
        monkeypatch.setattr("builtins.print", lambda *_, **__: shown.set())

        def sampler():
            with writer:
                writer.writelines(rows[:3000])
                writer.flush()
                seen.append(shown.wait(600))
                writer.writelines(rows[3000:3100])

        sampling = threading.Thread(target=sampler)
        sampling.start()
        assert main(["periods", "--follow", "-"]) == 0
        sampling.join()
    assert seen == [True]


def test_an_interrupt_ends_following_with_the_answer(series, capsys, monkeypatch):
    def lines(*_):
        yield from series.read_text().splitlines(keepends=True)
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        yield from itertools.repeat("")

    monkeypatch.setattr("incprof.readers.series.text_tables.growing_lines", lines)
    monkeypatch.setattr("incprof.readers.series.text_tables.time.monotonic", lambda: 0.0)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    status, out, _ = answer(capsys, "--follow", series, "--json", "--interval", 0.005)
    assert status == 0
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler
    last = json.loads(out.splitlines()[-1])
    assert last["series"]["column"] == "ipc"
    assert last["series"]["interval_s"] == 0.005
    whole = found(capsys, series)
    assert len(last["patterns"][0]["instances"]) == pytest.approx(len(whole["patterns"][0]["instances"]), abs=3)


def test_a_later_interrupt_is_one(series, capsys, monkeypatch):
    """Where reading does not come to an end by the first."""

    def lines(*_):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        yield ""

    monkeypatch.setattr("incprof.readers.series.text_tables.growing_lines", lines)
    monkeypatch.setattr("incprof.readers.series.text_tables.time.monotonic", itertools.count(0, 2).__next__)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    assert answer(capsys, "--follow", series) == (130, "", "")
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("what", ["missing", "directory"])
def test_what_cannot_be_followed(tmp_path, capsys, what):
    path = tmp_path if what == "directory" else tmp_path / "x.csv"
    status, out, err = answer(capsys, "--follow", path)
    assert (status, out, err.count("\n")) == (4, "", 1)
    assert str(path) in err


def test_a_growing_file(series, tmp_path, capsys, monkeypatch):
    """Lines may come in pieces, and signs of several bytes too. The clock goes on when all have been written."""
    written, looks = threading.Event(), itertools.count()
    monkeypatch.setattr("time.monotonic", lambda: 0.3 * next(looks) if written.is_set() else 0.0)
    rows = ("# µs\n" + series.read_text()).encode()
    path = tmp_path / "grows.csv"
    path.write_bytes(rows[:1000])

    def sampler():
        with path.open("ab") as out:
            for at in range(1000, len(rows), 50_001):
                out.write(rows[at : at + 50_001])
                out.flush()
        written.set()

    sampling = threading.Thread(target=sampler)
    sampling.start()
    status, out, _ = answer(capsys, "--follow", path, "--idle", 1)
    sampling.join()
    (pattern,) = found(capsys, series)["patterns"]
    assert status == 0
    assert f"1 pattern, {len(pattern['instances'])} repetitions of {pattern['length']} samples" in out.splitlines()[-1]
