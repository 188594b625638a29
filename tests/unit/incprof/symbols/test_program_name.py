"""What programs are called: as they were started, by their scripts; in C and in Python alike."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from incprof.readers.run import open_run, read_profile
from incprof.symbols.elf.preflight import command_name, program_name
from tests.paths import ROOT
from tests.unit.profiles import two_phase_run
from tests.unit.streamwriter import BUILD_ID

CASES = [
    ("/usr/bin/redis-check-rdb", ["/usr/bin/redis-server *:6379"], "redis-server"),
    ("/usr/bin/libgvc6-config-update", ["dot", "-Tsvg", "a.dot"], "dot"),
    ("/usr/sbin/nginx", ["nginx: master process /usr/sbin/nginx -g daemon off;"], "nginx"),
    ("/usr/lib/postgresql/15/bin/postgres", ["postgres: 15/main: checkpointer "], "postgres"),
    ("/home/me/my app/solve", ["/home/me/my app/solve", "-n", "3"], "solve"),
    ("/usr/bin/bash", ["-bash"], "bash"), ("/usr/bin/bash", ["bash", "job.sh", "3"], "job.sh"),
    ("/usr/bin/bash", ["bash", "-c", "true"], "bash"), ("/usr/bin/bash", ["/bin/bash", "-ex", "job.sh"], "job.sh"),
    ("/usr/bin/bash", ["bash", "-o", "pipefail", "--", "/jobs/a.sh"], "a.sh"), ("/usr/bin/dash", ["sh", "-s"], "sh"),
    ("/usr/bin/bash", ["bash", "/dev/fd/63"], "bash"), ("/usr/bin/bash", ["bash", "+e", "--posix", "a.sh"], "a.sh"),
    ("/opt/x/solve", [], "solve"), ("/opt/x/solve", [""], "solve"),
    ("/usr/bin/python3.11", ["python3", "app.py", "250000"], "app.py"),
    ("/usr/bin/python3.11", ["python3", "-u", "-X", "dev", "-W", "ignore", "src/app.py"], "app.py"),
    ("/usr/bin/python3.11", ["python3", "-m", "mesh.run", "-n", "3"], "mesh.run"),
    ("/usr/bin/python3.11", ["python3", "-um", "mesh"], "mesh"),
    ("/usr/bin/python3.11", ["python3", "mesh/__main__.py"], "mesh"),
    ("/usr/bin/python3.11", ["/usr/bin/python3", "/usr/bin/pytest", "-q"], "pytest"),
    ("/usr/bin/python3.11", ["python3", "-c", "print(1)"], "python3"), ("/usr/bin/python3.13t", ["x", "-"], "x"),
    ("/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", ["/lib64/ld-linux-x86-64.so.2", "./solve", "3"], "solve"),
    ("/lib/ld-2.31.so", ["ld.so", "--library-path", "/opt/lib", "--inhibit-cache", "bin/solve"], "solve"),
    ("/usr/lib/R/bin/exec/R", ["/usr/lib/R/bin/exec/R", "--no-echo", "--file=fit.R"], "fit.R"),
    ("/usr/lib/R/bin/exec/R", ["R", "--no-save", "-f", "a/fit.R"], "fit.R"), ("/usr/lib/R/bin/exec/R", ["R"], "R"),
    ("/usr/bin/Rscript", ["Rscript", "--vanilla", "fit.R"], "fit.R"),
    ("/usr/bin/node", ["node", "--prof", "app.js"], "app.js"), ("/usr/bin/node", ["node", "lib/app.js"], "app.js"),
    ("/usr/bin/node", ["node", "--require", "x", "-e", "1"], "node"), ("/usr/bin/perl", ["perl", "-e", "1"], "perl"),
    ("/usr/bin/perl", ["/usr/bin/perl", "-w", "-I", "lib", "a.pl", "x"], "a.pl"), ("/bin/lua5.4", ["lua", "a"], "a"),
    ("/opt/julia", ["julia", "-O3", "-t", "4", "--project=.", "heat.jl"], "heat.jl"), ("/bin/tclsh8.6", ["t"], "t"),
    ("/usr/bin/octave-cli-7.3.0", ["octave-cli", "--quiet", "fit.m"], "fit.m"), ("/usr/bin/showq", ["s\n"], "showq"),
    ("/usr/bin/python3-config", ["/usr/bin/python3-config", "x"], "python3-config"), ("/bin/ldd", ["ldd", "x"], "ldd"),
    ("/usr/bin/python3.11", ["python3", "."], "python3"), ("/usr/bin/python3.11", ["python3", "mesh/"], "mesh"),
]  # fmt: skip


@pytest.mark.parametrize(("exe", "argv", "name"), CASES)
def test_names(exe: str, argv: list[str], name: str) -> None:
    assert program_name(exe, argv) == name


def test_the_collector_has_the_same(tmp_path: Path) -> None:
    sources = [ROOT / "tests/integration/parts_fixtures/program_name.c"]
    sources += [ROOT / f"runtime/{name}.c" for name in ("program_name", "fixed_text")]
    words = ["gcc", "-std=gnu11", "-g", "-Wall", "-Werror", f"-I{ROOT}/runtime/include", *sources]
    subprocess.run([*words, "-o", tmp_path / "name"], check=True)
    names = [
        subprocess.run([tmp_path / "name", exe, *argv], capture_output=True, text=True, check=True).stdout[:-1]
        for exe, argv, _ in CASES
    ]
    assert names == [name for _, _, name in CASES]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("bash -e job.sh", "job.sh"), ("env A=b nice bash job.sh", "job.sh"), ("./job.sh bash other.sh", "job.sh"),
        ("nice -n 4 ./job.sh", "job.sh"), ("make -j2 sort", "make"), ("env", "env"), ("nowhere", "nowhere"),
        ("bash -c true", "bash"),
    ],
)  # fmt: skip
def test_commands_of_scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.sh").touch(0o755)
    assert command_name(command.split(), None) == name


@pytest.mark.parametrize(
    ("command", "name"), [("PYTHON -X dev app.py", "app.py"), ("env A=b PYTHON -m mesh.run", "mesh.run")]
)
def test_commands_of_programs(command: str, name: str) -> None:
    python = sys.executable
    assert command_name(command.replace("PYTHON", python).split(), os.path.realpath(python)) == name


def test_runs_have_the_collectors_name(tmp_path: Path) -> None:
    assert open_run(two_phase_run(tmp_path, app="job.sh", exe="/usr/bin/bash")).app == "job.sh"


@pytest.mark.parametrize(
    ("exe", "argv", "app", "module"),
    [
        ("/usr/bin/redis-check-rdb", ["redis-server *:6379"], "redis-server", "redis-server"),
        ("/usr/bin/python3.11", ["python3", "app.py"], "app.py", "python3.11"),
        ("/opt/x/solve", ["other"], "solve", "solve"),  # Recorded by the name of its file.
    ],
)
def test_the_file_of_a_program_is_called_as_it_was_started(
    tmp_path: Path, exe: str, argv: list[str], app: str, module: str
) -> None:
    loaded = [
        {"id": 0, "path": exe, "build_id": BUILD_ID, "base": "0x0", "low": "0x1000", "high": "0x2000", "app": True}
    ]
    run = open_run(two_phase_run(tmp_path, app=app, exe=exe, argv=argv, modules=loaded))
    assert {function.module for function in read_profile(run).functions if function.is_code} == {module}
