"""Real programs, recorded and compared: one that was made slower fails, the same one passes.

By CPU time, because other programs may use the machine. The slowdown is large for the same reason.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.command_line import incprof
from tests.paths import INTEGRATION, ROOT

STAGES = INTEGRATION / "diff_fixtures" / "stages.c"
SCRIPT = ROOT / "examples" / "diff-ci.sh"


def diff(*words):
    return incprof("diff", "--time", "cpu", *words)


@pytest.fixture
def stages(build, tmp_path):
    def make(name, percent):
        return build(STAGES, flags=f"-O2 -g -DSOLVE_PERCENT={percent}", output=name)

    return make


def environment(**more):
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, **more}


@pytest.mark.slow
def test_a_slowed_program_fails_the_job_and_the_same_one_passes(stages, tmp_path):
    program, slow = stages("stages", 100), stages("slow", 400)
    summary, page = tmp_path / "summary.md", tmp_path / "page.html"
    # Twice as much, of one and of four times as much: others take the caches and half of a core, too.
    env = environment(INTERVAL="0.05", RATE="250", GATES="phase>100% run>150%", SUMMARY=str(summary), PAGE=str(page))

    def job(which):
        return subprocess.run(
            [SCRIPT, "baseline", which], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )

    first = job(program)
    assert (first.returncode, first.stdout) == (0, "baseline recorded in baseline\n")
    assert sorted(path.name for path in (tmp_path / "baseline").iterdir()) == ["1", "2", "3"]
    again = job(program)
    assert again.returncode == 0, again.stdout + again.stderr
    assert summary.read_text() == again.stdout
    assert "Compared: " in again.stdout
    slower = job(slow)
    assert slower.returncode == 3, slower.stdout + slower.stderr
    failed = [line for line in slower.stderr.splitlines() if "fails 'phase>100%'" in line]
    assert len(failed) == 1
    assert "phase solve" in failed[0]
    assert summary.read_text() == again.stdout + slower.stdout
    assert "phase solve" in page.read_text()
    # One run of each is enough here.
    other = tmp_path / "other"
    subprocess.run(
        [sys.executable, "-m", "incprof", "record", "-i", "0.05", "-r", "250", "-o", other, "--", slow], check=True
    )
    found = diff(tmp_path / "baseline" / "1", other, "--json", "--noise", "20", "--fail-on", "function>100%")
    assert found.returncode == 3, found.stderr
    answer = json.loads(found.stdout)
    assert {"fill", "solve", "verify"} <= {phase["name"] for phase in answer["phases"]}
    # The same calls, each of them four times as long.
    functions = {f["name"]: f for f in answer["functions"] if f["name"] != "main"}
    assert functions["solve"]["verdict"] == "slower"
    calls = {name: (f["a"]["calls"], f["b"]["calls"]) for name, f in functions.items()}
    assert calls == {"fill": (200, 200), "solve": (140, 140), "verify": (160, 160)}
    assert 2 < functions["solve"]["b"]["seconds"] / functions["solve"]["a"]["seconds"] < 8


def test_usage_of_the_script():
    found = subprocess.run([SCRIPT], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr == "usage: diff-ci.sh BASELINE PROGRAM [ARGS...]\n"


def test_a_program_that_fails_is_no_gate_that_fails(tmp_path):
    """3 means that a gate has failed, so a program that ends with 3 gives the script another status."""
    found = subprocess.run(
        [SCRIPT, "baseline", "sh", "-c", "exit 3"], cwd=tmp_path, env=environment(), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert found.returncode == 1
    assert found.stderr.splitlines()[-1] == "sh ended with status 3: nothing compared"
    assert not (tmp_path / "baseline").exists()


@pytest.mark.slow
def test_a_directory_of_gmon_files_against_a_stream(record_stages, tmp_path):
    stream, files = record_stages("stream"), record_stages("gmon")
    found = diff(stream, files, "--json")
    assert found.returncode == 0, found.stderr
    answer = json.loads(found.stdout)
    assert "call paths: yes in A, none in B" in answer["notes"]
    solve = next(f for f in answer["functions"] if f["name"] == "solve")
    assert solve["a"]["calls"] == solve["b"]["calls"] == 140
    assert sum(phase["likeness"] is not None for phase in answer["phases"]) >= 2


@pytest.fixture
def record_stages(stages, tmp_path):
    program = stages("both", 100)

    def make(form):
        target = tmp_path / form
        words = ["record", "-i", "0.05", "-r", "250", "--format", form, "-o", target, "--", program]
        subprocess.run([sys.executable, "-m", "incprof", *map(str, words)], check=True)
        return target

    return make


@pytest.fixture
def others():
    """Other programs that take the CPUs while something is recorded."""
    command = [sys.executable, "-c", "while True: pass"]
    running = []
    yield lambda number: running.extend(subprocess.Popen(command) for _ in range(number))
    for process in running:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_what_others_do_fails_no_gate_and_what_the_program_does_fails(stages, tmp_path, others):
    same, slow = stages("same", 100), stages("slow", 400)

    def recorded(name, program):
        words = ["record", "-i", "0.05", "-r", "250", "-o", tmp_path / name, "--", program]
        subprocess.run([sys.executable, "-m", "incprof", *map(str, words)], check=True, capture_output=True)
        return tmp_path / name

    alone = recorded("alone", same)
    others(4)
    beside, slower = recorded("beside", same), recorded("slower", slow)
    gates = ["--json", "--time", "both", "--noise", "20", "--fail-on", "phase>100%", "--fail-on", "run>150%"]
    for pair in ((alone, beside), (beside, alone)):
        found = diff(*pair, *gates)
        assert found.returncode == 0, found.stderr
    found = diff(alone, slower, *gates)
    assert found.returncode == 3, found.stderr
    broken = {row["name"] for row in json.loads(found.stdout)["broken"]}
    assert "solve" in broken
    assert not broken & {"fill", "verify"}
