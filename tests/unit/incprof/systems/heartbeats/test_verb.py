import csv
import io
import json
import os
import sqlite3

import pytest

from tests.unit.ekgfiles import SECOND, EkgFile, beats, simple_run
from tests.unit.verbs import json_of, verb

MOST = 2**63 - 1


answer = verb("heartbeats")
found = json_of("heartbeats")


def ids(answer):
    return [beat["id"] for beat in answer["heartbeats"]]


def test_a_later_launch_beside_it_is_named(tmp_path, capsys):
    """The library takes the next free name, and prints nothing in the user's program."""
    runs = [simple_run(tmp_path / name) for name in ("ekg-app", "ekg-app.1", "ekg-app.10", "ekg-app.old", "ekg-app2")]
    for age, run in enumerate(runs):
        for file in run.glob("*.ekg"):
            os.utime(file, (1000 + age, 1000 + age))
    (tmp_path / "ekg-app.11").mkdir()
    status, _, err = answer(capsys, runs[0])
    assert (status, err) == (0, f"incprof: {runs[2]} is of a later launch\n")
    assert answer(capsys, runs[2])[2] == answer(capsys, runs[4])[2] == ""
    for file in runs[2].glob("*.ekg"):
        os.utime(file, (5, 5))
    assert answer(capsys, runs[0])[2] == ""


def test_json_has_the_promised_keys(tmp_path, capsys):
    answer = found(capsys, simple_run(tmp_path / "ekg-app", ranks=2))
    assert answer["schema"] == "incprof.heartbeats/1"
    assert answer["run"] == {
        "app": "app", "ranks": 2, "processes": 2, "threads": 4, "intervals": 4, "interval_s": 1.0, "start_s": 0.0,
        "duration_s": 4.0, "clean": True, "dropped": 0, "unmatched": 0, "abandoned": 0, "lost_intervals": 0,
        "lost_rows": 0,
    }  # fmt: skip
    assert answer["warnings"] == []
    first, second = answer["heartbeats"]
    assert first == {
        "id": 1, "name": "assemble:body", "count": 16, "pulses": 0, "executions": 16, "mean_s": 0.2, "min_s": 0.2,
        "max_s": 0.2, "std_s": 0.0, "p5_s": 0.2, "p95_s": 0.2, "rate_hz": 2.0, "busy_pct": 40.0, "bounded": 0,
        "rate_factor": 1, "thinned": False, "cost_pct": None, "open": 0,
        "open_s": 0.0, "ranks": 2, "threads": 2, "imbalance_ranks": 0.0, "imbalance_threads": 0.0,
        "series": {
            "end_s": [1.0, 2.0, 3.0, 4.0], "count": [4, 4, 4, 4], "pulses": [0, 0, 0, 0],
            "mean_s": [0.2, 0.2, 0.2, 0.2], "busy_pct": [40.0, 40.0, 40.0, 40.0], "open": [0, 0, 0, 0],
            "rate_factor": [1.0, 1.0, 1.0, 1.0],
        },
    }  # fmt: skip
    assert (second["id"], second["count"], second["imbalance_threads"]) == (2, 24, pytest.approx(1 / 3, abs=1e-6))


def test_json_has_null_where_there_is_no_mean(tmp_path, capsys):
    file = EkgFile().beat(3, None).interval(beats(0, 2, pulses=1)).interval(beats(0, 2, [5]))
    answer = found(capsys, file.end().save(tmp_path / "rank-00000.ekg"))
    pulsing, silent = answer["heartbeats"]
    assert pulsing["series"]["mean_s"] == [None, 5e-9]
    assert (silent["id"], silent["name"], silent["count"], silent["mean_s"]) == (3, None, 0, None)


def test_filters(tmp_path, capsys):
    run = simple_run(tmp_path / "run", ranks=3)
    assert found(capsys, run, "--rank", "0,2")["run"]["ranks"] == 2
    assert ids(found(capsys, run, "--thread", "1")) == [1, 2]
    assert found(capsys, run, "--thread", "1")["heartbeats"][0]["count"] == 0
    assert ids(found(capsys, run, "--id", "2-3")) == [2]
    assert ids(found(capsys, run, "--id", "assemble:body")) == [1]
    assert ids(found(capsys, run, "--id", "solve:*,1")) == [1, 2]
    window = found(capsys, run, "--time", "1:2.5")
    assert (window["run"]["intervals"], window["run"]["start_s"], window["run"]["duration_s"]) == (2, 1.0, 2.0)
    assert window["heartbeats"][0]["series"]["end_s"] == [2.0, 3.0]
    assert window["heartbeats"][0]["busy_pct"] == 40.0
    assert found(capsys, run, "--time", "3:")["heartbeats"][0]["series"]["end_s"] == [4.0]


@pytest.mark.parametrize(
    "args",
    [
        ("--rank", "x"), ("--rank", "3-1"), ("--rank", "0-99999999999"), ("--rank", "9"), ("--thread", "-1"),
        ("--time", "5"), ("--time", "5:3"), ("--time", ":"), ("--time", "1.2.3:"), ("--id", ","), ("--id", "7"),
        ("--id", "nothing"), ("--csv", "-", "--json"), ("--csv", "-", "--sqlite", "-"), ("--csv", "/nowhere/x.csv"),
        ("--sqlite", "."), ("--csv", "new", "--sqlite", "new"), ("--rank", "²"),
    ],
)  # fmt: skip
def test_arguments_that_cannot_be_meant(tmp_path, capsys, monkeypatch, args):
    monkeypatch.chdir(tmp_path)
    status, out, err = answer(capsys, simple_run(tmp_path / "run"), *args)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1


def test_nothing_usable(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    (tmp_path / "garbage.ekg").write_bytes(b"\0" * 100)
    EkgFile().save(tmp_path / "new" / "rank-00000.ekg")
    for path in ("missing", "empty", "garbage.ekg", "new"):
        status, out, err = answer(capsys, tmp_path / path)
        assert (status, out, err.count("\n")) == (4, "", 1)
        assert path in err
    status, _, err = answer(capsys, simple_run(tmp_path / "run"), "--time", "100:200")
    assert (status, "no complete interval in that time" in err) == (4, True)


def test_a_newer_version(tmp_path, capsys):
    path = EkgFile(metadata={"version": 2}).interval().save(tmp_path / "rank-00000.ekg")
    status, _, err = answer(capsys, path)
    assert status == 1
    assert "version 2 is newer" in err


def test_damage_is_reported_and_changes_the_status(tmp_path, capsys):
    file = EkgFile().interval(beats(0, 1, [5])).interval(beats(0, 1, [6])).end()
    file.data[file.spans[1][0]] ^= 1
    status, out, err = answer(capsys, file.save(tmp_path / "rank-00000.ekg"), "--json")
    assert status == 5
    assert json.loads(out)["heartbeats"][0]["count"] == 1
    assert json.loads(out)["warnings"] == [err.strip().removeprefix("incprof: ")]


def test_a_run_that_is_going_on(tmp_path, capsys):
    file = EkgFile().interval(beats(0, 1, [5], running=[400_000_000]))
    status, out, err = answer(capsys, file.save(tmp_path / "rank-00000.ekg"))
    assert status == 0
    assert "1 for 400 ms" in out
    assert err == "incprof: rank-00000.ekg: no end, the run was killed or is still going on\n"


def test_csv(tmp_path, capsys):
    run = simple_run(tmp_path / "run", intervals=2)
    status, out, _ = answer(capsys, run, "--csv", "-", "--id", "2")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert status == 0
    assert [(row["interval"], row["thread"], row["count"]) for row in rows] == [
        ("0", "0", "1"), ("0", "1", "2"), ("1", "0", "1"), ("1", "1", "2"),
    ]  # fmt: skip
    assert (rows[1]["name"], float(rows[1]["sum_s"]), float(rows[1]["end_s"])) == ("solve:loop", 0.2, 1.0)


def test_files_beside_the_answer(tmp_path, capsys):
    run = simple_run(tmp_path / "run", ranks=2)
    target, database = tmp_path / "rows.csv", tmp_path / "beats.sqlite"
    status, out, _ = answer(capsys, run, "--csv", target, "--sqlite", database, "--json")
    assert (status, json.loads(out)["run"]["ranks"]) == (0, 2)
    assert target.read_text().count("\n") == 1 + 24
    status, _, err = answer(capsys, run, "--csv", target)
    assert (status, "give --force" in err) == (2, True)
    assert answer(capsys, run, "--csv", target, "--force", "--rank", "0")[0] == 0
    assert target.read_text().count("\n") == 1 + 12


def test_sqlite(tmp_path, capsys):
    file = (
        EkgFile(3, metadata={"host": "n1"}).beat(1, "a", 2).interval(beats(0, 1, [3]), beats(1, 7, pulses=2), dropped=4)
    )
    run = file.interval().end().save(tmp_path / "run" / "rank-00003.ekg")
    target = tmp_path / "beats.sqlite"
    assert answer(capsys, run, "--sqlite", target)[0] == 0
    with sqlite3.connect(target) as database:
        database.row_factory = sqlite3.Row
        tables = {
            name: [dict(row) for row in database.execute(f"SELECT * FROM {name}")]
            for name in ("processes", "beats", "intervals", "rows")
        }
    (process,) = tables["processes"]
    assert (process["rank"], process["file"], process["clean"]) == (3, "rank-00003.ekg", 1)
    assert json.loads(process["metadata"])["host"] == "n1"
    assert tables["beats"] == [{"id": 1, "name": "a", "rate_factor": 2}, {"id": 7, "name": None, "rate_factor": 1}]
    assert [(row["interval"], row["end_s"], row["dropped"]) for row in tables["intervals"]] == [
        (0, 1.0, 4),
        (1, 2.0, 0),
    ]
    one, other = tables["rows"]
    assert (one["id"], one["count"], one["mean_s"], one["busy_s"]) == (1, 1, 3e-9, 3e-9)
    assert (other["thread"], other["id"], other["pulses"], other["mean_s"]) == (1, 7, 2, None)


def test_parquet(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    import pandas as pd

    from appekg.reader import read

    for directory in (simple_run(tmp_path / "named"), tmp_path / "nameless"):
        if not directory.exists():
            EkgFile().interval(beats(0, 1, [3])).end().save(directory / "rank-00000.ekg")
        target = directory / "rows.parquet"
        assert answer(capsys, directory, "--parquet", target)[0] == 0
        written, frame = pd.read_parquet(target), read(directory).to_pandas()
        names = [[None if pd.isna(name) else name for name in table.pop("name")] for table in (written, frame)]
        assert names[0] == names[1]
        pd.testing.assert_frame_equal(written, frame)
        assert list(written.columns) == list(frame.columns)


def test_parquet_without_pyarrow(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    status, _, err = answer(capsys, simple_run(tmp_path / "run"), "--parquet", tmp_path / "x.parquet")
    assert (status, err.count("\n"), "needs pyarrow" in err) == (1, 1, True)


def test_numbers_that_are_as_large_as_they_can_be(tmp_path, capsys):
    row = dict.fromkeys(beats(0, 1), MOST) | {"sumsq_ns2": 1.7e308}
    small = beats(0, 1, [5]) | {"sumsq_ns2": 1.7e308, "max_ns": MOST}
    file = EkgFile().interval(row, row | {"id": 0}, small).interval(row, small, length_ns=MOST - SECOND, dropped=MOST)
    path = file.end().save(tmp_path / "rank-00000.ekg")
    for args in ((), ("--json",), ("--csv", "-"), ("--sqlite", tmp_path / "x.sqlite")):
        status, out, err = answer(capsys, path, *args)
        assert (status, err) == (0, "")
        assert out


def test_same_bytes_each_time(tmp_path, capsys):
    run = simple_run(tmp_path / "run", ranks=2)
    for form in ((), ("--json",), ("--csv", "-")):
        assert answer(capsys, run, *form) == answer(capsys, run, *form)
    for name in ("one", "two"):
        answer(capsys, run, "--sqlite", tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
