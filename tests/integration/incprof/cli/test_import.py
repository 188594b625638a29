"""Profiles that other tools record here, imported: phases of a program that assembles, solves, and assembles again."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from incprof.readers.foreign.jfr import KEPT
from tests.integration.command_line import incprof
from tests.integration.hosts import need

Phases = dict[str, Any]
Answer = Callable[..., Phases]
TIMEOUT_S = 600

# Turns of CPU time, not of the clock: how busy the machine is must not matter.
WORK = """
#include <stdlib.h>
#include <time.h>
volatile double sink;
__attribute__((noinline)) double assemble(int n) {
    double s = 0;
    for (int i = 0; i < n; i++)
        s += i * 0.5;
    return s;
}
__attribute__((noinline)) double dot(const double *a, int n) {
    double s = 0;
    for (int i = 0; i < n; i++)
        s += a[i] * a[i];
    return s;
}
__attribute__((noinline)) double solve(const double *a, int n) {
    double s = 0;
    for (int k = 0; k < 20; k++)
        s += dot(a, n);
    return s;
}
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
static void turn(int number, double seconds, const double *a) {
    double end = now() + seconds;
    while (now() < end)
        sink += number / 4 % 2 ? solve(a, 20000) : assemble(100000);
}
"""
PERF = "int main(void) { double *a = calloc(20000, 8); for (int i = 0; i < 12; i++) turn(i, 0.25, a); return 0; }"
SERIES = """
#include <gperftools/profiler.h>
#include <stdio.h>
int main(void) {
    double *a = calloc(20000, 8);
    for (int i = 0; i < 12; i++) {
        char name[40];
        snprintf(name, sizeof name, "cpu-%d.prof", i);
        ProfilerStart(name);
        turn(i, 0.25, a);
        ProfilerStop();
    }
    return 0;
}
"""
COVERED = """
#include <stdio.h>
void __gcov_dump(void);
void __gcov_reset(void);
int main(void) {
    double *a = calloc(1000, 8);
    for (int i = 0; i < 12; i++) {
        for (int k = 0; k < 10; k++)
            sink += i / 4 % 2 ? solve(a, 1000) : assemble(20000);
        __gcov_dump();
        __gcov_reset();
        char command[99];
        snprintf(command, sizeof command, "mkdir dump-%d && cp *.gcda *.gcno dump-%d", i, i);
        if (system(command))
            return 1;
    }
    return 0;
}
"""
# A fixed number of calls, not a fixed CPU time: a process that reads that clock gives up a busy processor there, and
# waits for it in main, where a sampler that looks at all times finds it.
PYTHON = """
import time
def assemble(n):
    s = 0.0
    for i in range(n):
        s += i * 0.5
    return s
def dot(a):
    s = 0.0
    for x in a:
        s += x * x
    return s
def main():
    a = [float(i) for i in range(5000)]
    began = time.process_time()
    for k in range(200):
        assemble(5000)
    calls = round(0.4 / (time.process_time() - began) * 200)
    for turn in range(12):
        for k in range(calls):
            dot(a) if turn // 4 % 2 else assemble(5000)
main()
"""
NODE = """
function assemble(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i) % 7; return s; }
function dot(a) { let s = 0; for (const x of a) s += x * x % 3; return s; }
const a = Array.from({ length: 20000 }, (_, i) => i * 1.5);
let sink = 0;
for (let turn = 0; turn < 12; turn++) {
  const end = process.cpuUsage().user + 300000;
  while (process.cpuUsage().user < end) for (let k = 0; k < 50; k++) sink += (turn >> 2) % 2 ? dot(a) : assemble(20000);
}
"""
JAVA = """
public class Work {
  static double assemble(int n) { double s = 0; for (int i = 0; i < n; i++) s += Math.sqrt(i * 0.5); return s; }
  static double dot(double[] a) { double s = 0; for (double x : a) s += x * x; return s; }
  public static void main(String[] v) {
    double[] a = new double[50000];
    double sink = 0;
    var bean = java.lang.management.ManagementFactory.getThreadMXBean();
    for (int turn = 0; turn < 12; turn++) {
      long end = bean.getCurrentThreadCpuTime() + 500000000L;
      while (bean.getCurrentThreadCpuTime() < end)
        for (int k = 0; k < 50; k++) sink += turn / 4 % 2 == 1 ? dot(a) : assemble(50000);
    }
    if (sink < 0) System.out.println(sink);
  }
}
"""


def ran(words: Sequence[str | Path], place: Path) -> str:
    """What a command prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("INCPROF_")}
    done = subprocess.run(
        [str(word) for word in words], cwd=place, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


def answered(place: Path, *words: str | Path) -> str:
    """Run a verb in `place` and return what it prints."""
    done = incprof(*words, cwd=place)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture
def answer(tmp_path: Path) -> Answer:
    """Return the answer of `phases` for what was imported."""

    def imported(*words: str | Path, status: Sequence[int] = (0,)) -> Phases:
        answered(tmp_path, "import", *words, "-o", "run")
        found: Phases = json.loads(answered(tmp_path, "phases", "run", "--json"))
        return found

    return imported


def check_turns(found: Phases, functions: Sequence[str], *, counted: bool = False, fewest: int = 1) -> None:
    """One function, the other, and the first again. Fewer intervals than `fewest` in a row count as noise."""
    # Interpreters and compilers of code that runs have time of their own, and make one phase or two more of a function.
    own = [{function["name"]: function["self_s"] for function in phase["functions"]} for phase in found["phases"]]
    heaviest = [max(functions, key=lambda name: phase.get(name, 0.0)) for phase in own]
    episodes = groupby(heaviest[label] for label in found["labels"] if label >= 0)
    order = [name for name, _ in groupby(name for name, labels in episodes if len([*labels]) >= fewest)]
    assert order == [functions[0], functions[1], functions[0]], found["labels"]
    assert found["run"]["counted"] is counted


def compile_c(place: Path, text: str, *flags: str) -> Path:
    (place / "work.c").write_text(WORK + text)
    # Under a directory of its own, as gcov's files lie beside what the compiler writes.
    ran(["gcc", "-g", "-O1", "-fno-omit-frame-pointer", "work.c", "-o", "work", *flags], place)
    return place / "work"


@pytest.mark.slow
def test_perf(tmp_path: Path, answer: Answer) -> None:
    need("perf", "gcc")
    program = compile_c(tmp_path, PERF)
    # Without a copy of the program in ~/.debug.
    command = ["perf", "record", "-N", "-e", "cpu-clock:u", "-F", "200", "-g", "-o", "perf.data", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode:
        pytest.skip(f"perf cannot record here: {done.stderr.strip().splitlines()[-1:]}")
    found = answer("perf.data", "-i", "250ms")
    check_turns(found, ["assemble", "dot"])
    assert found["run"]["rate_hz"] == pytest.approx(200)
    # Every verb for recordings works on it.
    for verb in (["report", "run"], ["top", "run", "--once"], ["diff", "run", "run"], ["sites", "run"],
                 ["export", "run", "--format", "folded"]):  # fmt: skip
        answered(tmp_path, *verb)
    (tmp_path / "perf.data.gz").write_bytes(gzip.compress((tmp_path / "perf.data").read_bytes()))
    shutil.rmtree(tmp_path / "run")
    assert answer("perf.data.gz", "-i", "250ms")["labels"] == found["labels"]
    # The output of perf script gives the same, and places in the source.
    fields = "comm,pid,tid,time,period,event,ip,sym,dso,srcline"
    (tmp_path / "script.txt").write_text(ran(["perf", "script", "-i", "perf.data", "-F", fields], tmp_path))
    shutil.rmtree(tmp_path / "run")
    again = answer("script.txt", "-i", "250ms")
    assert again["labels"] == found["labels"]
    assert again["phases"][1]["sites"][0]["file"].endswith("work.c")


@pytest.mark.slow
def test_py_spy(tmp_path: Path, answer: Answer) -> None:
    tool = shutil.which("py-spy") or str(Path(sys.executable).parent / "py-spy")
    need(tool)
    (tmp_path / "work.py").write_text(PYTHON)
    # A program that is stopped for each look waits for its turn again every time, minutes on a busy machine.
    looks = [tool, "record", "--nonblocking", "-f", "speedscope", "-o", "p.json"]
    ran([*looks, "--", sys.executable, "-S", "work.py"], tmp_path)
    found = answer("p.json", "-i", "200ms")
    check_turns(found, ["assemble", "dot"])
    site = found["phases"][1]["sites"][0]
    assert Path(site["file"]).name == "work.py"


@pytest.mark.slow
def test_node(tmp_path: Path, answer: Answer) -> None:
    need("node")
    (tmp_path / "work.js").write_text(NODE)
    ran(["node", "--no-opt", "--cpu-prof", "--cpu-prof-name=p.cpuprofile", "work.js"], tmp_path)
    check_turns(answer("p.cpuprofile", "-i", "400ms"), ["assemble", "dot"])
    done = incprof("phases", "run", cwd=tmp_path, check=True)
    assert "was built again" not in done.stderr  # work.js is here, and is no build


@pytest.mark.slow
def test_java(tmp_path: Path, answer: Answer) -> None:
    need("javac", "jfr")
    (tmp_path / "Work.java").write_text(JAVA)
    ran(["javac", "Work.java"], tmp_path)
    recording = "-XX:StartFlightRecording=filename={},settings=profile"
    ran(["java", "-XX:+UnlockDiagnosticVMOptions", f"-XX:+{KEPT}", recording.format("r.jfr"), "Work"], tmp_path)
    # The two seconds of dot lie across intervals of a second by chance: of half a second, some hold nothing else.
    # On a busy machine, some hold few samples.
    check_turns(answer("r.jfr", "-i", "500ms"), ["Work::assemble", "Work::dot"], fewest=2)
    # Without, whose time it is hangs on what the compiler has inlined.
    ran(["java", recording.format("less.jfr"), "Work"], tmp_path)
    for file, reported in (("r.jfr", False), ("less.jfr", True)):
        done = incprof("import", file, "-o", f"{file}.run", cwd=tmp_path, check=True)
        assert (KEPT in done.stderr) is reported


@pytest.mark.slow
def test_gperftools(tmp_path: Path, answer: Answer) -> None:
    need("gcc")
    if not list(Path("/usr/include/gperftools").glob("profiler.h")):
        pytest.skip("libgoogle-perftools-dev is not installed")
    program = compile_c(tmp_path, SERIES, "-lprofiler")
    ran([program], tmp_path)
    profiles = sorted(tmp_path.glob("cpu-*.prof"))
    found = answer(*profiles, "-i", "250ms")
    check_turns(found, ["assemble", "dot"])
    assert Path(found["phases"][0]["sites"][0]["file"]).name == "work.c"


@pytest.mark.slow
def test_gcov(tmp_path: Path, answer: Answer) -> None:
    need("gcc", "gcov")
    build = tmp_path / "covered"
    build.mkdir()
    ran([compile_c(build, COVERED, "--coverage", "-O0")], build)
    found = answer("covered")
    check_turns(found, ["assemble", "dot"], counted=True)
    # 8 turns of 10 calls; 4 of 10 calls of solve, each with 20 of dot.
    assert found["phases"][0]["functions"][0]["calls"] == 80
    assert found["phases"][1]["functions"][0]["calls"] == 800
    assert found["labels"] == [0] * 4 + [1] * 4 + [0] * 4


@pytest.mark.slow
def test_gmon(tmp_path: Path, answer: Answer) -> None:
    """A series that glibc's own runtime has left, one file after the other."""
    need("gcc")
    program = compile_c(tmp_path, PERF.replace("i < 12; i++) turn(i, 0.25", "i < 2; i++) turn(i, 0.1"), "-pg")
    series = tmp_path / "series"
    series.mkdir()
    for number in range(3):
        ran([program], tmp_path)
        shutil.copy(tmp_path / "gmon.out", series / f"gmon.out-{number}")
    answered(tmp_path, "import", "series", "--exe", program, "-i", "2s", "-o", "run")
    program.unlink()
    found = json.loads(answered(tmp_path, "phases", "run", "--json"))
    assert found["run"]["counted"] is True
    assert found["end_s"] == [2, 4, 6]
    assert "assemble" in {f["name"] for phase in found["phases"] for f in phase["functions"]}
