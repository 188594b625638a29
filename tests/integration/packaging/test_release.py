"""What is given out: the collector's script, what libraries ask of libc, and what `make release` has made."""

from __future__ import annotations

import ast
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

import incprof
from incprof.readers.run import open_run
from incprof.record import launch
from tests.integration.cross import Cross
from tests.integration.cross import cross as cross
from tests.paths import ROOT
from tests.variants import mostly_slow

SCRIPT = ROOT / "packaging" / "collector" / "incprof-record"
DIST = ROOT / "build" / "release" / "dist"
OLDEST = (2, 28)
# In libc under another version, or in a library of their own, before.
MOVED = re.compile(r"_?pthread_\w+|dl(open|close|sym|error|addr1?)|f?stat|__libc_start_main|__isoc23_\w+")


def asked(library: Path) -> dict[str, tuple[int, ...]]:
    """Symbols that a library takes from glibc, with the version that it wants of each."""
    with library.open("rb") as file:
        elf = ELFFile(file)
        names = {}
        for _, versions in elf.get_section_by_name(".gnu.version_r").iter_versions():
            names.update({version["vna_other"]: version.name for version in versions})
        of_symbol = elf.get_section_by_name(".gnu.version")
        found = {}
        for index, symbol in enumerate(elf.get_section_by_name(".dynsym").iter_symbols()):
            name = names.get(of_symbol.get_symbol(index)["ndx"], "")
            if name.startswith("GLIBC_2"):
                found[symbol.name] = tuple(map(int, name.removeprefix("GLIBC_").split(".")))
    assert found, library
    return found


def test_recipes_are_of_this_version() -> None:
    packaging = ROOT / "packaging"
    assert f"incprof ({incprof.__version__}-" in (packaging / "debian" / "changelog").read_text().splitlines()[0]
    for recipe in packaging.glob("easybuild/*.eb"):
        assert f"version = '{incprof.__version__}'" in recipe.read_text()
        assert incprof.__version__ in recipe.name
    assert f'version("{incprof.__version__}")' in (packaging / "spack" / "incprof" / "package.py").read_text()
    assert f'version: "{incprof.__version__}"' in (packaging / "conda" / "recipe.yaml").read_text()


def test_recipes_ask_for_what_pip_would_install() -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    needed = dict(re.findall(r"^([a-z0-9-]+)>=([\d.]+)", "\n".join(wanted), re.MULTILINE))
    assert len(needed) == len(wanted)
    conda = (ROOT / "packaging/conda/recipe.yaml").read_text().partition("  run:\n")[2].partition("\n\n")[0]
    assert dict(re.findall(r"^    - ([a-z0-9-]+) >=([\d.]+)", conda, re.MULTILINE)) == {"python": "3.11", **needed}
    spack = ast.parse((ROOT / "packaging/spack/incprof/package.py").read_text())
    calls = [call for call in ast.walk(spack) if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)]
    directives = {"version", "license", "depends_on", "requires", "conflicts"}
    assert {call.func.id for call in calls} == {*directives, "join_path"}
    runs = [call for call in calls if call.func.id == "depends_on" and "run" in ast.unparse(call.keywords[0].value)]
    specs = [ast.literal_eval(call.args[0]) for call in runs]
    found = dict(re.fullmatch(r"(?:py-)?([a-z0-9-]+)@([\d.]+)(?::[\d.]*)?", spec).groups() for spec in specs)
    assert found == {"python": "3.11", **needed}


def libraries() -> list[Path]:
    """What is installed here."""
    collector = launch.find_library({}).parent
    programs = [launch.find_sampler({}), launch.find_attacher({})]
    return [*sorted(collector.glob("*.so")), *programs, *collector.parents[1].glob("appekg/_lib/*.so")]


def test_only_symbols_of_the_oldest_libc_are_used() -> None:
    """Whatever this machine's libc is: symbols that are newer than the oldest have been there under another version."""
    newer = {
        (library.name, name)
        for library in libraries()
        for name, version in asked(library).items()
        if version > OLDEST and not MOVED.fullmatch(name)
    }
    assert len(libraries()) >= 5
    assert newer == set()


@pytest.fixture
def record(tmp_path: Path):
    """Runs the script, or the verb, with words behind it."""

    def run(*words: str, verb: bool = False, **variables: str) -> subprocess.CompletedProcess[str]:
        start = [sys.executable, "-m", "incprof", "record"] if verb else ["sh", str(SCRIPT)]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("INCPROF")}
        env = {**kept, "INCPROF_LIB": str(launch.find_library({})), "PYTHONPATH": str(ROOT), **variables}
        return subprocess.run(
            [*start, *words], cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=600
        )

    return run


def settings(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith(("INCPROF_", "LD_PRELOAD"))]
    # These two hold the number of a process, and times.
    return sorted(re.sub(r"^(INCPROF_CLOSING_LINE|INCPROF_LAUNCH)=.*", r"\\1", line) for line in lines)


@pytest.mark.parametrize(
    "words",
    mostly_slow(
        5,
        [
            [],
            ["-i", "250ms", "-r", "50", "-o", "a b"],
            ["--interval=2m", "--rate", "7", "--output=x", "--log", "quiet"],
            ["--exe", "./app"],
            ["--clock", "cpu", *"--format gmon --ranks 0,2-3 --exe a* --follow 0 --libs drop".split()],
            ["-i0.5", "-r200"],
            ["--exe", "/usr/bin/awk"],
            ["--exe", "*/app"],
        ],
    ),
)
def test_the_script_sets_what_the_verb_sets(record, words: list[str]) -> None:
    for variables in ({}, {"LD_PRELOAD": "/lib/none.so", "INCPROF_RATE": "20"}):
        by_verb = settings(record(*words, "--", "env", verb=True, **variables))
        by_script = settings(record(*words, "--", "env", **variables))
        assert by_script == by_verb


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--", "sh", "-c", "exit 7"], 7, "nothing recorded: the job used "),
        (["sh", "-c", "kill -9 $$"], -9, ""),
        (["--", "no-such-program"], 127, "no-such-program: command not found"),
        ([], 2, "no command given"),
        (["-i", "soon", "--", "true"], 2, "soon: not a time"),
        (["-i", "--", "true"], 2, "--: not a time"),
        (["-o"], 2, "-o: a value is missing"),
        (["--intervall", "1", "--", "true"], 2, "--intervall: no such option"),
    ],
)
def test_status_and_words_of_the_script(record, words: list[str], status: int, said: str) -> None:
    done = record(*words)
    assert (done.returncode, done.stdout) == (status, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == (said != "")


def test_a_library_that_is_not_there_or_cannot_be_preloaded(record, tmp_path: Path) -> None:
    assert "no such file" in record("true", INCPROF_LIB="/none/libincprof.so").stderr
    spaced = tmp_path / "a b" / "libincprof.so"
    spaced.parent.mkdir()
    spaced.touch()
    done = record("true", INCPROF_LIB=str(spaced))
    assert (done.returncode, "space or a colon" in done.stderr) == (2, True)


@pytest.fixture(scope="module")
def dist() -> Path:
    if not (DIST / "SHA256SUMS").exists():
        pytest.skip("make release has not been run")
    return DIST


def only(dist: Path, pattern: str) -> Path:
    """The file of that name for this machine."""
    (found,) = dist.glob(pattern.replace("ARCH", platform.machine()))
    return found


def test_released_libraries_are_for_the_oldest_libc(dist: Path, tmp_path: Path) -> None:
    for given in dist.glob("*manylinux_2_28_*.whl"):
        with zipfile.ZipFile(given) as wheel:
            wheel.extractall(tmp_path / given.stem)
    for given in dist.glob("incprof-collector-*.tar.gz"):
        with tarfile.open(given) as tarball:
            tarball.extractall(tmp_path, filter="data")
    found = [*tmp_path.rglob("*.so"), *tmp_path.rglob("incprof-sampler"), *tmp_path.rglob("incprof-attach")]
    assert {library.name for library in found} >= {path.name for path in libraries()}
    assert max(max(asked(library).values()) for library in found) <= OLDEST
    for library in found:
        with library.open("rb") as file:
            place = str(library.relative_to(tmp_path))
            assert ("aarch64" in place) == (ELFFile(file)["e_machine"] == "EM_AARCH64"), place


def test_sums_are_those_of_the_files(dist: Path) -> None:
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=dist, check=True)


def test_the_tarball_records_wherever_it_is_unpacked(dist: Path, build, tmp_path: Path) -> None:
    place = tmp_path / "some where"
    with tarfile.open(only(dist, "incprof-collector-*-ARCH.tar.gz")) as tarball:
        tarball.extractall(place, filter="data")
    (top,) = place.iterdir()
    elsewhere = tmp_path / "moved"
    shutil.move(top, elsewhere)
    link = tmp_path / "record"
    link.symlink_to(elsewhere / "bin" / "incprof-record")
    program = build("matrix.c")
    env = {name: value for name, value in os.environ.items() if not name.startswith("INCPROF")}
    done = subprocess.run([link, "-i", "50ms", "-o", "run", "--", program], cwd=tmp_path, env=env, check=False)
    assert done.returncode == 5
    assert len(open_run(str(tmp_path / "run")).ranks) == 1
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "appekg"],
        env={**env, "PKG_CONFIG_PATH": str(elsewhere / "lib" / "pkgconfig")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert str(elsewhere) in os.path.realpath(flags.split()[0].removeprefix("-I"))


def test_the_collector_for_aarch64_records_under_an_emulator(dist: Path, cross: Cross, tmp_path: Path) -> None:
    with tarfile.open(next(dist.glob("incprof-collector-*-aarch64.tar.gz"))) as tarball:
        tarball.extractall(tmp_path, filter="data")
    (collector,) = tmp_path.glob("*/lib/libincprof.so")
    recording = cross.record(cross.build("turns.c"), "1", collector=collector)
    assert {name: recording.calls()[name] for name in ("work", "rest")} == recording.outcome.values()
    assert recording.profile.metadata.raw["arch"] == "aarch64"
    assert recording.profile.counters.samples.sum() > 0
