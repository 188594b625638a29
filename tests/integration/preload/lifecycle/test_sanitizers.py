"""Programs built with a sanitizer run as they do without the collector, whose thread the sanitizer does not see."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import appekg
from incprof.readers.run import open_run, read_profile
from tests.integration import appekg_use
from tests.integration.appekg_use import ROOT
from tests.integration.collector import run, variables
from tests.integration.hosts import HOSTS, calls, collector_lines, ended_cleanly, need, streams

STEPS = 500
OWN_STRINGS = r"(mem|str|stp)[a-z]+|bcmp|clock_gettime|clone"
IN_THE_PROGRAMS_THREADS = {"strtol", "strtoull"}


@pytest.fixture(scope="module", params=["gcc", "g++", "clang", "clang++"])
def compiler(request: pytest.FixtureRequest) -> str:
    need(request.param)
    return str(request.param)


def compiled(compiler: str, sanitizer: str, pg: bool, place: Path) -> Path:
    found, target = appekg_use.installation(), place / "sanitized"
    words = [compiler, "-x", "c++" if compiler.endswith("++") else "c", "-O1", "-g", "-pthread"]
    words += [f"-fsanitize={sanitizer}", *(["-pg"] if pg else []), f"-I{found.include}", str(HOSTS / "sanitized.c")]
    words += ["-x", "none", str(found.library), f"-Wl,-rpath,{found.directory}", "-o", str(target)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if "cannot find" in done.stderr or "unsupported option" in done.stderr:
        pytest.skip(f"{compiler} has no -fsanitize={sanitizer} here")
    assert done.returncode == 0, done.stderr
    return target


def preloaded(program: Path, library: str) -> str:
    """AddressSanitizer as a shared library refuses to run unless it comes first."""
    needed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    runtime = re.search(r"libasan\S* => (\S+)", needed)
    return f"{runtime[1]}:{library}" if runtime else library


@pytest.mark.slow
@pytest.mark.parametrize("pg", [True, False], ids=["pg", "plain"])
@pytest.mark.parametrize("sanitizer", ["thread", "address"])
def test_recorded_and_with_heartbeats(compiler: str, sanitizer: str, pg: bool, tmp_path: Path) -> None:
    """Status and output are those of the program; what it did is on record, its child's threads' too."""
    program = compiled(compiler, sanitizer, pg, tmp_path)
    alone, place = tmp_path / "alone", tmp_path / "recorded"
    alone.mkdir()
    place.mkdir()
    expected = run([program], alone, {"EKG_DISABLE": "1"})
    if expected.status != 5:
        pytest.skip(f"{sanitizer} does not run here: {expected.stderr[:200]}")
    settings = variables(place / "run", rate=1000, interval=0.02)
    settings["LD_PRELOAD"] = preloaded(program, settings["LD_PRELOAD"])
    found = run([program], place, {**settings, "EKG_DIR": str(place / "ekg"), "EKG_INTERVAL": "0.02"})
    assert (found.status, found.stdout) == (expected.status, expected.stdout) == (5, "child 4\ntotal 1500\n")
    assert (found.stderr, collector_lines(found)) == ("", [])
    assert {n: beats for (n, _), (beats, _) in appekg_use.totals(place / "ekg").items()} == {1: 5 * STEPS, 2: 1002}
    assert all(process.clean for process in appekg.read(place / "ekg").processes)
    names = streams(place / "run")
    assert len(names) == (2 if pg else 0)
    assert all(ended_cleanly(place / "run" / name) for name in names)
    if pg:
        recording = open_run(place / "run")
        counted = [calls(read_profile(recording, process=process)) for process in recording.processes]
        assert sorted(n for each in counted for name, n in each.items() if "step" in name) == [2 * STEPS, 3 * STEPS]


@pytest.mark.parametrize("library", ["incprof", "appekg"])
def test_nothing_that_sanitizers_replace_is_called(library: str, tmp_path: Path) -> None:
    """Memory, text and clock by functions of the libraries' own: those of the interval thread and the handler."""
    paths = {
        "incprof": variables(tmp_path)["LD_PRELOAD"],
        "appekg": str(appekg_use.installation().library),
    }
    command = ["nm", "-D", "--undefined-only", paths[library]]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    imported = set(re.findall(r" U ([^@\s]+)", listing))
    assert {name for name in imported if re.fullmatch(OWN_STRINGS, name)} <= IN_THE_PROGRAMS_THREADS


@pytest.mark.parametrize(
    "flags", ["-O2", *(pytest.param(each, marks=pytest.mark.slow) for each in ("-O0", "-O3", "-Os"))]
)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_functions_of_our_own_do_what_libcs_do(compiler: str, flags: str, tmp_path: Path) -> None:
    """And no compiler makes one of them call itself."""
    need(compiler)
    words = [compiler, flags, "-std=gnu11", f"-I{ROOT / 'runtime/include'}", "-c"]
    runtime = [ROOT / "runtime" / name for name in ("string.c", "vdso.c", "reason.c", "fixed_text.c")]
    subprocess.run([*words, *runtime], cwd=tmp_path, check=True)
    subprocess.run([*words, "-fno-builtin", HOSTS / "strings.c"], cwd=tmp_path, check=True)
    subprocess.run([compiler, *tmp_path.glob("*.o"), "-o", "strings", "-ldl"], cwd=tmp_path, check=True)
    found = run([tmp_path / "strings"], tmp_path, {})
    assert (found.status, found.stdout) == (0, "wrong 0\n")
