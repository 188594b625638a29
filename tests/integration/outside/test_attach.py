"""Recording from outside: what is recorded is what ran, and the program does not notice."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from incprof.model import UNKNOWN, IntervalProfile
from incprof.readers.run import open_run, read_profile
from incprof.record.launch import find_attacher
from incprof.symbols.addr2line import look_up
from incprof.symbols.elf import open_elf
from incprof.symbols.elf_symbols import go_table
from tests.integration.collector import FIXTURES, Recording, clean_environment
from tests.integration.command_line import incprof
from tests.integration.conftest import Build
from tests.integration.hosts import need, need_root, streams

TIMEOUT_S = 600
# Every function runs for 0.15 s of CPU time: at 1 kHz that is 150 ticks, where a machine does not drop
# any, and five intervals at least: one of two and a half may be taken for the time between two other phases.
FAST = ("-r", "1000", "-i", "0.03")
# The kernel's errors without permission, in a program that calls through libc.
REFUSING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <sys/syscall.h>
long syscall(long number, ...)
{
    va_list more;
    long a[6];
    va_start(more, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(more, long);
    va_end(more);
    if (number == SYS_perf_event_open && (ALL || !((struct perf_event_attr *)a[0])->exclude_kernel)) {
        errno = EACCES;
        return -1;
    }
    long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
"""


def words(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "incprof", "record", *map(str, arguments)]


def environment(**more: str) -> dict[str, str]:
    return {**clean_environment(), "PYTHONPATH": str(FIXTURES.parents[2]), **more}


def record(place: Path, *arguments: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words(*arguments),
        cwd=place,
        env=environment(**env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


@pytest.fixture(scope="module", autouse=True)
def permitted(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip where the kernel refuses, with its reason."""
    done = record(tmp_path_factory.mktemp("permitted"), "--external", "--", "true")
    if done.returncode != 0:
        pytest.skip(done.stderr.strip())


@pytest.fixture
def plain(build: Build) -> Path:
    return build("outside.c", pg=False, flags="-O2 -g -pthread", output="outside")


@pytest.fixture
def static(build: Build) -> Path:
    return build("outside.c", pg=False, flags="-O2 -g -pthread -static", output="outside-static")


def profiles(directory: Path) -> list[IntervalProfile]:
    """Of the first process and its children, whose numbers may be smaller: the kernel begins again at the largest."""
    run = open_run(directory)
    found = [read_profile(run, process=process) for process in run.processes]
    recorded = {profile.metadata.raw["pid"] for profile in found}
    return sorted(found, key=lambda profile: profile.metadata.raw["ppid"] in recorded)


def paths_of(directory: Path) -> Counter[str]:
    """Ticks of all processes by call path, outermost first."""
    found: Counter[str] = Counter()
    for profile in profiles(directory):
        recording = Recording(None, directory)  # type: ignore[arg-type]
        recording.__dict__["profile"] = profile
        for path, ticks in recording.paths().items():
            found[">".join(path)] += ticks
    return found


def most(found: Mapping[str, int], *parts: str) -> int:
    """Ticks of paths with these functions, one below the other."""
    return sum(ticks for path, ticks in found.items() if ">".join(parts) in path)


def is_recording(directory: Path) -> bool:
    return (directory / "rank-00000.gmon").exists()


def wait_for(directory: Path, recorder: subprocess.Popen[str]) -> None:
    while not is_recording(directory):
        assert recorder.poll() is None, recorder.communicate()
        time.sleep(0.01)


def start(place: Path, command: Sequence[str | Path]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        list(map(str, command)),
        cwd=place,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def start_host(place: Path, program: Path) -> subprocess.Popen[str]:
    """A program that waits for a line, and has printed that it does."""
    host = start(place, [program, "wait"])
    assert host.stdout is not None
    assert host.stdout.readline() == "ready\n"
    return host


@pytest.mark.parametrize(
    "kind", ["static", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("musl", "dynamic"))]
)
def test_a_program_is_recorded_with_nothing_in_it(kind: str, plain: Path, tmp_path: Path, build: Build) -> None:
    if kind == "musl":
        need("musl-gcc")
    flags = {"static": "-O2 -g -pthread -static", "musl": "-O2 -g -pthread -static", "dynamic": "-O2 -g -pthread"}
    compiler = "musl-gcc" if kind == "musl" else "gcc"
    program = build("outside.c", pg=False, flags=flags[kind], compiler=compiler, output=f"outside-{kind}")
    done = record(tmp_path, *FAST, "--external", "-o", "run", "--", program)
    assert (done.returncode, done.stdout) == (7, "ready\ndone\n")
    assert [line for line in done.stderr.splitlines() if not line.startswith("incprof: ")] == []
    first, *others = profiles(tmp_path / "run")
    assert first.metadata.app == program.name
    said = {
        "exe": str(program),
        "argv": [str(program)],
        "host": os.uname().nodename,
        "cwd": str(tmp_path),
        "attached": True,
    }
    assert said.items() <= first.metadata.raw.items()
    found = paths_of(tmp_path / "run")
    for path in (("main", "first_phase"), ("main", "second_phase"), ("early", "early_thread"), ("late", "late_thread")):
        assert most(found, *path) > 60, found.most_common(8)
    assert not [path for path in found if "__libc_start" in path or "start_thread" in path]
    assert len(others) == 1
    assert {f.mangled for f in others[0].functions} >= {"child"}
    shown = record_verb(tmp_path, "phases", "run", "--json")
    names = {function["name"] for phase in shown["phases"] for function in phase["functions"]}
    assert {"first_phase", "second_phase"} <= names


def record_verb(place: Path, *arguments: str) -> dict[str, list[dict[str, list[dict[str, str]]]]]:
    """Return the answer of a verb as JSON."""
    done = incprof(*arguments, cwd=place)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def test_a_process_that_runs(plain: Path, tmp_path: Path) -> None:
    host = start_host(tmp_path, plain)
    recorder = start(tmp_path, words(*FAST, "-o", "run", "-p", str(host.pid)))
    wait_for(tmp_path / "run", recorder)
    assert host.communicate("go\n", timeout=TIMEOUT_S) == ("done\n", "")
    said = recorder.communicate(timeout=TIMEOUT_S)
    assert (host.returncode, recorder.returncode, said[0]) == (7, 0, "")
    found = paths_of(tmp_path / "run")
    for path in (("main", "first_phase"), ("early", "early_thread"), ("late", "late_thread")):
        assert most(found, *path) > 60, found.most_common(8)
    first, child = profiles(tmp_path / "run")
    assert (first.metadata.raw["pid"], child.metadata.raw["ppid"]) == (host.pid, host.pid)
    assert "child" in {f.mangled for f in child.functions}


def test_a_process_with_what_it_has_started(static: Path, tmp_path: Path) -> None:
    service = start(tmp_path, ["sh", "-c", '"$0" wait; exit 3', static])
    assert service.stdout is not None
    assert service.stdout.readline() == "ready\n"
    recorder = start(tmp_path, words(*FAST, "-o", "run", "-p", str(service.pid)))
    wait_for(tmp_path / "run", recorder)
    assert service.communicate("go\n", timeout=TIMEOUT_S) == ("done\n", "")
    assert (service.returncode, recorder.wait(TIMEOUT_S)) == (3, 0)
    run = open_run(tmp_path / "run")
    assert run.app == static.name
    assert {"first_phase", "second_phase"} <= {function.name for function in read_profile(run).functions}
    assert not any(process.pid is None for process in run.processes if not process.primary)
    # It waited: what the recorder has used is not its CPU time.
    (shell,) = [program for program in run.programs if program.name == "sh"]
    assert sum(shell.cpu_s) < 0.01


def test_a_script_with_what_it_starts(static: Path, tmp_path: Path) -> None:
    done = record(tmp_path, *FAST, "--external", "-o", "run", "--", "sh", "-c", '"$0"; exit 3', static)
    assert (done.returncode, done.stdout) == (3, "ready\ndone\n")
    assert open_run(tmp_path / "run").app == static.name
    done = record(tmp_path, *FAST, "--external", "--follow", "0", "-o", "own", "--", "sh", "-c", '"$0"; exit 3', static)
    assert done.returncode == 3
    assert not any(process.pid for process in open_run(tmp_path / "own").processes)


@pytest.mark.parametrize("how", ["signal", pytest.param("duration", marks=pytest.mark.slow)])
def test_it_lets_go(how: str, static: Path, tmp_path: Path) -> None:
    host = start_host(tmp_path, static)
    flags = ["--duration", "0.3"] if how == "duration" else ["--waits", "0"]
    recorder = start(tmp_path, words("-i", "0.1", *flags, "-o", "run", "-p", str(host.pid)))
    wait_for(tmp_path / "run", recorder)
    if how == "signal":
        recorder.send_signal(signal.SIGINT)
    said = recorder.communicate(timeout=TIMEOUT_S)
    if how == "signal":
        assert recorder.returncode == 4, "it has only waited"
        assert said == ("", "incprof: no samples: the program has used no measurable CPU time\n")
    else:
        assert (recorder.returncode, said[0]) == (0, "")
        assert "next: incprof phases run" in said[1]
    assert host.poll() is None
    assert host.communicate("go\n", timeout=TIMEOUT_S) == ("done\n", "")
    assert host.returncode == 7
    assert b'"end_ns"' in (tmp_path / "run" / "rank-00000.gmon").read_bytes()
    assert len(streams(tmp_path / "run")) == 1, "the child came later"


def test_the_program_behind_those_that_start_it(static: Path, tmp_path: Path) -> None:
    done = record(tmp_path, *FAST, "--external", "-o", "run", "--", "timeout", "100", "env", "A=1", static)
    assert (done.returncode, done.stdout) == (7, "ready\ndone\n")
    first, child = profiles(tmp_path / "run")
    assert [first.metadata.app, child.metadata.app] == ["outside-static"] * 2
    assert done.stderr.startswith("incprof: "), done.stderr


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    done = record(tmp_path, "--external", "--", "./nothing")
    assert (done.returncode, done.stderr) == (127, "incprof: ./nothing: cannot be run: No such file or directory\n")


def test_what_cannot_be_attached_to(tmp_path: Path, static: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    host = start_host(tmp_path, static)
    thread = max(int(task) for task in os.listdir(f"/proc/{host.pid}/task"))
    said = {
        str(ended.pid): f"process {ended.pid} is not there",
        str(thread): f"process {thread} is a thread of process {host.pid}: give that number",
    }
    kernels = Path("/proc/2/comm")  # not there in a container
    if kernels.exists() and kernels.read_text() == "kthreadd\n":
        said["2"] = "process 2 is a kernel thread, and runs no program"
    for pid, line in said.items():
        done = record(tmp_path, "-p", pid)
        assert (done.returncode, done.stdout, done.stderr) == (1, "", f"incprof: {line}\n")
    itself = subprocess.run(
        ["sh", "-c", f'exec "{find_attacher({})}" --pid $$'], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (itself.returncode, itself.stderr.endswith(" is incprof itself\n")) == (1, True)
    for wrong in (["-p", "x"], ["-p", "1", "--", "true"], ["--external"], ["--duration", "1", "--", "true"]):
        assert record(tmp_path, *wrong).returncode == 2
    assert not list(tmp_path.glob("gmon-*"))
    host.communicate("go\n", timeout=TIMEOUT_S)


def test_another_users_process(tmp_path: Path, static: Path) -> None:
    need_root()
    need("setpriv")
    host = start_host(tmp_path, static)
    # In a place that the other user gets to.
    with TemporaryDirectory(dir="/tmp") as place:
        os.chmod(place, 0o755)
        attacher = shutil.copy(find_attacher({}), place)
        command = ["setpriv", "--reuid", "65534", "--clear-groups", attacher, "--pid", str(host.pid)]
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    host.communicate("go\n", timeout=TIMEOUT_S)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "belongs to another user: run as that user or root" in done.stderr


def refusing(place: Path, everything: bool) -> Path:
    """A library that stands for a kernel which forbids: perf as a whole, or ticks inside the kernel."""
    source, library = place / "refusing.c", place / f"refusing-{everything}.so"
    source.write_text(REFUSING)
    subprocess.run(["gcc", "-shared", "-fPIC", f"-DALL={everything:d}", source, "-o", library, "-ldl"], check=True)
    return library


def test_where_the_kernel_forbids_it_nothing_runs(static: Path, tmp_path: Path) -> None:
    library = refusing(tmp_path, True)
    done = record(tmp_path, "--external", "-o", "run", "--", static, LD_PRELOAD=str(library))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "CAP_PERFMON" in done.stderr or "cap_perfmon" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_time_inside_the_kernel_counts_where_its_ticks_are_forbidden(build: Build, tmp_path: Path) -> None:
    library = refusing(tmp_path, False)
    source = tmp_path / "calls.c"
    source.write_text(
        "#include <time.h>\n#include <unistd.h>\n#include <sys/syscall.h>\n"
        "int main(void) { struct timespec t; char page[65536]; int p[2]; if (pipe(p)) return 1;\n"
        "do { if (write(p[1], page, 4096) < 0 || read(p[0], page, 4096) < 0) return 1;\n"
        "clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); } while (t.tv_sec < 1); return 0; }\n"
    )
    program = build(source, pg=False, output="calls")
    done = record(tmp_path, *FAST, "--external", "-o", "run", "--", program, LD_PRELOAD=str(library))
    assert done.returncode == 0, done.stderr
    profile = read_profile(open_run(tmp_path / "run"))
    # Of 1000 ticks; those of the last interval wait for samples that do not come.
    assert profile.samples.weight.sum() > 600


@pytest.mark.slow
def test_threads_that_end_before_their_first_tick_have_their_time(build: Build, tmp_path: Path) -> None:
    source = tmp_path / "brief.c"
    source.write_text(
        '#include <pthread.h>\n#include <stddef.h>\n#include <time.h>\n#include "burn.h"\n'
        "static void *brief(void *unused) { BURN_S(0.005); return unused; }\n"
        "int main(void) { pthread_t t; BURN_S(0.5); for (int i = 0; i < 200; i++)\n"
        "{ if (pthread_create(&t, NULL, brief, NULL)) return 1; pthread_join(t, NULL); } BURN_S(0.5); return 0; }\n"
    )
    program = build(source, flags=f"-O1 -pthread -I{FIXTURES}", pg=False, output="brief")
    done = record(tmp_path, "-r", "50", "-i", "0.2", "--external", "-o", "run", "--", program)
    assert done.returncode == 0, done.stderr
    profile = read_profile(open_run(tmp_path / "run"))
    used_s = float((profile.counters.cpu_s - profile.counters.own_s).sum())
    samples = profile.samples
    assert samples.weight.sum() / 50 == pytest.approx(used_s, rel=0.1)
    assert samples.weight[samples.kind != UNKNOWN].sum() / 50 == pytest.approx(1.0, abs=0.25)
    assert "threads ended before their next tick" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("flags", ["", "-s -w"], ids=["whole", "stripped"])
def test_go_is_named_and_unwound_by_the_table_of_its_run_time(tmp_path: Path, flags: str) -> None:
    """Stripped or not: paths from where a goroutine begins, names, and the lines where functions begin."""
    need("go")
    source = FIXTURES / "goroutines.go"
    for words in (["compile", "-o", "go.o", source], ["link", *flags.split(), "-o", "goroutines", "go.o"]):
        subprocess.run(["go", "tool", *words], cwd=tmp_path, check=True)
    done = record(tmp_path, *FAST, "--external", "-o", "run", "--", tmp_path / "goroutines")
    assert (done.returncode, done.stderr.splitlines()[0]) == (0, "true true")
    assert [profile.warnings for profile in profiles(tmp_path / "run")] == [()]
    found = paths_of(tmp_path / "run")
    assert most(found, "main.main", "main.numbers", "main.leaf") > 60, found.most_common(8)
    assert most(found, "main.main.func1", "main.(*table).fill") > 60, found.most_common(8)
    assert sum(ticks for path, ticks in found.items() if "?" in path) < 0.02 * found.total(), found.most_common(8)
    assert not [path for path in found if {"runtime.goexit", "runtime.main"} & set(path.split(">"))]
    (tmp_path / "goroutines").unlink()
    shown = record_verb(tmp_path, "phases", "run", "--json")
    sites = [site for phase in shown["phases"] for site in phase["sites"]]
    assert {site["function"] for site in sites} & {"main.leaf", "main.numbers"}
    text = source.read_text().splitlines()
    for site in sites:
        if site["kind"] == "body" and site["function"].startswith("main."):
            written = site["function"].split(".")[-1]
            assert (written if written != "func1" else "go func") in text[int(site["line"]) - 1]


@pytest.mark.slow
def test_go_programs_name_the_functions_that_its_own_tools_do(tmp_path: Path) -> None:
    """Oracle: go tool nm, and addr2line on what was not stripped."""
    need("go", "addr2line")
    subprocess.run(["go", "tool", "compile", "-o", "go.o", FIXTURES / "goroutines.go"], cwd=tmp_path, check=True)
    for name, flags in (("whole", []), ("bare", ["-s", "-w"])):
        subprocess.run(["go", "tool", "link", *flags, "-o", name, "go.o"], cwd=tmp_path, check=True)
    told = subprocess.run(
        ["go", "tool", "nm", "whole"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    known = {words[2]: int(words[0], 16) for words in map(str.split, told.splitlines()) if words[1] in "tT"}
    table = go_table(open_elf(str(tmp_path / "bare")))
    assert table is not None
    start, _, names = table.functions()
    found = {name.decode(): address for name, address in zip(names, start.tolist(), strict=True)}
    assert {n: found.get(n) for n in known if n.startswith("main.")} == {
        n: a for n, a in known.items() if n.startswith("main.")
    }
    ours = [address for name, address in known.items() if name.startswith("main.")]
    assert [table.place(address) for address in ours] == look_up(str(tmp_path / "whole"), ours)


@pytest.mark.slow
def test_code_that_comes_and_goes_takes_no_more_memory(build: Build, tmp_path: Path) -> None:
    program = build("moving_code.c", pg=False, flags="-O2 -g", output="moving-code")
    done = record(tmp_path, "-r", "1000", "--external", "-o", "run", "--", program)
    assert done.returncode == 0, done.stderr
    # It was some 40 bytes for each function there had been, with each that came: 12 MB.
    assert int(done.stdout) < 3000
