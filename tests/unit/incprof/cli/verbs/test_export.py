import csv
import io
import json
import struct

import numpy as np
import pytest

import incprof
from incprof.analysis.views.timed_calltree import drawn_tree
from incprof.cli.main import main
from incprof.cli.verbs.export import FORMATS
from tests.unit.profiles import two_phase_run
from tests.unit.streamwriter import LIBRARY, PROFILER, UNKNOWN, Sample, StreamWriter
from tests.unit.verbs import verb

export = verb("export")


@pytest.fixture
def run(tmp_path):
    return two_phase_run(tmp_path / "run", intervals=4)


def test_folded(run, capsys):
    status, out, err = export(capsys, run, "--format", "folded")
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "main 8",
        "main;solve 177",
        "main;solve;[libm.so.6] 20",
        "main;write_out 178",
        "main;write_out;[libm.so.6] 20",
    ]


@pytest.mark.parametrize(
    ("word", "what", "shown"),
    [
        ("perfetto", "trace", "; to see it: https://ui.perfetto.dev"),
        ("flamegraph", "folded", "; to see it: flamegraph.pl"),
        ("csv", "table profile as csv", ""),
    ],
)
def test_what_was_written_is_reported(run, tmp_path, capsys, word, what, shown):
    file = tmp_path / "out"
    status, out, err = export(capsys, run, "--format", word, "-o", file)
    assert (status, out) == (0, "")
    line = err.splitlines()[-1]
    assert line.startswith(f"incprof: {file}: {what}, {file.stat().st_size / 1e6:.2g} MB{shown}")


def test_folded_without_libraries_and_for_one_phase(tmp_path, capsys):
    run = two_phase_run(tmp_path / "run")
    out = export(capsys, run, "--format", "folded", "--libs", "drop")[1]
    assert "[libm.so.6]" not in out
    out = export(capsys, run, "--format", "folded", "--phase", "1")[1]
    assert "write_out" in out
    assert "solve" not in out
    assert export(capsys, run, "--format", "folded", "--phase", "7")[0] == 2
    assert export(capsys, run, "--format", "csv", "--phase", "1")[0] == 2


def test_samples_without_a_function_are_named(tmp_path, capsys):
    writer = StreamWriter()
    writer.interval([Sample("main", weight=5), Sample("", UNKNOWN, weight=3), Sample("main", PROFILER, weight=2)])
    writer.end()
    assert export(capsys, writer.save(tmp_path / "run"), "--format", "folded")[1] == "[unknown] 3\nmain 5\n"


def test_a_forked_child_in_every_format(tmp_path, capsys):
    run = tmp_path / "run"
    for name, function in ((None, "parent"), ("rank-00000.77.gmon", "child")):
        writer = StreamWriter(["main", "parent", "child"])
        for _ in range(4):
            writer.interval([Sample(f"main;{function}", weight=90)])
        writer.end()
        writer.save(run, name)
    for form in FORMATS:
        one, other = (tmp_path / f"{form}.{part}" for part in ("parent", "child"))
        assert export(capsys, run, "--format", form, "-o", one)[0] == 0
        assert export(capsys, run, "--format", form, "-o", other, "--pid", 77)[0] == 0
        assert one.read_bytes() != other.read_bytes(), form
    assert incprof.open(run).profile(pid=77).to_pandas().function.tolist() == ["child"] * 4
    assert export(capsys, run, "--format", "trace", "--all-ranks", "--pid", 77)[0] == 2


def test_linkage_stubs_are_their_callers_time(tmp_path, capsys):
    writer = StreamWriter()
    writer.interval([Sample("main", weight=5), Sample("main", LIBRARY, weight=3, library=0), Sample("main", LIBRARY)])
    writer.end()
    run = writer.save(tmp_path / "run")
    assert export(capsys, run, "--format", "folded")[1] == "main 8\nmain;[libm.so.6] 1\n"
    tree = drawn_tree(incprof.open(run).profile(), np.zeros(1, dtype=np.int64))
    assert (tree.frame < 0).sum() == 2, "the root and the library"


def test_csv(run, capsys):
    status, out, _ = export(capsys, run, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert status == 0
    solve = [row for row in rows if row["function"] == "solve"]
    assert [(row["interval"], row["self_s"]) for row in solve] == [("0", "0.980000"), ("1", "0.990000")]
    last = next(row for row in rows if row["interval"] == "3" and row["function"] == "write_out")
    assert last == {
        "interval": "3", "start_s": "3.000000", "end_s": "4.000000", "function": "write_out", "module": last["module"],
        "self_s": "0.980000", "calls": "5",
    }  # fmt: skip


def test_the_table_of_phases_is_that_of_python(run, capsys):
    status, out, _ = export(capsys, run, "--format", "csv", "--table", "phases")
    rows = list(csv.DictReader(io.StringIO(out)))
    known = incprof.open(run).to_pandas("phases")
    assert status == 0
    assert [float(row["confidence"]) for row in rows] == pytest.approx(known.confidence.tolist())
    steps = export(capsys, run, "--format", "csv", "--table", "steps")[1]
    assert all("." not in row["order"] + row["line"] for row in csv.DictReader(io.StringIO(steps)))


def test_speedscope(run, capsys):
    status, out, _ = export(capsys, run, "--format", "speedscope")
    found = json.loads(out)
    assert status == 0
    assert found["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = [frame["name"] for frame in found["shared"]["frames"]]
    (thread,) = found["profiles"]
    assert (thread["type"], thread["unit"], thread["startValue"]) == ("sampled", "seconds", 0)
    assert len(thread["samples"]) == len(thread["weights"])
    assert sum(thread["weights"]) == pytest.approx(thread["endValue"]) == pytest.approx(4.03)
    assert [frames[i] for i in thread["samples"][0]] == ["main", "solve"]
    assert [frames[i] for i in thread["samples"][2]] == ["main", "solve", "[libm.so.6]"]


def test_speedscope_has_a_profile_for_each_thread(tmp_path, capsys):
    writer = StreamWriter()
    writer.interval([Sample("main", thread=t) for t in (0, 1, 0, 2)])
    writer.end()
    found = json.loads(export(capsys, writer.save(tmp_path / "run"), "--format", "speedscope")[1])
    assert [(p["name"], p["weights"]) for p in found["profiles"]] == [
        ("thread 0", [0.02]), ("thread 1", [0.01]), ("thread 2", [0.01]),
    ]  # fmt: skip


def test_gprof(run, tmp_path, capsys):
    target = tmp_path / "gmon.out"
    assert export(capsys, run, "--format", "gprof", "-o", target)[0] == 0
    data = target.read_bytes()
    assert data[:8] == b"gmon" + struct.pack("<I", 1)
    assert data[20] == 0


@pytest.mark.parametrize("form", FORMATS)
def test_same_bytes_every_time_and_in_files(run, tmp_path, capsysbinary, form):
    assert main(["export", str(run), "--format", form, "-o", str(tmp_path / "a")]) == 0
    assert main(["export", str(run), "--format", form]) == 0
    assert capsysbinary.readouterr().out == (tmp_path / "a").read_bytes()


def test_files_are_not_overwritten_unless_forced(run, tmp_path, capsys):
    target = tmp_path / "out"
    target.write_text("mine")
    status, _, err = export(capsys, run, "--format", "csv", "-o", target)
    assert (status, target.read_text()) == (2, "mine")
    assert "--force" in err
    assert export(capsys, run, "--format", "csv", "-o", target, "--force")[0] == 0
    assert target.read_text().startswith("interval,")


def test_bad_targets(run, tmp_path, capsys):
    assert export(capsys, run, "--format", "csv", "-o", tmp_path)[0] == 2
    assert export(capsys, run, "--format", "csv", "-o", tmp_path / "no" / "file")[0] == 2


def test_a_failed_export_leaves_nothing(tmp_path, capsys):
    writer = StreamWriter()
    writer.interval([])
    writer.end()
    run = writer.save(tmp_path / "run")
    status, _, err = export(capsys, run, "--format", "folded", "-o", tmp_path / "out")
    assert (status, err.count("\n")) == (4, 1)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run"]


def test_output_to_a_device_does_not_replace_it(run, tmp_path, capsys):
    link = tmp_path / "null"
    link.symlink_to("/dev/null")
    assert export(capsys, run, "--format", "csv", "-o", link, "--force")[0] == 0
    assert link.is_symlink()


def test_torn_run(run, tmp_path, capsys):
    stream = run / "rank-00000.gmon"
    stream.write_bytes(stream.read_bytes()[:-60])
    assert export(capsys, run, "--format", "csv", "-o", tmp_path / "out")[0] == 5


def test_threads_of_speedscope_begin_when_they_did(tmp_path, capsys):
    """One after the other: what is read again lasts as long, and has both at their times."""
    begun = json.dumps({
        "$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": "f"}]},
        "profiles": [{"type": "sampled", "unit": "seconds", "startValue": start, "endValue": start + 2,
                      "samples": [[0]] * 200, "weights": [0.01] * 200} for start in (0, 5)],
    })  # fmt: skip
    (tmp_path / "a.json").write_text(begun)
    assert main(["import", str(tmp_path / "a.json"), "-o", str(tmp_path / "run")]) == 0
    capsys.readouterr()
    found = json.loads(export(capsys, tmp_path / "run", "--format", "speedscope")[1])
    assert [profile["startValue"] for profile in found["profiles"]] == pytest.approx([0, 5], abs=0.02)
