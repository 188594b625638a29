"""Whole jobs: whatever starts the programs that work, they are recorded into one directory, and one of them leads."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from incprof.model import Run
from incprof.readers.run import open_run, read_profile
from tests.integration.command_line import incprof
from tests.integration.conftest import Build
from tests.integration.hosts import need, streams
from tests.integration.incprof.record.test_mpi import OPEN_MPI, QUIET, Implementation
from tests.integration.preload.test_without_pg import Done, record
from tests.variants import mostly_slow

# Half a second of work or so.
WORK = "3"

POOL = """
import multiprocessing, sys

def work(number):
    return sum(i * i for i in range(number))

if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(sum(pool.map(work, [400_000] * 60, chunksize=1)) % 1000)
"""


def loader() -> str:
    return next(path for path in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1") if os.path.exists(path))


@pytest.fixture(scope="module")
def ocean(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Path:
    return Path(shutil.copy2(build("plain.c", pg=False, output="plain"), tmp_path_factory.mktemp("job") / "ocean"))


def share(run: Run, name: str) -> float:
    """Part of the job's CPU time on record that a program has."""
    used = sum(sum(program.cpu_s) for program in run.programs)
    return sum(sum(program.cpu_s) for program in run.programs if program.name == name) / used if used else 1.0


def check(done: Done, name: str, status: int = 7) -> Run:
    """One line, one directory, and the program that worked leads."""
    assert done.status == status, done
    (line,) = done.lines
    assert line.endswith(f" in run; next: incprof phases {done.directory.name}"), line
    assert [path.name for path in done.directory.parent.glob("run*")] == ["run"]
    run = open_run(done.directory)
    assert run.app == name
    assert read_profile(run).self_s.sum() > 0
    assert share(run, name) > 0.5
    return run


@pytest.mark.parametrize(
    "words",
    mostly_slow(4, [
        ["setarch", "-R"], ["bash", "-c", '"$@" | cat; exit ${PIPESTATUS[0]}', "job"],
        ["find", "/dev/null", "-exec", "..."],
        [sys.executable, "-c", "import os, sys; os.execv(sys.argv[1], sys.argv[1:])"],
        ["ionice", "-c3"], ["prlimit", "--nofile=500"], ["setpriv", "--no-new-privs"],
        ["sh", "-c", '"$0" "$@"; exit $?'],
    ]),
    ids=lambda words: Path(words[0]).name,
)  # fmt: skip
def test_launchers_that_no_list_has(ocean: Path, tmp_path: Path, words: list[str]) -> None:
    need(words[0])
    command = [*words, ocean, WORK] if words[-1] != "..." else [*words[:-1], ocean, WORK, ";"]
    check(record(tmp_path, *command), "ocean", 0 if words[0] == "find" else 7)


def test_the_loader_by_its_name(ocean: Path, tmp_path: Path) -> None:
    check(record(tmp_path, loader(), ocean, WORK), "ocean")
    # It is the first process of the job, as when it is started by itself.
    end = (
        "import glob, os, time\n"
        "while not glob.glob('run/*.gmon') and time.process_time() < 20: sum(range(10_000))\n"
        "os.kill(os.getpid(), 9)"
    )
    done = record(tmp_path / "killed", loader(), sys.executable, "-c", end)
    assert (done.status, streams(done.directory)) == (-9, ["rank-00000.gmon"]), done


def test_a_script_with_all_that_it_starts(ocean: Path, tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    program = shlex.quote(str(ocean))
    script.write_text(f"#!/bin/sh\ncd /\nls > /dev/null\n{program} 1\n{program} 6 | cat\nexit 5\n")
    script.chmod(0o755)
    run = check(record(tmp_path, script), "ocean", 5)
    (ocean_program,) = [program for program in run.programs if program.name == "ocean"]
    assert len(ocean_program.processes) == 2
    assert ocean_program.cpu_s[0] > ocean_program.cpu_s[1]
    out = incprof("phases", run.directory).stdout
    assert f"shown: process {ocean_program.pids[0]} (others: --pid)" in out
    found = json.loads(incprof("phases", run.directory, "--pid", ocean_program.pids[1], "--json").stdout)
    assert {process["pid"] for process in found["programs"][0]["processes"]} == set(ocean_program.pids)


def test_a_service_that_overwrites_its_environment(tmp_path: Path) -> None:
    """As setproctitle does, to have room for the title: redis-server, postgres, nginx, Perl."""
    (tmp_path / "service.py").write_text(
        "import ctypes, os\n"
        "entries = ctypes.POINTER(ctypes.c_void_p).in_dll(ctypes.CDLL(None), 'environ')\n"
        "for name in ('INCPROF_DIR', 'INCPROF_LAUNCH'):\n"
        "    at = next(e for e in entries if ctypes.string_at(e).startswith(name.encode() + b'=')) + len(name) + 1\n"
        "    ctypes.memmove(at, b'/dev/null'.ljust(len(os.environ[name]), b'\\0'), len(os.environ[name]))\n"
        "print(sum(i * i for i in range(3_000_000)) % 7)\n"
    )
    # A process that another has started claims its directory after its first interval with data.
    done = record(tmp_path, "sh", "-c", f"INCPROF_INTERVAL=9 {shlex.quote(sys.executable)} service.py & wait; exit 7")
    check(done, "service.py")


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.slow), "forkserver"])
def test_workers_of_a_pool(tmp_path: Path, method: str) -> None:
    script = tmp_path / "pool.py"
    script.write_text(POOL)
    done = record(tmp_path, sys.executable, script, method)
    assert done.status == 0, done
    run = open_run(done.directory)
    # A server that they are forked from, or what tracks their resources, may have been sampled, too.
    assert run.workers
    assert run.app == "pool.py"
    workers = 0
    for rank in run.ranks:
        profile = read_profile(run, rank=rank)
        worked = {f.name: s for f, s in zip(profile.functions, profile.self_s.sum(axis=0), strict=True)}
        workers += sum(s for name, s in worked.items() if "work" in name) > 0.5 * sum(worked.values())
    assert workers == 2


@pytest.mark.parametrize(
    "mpi", [OPEN_MPI, pytest.param(Implementation("mpich"), marks=pytest.mark.slow)], ids=lambda mpi: mpi.name
)
def test_programs_of_one_launch_are_kept_apart(ocean: Path, tmp_path: Path, mpi: Implementation) -> None:
    need(f"mpirun.{mpi.name}")
    atmosphere = Path(shutil.copy2(ocean, tmp_path / "atmosphere"))
    done = record(tmp_path, *mpi.launch(ocean, 2), "9", ":", "-n", "1", atmosphere, WORK, env=QUIET)
    assert len(done.lines) == 1, done
    run = open_run(done.directory)
    assert (run.app, run.ranks) == ("ocean", (0, 1))
    assert open_run(done.directory, program="atmosphere").ranks == (2,)


def test_two_launches_in_one_script_share_a_directory(ocean: Path, tmp_path: Path) -> None:
    need("mpirun.openmpi")
    launch = shlex.join(map(str, [*OPEN_MPI.launch(ocean, 2), WORK]))
    done = record(tmp_path, "sh", "-c", f"{launch}; {launch}; exit 7", env=QUIET)
    run = check(done, "ocean")
    assert [program.name for program in run.programs].count("ocean") == 2
    assert run.ranks == (0, 1)
    assert len(run.processes) == 2


def test_only_the_commands_own_program_on_request(ocean: Path, tmp_path: Path) -> None:
    record(tmp_path, ocean, WORK, env={"INCPROF_FOLLOW": "0"})
    assert open_run(tmp_path / "run").app == "ocean"
    record(tmp_path, "setarch", "-R", ocean, WORK, env={"INCPROF_FOLLOW": "0"})
    # A tick may find setarch itself.
    assert [open_run(path).app for path in tmp_path.glob("run.*")] == ["setarch"]
