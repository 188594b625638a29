import json
import random
import sqlite3

import pytest

from incprof.cli.main import main
from tests.unit.ekgfiles import EkgFile, beats
from tests.unit.verbs import verb

DAY = 86400 * 10**9


answer = verb("heartbeats")


def run(directory, number, scale=1.0, *, slow=(), threads=2, ids=(1, 2), end=True, intervals=20, **metadata):
    """A run on day `number`: `solve` (id 2) is `scale` times as long, and three times that in the intervals `slow`."""
    draw = random.Random(number)
    start = {"start_unix_ns": 1_700_000_000 * 10**9 + number * DAY, "launch": f"job.{number}", "argv": ["app", "in"]}
    file = EkgFile(0, metadata=start | metadata)
    level = {1: 1e7 * draw.gauss(1, 0.02), 2: 2e7 * scale * draw.gauss(1, 0.02)}
    for number_of, name in ((1, "assemble"), (2, "solve")):
        if number_of in ids:
            file.beat(number_of, name)
    for interval in range(intervals):
        factor = 3 if interval in slow else 1
        file.interval(*(
            beats(thread, i, [int(level[i] * (factor if i == 2 else 1) * draw.gauss(1, 0.02)) for _ in range(4)])
            for thread in range(threads) for i in ids
        ))  # fmt: skip
    if end:
        file.end()
    file.save(directory / "rank-00000.ekg")
    return directory


@pytest.fixture
def store(tmp_path, capsys):
    """A history of 12 quiet runs."""
    for number in range(12):
        assert main(["heartbeats", str(run(tmp_path / f"r{number}", number)), "--history", str(tmp_path / "h")]) == 0
    capsys.readouterr()
    return tmp_path / "h"


def test_a_usual_run(store, tmp_path, capsys):
    status, out, err = answer(capsys, run(tmp_path / "n", 20), "--history", store, "--fail-on", "poor")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "app, 1 rank, 2 threads at a time, 20 s, started 2023-12-04 22:13:20 UTC"
    assert lines[1] == f"added to {store}"
    assert lines[2].startswith("12 past runs with as many ranks and about as many threads, 2023-11-14")
    assert lines[4] == "as usual"
    assert [line.split()[:3] for line in lines[7:11]] == [
        ["1", "assemble", "mean"], ["1", "assemble", "rate"], ["2", "solve", "mean"], ["2", "solve", "rate"],
    ]  # fmt: skip


def test_a_poor_run(store, tmp_path, capsys):
    poor = run(tmp_path / "n", 20, 1.5)
    status, out, err = answer(capsys, poor, "--history", store, "--fail-on", "poor")
    assert status == 3
    assert "\nPOOR: solve (id 2)\n" in out
    (line,) = err.splitlines()
    assert line.startswith("incprof: poor: solve (id 2): mean ")
    assert "of 12 past runs (spread " in line
    assert "worse than 12 of them" in line
    assert answer(capsys, poor, "--history", store)[0] == 0


def test_json(store, tmp_path, capsys):
    status, out, err = answer(capsys, run(tmp_path / "n", 20, 1.5), "--history", store, "--json", "--fail-on", "poor")
    found = json.loads(out)
    assert (status, found["schema"], found["state"]) == (3, "incprof.heartbeats-history/1", "added")
    assert (found["past_runs"], found["enough"], found["poor"]) == (12, True, True)
    assert [f"incprof: {line}" for line in found["evidence"]] == err.splitlines()
    solve = next(f for f in found["figures"] if (f["name"], f["metric"]) == ("solve", "mean"))
    assert (solve["id"], solve["verdict"], solve["worse_than"], solve["past"]["runs"]) == (2, "poor", 12, 12)
    assert solve["value"] / solve["past"]["median"] == pytest.approx(1.5, abs=0.1)
    assert solve["deviations"] > 5
    assert solve["p_adjusted"] < 0.01


def test_too_few_runs_are_reported(tmp_path, capsys):
    for number in range(3):
        status, out, _ = answer(
            capsys, run(tmp_path / f"r{number}", number, 1 + number), "--history", tmp_path / "h", "--fail-on", "poor"
        )
        assert status == 0
    assert "too few past runs to judge by: 2, at least 5 are needed" in out
    found = json.loads(answer(capsys, tmp_path / "r2", "--history", tmp_path / "h", "--json")[1])
    assert (found["enough"], found["poor"], found["past_runs_needed"]) == (False, None, 5)


def test_the_same_run_again_changes_nothing(store, tmp_path, capsys):
    n = run(tmp_path / "n", 20, 1.5)
    first = answer(capsys, n, "--history", store)
    content = store.read_bytes()
    again = answer(capsys, n, "--history", store)
    assert again[1].splitlines()[1] == f"already in {store}"
    assert again[1].splitlines()[2:] == first[1].splitlines()[2:]
    assert store.read_bytes() == content


def test_a_run_that_went_on_is_brought_up_to_date(tmp_path, capsys):
    store = tmp_path / "h"
    answer(capsys, run(tmp_path / "n", 1, end=False, intervals=5), "--history", store)
    _, out, _ = answer(capsys, run(tmp_path / "n", 1, intervals=20), "--history", store)
    assert f"brought up to date in {store}" in out
    with sqlite3.connect(store) as connection:
        assert connection.execute("SELECT duration_s, clean FROM runs").fetchall() == [(20.0, 1)]


def test_other_numbers_of_threads_are_another_past(store, tmp_path, capsys):
    _, out, _ = answer(capsys, run(tmp_path / "n", 20, threads=4), "--history", store)
    assert "too few past runs to judge by: 0" in out
    assert "12 past runs with other numbers of threads left out" in out


def test_other_arguments_are_reported(store, tmp_path, capsys):
    _, out, _ = answer(capsys, run(tmp_path / "n", 20, argv=["app", "larger"]), "--history", store)
    assert "12 of them had other arguments" in out


def test_a_missing_phase_is_poor_once_the_run_is_over(store, tmp_path, capsys):
    status, out, err = answer(
        capsys, run(tmp_path / "n", 20, ids=(1,)), "--history", store, "--fail-on", "poor"
    )  # fmt: skip
    assert status == 3
    assert err == "incprof: poor: solve (id 2): missing, but in all 12 past runs\n"
    assert "missing, in all 12 past runs" in out
    going_on = run(tmp_path / "m", 21, ids=(1,), end=False)
    assert answer(capsys, going_on, "--history", store, "--fail-on", "poor")[0] == 0


def test_slow_stretches_of_a_run_that_is_as_usual_on_the_whole(store, tmp_path, capsys):
    n = run(tmp_path / "n", 20, slow=(7, 8, 9))
    _, out, _ = answer(capsys, n, "--history", store)
    assert "  solve (id 2): 3 of 20 intervals above " in out
    assert "    7 to 10 s: 3 intervals, mean " in out
    found = json.loads(answer(capsys, n, "--history", store, "--json")[1])
    solve = next(slow for slow in found["slow"] if slow["name"] == "solve")
    assert [(s["start_s"], s["end_s"], s["intervals"]) for s in solve["stretches"]] == [(7, 10, 3)]


def test_keep(store, tmp_path, capsys):
    _, out, _ = answer(capsys, run(tmp_path / "n", 20), "--history", store, "--keep", 6)
    assert out.splitlines()[1] == f"added to {store}, 7 old runs forgotten"
    assert json.loads(answer(capsys, tmp_path / "n", "--history", store, "--json")[1])["past_runs"] == 5


def test_a_store_that_someone_wrote_nonsense_into(store, tmp_path, capsys):
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE beats SET mean_s = 'x', rate_hz = -1, q99 = 9e999 WHERE id = 1")
        connection.execute("UPDATE beats SET name = 7, rate_factor = 'y' WHERE id = 2")
    status, _, err = answer(capsys, run(tmp_path / "n", 20), "--history", store)
    assert (status, err) == (0, "")
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE runs SET threads = 'many' WHERE run_id = 3")
    status, _, err = answer(capsys, tmp_path / "n", "--history", store)
    assert (status, err) == (1, f"incprof: --history {store}: run 3 is invalid: the file is damaged\n")


def test_damage_is_5_unless_the_run_is_poor(store, tmp_path, capsys):
    for name, scale, expected in (("n", 1.0, 5), ("m", 1.5, 3)):
        file = run(tmp_path / name, 20 if name == "n" else 21, scale) / "rank-00000.ekg"
        file.write_bytes(file.read_bytes()[:-300])
        assert answer(capsys, tmp_path / name, "--history", store, "--fail-on", "poor")[0] == expected


@pytest.mark.parametrize(
    "args",
    [["--fail-on", "mean>10%"], ["--keep", "0"], ["--rank", "0"], ["--time", ":5"], ["--id", "1"], ["--csv", "-"]],
)
def test_what_does_not_go_with_a_history_is_2(store, tmp_path, capsys, args):
    content = store.read_bytes()
    status, out, err = answer(capsys, tmp_path / "r1", "--history", store, *args)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert store.read_bytes() == content


def test_no_history_file_is_2(tmp_path, capsys):
    other = tmp_path / "notes.txt"
    other.write_text("precious")
    status, _, err = answer(capsys, run(tmp_path / "n", 1), "--history", other)
    assert (status, other.read_text()) == (2, "precious")
    assert len(err.splitlines()) == 1
    assert answer(capsys, tmp_path / "n", "--keep", "3")[0] == 2
