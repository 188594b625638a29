"""What recording cost, where nothing measured it: "not known" and null in every answer, never 0 %."""

import json

import numpy as np
import pytest

from incprof.analysis.views.pandas_tables import intervals_table
from incprof.cli.main import main
from incprof.study import Study
from tests.unit.elfwriter import Symbol, write_elf
from tests.unit.streamwriter import BASE, STEP, Sample, StreamWriter, arc, histogram

FOLDED = "main;work;inner {}\nmain;rest {}\n"


def gmon_directory(place):
    """Cumulative files as glibc's run-time writes them, and their program."""
    symbols = [Symbol(name, BASE + STEP * i) for i, name in enumerate(("main", "solve"))]
    write_elf(place / "bin" / "app", symbols, build_id="ab" * 20, text=(BASE, BASE + 2 * STEP))
    run = place / "run"
    run.mkdir()
    for number in range(12):
        counts = [0] * (2 * STEP // 4)
        counts[STEP // 4 + 3] = 90 * (number + 1)
        calls = arc(BASE + 5, BASE + STEP + 4, 3 * (number + 1))
        (run / f"gmon-{number}").write_bytes(b"gmon\x01\0\0\0" + bytes(12) + histogram(BASE, counts) + calls)
    return run, ["--exe", str(place / "bin" / "app")]


def imported(place):
    """A profile of another tool."""
    (place / "profiles").mkdir()
    for number in range(12):
        (place / "profiles" / f"i-{number:02}.folded").write_text(FOLDED.format(70 + number % 3, 20))
    assert main(["import", str(place / "profiles"), "-i", "1s", "--rate", "100", "-o", str(place / "run")]) == 0
    return place / "run", []


@pytest.fixture(params=[gmon_directory, imported])
def run(request, tmp_path, capsys):
    found = request.param(tmp_path)
    capsys.readouterr()
    return found


def output_of(capsys, *words):
    assert main([str(word) for word in words]) == 0
    return capsys.readouterr().out


def test_every_answer_reports_an_unknown_overhead(run, tmp_path, capsys):
    directory, exe = run
    for method in ("robust", "paper"):
        found = json.loads(output_of(capsys, "phases", directory, *exe, "--method", method, "--json"))
        assert found["run"]["overhead_pct"] is None
        assert ", overhead not known\n" in output_of(capsys, "phases", directory, *exe, "--method", method)
    output_of(capsys, "report", directory, *exe, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "not known" in page.partition("Recording itself")[2][:200]


def test_tables_miss_what_is_not_known(run):
    directory, exe = run
    study = Study(directory, exe=exe[1] if exe else None)
    assert study.summary.overhead_pct is None
    assert intervals_table(study.profile)["profiler_s"].isna().all()


def test_top_reports_it_too(tmp_path, capsys):
    directory, _ = imported(tmp_path)
    capsys.readouterr()
    found = json.loads(output_of(capsys, "top", directory, "--json"))
    assert [process["overhead_pct"] for process in found["processes"]] == [None]
    assert "overhead not known" in output_of(capsys, "top", directory, "--once")


@pytest.mark.parametrize(
    ("handler_s", "pct", "text"),
    [(0.9, 900.0, "900 %"), (1.0, None, "more than the program"), (1.2, None, "more than the program")],
)
def test_what_leaves_nothing_to_the_program_is_reported(tmp_path, capsys, handler_s, pct, text):
    """The handler's time and the process's, which are read at different moments, may leave less than nothing."""
    writer = StreamWriter(("main", "work"))
    for _ in range(12):
        writer.interval([Sample("main;work", weight=90)], counters={2: 10**9, 5: int(handler_s * 1e9)})
    writer.end()
    run = tmp_path / "run"
    writer.save(run)
    for verb in (("phases", run), ("diff", run, run), ("report", run, "-o", tmp_path / "page.html")):
        output_of(capsys, *verb)
    assert json.loads(output_of(capsys, "phases", run, "--json"))["run"]["overhead_pct"] == pct
    assert f"overhead {text}\n" in output_of(capsys, "phases", run)
    assert [p["overhead_pct"] for p in json.loads(output_of(capsys, "top", run, "--json"))["processes"]] == [pct]
    assert f"overhead {text}" in output_of(capsys, "top", run, "--once")
    page = (tmp_path / "page.html").read_text().partition("Recording itself")[2][:200]
    assert text in page.replace("\u00a0", " ")


def test_what_was_measured_is_a_number(tmp_path, capsys):
    writer = StreamWriter(("main", "work"))
    for _ in range(12):
        writer.interval([Sample("main;work", weight=90)], counters={2: 10**9, 4: 2_000_000})
    writer.end()
    writer.save(tmp_path / "run")
    found = json.loads(output_of(capsys, "phases", tmp_path / "run", "--json"))
    assert found["run"]["overhead_pct"] == pytest.approx(100 * 0.002 / 0.998, rel=1e-3)
    study = Study(tmp_path / "run")
    assert np.allclose(intervals_table(study.profile)["profiler_s"], 0.002)
