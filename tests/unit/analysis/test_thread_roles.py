"""Roles of threads, on threads whose roles are known."""

import json

import numpy as np
import pytest

from incprof.analysis.thread_roles import MOST_COMPARED, similar_rows
from incprof.cli import main as cli
from tests.unit.streamwriter import Sample, StreamWriter

FUNCTIONS = ["main", "serial", "team", "assemble", "relax", "log_writer", "flush", "late"]


def recorded(root):
    """Eight threads: main, three workers of which one has more to do in the second phase, one that logs; two idle."""
    writer = StreamWriter(FUNCTIONS)
    work = ["assemble"] * 12 + ["relax"] * 12
    for number, what in enumerate(work):
        samples = [Sample(f"main;team;{what}", weight=40), Sample("main;serial", weight=10)]
        samples += [Sample(f"team;{what}", weight=60, thread=t) for t in (2, 3)]
        samples.append(Sample(f"team;{what}", weight=60 if what == "assemble" else 90, thread=4))
        samples.append(Sample("log_writer;flush", weight=5, thread=1))
        if number == 20:
            samples.append(Sample("late", weight=2, thread=6))
        writer.interval(samples, counters={11: 8})
    writer.end()
    return writer.save(root)


def test_roles_and_shares_of_threads(tmp_path, capsys):
    directory = recorded(tmp_path / "run")
    assert cli.main(["phases", str(directory), "--threads", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    found = answer["threads"]
    assert found["count"] == 8
    assert [(role["role"], role["threads"]) for role in found["roles"]] == [
        ("main", [0]), ("workers", [2, 3, 4]), ("workers", [1]), ("other", [6]), ("waiting", [5, 7]),
    ]  # fmt: skip
    workers = found["roles"][1]
    assert workers["cpu_s"] == pytest.approx(12 * 1.8 + 12 * 2.1)
    assert [(p["id"], p["cpu_s"], p["busy"]) for p in workers["phases"]] == [
        (0, pytest.approx(21.6), pytest.approx(0.6)), (1, pytest.approx(25.2), pytest.approx(0.7)),
    ]  # fmt: skip
    assert {f["name"] for f in workers["functions"]} == {"assemble", "relax"}
    assert sum(role["share"] for role in found["roles"]) == pytest.approx(1)
    even, uneven = (one for one in found["imbalance"] if 4 in one["threads"])
    assert even == {"phase": 0, "threads": even["threads"], "imbalance": pytest.approx(60 / 57.5 - 1), "differ": [
        {"thread": 0, "more": pytest.approx(50 / 57.5 - 1)}]}  # fmt: skip
    assert uneven["threads"] == [0, 2, 3, 4]
    assert uneven["imbalance"] == pytest.approx(90 / 65 - 1)
    assert {"thread": 4, "more": pytest.approx(90 / 65 - 1)} in uneven["differ"]


def test_text_has_a_row_for_each_role(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    directory = recorded(tmp_path / "run")
    assert cli.main(["phases", str(directory)]) == 0
    plain = capsys.readouterr().out
    assert cli.main(["phases", str(directory), "--threads"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(plain)
    lines = shown[len(plain) :].splitlines()
    assert "8 threads in 5 roles" in lines[1]
    assert max(map(len, lines)) <= 80
    rows = [line.split()[:4] for line in lines]
    assert ["main", "1", "12.00", "20.0"] in rows
    assert ["workers", "3", "46.80", "78.0"] in rows
    assert lines[-1].startswith("imbalance in phase 1 38 % over threads 0, 2-4: thread 4 +38 %")


def test_the_key_is_there_only_on_request(tmp_path, capsys):
    assert cli.main(["phases", str(recorded(tmp_path / "run")), "--json"]) == 0
    assert "threads" not in json.loads(capsys.readouterr().out)


def test_a_recording_without_threads_is_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("incprof.analysis.thread_roles.thread_roles", lambda *_: None)
    assert cli.main(["phases", str(recorded(tmp_path / "run")), "--threads"]) == 4
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "the samples do not name their threads" in shown.err
    assert cli.main(["phases", str(tmp_path / "run"), "--threads", "--csv"]) == 2


def test_many_threads_are_grouped_as_few_are():
    kinds = np.eye(3)[np.arange(3 * MOST_COMPARED) % 3]
    groups = similar_rows(kinds)
    assert sorted(sorted(row % 3 for row in set(group)) for group in groups) == [[k] * MOST_COMPARED for k in range(3)]
