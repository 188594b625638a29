"""Programs in Python: its functions in call paths, with frames of C between them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from incprof.model import OUTSIDE_LOOPS
from incprof.readers.run import open_run, read_profile
from incprof.readers.stream.inlined import with_code_loops
from soak.pythons import interpreters
from tests.integration.collector import FIXTURES, Outcome, Recording, judge, run, variables
from tests.integration.command_line import incprof
from tests.paths import ROOT
from tests.variants import mostly_slow

DRIVER = FIXTURES / "python_driver.py"
DEPTHS = FIXTURES / "python_depths.py"
PYTHON = os.path.realpath(sys.executable)
CHURN = ROOT / "soak" / "hosts" / "churn.py"


# Each version that is here, beside the running one. Frames of objects, before 3.11, are those of a C stack.
OTHERS = [found for found in interpreters() if re.search(r"python3\.1[1-9]$", os.path.realpath(found))]


def recorded(
    command: list[str | Path],
    folder: Path,
    *,
    rate: int = 250,
    clock: str = "cpu",
    interval: float = 0.25,
    overhead: int = 100,
) -> Recording:
    exe = {"INCPROF_EXE": os.path.realpath(command[0]), "INCPROF_OVERHEAD": str(overhead)}
    environment = variables(folder / "run", rate=rate, clock=clock, interval=interval) | exe
    return Recording(run(command, folder, environment), folder / "run")


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    folder = tmp_path_factory.mktemp("driver")
    library = folder / "libkernel.so"
    source = FIXTURES / "python_kernel.c"
    subprocess.run(["gcc", "-O1", "-g", "-shared", "-fPIC", source, "-o", library], check=True)
    return recorded([PYTHON, DRIVER, library, "0.6", "0.6"], folder)


@pytest.fixture
def library(driver: Recording) -> Path:
    return driver.directory.parent / "libkernel.so"


def test_functions_of_c_are_below_those_of_python_that_call_them(driver: Recording) -> None:
    file = "python_driver.py"
    begin = rf"{file}:<module>@\d+>{file}:spend"
    verdict = judge(
        driver,
        [
            rf"{begin}>{file}:<lambda>@\d+>{file}:assemble(>{file}:assemble\.<locals>\.<genexpr>@\d+)?",
            rf"{begin}>{file}:Solver\.step>kernel",
            rf"{begin}(>{file}:Solver\.step|>{file}:<lambda>@\d+)?",
            rf"{file}:<module>@\d+.*|[^:]*<frozen.*|.*/?\w+\.py:.*|",  # while Python starts
        ],
    )
    assert driver.outcome.stdout == "done\n"
    own, kernel, *_ = verdict.each.values()
    assert own >= 50, str(verdict)
    assert kernel >= 50, str(verdict)
    assert verdict.right(0.95), str(verdict)


def test_a_function_has_its_place_in_the_source(driver: Recording) -> None:
    profile = driver.profile
    step = next(f for f in profile.functions if f.name == "python_driver.py:Solver.step")
    lines = DRIVER.read_text().splitlines()
    assert step.file == str(DRIVER)
    assert lines[step.line - 1].strip() == "def step(self):"
    assert step.is_code
    assert not step.is_library


def test_loops_are_those_of_the_source(driver: Recording) -> None:
    run_ = open_run(driver.directory)
    profile = with_code_loops(run_, read_profile(run_))
    number = {f.name: i for i, f in enumerate(profile.functions)}
    assert profile.code_loops is not None
    of = {
        name: set(profile.code_loops.at[profile.paths.function == number[f"python_driver.py:{name}"]].tolist())
        for name in ("spend", "<module>")
    }
    callers = profile.paths.parent[profile.paths.function == number["kernel"]]
    assert {profile.functions[f].name for f in profile.paths.function[callers]} == {"python_driver.py:Solver.step"}
    assert profile.code_loops.at[callers].min() > OUTSIDE_LOOPS
    assert max(of["spend"]) > OUTSIDE_LOOPS
    assert of["<module>"] == {OUTSIDE_LOOPS}


@pytest.mark.slow
def test_sites_in_python_are_instrumented(driver: Recording, library: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    program = tree / DRIVER.name
    shutil.copy(DRIVER, program)

    def asked(verb: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return incprof(verb, *words, cwd=driver.directory.parent)

    found = json.loads(asked("sites", driver.directory, "--source", tree, "--json").stdout)["sites"]
    assert {site["file"] for site in found} == {DRIVER.name}
    done = asked("instrument", driver.directory, "--source", tree, "--write")
    assert done.returncode == 0, done.stderr
    assert "install incprof into it" in done.stderr
    environment = os.environ | {"EKG_DIR": str(tmp_path / "ekg")}
    ran = subprocess.run(
        [sys.executable, program, library, "0.1", "0.1"], env=environment, capture_output=True, text=True
    )
    assert (ran.returncode, ran.stdout) == (0, "done\n"), ran.stderr
    beats = json.loads(asked("heartbeats", tmp_path / "ekg", "--json").stdout)["heartbeats"]
    assert {beat["name"] for beat in beats} == {site["name"] for site in found}
    assert all(beat["count"] for beat in beats)
    again = asked("instrument", driver.directory, "--source", tree)
    assert (again.returncode, again.stdout) == (0, "")
    assert asked("instrument", "--source", tree, "--remove").returncode == 0
    assert program.read_bytes() == DRIVER.read_bytes()


@pytest.mark.parametrize("python", mostly_slow(1, OTHERS))
@pytest.mark.parametrize("depth", [20, 1500])
def test_calls_of_any_depth_are_where_they_belong(python: str, depth: int, library: Path, tmp_path: Path) -> None:
    """A sample's time may be over before the outermost frame is there: then the path is cut off, behind right ones.

    The C library is not known yet in samples that come right after it was loaded.
    """
    deep = recorded([python, DEPTHS, library, str(depth), "0.3"], tmp_path)
    down = r"(<module>>)?((descend>)*(\.\.\.>)?(descend>)+)?"
    patterns = rf"{down}(<lambda>>(back>)?)?work", rf"(<module>>(back>)?<lambda>>)?{down}work"
    ends = [">".join(path) for path in deep.paths() if path[-1:] == ("python_depths.py:work",)]
    plain = [re.sub(r"^\?>|python_depths\.py:|@\d+", "", path) for path in ends]
    assert deep.outcome.stdout == "done\n"
    assert any("back>work" in path for path in plain)
    assert not [path for path in plain if not any(re.fullmatch(each, path) for each in patterns)]


@pytest.mark.parametrize("python", mostly_slow(1, OTHERS))
def test_the_handler_takes_no_more_than_its_share_of_any_stack(python: str, library: Path, tmp_path: Path) -> None:
    """2 % of the CPU time, on the CPU clock, and what it has saved up."""
    deep = recorded([python, DEPTHS, library, "30000", "0.2"], tmp_path, rate=1000, interval=0.02, overhead=2)
    assert deep.outcome.stdout == "done\n"
    assert deep.handler_excess_s(0.02) < 0.004


@pytest.mark.slow
def test_what_is_made_and_dropped_meanwhile_is_not_disturbed(tmp_path: Path) -> None:
    command: list[str | Path] = [PYTHON, CHURN, "300"]
    plain: Outcome = run(command, tmp_path, {})
    seen = recorded(command, tmp_path, rate=5000, clock="perf")
    assert (seen.outcome.status, seen.outcome.stdout) == (0, plain.stdout)
    assert any("churn.py:" in name for path in seen.paths() for name in path)


MANY = """
import sys, threading, time
threading.stack_size(65536)
go = threading.Event()
def busy():
    go.wait()
    until = time.thread_time() + 0.2
    while time.thread_time() < until:
        sum(range(100))
oldest = threading.Thread(target=busy)
oldest.start()
for _ in range(int(sys.argv[1])):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
go.set()
oldest.join()
"""


@pytest.mark.parametrize("threads", [20, 600])
def test_a_thread_that_is_not_found_among_very_many_is_reported(threads: int, tmp_path: Path) -> None:
    done = incprof("record", "--exe", PYTHON, "-o", tmp_path / "run", "--", PYTHON, "-c", MANY, str(threads))
    assert done.returncode == 0
    assert ("with so many Python threads, functions are not recorded in all" in done.stderr) == (threads > 256)
