"""incprof sample as its users call it, on this machine: programs, processes, signals, files that cannot be written."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from incprof.cli.main import main
from incprof.readers.series.counter_series import read_counters
from tests.integration.sampling import Programs, command, read, sample, until_rows
from tests.integration.sampling import sampled as sampled
from tests.paths import RECORDINGS


def listed(cwd: Path) -> dict[str, bool]:
    """Whether each event can be had here."""
    table = sample("--list", "-e", "all", cwd=cwd)
    assert table.returncode == 0
    return {line.split()[0]: line.split()[2] == "yes" for line in table.stdout.splitlines()[1:]}


def wait_for_rows(path: Path) -> None:
    deadline = time.monotonic() + 600
    while not (path.exists() and len(path.read_text().splitlines()) > 20):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_period_of_a_program_that_works_and_writes_in_turn(tmp_path: Path) -> None:
    """A series that is kept, with the program's output for each period: a busy machine would change both."""
    kept = RECORDINGS
    shutil.copy(kept / "alternate.csv", tmp_path / "run.csv")
    truth = statistics.median(float(line) for line in (kept / "alternate.txt").read_text().split())
    answer = subprocess.run(
        command("periods", "run.csv", "--column", "write-bytes", "--json"),
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    found = json.loads(answer.stdout)
    # The length of a period is a whole number of intervals.
    assert found["patterns"][0]["length"] * 0.01 == pytest.approx(truth, abs=0.005)
    assert found["coverage_pct"] > 80
    assert found["series"]["interval_s"] == pytest.approx(0.01, abs=0.001)


def test_threads_and_children_are_counted(sampled: Programs, tmp_path: Path) -> None:
    events = "task-clock,cpu,running-threads,active-cpus"
    program = sampled.compile("crowd.c", "-fopenmp")
    done = sample("-i", "10ms", "-e", events, "-o", "run.csv", "--", program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = read(tmp_path / "run.csv")
    used = float(done.stdout)
    assert used > 0.9
    assert 2 <= max(found["running-threads"]) <= 4
    assert 1 <= max(found["active-cpus"]) <= min(4, os.cpu_count() or 1)
    if "task-clock" not in found.columns:
        pytest.skip("perf events are not permitted here")
    assert sum(found["task-clock"]) / 1e9 == pytest.approx(used, rel=0.05)
    lengths = [now - before for before, now in zip([0.0, *found["time_s"]], found["time_s"], strict=False)]
    shares = sum(share * length for share, length in zip(found["cpu"], lengths, strict=True))
    assert shares == pytest.approx(used, rel=0.05)


def test_what_is_written_and_read_is_conserved(tmp_path: Path) -> None:
    # The children's bytes come to their parent when it has waited for them: they must not be counted twice.
    text = "for i in 1 2 3; do head -c 3000000 /dev/zero > /dev/null; sleep 0.06; done; head -c 500000 /dev/zero"
    done = sample("-e", "write-bytes,read-bytes", "-o", "run.csv", "--", "sh", "-c", text, cwd=tmp_path)
    found = read(tmp_path / "run.csv")
    assert sum(found["write-bytes"]) == pytest.approx(9_500_000, rel=0.001)
    assert len(done.stdout) == 500_000


def test_rows_and_their_values(tmp_path: Path) -> None:
    begun, before = time.time(), time.monotonic()
    done = sample("-i", "20ms", "-o", "run.csv", "--", "sh", "-c", "sleep 0.3; exit 7", cwd=tmp_path)
    whole_s = time.monotonic() - before
    assert done.returncode == 7
    found = read(tmp_path / "run.csv")
    time_s = found["time_s"]
    series = read_counters(str(tmp_path / "run.csv"))
    assert begun <= series.begun_unix_s + 1e-6 <= time.time()
    assert series.host == os.uname().nodename
    assert all(now > before for before, now in itertools.pairwise(time_s))
    assert 0.3 <= time_s[-1] < whole_s
    assert found.has_comment("a row for each interval of 0.02 s")
    assert found.has_comment("of: sh -c sleep 0.3; exit 7")
    late = int(found.comments[-1].split(", ")[1].split()[0])
    assert found.comments[-1] == f"# end: {len(time_s)} rows, {late} late ticks"
    # Rows, missed ticks and those without a row are all ticks there were; the last row may be for what was left.
    left_out = sum(int(line.split()[3]) for line in found.comments if line.startswith("# left out: "))
    assert len(time_s) + late + left_out == pytest.approx(time_s[-1] / 0.02, abs=1)
    there = listed(tmp_path)
    named = [comment for comment in found.comments if "not available" in comment]
    for name, is_there in there.items():
        if any(f"not available: {name}:" in comment for comment in named):
            assert not is_there
            assert name not in found.columns


@pytest.mark.parametrize(("ending", "status"), [("exit 0", 0), ("exit 41", 41)])
def test_a_program_that_ends_at_once_gives_one_short_row(tmp_path: Path, ending: str, status: int) -> None:
    done = sample("-i", "1m", "-o", "run.csv", "--", "sh", "-c", ending, cwd=tmp_path)
    assert done.returncode == status
    assert len(read(tmp_path / "run.csv")["time_s"]) == 1


def test_a_program_that_a_signal_ends(tmp_path: Path) -> None:
    done = sample("-o", "run.csv", "--", "sh", "-c", "kill -SEGV $$", cwd=tmp_path)
    assert done.returncode == -signal.SIGSEGV
    assert read(tmp_path / "run.csv").has_comment("# end: ")


def test_input_output_and_signal_settings_are_the_programs_own(tmp_path: Path) -> None:
    words = ["sh", "-c", "grep -E 'SigBlk|SigIgn' /proc/self/status; cat; echo error >&2"]
    alone = subprocess.run(words, input="given", capture_output=True, text=True, check=True)
    command_line = command("sample", "-o", "run.csv", "--", *words)
    done = subprocess.run(command_line, cwd=tmp_path, input="given", capture_output=True, text=True, check=True)
    assert done.stdout == alone.stdout
    assert "error\n" in done.stderr


@pytest.mark.parametrize(
    ("program", "status"), [("./missing", 127), ("no-such-program-here", 127), ("/etc/passwd", 126)]
)
def test_a_program_that_cannot_be_started_leaves_no_file(tmp_path: Path, program: str, status: int) -> None:
    done = sample("-e", "rss-bytes", "-o", "run.csv", "--", program, cwd=tmp_path)
    assert done.returncode == status
    assert done.stderr.startswith(f"incprof: {program}: ")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "run.csv").exists()


@pytest.mark.parametrize("verb", [["sample"], ["record"], ["record", "--external"]])
def test_a_script_that_names_no_interpreter_is_the_shells(verb: list[str], tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text('echo "$# $1 $2"; exit 9\n')
    script.chmod(0o755)
    words = command(*verb, "-o", "run", "--", script, "one word", "two")
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    if "--external" in verb and done.returncode == 1:
        pytest.skip(done.stderr.strip())
    assert (done.returncode, done.stdout) == (9, "2 one word two\n")


def test_sampling_may_end_before_the_program(tmp_path: Path) -> None:
    """Which ends when the series has."""
    script = "until grep -q '# end' run.csv; do sleep 0.05; done; exit 9"
    done = sample("-i", "10ms", "--for", "0.2", "-o", "run.csv", "--", "sh", "-c", script, cwd=tmp_path)
    assert done.returncode == 9
    assert len(read(tmp_path / "run.csv")["time_s"]) <= 20


def test_a_process_that_runs_until_it_ends(sampled: Programs, tmp_path: Path) -> None:
    # It ends when there are rows of all that it has written, however late.
    count = '$(grep -c "^[0-9]" run.csv)'
    wait = f"seen={count}; until [ {count} -gt $((seen + 3)) ]; do sleep 0.02; done"
    words = ["sh", "-c", f'read line; "$@"; {wait}', "sh", sampled.compile("alternate.c"), "0.2", "0.1", "2"]
    with subprocess.Popen(words, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        watching = command("sample", "-p", str(process.pid), "-i", "1ms", "-o", "run.csv")
        with subprocess.Popen(watching, cwd=tmp_path) as watcher:
            wait_for_rows(tmp_path / "run.csv")
            process.communicate(b"go\n")
    assert watcher.returncode == 0
    found = read(tmp_path / "run.csv")
    assert sum(found["write-bytes"]) > 65536
    assert found.has_comment(f"of: process {process.pid}")


def test_more_threads_than_files_may_be_open(tmp_path: Path) -> None:
    if not listed(tmp_path)["task-clock"]:
        pytest.skip("perf events are not permitted here")
    start = "threading.Thread(target=time.sleep, args=(600,)).start()"
    text = f"import threading, time\nfor _ in range(40): {start}\nprint(flush=True)"
    limited = ["sh", "-c", 'ulimit -n 30; exec "$@"', "sh"]
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        words = command("sample", "-p", str(process.pid), "-e", "task-clock,rss-bytes", "--for", "0.1", "-o", "run.csv")
        done = subprocess.run([*limited, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
        process.kill()
    assert done.returncode == 0, done.stderr
    assert "not available: task-clock: too many open files (EMFILE): raise ulimit -n" in done.stderr
    assert min(read(tmp_path / "run.csv")["rss-bytes"]) > 1_000_000


@pytest.mark.parametrize("children", [1, 40])
def test_more_processes_than_files_may_be_open_are_reported(tmp_path: Path, children: int) -> None:
    start = f'for i in $(seq {children}); do sleep 600 & all="$all $!"; done'
    wait = until_rows(20)[-1]
    words = command("sample", "-e", "write-bytes", "-o", "run.csv", "--")
    limited = ["sh", "-c", 'ulimit -n 60; exec "$@"', "sh", *words]
    program = ["sh", "-c", f"{start}; {wait}; kill $all"]
    done = subprocess.run([*limited, *program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ("incprof: not all of it was counted: " in done.stderr) == (children > 1)


# Ends when there are enough rows, and prints how the sampler, its parent, is scheduled.
MANY_THREADS = """
import os, pathlib, threading, time
threading.stack_size(65536)
for _ in range(1500):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
while sum(line[:1].isdigit() for line in pathlib.Path("run.csv").read_text().splitlines()) < 30:
    time.sleep(0.05)
print(os.sched_getscheduler(os.getppid()) & ~os.SCHED_RESET_ON_FORK, flush=True)
os._exit(3)
"""


def test_very_many_threads_thin_the_rows_and_not_the_program(tmp_path: Path) -> None:
    done = sample("-o", "run.csv", "--", sys.executable, "-c", MANY_THREADS, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, f"{os.SCHED_OTHER}\n"), done.stderr
    found = read(tmp_path / "run.csv")
    looked = sum(math.isfinite(value) for value in found["active-cpus"])
    rows = len(found["active-cpus"])
    assert f"active-cpus and running-threads: in {looked} of {rows} rows only" in done.stderr
    assert found.has_comment(f"note: active-cpus: in {looked} of {rows} rows, as reading so many threads takes long")
    assert all(map(math.isfinite, found["cpu"]))
    assert looked < rows


def test_a_process_that_is_not_there(tmp_path: Path) -> None:
    done = sample("-p", "999999999", "-o", "run.csv", cwd=tmp_path)
    assert done.returncode == 1
    assert "no such process" in done.stderr
    assert not (tmp_path / "run.csv").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_sampling_of_the_machine(tmp_path: Path, number: signal.Signals) -> None:
    words = command("sample", "--system", "-i", "20ms", "-o", "run.csv")
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
        wait_for_rows(tmp_path / "run.csv")
        process.send_signal(number)
        assert process.wait(600) == 0
    assert read(tmp_path / "run.csv").has_comment("# end: ")


def test_sigterm_reaches_the_program(tmp_path: Path) -> None:
    text = "trap 'echo asked; exit 5' TERM; while :; do sleep 0.05; done"
    words = command("sample", "-o", "run.csv", "--", "sh", "-c", text)
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        wait_for_rows(tmp_path / "run.csv")
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=600)[0] == b"asked\n"
    assert process.returncode == 5
    assert read(tmp_path / "run.csv").has_comment("# end: ")


def test_a_sampler_that_is_killed_leaves_whole_rows(tmp_path: Path) -> None:
    words = command("sample", "-o", "run.csv", "--", "sleep", "600")
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
        wait_for_rows(tmp_path / "run.csv")
        process.kill()
    found = read(tmp_path / "run.csv")
    assert len({len(values) for values in found.columns.values()}) == 1


@pytest.mark.slow
def test_a_series_can_be_followed_while_it_is_written(tmp_path: Path) -> None:
    words = command("sample", "-e", "rss-bytes,run-queue", "-o", "run.csv", "--", "sleep", "2.5")
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
        wait_for_rows(tmp_path / "run.csv")
        follower = command("periods", "--follow", "run.csv", "--column", "rss-bytes", "--idle", "5")
        done = subprocess.run(follower, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert process.wait(600) == 0
    samples = int(done.stdout.splitlines()[-1].split()[0])
    assert samples == len(read(tmp_path / "run.csv")["time_s"])


def test_a_pipe_may_be_the_target(tmp_path: Path) -> None:
    done = sample("--system", "-e", "run-queue", "--for", "0.1", "-i", "10ms", "-o", "-", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("# incprof sample 1")
    assert "time_s,run-queue\n" in done.stdout


@pytest.mark.parametrize("target", ["missing/run.csv", "/dev/full"])
def test_a_target_that_cannot_be_written_starts_no_program(tmp_path: Path, target: str) -> None:
    done = sample("-e", "rss-bytes", "-o", target, "--", "touch", "started", cwd=tmp_path)
    assert done.returncode == 1
    assert f"cannot write: {target}: " in done.stderr
    assert not (tmp_path / "started").exists()


def test_a_full_disk_ends_the_series_and_not_the_program(tmp_path: Path) -> None:
    limited = ["sh", "-c", 'ulimit -f 4; exec "$@"', "sh"]  # blocks of 512 bytes
    program = "until grep -q 'series ends here' said; do sleep 0.02; done; exit 6"
    words = command("sample", "-i", "1ms", "-e", "rss-bytes", "-o", "run.csv", "--", "sh", "-c", program)
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    with (tmp_path / "said").open("wb") as said:
        status = subprocess.run(
            [*limited, *words], cwd=tmp_path, env=env, stderr=said, timeout=600, check=False
        ).returncode
    assert (status, (tmp_path / "said").read_text().count("the series ends here: run.csv: File too large")) == (6, 1)
    assert (tmp_path / "run.csv").read_text().endswith("\n")


def test_existing_files_are_kept_unless_forced(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text("precious " * 1000)
    done = sample("-e", "rss-bytes", "-o", "run.csv", "--", "touch", "started", cwd=tmp_path)
    assert done.returncode == 1
    assert "--force" in done.stderr
    assert not (tmp_path / "started").exists()
    assert (tmp_path / "run.csv").read_text() == "precious " * 1000
    assert sample("-e", "rss-bytes", "--force", "-o", "run.csv", "--", "true", cwd=tmp_path).returncode == 0
    assert "precious" not in (tmp_path / "run.csv").read_text()


def test_names_of_files(tmp_path: Path) -> None:
    for _ in range(2):
        assert sample("-e", "rss-bytes", "--", "true", cwd=tmp_path).returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sample-true.1.csv", "sample-true.csv"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "nothing to sample"),
        (["-p", "1", "--", "true"], "two things to sample"),
        (["-p", "0"], "not the number of a process"),
        (["-i", "1us", "--", "true"], "100us to 3600s"),
        (["-i", "soon", "--", "true"], "expected a time"),
        (["--for", "0", "--", "true"], "expected a time"),
        (["-o", "run.parquet", "--", "true"], "writes CSV"),
        (["-o", "-", "--", "true"], "would mix"),
    ],
)
def test_bad_arguments_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    with contextlib.chdir(tmp_path):
        assert main(["sample", *words]) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert (out, err.count("\n")) == ("", 1)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("events", "message"), [("bogus", "'bogus'"), ("cpu,,cpu", "no such event")])
def test_events_that_do_not_exist_are_one_line_of_the_sampler(tmp_path: Path, events: str, message: str) -> None:
    done = sample("-e", events, "--", "true", cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_what_is_counted_in_ticks_is_not_sampled_faster(tmp_path: Path) -> None:
    done = sample("-e", "user,rss-bytes", "-i", "5ms", "-o", "run.csv", "--", sys.executable, "-c", "", cwd=tmp_path)
    assert "user: counted in steps of 10 ms: take an interval of 20 ms or more" in done.stderr
    assert list(read(tmp_path / "run.csv").columns) == ["time_s", "rss-bytes"]
