"""A filter that refuses system calls newer than Linux 4.18 does not change what is recorded."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest

import appekg
from incprof.record.launch import find_sampler
from tests.integration.appekg_build import EkgBuilder
from tests.integration.collector import clean_environment
from tests.integration.conftest import Build, Record
from tests.integration.sampling import read, until_rows

# rseq (4.18) is 334 on x86-64, the next ones are numbered from 424.
YOUNGER = ["335+", str(errno.ENOSYS)]


@pytest.fixture
def old_kernel(build: Build) -> list[str | Path]:
    """Words that go before a command."""
    return [build("refuse.c", pg=False), *YOUNGER]


def test_calls_and_samples_of_threads(old_kernel: list[str | Path], build: Build, record: Record) -> None:
    arcs = record([*old_kernel, build("threads.c", flags="-O2 -pthread"), "3"]).arcs()
    assert (arcs["run", "work"], arcs["work", "leaf"], arcs["last_words", "leaf"]) == (3_000_000, 6_000_000, 3)
    recording = record([*old_kernel, build("turns.c"), "1"])
    assert recording.outcome.stderr == ""
    assert {path[-1] for path in recording.paths() if path} >= {"work", "rest"}


def test_heartbeats_of_threads_and_forks(old_kernel: list[str | Path], ekg: EkgBuilder, tmp_path: Path) -> None:
    env = {**clean_environment(), "EKG_DIR": str(tmp_path / "ekg"), "EKG_INTERVAL": "60"}
    command = [*old_kernel, ekg.program("anywhere.c", shared=True)]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    # Four threads, and a child.
    rows = [(int(row["count"]), int(row["pulses"])) for row in appekg.read(tmp_path / "ekg").rows]
    assert sorted(rows) == sorted([(200, 0), (0, 200)] * 5)


def test_the_sampler_sees_a_process_end(old_kernel: list[str | Path], tmp_path: Path) -> None:
    words = [sys.executable, "-m", "incprof", "sample", "-i", "0.05", "-o", "run.csv"]
    (tmp_path / "run.csv").touch()
    with subprocess.Popen(until_rows(5), cwd=tmp_path) as sampled:  # it ends when the sampler has seen it
        command = [*old_kernel, *words, "--force", "-p", str(sampled.pid)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
        sampled.kill()
    assert done.returncode == 0, done.stderr
    assert find_sampler({}).is_file()
    assert read(tmp_path / "run.csv").has_comment("# end: ")


def test_an_outside_recorder_detects_the_end_of_a_process(old_kernel: list[str | Path], tmp_path: Path) -> None:
    # It works for a while once it is recorded: the recorder may take longer to start than any time given here.
    file = tmp_path / "run" / "rank-00000.gmon"
    text = f"import os, time\nwhile not os.path.exists({str(file)!r}): time.sleep(0.01)\n"
    text += "end = time.process_time() + 0.5\nwhile time.process_time() < end: pass"
    with subprocess.Popen([sys.executable, "-c", text]) as spinner:
        command = [*old_kernel, sys.executable, "-m", "incprof", "record", "-o", str(tmp_path / "run"), "-p"]
        done = subprocess.run([*command, str(spinner.pid)], capture_output=True, text=True, timeout=600, check=False)
        spinner.kill()
    if "perf_event_paranoid" in done.stderr or "not permitted" in done.stderr:
        pytest.skip("perf is refused here")
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "run").glob("*.gmon"))


def test_doctor_names_each_with_what_it_costs(old_kernel: list[str | Path]) -> None:
    command = [*old_kernel, sys.executable, "-m", "incprof", "doctor"]
    done = subprocess.run(command, capture_output=True, text=True, env=clean_environment(), timeout=600, check=False)
    named = [line.split()[1] for line in done.stdout.splitlines() if "absent (Linux before" in line]
    assert named == ["pidfd_open", "pidfd_getfd", "close_range"], done.stdout
