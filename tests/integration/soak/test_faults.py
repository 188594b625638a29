"""A short form of `make soak`: the same faults of host programs every time, and those that once were findings."""

import subprocess
import sys

import pytest

from tests.paths import ROOT

pytestmark = pytest.mark.slow

# Arguments of soak.faults_try that once found a fault, since repaired.
FOUND = [
    # The result of sigaction for the ticks' signals.
    "urg:3 masks:0 winch:3 masks:0",
    # Heartbeats that start on a coroutine's stack.
    "--build beats swap:8",
    # The same once the recording has ended.
    "seccomp:1 masks:0",
    # Several threads end the program at once.
    "swap:55 exits:196",
    # A program that goes on where an exec has failed.
    "INCPROF_INTERVAL=0.01 execfails:9 burn:20",
    # An interval between the last one and an exec.
    "--build fentry INCPROF_INTERVAL=0.001 burn:29 exec:0",
    # A program that takes itself all memory before its last thread ends behind libc's back.
    "as:0 raw:24",
    "--build beats work:10 as:0 raw:24",
    # The same with descriptors.
    "nofile:4 raw:24",
    "--build beats work:10 nofile:4 raw:24",
    # A file of the host's that has the number of stderr when heartbeats start.
    "--build beats EKG_INTERVAL=x steal:0 work:1 stolen:0",
]
# A host that does something else when it is recorded: what must be found of it.
SEEN = [
    ("work:1 differs:1", "stdout differs"),
    ("work:1 differs:2", "status 9, alone 0"),
    ("work:1 differs:3", "stderr"),
    ("work:1 differs:4", "MiB, alone"),
    ("work:1 differs:5", "calls on record of"),
    ("INCPROF_INTERVAL=0.01 burn:50 differs:6", "no end"),
    ("work:1 differs:7", "stdout differs"),
    ("work:1 differs:8", "lines without a reason"),
]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Where the hosts are built, once."""
    return str(tmp_path_factory.mktemp("hosts"))


def python(*words):
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_faults(tmp_path):
    done = python("soak", "--scratch", str(tmp_path), "--only", "faults", "--seed", "13", "--cases", "60")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "faults: 60 cases" in done.stdout


@pytest.mark.parametrize(("part", "cases"), [("kills", "10"), ("stacks", "10"), ("outside", "20"), ("openmp", "20")])
def test_parts(tmp_path, part, cases):
    done = python("soak", "--scratch", str(tmp_path), "--only", part, "--seed", "13", "--cases", cases)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{part}: {cases} cases" in done.stdout


@pytest.mark.parametrize("words", FOUND)
def test_what_was_found(words, programs):
    done = python("soak.faults_try", "--programs", programs, "--tries", "4", *words.split())
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("words", "wrong"), SEEN)
def test_a_host_that_is_changed_is_detected(words, wrong, programs):
    done = python("soak.faults_try", "--programs", programs, *words.split())
    assert done.returncode == 1, done.stdout + done.stderr
    assert wrong in done.stdout


def test_a_hang_is_detected(programs):
    program = "import sys, soak.faults_run as r; r.PATIENCE_S = 3.0; from soak.faults_try import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "--programs", programs, "work:1", "differs:9"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "hung recorded" in done.stdout


def test_jobs(tmp_path):
    """Launches whose CPU time was neither recorded nor reported as missing, among others."""
    done = python("soak", "--scratch", str(tmp_path), "--only", "jobs", "--seed", "1", "--cases", "9")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 findings" in done.stdout
