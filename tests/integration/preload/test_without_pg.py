"""Programs built without -pg: which processes are recorded, and the names of their functions."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from incprof.model import IntervalProfile
from incprof.readers.run import open_all, open_run, read_profile
from incprof.record.launch import find_library
from tests.integration.collector import clean_environment
from tests.integration.command_line import incprof
from tests.integration.conftest import Build
from tests.integration.hosts import BuildHost, need, streams
from tests.integration.incprof.record.test_mpi import OPEN_MPI, QUIET, Implementation
from tests.paths import ROOT
from tests.recordings.kept import kept

TIMEOUT_S = 600


@dataclass(frozen=True)
class Done:
    """An `incprof record` that has ended."""

    status: int
    stdout: str
    lines: list[str]
    directory: Path

    @property
    def profile(self) -> IntervalProfile:
        return read_profile(open_run(self.directory))

    def shares(self) -> dict[str, float]:
        """Part of the program's time that each function has."""
        profile = self.profile
        each = np.ravel(profile.self_s.sum(axis=0))
        return {f.mangled: float(s / each.sum()) for f, s in zip(profile.functions, each, strict=True) if s}

    def near(self, share: float) -> object:
        """That share of the samples that there are: five standard deviations, and a hundredth for what starts it."""
        samples = int(self.profile.counters.samples.sum())
        assert samples > 20
        return pytest.approx(share, abs=5 * (share * (1 - share) / samples) ** 0.5 + 0.01)


def record(place: Path, *command: str | Path, exe: str = "", env: dict[str, str] | None = None) -> Done:
    """`incprof record` of a command in a directory of its own."""
    place.mkdir(exist_ok=True)
    flags = ["--exe", exe] if exe else []
    words = [sys.executable, "-m", "incprof", "record", "-i", "0.1", "-o", place / "run", *flags, "--", *command]
    done = subprocess.run(
        list(map(str, words)),
        cwd=place,
        env={**clean_environment(), "PYTHONPATH": str(ROOT), **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=TIMEOUT_S,
        check=False,
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("incprof: ")]
    return Done(done.returncode, done.stdout, lines, place / "run")


@pytest.fixture
def plain(build: Build) -> Path:
    return build("plain.c", pg=False, output="plain")


def recorded_programs(place: Path) -> list[str]:
    """Names of the programs below a directory that worked: a launcher's start may meet a tick or two, too."""
    runs = [open_all(run) for run in place.rglob("*") if streams(run)]
    profiles = [read_profile(run, process=process) for run in runs for process in run.processes]
    samples = [int(profile.counters.samples.sum()) for profile in profiles]
    most = max(samples, default=0)
    return sorted(p.metadata.app for p, n in zip(profiles, samples, strict=True) if n > 2 and n >= most / 10)


def test_time_of_functions(plain: Path, tmp_path: Path) -> None:
    done = record(tmp_path, plain)
    assert (done.status, done.stdout) == (7, "0\n")
    assert len(done.lines) == 1, done.lines
    shares = done.shares()
    assert shares["two"] == done.near(0.4)
    assert shares["three"] == done.near(0.6)
    assert not any(module.counts for module in done.profile.metadata.modules)
    assert done.profile.calls.nnz == 0


def test_stripped_program_by_its_unwind_tables(plain: Path, tmp_path: Path) -> None:
    """Oracle: nm of the program before it was stripped."""
    need("nm", "strip")
    bare = tmp_path / "bare"
    subprocess.run(["strip", "-o", bare, plain], check=True)
    symbols = subprocess.run(["nm", plain], check=True, capture_output=True, text=True).stdout
    address = {name: int(value, 16) for value, _, name in re.findall(r"^(\w+) ([tT]) (\w+)$", symbols, re.MULTILINE)}
    done = record(tmp_path, bare)
    assert done.shares()[f"bare+{address['two']:#x}"] == done.near(0.4)
    assert done.shares()[f"bare+{address['three']:#x}"] == done.near(0.6)


def test_stripped_program_by_the_symbols_that_it_carries(plain: Path, tmp_path: Path) -> None:
    """As Fedora builds its packages: a packed ELF file in .gnu_debugdata."""
    need("objcopy", "xz")
    bare, names = tmp_path / "bare", tmp_path / "names"
    subprocess.run(["strip", "--strip-debug", "-o", names, plain], check=True)
    subprocess.run(["xz", "-k", names], check=True)
    subprocess.run(["strip", "-o", bare, plain], check=True)
    subprocess.run(["objcopy", "--add-section", f".gnu_debugdata={names}.xz", bare], check=True)
    done = record(tmp_path, bare)
    bare.unlink()
    assert set(done.shares()) >= {"two", "three"}


def test_stripped_program_by_its_debug_file(
    plain: Path, build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("objcopy", "readelf")
    program = build("plain.c", pg=False, flags="-O2 -Wl,--build-id", output="plain")
    bare, debug = tmp_path / "bare", tmp_path / "debug"
    subprocess.run(["strip", "-o", bare, program], check=True)
    notes = subprocess.run(["readelf", "-n", bare], check=True, capture_output=True, text=True).stdout
    found = re.search(r"Build ID: (\w+)", notes)
    assert found is not None
    (debug / found[1]).mkdir(parents=True)
    subprocess.run(["objcopy", "--only-keep-debug", program, debug / found[1] / "debuginfo"], check=True)
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(debug))
    assert set(record(tmp_path, bare).shares()) >= {"two", "three"}


D = """
module solver;
import core.stdc.stdlib, core.time;
struct Mesh(T) {
    T[] a;
    pragma(inline, false) void sweep(int times) {
        foreach (k; 0 .. times) foreach (i; 1 .. a.length - 1) a[i] = (a[i - 1] + a[i + 1]) * 0.5;
    }
}
pragma(inline, false) T norm(T)(T[] a) { T s = 0; foreach (x; a) s += x * x; return s; }
void main() {
    auto mesh = Mesh!double(new double[4000]);
    mesh.a[] = 1;
    double sum = 0;
    foreach (turn; 0 .. 20_000) {
        mesh.sweep(10);
        sum += norm(mesh.a);
    }
    exit(sum > 0 ? 7 : 8);
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gdc -O2 -g -o solver", "ldc2 -O2 -g -of=solver"])
def test_d(compiler: str, tmp_path: Path) -> None:
    need(compiler.split()[0])
    (tmp_path / "solver.d").write_text(D)
    subprocess.run([*compiler.split(), "solver.d"], cwd=tmp_path, check=True)
    done = record(tmp_path, tmp_path / "solver")
    assert (done.status, done.stdout) == (7, "")
    assert {"D main", "solver::Mesh<double>::sweep(int)"} <= {f.name for f in done.profile.functions}
    found = json.loads(incprof("phases", done.directory, "--json").stdout)
    sites = {(site["function"], Path(site["file"]).name) for phase in found["phases"] for site in phase["sites"]}
    assert ("solver::Mesh<double>::sweep(int)", "solver.d") in sites


def test_libraries_of_its_own_and_their_threads(build: Build, tmp_path: Path) -> None:
    """A library's constructor starts a thread before the program begins: its functions are the program's own."""
    library = build("plain_lib.c", pg=False, flags="-O2 -shared -fPIC -pthread", output="libplain.so")
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    words = ["gcc", "-no-pie", "-Wl,--no-as-needed", "main.c", library, f"-Wl,-rpath,{library.parent}", "-o", "main"]
    subprocess.run(words, cwd=tmp_path, check=True)
    done = record(tmp_path, tmp_path / "main")
    assert (done.status, len(done.lines)) == (0, 1)
    assert done.shares()["work_of_library"] > 0.8


def test_symbols_are_kept_of_libraries_that_time_passes_in(build: Build, tmp_path: Path) -> None:
    """And of the program itself; not of all that it has loaded."""
    library = build("plain_lib.c", pg=False, flags="-O2 -shared -fPIC -pthread", output="libplain.so")
    (tmp_path / "idle.c").write_text("void work_of_nobody(void) {}\n")
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\nvoid work_of_main(void) {}\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "idle.c", "-o", "libidle.so"], cwd=tmp_path, check=True)
    words = ["main.c", "libidle.so", library, f"-Wl,-rpath,{library.parent}:{tmp_path}", "-o", "main"]
    subprocess.run(["gcc", "-Wl,--no-as-needed", *words], cwd=tmp_path, check=True)
    done = record(tmp_path, tmp_path / "main")
    assert any(module.path.endswith("/libidle.so") for module in done.profile.metadata.modules)
    copies = [copy.read_bytes() for copy in (done.directory / "symbols").glob("*.elf")]
    kept = [name for name in (b"work_of_main", b"work_of_library", b"work_of_nobody") if any(name in c for c in copies)]
    assert kept == [b"work_of_main", b"work_of_library"]


USUAL = [["env", "timeout", "3600", "nice"], ["setsid", "-w"], ["xargs", "-a", "/dev/null"]]
WRAPPERS = [
    ["env", "A=b"],
    ["timeout", "3600"],
    ["nice", "-n", "1"],
    ["nohup"],
    ["taskset", "-c", "0"],
    ["numactl", "--all"],
    ["stdbuf", "-oL"],
]


@pytest.mark.parametrize(
    "wrapper", [*USUAL, *(pytest.param(words, marks=pytest.mark.slow) for words in WRAPPERS)], ids=" ".join
)
def test_wrappers_are_not_what_is_recorded(plain: Path, tmp_path: Path, wrapper: list[str]) -> None:
    need(wrapper[0])
    done = record(tmp_path, *wrapper, plain, "1")
    assert (done.status, len(done.lines)) == (123 if wrapper[0] == "xargs" else 7, 1)
    assert recorded_programs(tmp_path) == ["plain"]


def test_all_that_scripts_start_is_recorded_or_what_is_named(plain: Path, tmp_path: Path) -> None:
    driver = tmp_path / "driver.py"
    driver.write_text(f"import subprocess\nprint(sum(range(10**6)))\nsubprocess.run(['{plain}', '1'])\n")
    shell = tmp_path / "driver.sh"
    shell.write_text(f"#!/bin/sh\n{plain} 1\n'{plain}' 1 | cat\n")
    shell.chmod(0o755)
    for number, command in enumerate([[sys.executable, driver], [shell], ["sh", "-c", f"{plain} 1; exit 7"]]):
        unnamed = record(tmp_path / f"a{number}", *command)
        assert "plain" in recorded_programs(tmp_path / f"a{number}")
        named = record(tmp_path / f"b{number}", *command, exe="plain")
        assert set(recorded_programs(tmp_path / f"b{number}")) == {"plain"}
        assert (unnamed.stdout, unnamed.status) == (named.stdout, named.status)
    every = record(tmp_path / "every", *command, exe="*lain")
    assert (every.stdout, every.status) == (named.stdout, named.status)
    assert set(recorded_programs(tmp_path / "every")) == {"plain"}


def test_a_pattern_never_means_shells(plain: Path, tmp_path: Path) -> None:
    done = record(tmp_path, "bash", "-c", f"{plain}; timeout 3600 {plain}", exe="*")
    assert done.status == 7
    assert recorded_programs(tmp_path) == ["plain", "plain"]


def test_interpreter_of_python_is_recorded(tmp_path: Path) -> None:
    script = tmp_path / "work.py"
    script.write_text("print(sum(i * i for i in range(3 * 10**6)))\n")
    alone = record(tmp_path / "alone", sys.executable, script)
    named = record(tmp_path / "named", sys.executable, script, exe=os.path.basename(sys.executable))
    assert named.stdout == alone.stdout
    assert all(float(done.profile.counters.cpu_s.sum()) > 0 for done in (alone, named))


def test_program_with_pg_is_what_a_starter_without_starts(plain: Path, host: BuildHost, tmp_path: Path) -> None:
    """With an unknown launcher, the program that is built for it is recorded."""
    (tmp_path / "starter.c").write_text(
        "#include <unistd.h>\nint main(int c, char **v) { return execv(v[1], v + 1); }\n"
    )
    subprocess.run(["gcc", tmp_path / "starter.c", "-o", tmp_path / "starter"], check=True)
    done = record(tmp_path, tmp_path / "starter", host("simple.c"), "50")
    assert done.status == 3
    assert recorded_programs(tmp_path) == ["simple"]
    assert streams(done.directory)


@pytest.mark.parametrize(
    "mpi",
    [
        pytest.param(OPEN_MPI, id="openmpi"),
        pytest.param(Implementation("mpich"), id="mpich", marks=pytest.mark.slow),
    ],
)
def test_ranks(plain: Path, tmp_path: Path, mpi: Implementation) -> None:
    need(f"mpirun.{mpi.name}")
    done = record(tmp_path, *mpi.launch(plain, 2), env=QUIET)
    assert len(done.lines) == 1, done.lines
    assert {"rank-00000.gmon", "rank-00001.gmon"} <= set(streams(done.directory))
    run = open_run(done.directory, program="plain")
    assert [Path(process.path).name for process in run.processes] == ["rank-00000.gmon", "rank-00001.gmon"]
    assert recorded_programs(tmp_path).count("plain") == 2


def test_bare_preload_needs_a_name(plain: Path, tmp_path: Path) -> None:
    preload = {**clean_environment(), "LD_PRELOAD": str(find_library(os.environ)), "INCPROF_DIR": str(tmp_path / "run")}
    assert subprocess.run([plain], env=preload, capture_output=True, check=False).stderr == b""
    assert not (tmp_path / "run").exists()
    assert subprocess.run([plain], env={**preload, "INCPROF_EXE": "pl*"}, check=False).returncode == 7
    assert streams(tmp_path / "run")


@pytest.mark.slow
def test_programs_of_debian(tmp_path: Path) -> None:
    """Never rebuilt, stripped; libraries with what the program does are its own code."""
    need("gcc", "g++")
    data = tmp_path / "data"
    data.write_bytes(b"".join(hash_of(i) for i in range(100000)))
    compiler = subprocess.run(
        ["gcc", "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True
    ).stdout.strip()
    (tmp_path / "big.cpp").write_text('#include <regex>\nstd::regex all("a+b");\nint main() { return 0; }\n')
    source = tmp_path / "big.ii"
    source.write_bytes(subprocess.run(["g++", "-E", tmp_path / "big.cpp"], capture_output=True, check=True).stdout)
    commands: list[Sequence[str | Path]] = [
        ["xz", "-kc", data],
        ["zstd", "-19", "-qc", data],
        ["bzip2", "-kc", data],
        [compiler, "-fpreprocessed", "-quiet", "-O2", source, "-o", "/dev/null"],
        [
            "sqlite3",
            ":memory:",
            "with recursive n(i) as (select 1 union all select i+1 from n where i < 2000000) select sum(i) from n;",
        ],
        ["perl", "-e", "my $s = 0; $s += $_ * $_ for 1 .. 4000000; print $s"],
    ]
    tried = 0
    for number, command in enumerate(commands):
        name = str(command[0])
        if not (Path(name).is_file() or any((Path(d) / name).is_file() for d in os.get_exec_path())):
            continue
        tried += 1
        exe = "perl" if name == "perl" else ""
        plain = subprocess.run(list(map(str, command)), capture_output=True, text=True, errors="replace", check=False)
        done = record(tmp_path / f"d{number}", *command, exe=exe)
        assert (done.status, done.stdout) == (plain.returncode, plain.stdout)
        profile = done.profile
        named = [f.name for f in profile.functions if f.is_code and not f.is_nameless]
        assert named, name
        self_s = np.ravel(profile.self_s.sum(axis=0))
        code = np.array([f.is_code and not f.is_nameless for f in profile.functions])
        assert self_s[code].sum() > 0.5 * self_s.sum(), (name, named)
        # Some programs are over after a few samples.
        assert profile.counters.broken.sum() <= max(0.1 * profile.counters.samples.sum(), 3), name
        found = incprof("phases", done.directory)
        assert found.returncode == 0, found.stderr
    if not tried:
        pytest.skip("none of them is installed")


def hash_of(number: int) -> bytes:
    """Bytes that compress somewhat, the same each time."""
    return f"{number * 2654435761 % 2**32:08x} {number % 97} line\n".encode()


@pytest.mark.slow
def test_sites_are_those_of_the_build_with_pg(tmp_path: Path) -> None:
    """Calls that follow each other leave no mark in samples; the loop around them is in the machine code."""
    need("objdump")
    for pg, name in ((True, "phases"), (False, "phases-without-pg")):
        kept(name, tmp_path / f"pg-{pg}")
    found = {pg: json.loads(incprof("phases", tmp_path / f"pg-{pg}" / "run", "--json").stdout) for pg in (True, False)}
    sites = {pg: {(s["function"], s["kind"]) for p in found[pg]["phases"] for s in p["sites"]} for pg in found}
    bodies = {(name, "body") for name in ("fill_keys", "build_table", "lookup_batch")}
    assert sites[False] == sites[True] == {*bodies, ("validate", "loop")}
    assert (found[True]["run"]["counted"], found[False]["run"]["counted"]) == (True, False)
    assert all(s["estimated"] for p in found[False]["phases"] for s in p["sites"])
    assert not any("estimated" in s for p in found[True]["phases"] for s in p["sites"])
    functions = [f for p in found[False]["phases"] for f in p["functions"]]
    assert all(f["estimated"] and f["calls_low"] == f["calls"] for f in functions)
    shown = incprof("phases", tmp_path / "pg-False" / "run", "--details").stdout
    assert "calls were not counted" in shown
    assert " 0 calls" not in shown
    page = tmp_path / "page.html"
    assert incprof("report", tmp_path / "pg-False" / "run", "-o", page).returncode == 0
    assert "calls were not counted" in page.read_text()


@pytest.mark.slow
def test_bursts_of_looks_take_no_time(tmp_path: Path) -> None:
    """A look every millisecond, now and then: beside ticks, which count as if there were none."""
    if int(Path("/proc/sys/kernel/perf_event_paranoid").read_text()) > 2:
        pytest.skip("perf's clock is not permitted here")
    # A burst is due once in at most 1.5 s, of a thread that has run for half a second since its last one.
    source = (
        "#include <time.h>\nvolatile long n;\n"
        "__attribute__((noinline)) void spin(void) { for (long i = 0; i < 1000000; i++) n++; }\n"
        "int main(void) { while (clock() < 2 * CLOCKS_PER_SEC) spin(); return 3; }\n"
    )
    (tmp_path / "spin.c").write_text(source)
    subprocess.run(["gcc", "-O1", "spin.c", "-o", "spin"], cwd=tmp_path, check=True)
    done = record(tmp_path, tmp_path / "spin")
    assert (done.status, len(done.lines)) == (3, 1)
    samples, counters = done.profile.samples, done.profile.counters
    assert samples.is_dense.any()
    assert int(counters.samples.sum()) == int((~samples.is_dense).sum())
    assert (samples.weight[~samples.is_dense] > 0).all()
    # As many bursts as there are half seconds of the run, at most.
    assert int(samples.is_dense.sum()) <= 24 * (2 * float(done.profile.end_s[-1]) + 1)


DRIVEN = r"""
#include <stdlib.h>
static volatile double x;
__attribute__((noinline)) static void turn(long n)
{
    for (long i = 0; i < n; i++)
        x = x * 0.999 + (double)i;
}
__attribute__((noinline)) static void block(long n)
{
    turn(n);
    turn(n / 2);
}
__attribute__((noinline)) static void drive(int blocks)
{
    for (int b = 0; b < blocks; b++) {
        block(12000000);
        for (long i = 0; i < 6000000; i++)
            x = x * 0.998 + (double)i;
    }
}
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        drive(atoi(argv[i]));
    return 0;
}
"""


@pytest.mark.slow
def test_one_call_in_a_loop_below_which_a_loop_goes_on_is_a_driver(tmp_path: Path) -> None:
    (tmp_path / "driven.c").write_text(DRIVEN)
    subprocess.run(["gcc", "-O1", "-g", "driven.c", "-o", "driven"], cwd=tmp_path, check=True)
    done = record(tmp_path, tmp_path / "driven", "30")
    answer = json.loads(incprof("phases", done.directory, "--json").stdout)
    sites = [(site["function"], site["kind"]) for phase in answer["phases"] for site in phase["sites"]]
    assert sites
    assert ("drive", "body") not in sites
