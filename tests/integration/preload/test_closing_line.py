"""The line with which `incprof record` ends: how many intervals are where, and what to type next."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from incprof.readers.run import open_run, read_profile
from tests.integration.collector import run, variables
from tests.integration.conftest import Build
from tests.integration.hosts import BuildHost, collector_lines, streams, wait_for_intervals
from tests.integration.incprof.record.test_containers import without
from tests.variants import mostly_slow


def record(*words: str | Path) -> list[str | Path]:
    return [sys.executable, "-m", "incprof", "record", "-i", "0.05", *words]


def lines(place: Path, *words: str | Path, status: int | None = 3, **env: str) -> list[str]:
    """Return the collector's output while a command is recorded that the user has typed in `place`."""
    env.setdefault("PYTHONPATH", os.pathsep.join(filter(None, [str(Path.cwd()), os.environ.get("PYTHONPATH")])))
    outcome = run(record(*words), place, env)
    assert status in (None, outcome.status), outcome
    return collector_lines(outcome)


def quoted(word: str) -> str:
    """As a shell takes it for one word, and as people write it."""
    return shlex.quote(word).replace("'\"'\"'", "'\\''")


def intervals(directory: Path) -> int:
    return len(read_profile(open_run(directory)).end_s)


@pytest.mark.parametrize(
    "name", ["run", *(pytest.param(name, marks=pytest.mark.slow) for name in ("my run", "a/b")), "it's"]
)
def test_the_second_run_reports_its_number(host: BuildHost, tmp_path: Path, name: str) -> None:
    for number in range(3):
        (line,) = lines(tmp_path, "-o", name, "--", host("simple.c"))
        made = name if number == 0 else f"{name}.{number}"
        exists = f" ({quoted(name)} exists)" if number else ""
        shown = quoted(made)
        count = intervals(tmp_path / made)
        what = "1 interval" if count == 1 else f"{count} intervals"
        assert line == f"incprof: {what} in {shown}{exists}; next: incprof phases {shown}"
        assert shlex.split(line.partition("next: ")[2]) == ["incprof", "phases", made]


def test_where_the_line_is_printed(host: BuildHost, tmp_path: Path) -> None:
    """From where the program was started; whole if it is elsewhere; alone where a line has no room for more."""
    program, work = host("simple.c"), tmp_path / "work"
    work.mkdir()
    (line,) = lines(work, "--", program)
    assert line.endswith(" intervals in gmon-simple; next: incprof phases gmon-simple")
    (line,) = lines(work, "-o", "../other", "--", program)
    other = tmp_path / "work" / ".." / "other"
    assert line.endswith((f"next: incprof phases {tmp_path / 'other'}", f"next: incprof phases {other}"))
    (line,) = lines(work, "-o", "x" * 250, "--", program)
    assert line.endswith(" intervals in " + "x" * 250)


def test_one_interval_is_one(host: BuildHost, tmp_path: Path) -> None:
    assert lines(tmp_path, "-i", "60", "-o", "run", "--", host("simple.c"), "0") == [
        "incprof: 1 interval in run; next: incprof phases run"
    ]


@pytest.mark.parametrize("words", [["--log", "quiet"], ["--log", "quiet", "--exe", "another"]])
def test_quiet_and_not_recorded(host: BuildHost, tmp_path: Path, words: list[str]) -> None:
    assert lines(tmp_path, *words, "-o", "run", "--", host("simple.c")) == []


def test_unrecordable_programs_are_reported_before_the_run(host: BuildHost, tmp_path: Path) -> None:
    (line,) = lines(tmp_path, "--exe", "another", "-o", "run", "--", host("simple.c"))
    assert line.endswith("simple: does not match --exe another: only programs of that name that it starts are recorded")


def test_a_program_that_closes_stderr_at_its_end(host: BuildHost, tmp_path: Path) -> None:
    for name in ("run", "run.1"):
        (line,) = lines(tmp_path, "-o", "run", "--", host("stderr_closed.c"), "last")
        assert line.endswith(f"; next: incprof phases {name}")


def test_the_reader_of_a_closed_stderr_does_not_wait(host: BuildHost, tmp_path: Path) -> None:
    program = [host("stderr_closed.c"), "early"]
    command = [sys.executable, "-m", "incprof", "record", "-o", tmp_path / "run", "--", *program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        watchdog = threading.Timer(600, process.kill)
        watchdog.start()
        assert process.stderr is not None
        assert process.stderr.read() == b""  # ends while the program waits for stdin
        assert process.poll() is None
        process.communicate(b"")
        watchdog.cancel()
    assert process.returncode == 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGABRT])
def test_a_program_that_a_signal_ends(host: BuildHost, tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "incprof", "record", "-i", "0.05", "-o", tmp_path / "run", "--", host("endless.c")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        watchdog = threading.Timer(600, process.kill)
        watchdog.start()
        wait_for_intervals(tmp_path / "run/rank-00000.gmon", 2)
        process.send_signal(number)
        (line,) = process.communicate()[1].splitlines()
        watchdog.cancel()
    assert process.returncode == -number
    assert line.startswith(f"incprof: {intervals(tmp_path / 'run')} intervals in ")
    assert line.endswith(f"; next: incprof phases {tmp_path / 'run'}")


def test_the_preloaded_library_alone_prints_nothing(host: BuildHost, tmp_path: Path) -> None:
    outcome = run([host("simple.c")], tmp_path, variables(tmp_path / "run"))
    assert (outcome.status, outcome.stderr, streams(tmp_path / "run")) == (3, "", ["rank-00000.gmon"])


@pytest.mark.parametrize(
    "mode", mostly_slow(4, ["fork", "again", "vfork", "exec", "spawn", "system", "popen", "vfork-exit"])
)
def test_children_do_not_print_it(host: BuildHost, tmp_path: Path, mode: str) -> None:
    """Neither forked ones nor other programs: one line is for all of them."""
    (line,) = lines(tmp_path, "-o", "run", "--", host("forks.c"), mode, host("child.c"), status=4)
    assert line.endswith(" in run; next: incprof phases run")
    count = len(streams(tmp_path / "run"))
    if count == 1:
        assert line.startswith(f"incprof: {intervals(tmp_path / 'run')} intervals in run;")
    else:
        named = re.fullmatch(
            r"incprof: forks in (\d+) process(?:es)?(?:, and (\d+) other process(?:es)?, in all|, with) .*", line
        )
        assert named is not None, line
        assert int(named[1]) + int(named[2] or 0) == count


def test_a_script_prints_one_line_for_all_its_programs(host: BuildHost, tmp_path: Path) -> None:
    """One line, one directory, and two programs in it."""
    program = shlex.quote(str(host("simple.c")))
    (line,) = lines(tmp_path, "-o", "run", "--", "sh", "-c", f"{program}; {program}; exit 3")
    assert re.fullmatch(
        r"incprof: simple in 2 processes(, and \d+ other process(es)?, in all|, with) \d+ % of the job's CPU time, "
        "in run; next: incprof phases run",
        line,
    ), line
    assert len(streams(tmp_path / "run")) >= 2


def test_of_a_job_that_waits_it_names_the_program_that_phases_shows(tmp_path: Path) -> None:
    """Not the one that ends early, though that uses more CPU time."""
    work = "import time\nwhile time.process_time() < {}: pass\ntime.sleep({})\n"
    (tmp_path / "brief.py").write_text(work.format(0.1, 0))
    (tmp_path / "lasts.py").write_text(work.format(0.07, 3))
    python = shlex.quote(sys.executable)
    script = f"{python} -S brief.py; {python} -S lasts.py; exit 3"
    (line,) = lines(tmp_path, "-o", "run", "--", "sh", "-c", script)
    assert line.startswith(f"incprof: {open_run(tmp_path / 'run').app} in "), line


def test_scripts_are_called_by_their_names(tmp_path: Path) -> None:
    """Also where one starts the other, in another language."""
    (tmp_path / "solve.py").write_text("sum(i * i for i in range(3_000_000)); raise SystemExit(3)")
    (tmp_path / "job.sh").write_text(f"{shlex.quote(sys.executable)} -X dev solve.py\nexit 3\n")
    (line,) = lines(tmp_path, "--", "bash", "-e", "job.sh")
    assert line.startswith("incprof: solve.py in 1 process"), line
    assert line.endswith("in gmon-job.sh; next: incprof phases gmon-job.sh")
    (line,) = lines(tmp_path, "--", "env", "A=b", sys.executable, "solve.py")
    assert line.endswith("next: incprof phases gmon-solve.py")
    assert {program.name for program in open_run(tmp_path / "gmon-job.sh").programs} <= {"solve.py", "job.sh"}


@pytest.mark.parametrize("pg", [False, True])
def test_a_directory_that_cannot_be_had_is_reported_once(host: BuildHost, tmp_path: Path, pg: bool) -> None:
    """Not by each program that the job starts."""
    program = shlex.quote(str(host("simple.c", pg=pg, output=f"simple-{pg}")))
    (line,) = lines(tmp_path, "-o", "/proc/none", "--", "sh", "-c", f"{program}; {program}; exit 3")
    assert line.startswith("incprof: cannot write to the run directory, not recording: /proc/none: ")


def static(build: Build) -> Path:
    """A program that no library can be preloaded into."""
    return build("plain.c", pg=False, flags="-O2 -static", output="static")


def share(line: str) -> int:
    """Percent of the job's CPU time that are on record, as the line has it."""
    found = re.search(
        r", (?:with|in all) (?:at least )?(\d+) % of the job's CPU time, in run; next: incprof phases run$", line
    )
    assert found is not None, line
    return int(found[1])


def test_one_recorded_process_is_not_all_of_a_job(host: BuildHost, build: Build, tmp_path: Path) -> None:
    """What its children have used is not in its intervals."""
    (line,) = lines(tmp_path, "-o", "run", "--", host("forks.c"), "system", static(build), status=None)
    assert share(line) < 90


def test_children_without_a_wait(build: Build, tmp_path: Path) -> None:
    """Those of a container's first process, and a pool's server, count as well."""
    read = "import os, subprocess, sys; subprocess.Popen(sys.argv[1:], stdout=-1).stdout.read(); os._exit(3)"
    (line,) = lines(tmp_path, "-o", "run", "--", sys.executable, "-c", read, static(build), "10")
    assert share(line) < 60


HIDDEN = "started without LD_PRELOAD or the variables of the recording"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["nice", "env", "-i", "PROGRAM"], HIDDEN),
        (["sh", "-c", "unset LD_PRELOAD; exec PROGRAM 0"], HIDDEN),
        (["sh", "-c", "true; exec STATIC 0"], "statically linked, so LD_PRELOAD has no effect"),
    ],
)  # fmt: skip
def test_a_job_that_becomes_what_cannot_be_recorded(
    host: BuildHost, build: Build, tmp_path: Path, words: list[str], reason: str
) -> None:
    program, other = host("simple.c"), static(build)
    named = [word.replace("PROGRAM", str(program)).replace("STATIC", str(other)) for word in words]
    (line,) = lines(tmp_path, "-o", "run", "--", *named, status=7 if "STATIC" in words[-1] else 3)
    path = other if "STATIC" in words[-1] else program
    assert line.startswith(f"incprof: {path}: {reason}: it is not recorded; incprof record --external records it")


def test_a_static_program_is_reported_once(build: Build, tmp_path: Path) -> None:
    """Where the command line names it, before the start."""
    (line,) = lines(tmp_path, "-o", "run", "--", "nice", static(build), "0", status=7)
    assert "nothing will be recorded" in line


def test_a_launcher_whose_recording_cannot_go_on(host: BuildHost, tmp_path: Path) -> None:
    """No thread can be made where children are in another name space of processes."""
    command = ["unshare", "-Urpf"]
    if shutil.which("unshare") is None or subprocess.run([*command, "true"], capture_output=True).returncode != 0:
        pytest.skip("user namespaces are not permitted here")
    *_, line = lines(tmp_path, "-o", "run", "--", *command, host("simple.c"))
    assert line.endswith(" in run; next: incprof phases run")


def test_a_job_that_uses_next_to_nothing(build: Build, tmp_path: Path) -> None:
    """Without timers, so that it has no sample by chance."""
    words = without(build, ["timer_create", "perf_event_open"], *record("-o", "run", "--", "sh", "-c", "exit 3"))
    outcome = run(words, tmp_path, {"PYTHONPATH": str(Path.cwd())})
    assert outcome.status == 3
    said = r"the job used \d+ ms of CPU time, without a sample in a program that can be recorded"
    assert re.fullmatch(rf"incprof: nothing recorded: {said}", collector_lines(outcome)[-1])


def test_a_program_that_becomes_itself_prints_one_line_at_its_end(host: BuildHost, tmp_path: Path) -> None:
    (line,) = lines(tmp_path, "-o", "run", "--", host("reexec.c"), "2", status=9, BRIEF="1")
    assert line.endswith(" in run; next: incprof phases run")


@pytest.mark.parametrize(("ranks", "speaker"), [("", "0"), ("1-2", "1"), ("2", "2")])
def test_the_lowest_of_the_recorded_ranks_speaks(host: BuildHost, tmp_path: Path, ranks: str, speaker: str) -> None:
    said = []
    for rank in range(3):
        launch = {"PMIX_NAMESPACE": "job", "PMIX_RANK": str(rank), "INCPROF_RANKS": ranks}
        said += lines(tmp_path, "-o", "run", "--", host("simple.c"), **launch)
    (line,) = said
    assert line.endswith(f" of rank {speaker} in run; next: incprof phases run")


def test_the_share_of_a_rank_is_without_the_other_ranks(host: BuildHost, tmp_path: Path) -> None:
    """Their launcher is none of the job, and the CPU time of the others is not the rank's."""
    for rank in (1, 0):
        launch = {"PMIX_NAMESPACE": "job", "PMIX_RANK": str(rank)}
        said = lines(tmp_path, "-o", "run", "--", host("simple.c"), **launch)
    (line,) = said
    assert re.match(r"incprof: simple in 2 processes, with \d+ % of the CPU time of rank 0 in run;", line), line
