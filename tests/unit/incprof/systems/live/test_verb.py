"""`incprof top` on directories that hold still, or that the test lets grow."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from incprof.cli import main as cli
from tests.unit.profiles import two_phase_run
from tests.unit.streamwriter import Sample, StreamWriter, waits_image


def state(root: Path):
    """All there is below a directory: bytes, modes and times of change."""
    found = {}
    for path in [root, *sorted(root.rglob("*"))]:
        info = path.stat()
        content = path.read_bytes() if path.is_file() else sorted(os.listdir(path))
        found[str(path)] = (content, info.st_mode, info.st_mtime_ns, info.st_ctime_ns)
    return found


def top(*words: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "incprof", "top", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_one_frame_fits_and_names_what_runs(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    directory = two_phase_run(tmp_path / "run", ranks=(0, 1, 2))
    assert cli.main(["top", str(directory), "--once"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("app, pid 4711 on node1, rank 0 of 3, 20 s, ended")
    assert lines[3] == "0" * 40 + "1" * 40
    assert " 1  write_out (body), for 10 s" in "\n".join(lines)
    ranks = [line.split() for line in lines if line.startswith(("    0 ", "    1 ", "    2 "))]
    assert [row[0] for row in ranks] == ["0", "1", "2"]
    assert {row[-1] for row in ranks} == {ranks[0][-1]}
    assert ranks[0][-1].lstrip("0") == "1" * (len(ranks[0][-1]) // 2)


def test_the_program_that_a_script_starts_is_shown(tmp_path, capsys):
    for name, app, pid, ticks in [
        ("rank-00000.gmon", "job.sh", 10, 3),
        ("rank-00000.11.gmon", "solver", 11, 90),
        ("rank-00000.12.gmon", "gzip", 12, 20),
    ]:
        writer = StreamWriter(["main", app], app=app, pid=pid, ranks=1)
        for _ in range(20):
            writer.interval([Sample(f"main;{app}", weight=ticks)])
        writer.end()
        writer.save(tmp_path / "run", name)
    assert cli.main(["top", str(tmp_path / "run"), "--once"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("solver, pid 11 on node1")
    rows = [line.split()[:3] for line in out[out.index(" Rank ") :].splitlines()]
    assert rows[0] == ["Rank", "pid", "Program"]
    assert sorted(rows[1:]) == [["0", "10", "job.sh"], ["0", "11", "solver"], ["0", "12", "gzip"]]


def test_a_short_interval_at_the_end_does_not_decide_how_busy_a_process_is(tmp_path, capsys):
    writer = StreamWriter()
    for length_s in (1, 1, 0.001):
        writer.interval([Sample("main", weight=50)], duration_s=length_s, counters={2: 5 * 10**8})
    writer.end()
    writer.save(tmp_path / "run")
    assert cli.main(["top", str(tmp_path / "run"), "--once"]) == 0
    assert "0.50 CPUs" in capsys.readouterr().out


def test_a_program_that_waits_is_shown_with_the_function_that_it_waits_in(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "90")
    writer = StreamWriter(["main", "solve", "io", "nanosleep", "time_sleep", "_PyEval_EvalFrameDefault"])
    # Innermost first: the interpreter calls its module's function, which calls that of libc.
    frames = [(0, writer.address(name)) for name in writer.functions[3:]]
    sites = [(writer.node("main"), ()), (writer.node("main;solve"), frames), (writer.node("main;io"), ())]
    # Begin, length, thread, time off the processor, delay, state (blocked in one wait), site, call, kind, holder.
    spans = [(0, 10, 0, 10, 0, 5, 3, 0, 0, 0), (10, 900, 0, 900, 0, 5, 2, 0, 0, 0), (0, 999, 1, 999, 0, 5, 1, 0, 0, 0)]
    for _ in range(3):
        writer.interval(counters={2: 10**6, 4: 5 * 10**5}, images={9: waits_image(*spans, sites=sites)})
    writer.save(tmp_path / "run")
    assert cli.main(["top", str(tmp_path / "run"), "--once"]) == 0
    out = capsys.readouterr().out
    assert "now  .  no samples, for 3 s, waits in time_sleep < solve\n" in out
    assert "overhead 0.0015 s, 0.00 CPUs" in out
    writer.interval([Sample("main;io", weight=50)], images={9: waits_image(*spans, sites=sites)})
    writer.save(tmp_path / "run")
    assert cli.main(["top", str(tmp_path / "run"), "--once"]) == 0
    assert "waits in" not in capsys.readouterr().out


def test_json_is_an_object_for_each_look(tmp_path, capsys):
    directory = two_phase_run(tmp_path / "run")
    assert cli.main(["top", str(directory), "--json"]) == 0
    [line] = capsys.readouterr().out.splitlines()
    found = json.loads(line)
    assert found["schema"] == "incprof.top/1"
    assert found["ended"]
    assert not found["killed"]
    assert [(p["id"], p["intervals"], p["function"]) for p in found["phases"]] == [
        (0, 10, "solve"),
        (1, 10, "write_out"),
    ]
    [process] = found["processes"]
    assert (process["phase"], process["new"], process["intervals"]) == (1, False, 20)
    assert process["elapsed_s"] == pytest.approx(20)
    assert process["since_s"] == pytest.approx(10)
    shares = {f["name"]: f["share"] for f in found["functions"]}
    assert shares["write_out"] == pytest.approx(0.98, abs=0.01)


def test_names_do_nothing_to_the_terminal(tmp_path, capsys):
    writer = StreamWriter(["main", "ev\x1b[31mil\nname"], app="a\x1b[2Jb", host="h\x07")
    for _ in range(10):
        writer.interval([Sample("main;ev\x1b[31mil\nname", weight=90)])
    writer.end()
    writer.save(tmp_path / "run")
    for form in ("--once", "--plain"):
        assert cli.main(["top", str(tmp_path / "run"), form]) == 0
        shown = capsys.readouterr().out
        assert "\x1b" not in shown
        assert "\x07" not in shown
        assert r"ev\x1b[31mil\nname" in shown


@pytest.mark.parametrize("locked", [False, True])
def test_the_run_is_left_as_it_is(tmp_path, capsys, locked):
    directory = two_phase_run(tmp_path / "run", ranks=(0, 1))
    if locked:
        for path in [*directory.rglob("*"), directory]:
            path.chmod(0o555 if path.is_dir() else 0o444)
    before = state(directory)
    assert cli.main(["top", str(directory), "--plain"]) == 0
    assert cli.main(["top", str(directory), "--once"]) == 0
    assert state(directory) == before


def test_files_are_opened_for_reading_only(tmp_path, capsys, monkeypatch):
    directory = two_phase_run(tmp_path / "run")
    flags = []
    plain = os.open
    monkeypatch.setattr(os, "open", lambda p, f, *a, **k: flags.append((str(p), f)) or plain(p, f, *a, **k))
    assert cli.main(["top", str(directory), "--once"]) == 0
    mine = [flag for path, flag in flags if path.startswith(str(directory))]
    assert mine
    assert not any(flag & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC) for flag in mine)


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--once"], 4, "none: no such directory"),
        (["--plain", "--wait", "0"], 4, "none: no such directory"),
        (["--every", "0"], 2, "--every 0"),
        (["--wait", "-1"], 2, "argument --wait: '-1': expected a time"),
        (["--rank", "-1"], 2, "--rank -1"),
    ],
)
def test_impossible_requests_are_one_line(tmp_path, capsys, words, status, message):
    assert cli.main(["top", str(tmp_path / "none"), *words]) == status
    err = capsys.readouterr().err
    assert message in err.splitlines()[-1]
    assert "Traceback" not in err


def test_missing_data_is_reported(tmp_path, capsys):
    assert cli.main(["top", str(tmp_path), "--once"]) == 4
    assert "no complete interval" in capsys.readouterr().err
    assert cli.main(["top", str(two_phase_run(tmp_path / "run")), "--once", "--rank", "3"]) == 4
    assert "nothing of rank 3" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("encoding", "shown"), [("ascii", b"\\u95a2\\u6570 (loop)"), ("utf-8", "関数 (loop)".encode())]
)
def test_what_the_terminal_has_no_character_for_is_escaped(tmp_path, encoding, shown):
    writer = StreamWriter(["main", "関数"])
    for _ in range(9):
        writer.interval([Sample("main;関数", weight=90)])
    writer.end()
    found = subprocess.run(
        [sys.executable, "-m", "incprof", "top", writer.save(tmp_path / "run"), "--once"],
        env={**os.environ, "PYTHONIOENCODING": encoding}, capture_output=True, check=False,
    )  # fmt: skip
    assert (found.returncode, found.stderr) == (0, b"")
    assert shown in found.stdout


@pytest.mark.parametrize("form", ["--once", "--plain", "--json"])
def test_requested_heartbeats_that_are_missing(tmp_path, capsys, form):
    directory = two_phase_run(tmp_path / "run")
    assert cli.main(["top", str(directory), form, "--heartbeats", str(tmp_path / "ekg")]) == 0
    assert capsys.readouterr().err.count("ekg: no heartbeats") == 1
    assert cli.main(["top", str(directory), form]) == 0
    assert "no heartbeats" not in capsys.readouterr().err


def test_damage_is_reported_once(tmp_path, capsys):
    stream = two_phase_run(tmp_path / "run") / "rank-00000.gmon"
    data = bytearray(stream.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 200] = b"x" * 200
    stream.write_bytes(data)
    assert cli.main(["top", str(tmp_path / "run"), "--plain"]) == 0
    assert capsys.readouterr().err.count("damaged places were skipped") == 1


def test_a_file_of_another_kind_is_refused(tmp_path, capsys):
    (tmp_path / "rank-00000.gmon").write_bytes(b"this is no recording")
    assert cli.main(["top", str(tmp_path), "--plain"]) == 4
    assert "not an incprof stream" in capsys.readouterr().err


def test_a_rank_that_cannot_be_read_does_not_hide_the_others(tmp_path, capsys):
    directory = two_phase_run(tmp_path / "run", ranks=(1, 2))
    (directory / "rank-00000.gmon").write_bytes(b"this is no recording")
    assert cli.main(["top", str(directory), "--json"]) == 0
    shown = capsys.readouterr()
    assert [p["rank"] for p in json.loads(shown.out)["processes"]] == [1, 2]
    assert "rank-00000.gmon: not an incprof stream" in shown.err


def test_one_rank(tmp_path, capsys):
    directory = two_phase_run(tmp_path / "run", ranks=(0, 1, 2))
    assert cli.main(["top", str(directory), "--json", "--rank", "2"]) == 0
    assert [p["rank"] for p in json.loads(capsys.readouterr().out)["processes"]] == [2]


@pytest.mark.slow
def test_a_job_that_begins_later_goes_on_and_ends(tmp_path):
    directory = tmp_path / "run"
    with top(directory, "--json", "--every", "0.05") as shown:
        assert shown.stderr.readline() == f"incprof: waiting for {directory}\n"
        writer = StreamWriter()
        writer.save(directory)
        path, begun = directory / "rank-00000.gmon", len(writer.data)
        assert path.stat().st_size == begun
        seen = []
        for number in range(3):
            added = writer.interval([Sample("main;solve" if number < 2 else "main;io", weight=90)])
            with path.open("ab", buffering=0) as raw:
                raw.write(added[:-5])
                raw.write(added[-5:])
            seen.append(json.loads(shown.stdout.readline()))
        other = StreamWriter(rank=1)
        other.interval([Sample("main", weight=3)])
        other.end()
        other.save(directory)
        writer.end()
        path.write_bytes(writer.data)
        *_, last = map(json.loads, shown.stdout)
        assert shown.wait() == 0
        assert "has ended: incprof phases" in shown.stderr.read()
    assert [look["processes"][0]["intervals"] for look in seen] == [1, 2, 3]
    assert seen[-1]["functions"][0]["name"] == "solve"
    assert [p["rank"] for p in last["processes"]] == [0, 1]
    assert last["ended"]


def test_an_interrupt_is_an_end_without_a_traceback(tmp_path):
    writer = StreamWriter(host="elsewhere")
    writer.interval([Sample("main", weight=9)])
    with top(writer.save(tmp_path / "run"), "--plain", "--every", "0.1") as shown:
        assert shown.stdout.readline().startswith("1 s: phase ?")
        shown.send_signal(2)
        assert shown.wait() == 130
        assert "Traceback" not in shown.stderr.read()


@pytest.mark.parametrize("waited_for", [True, False])
def test_a_process_that_is_gone_was_killed(tmp_path, capsys, monkeypatch, waited_for):
    monkeypatch.setattr("incprof.systems.live.watch.SILENT_S", 0.0)
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        os.waitid(os.P_PID, gone.pid, os.WEXITED | (0 if waited_for else os.WNOWAIT))
        _killed(tmp_path, capsys, gone)


def _killed(tmp_path, capsys, gone):
    writer = StreamWriter(host=os.uname().nodename, pid=gone.pid, interval_s=0.05)
    writer.interval([Sample("main", weight=9)])
    writer.save(tmp_path / "run")
    assert cli.main(["top", str(tmp_path / "run"), "--json", "--every", "0.05"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out.splitlines()[-1])["killed"]
    assert "was killed: incprof phases" in shown.err


def test_a_run_killed_long_ago_is_reported_at_once(tmp_path, capsys):
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    writer = StreamWriter(host=os.uname().nodename, pid=gone.pid)
    writer.interval([Sample("main", weight=9)])
    os.utime(writer.save(tmp_path / "run") / "rank-00000.gmon", (0, 0))
    assert cli.main(["top", str(tmp_path / "run"), "--once"]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith("1 s, killed")


def test_a_reader_that_leaves_ends_it(tmp_path):
    writer = StreamWriter(host="elsewhere")
    writer.interval([Sample("main", weight=9)])
    directory = writer.save(tmp_path / "run")
    with top(directory, "--plain", "--every", "0.05") as shown:
        assert shown.stdout.readline()
        shown.stdout.close()
        stop = threading.Event()

        def go_on() -> None:
            while not stop.wait(0.02):
                with (directory / "rank-00000.gmon").open("ab") as raw:
                    raw.write(writer.interval([Sample("main", weight=9)]))

        thread = threading.Thread(target=go_on)
        thread.start()
        try:
            assert shown.wait(600) == 141
        finally:
            stop.set()
            thread.join()
        assert "Traceback" not in shown.stderr.read()


def test_a_name_that_no_file_can_have(tmp_path, capsys):
    run = two_phase_run(tmp_path / "run")
    assert cli.main(["top", "--once", str(run), "--heartbeats", "\ud800"]) == 2
    assert capsys.readouterr().err == "incprof: '\\ud800': not a valid file name\n"
