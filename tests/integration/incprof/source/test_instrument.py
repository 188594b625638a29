"""The loop closed on the examples: recorded, instrumented, built again, run, counted. And what is refused."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.appekg_use import ROOT, environment
from tests.integration.appekg_use import run as must_run
from tests.integration.command_line import incprof
from tests.integration.hosts import need
from tests.paths import INTEGRATION
from tests.recordings.kept import kept

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "examples"


@dataclass(frozen=True)
class Example:
    """A program: its source, how long it runs, and how it is compiled (flags; names of `incprof env`'s flags)."""

    source: str
    scale: str
    compiler: tuple[str, ...]
    flags: str = "--cflags"


# Which sites a recording has depends on how much of it was sampled; these are in its source, so they can be named.
SITES = ("fill_keys:body", "build_table:body", "lookup_batch:body", "validate:loop")
NAMED = tuple(word for name in SITES for word in ("--site", name))

PHASES = Example("phases.c", "0.02", ("gcc", "-O2", "-g", "-Wall", "-Werror"))
MESH = Example("mesh.cpp", "0.05", ("g++", "-O2", "-g", "-std=c++17", "-Wall", "-Werror"))
OMP = Example("omp.c", "0.02", ("gcc", "-O2", "-g", "-fopenmp", "-Wall", "-Werror"))
HEAT = Example("heat.f90", "0.02", ("gfortran", "-O2", "-g", "-Wall"), "--fflags")


@dataclass(frozen=True)
class Recorded:
    """A recorded example. tree: its source as it was compiled. run: the run directory."""

    example: Example
    place: Path
    tree: Path
    run: Path

    def instrument(
        self, *words: str | Path, status: int = 0, named: Sequence[str] = NAMED
    ) -> subprocess.CompletedProcess[str]:
        """Run the verb on the tree, at sites that are named if none is."""
        named = () if "--site" in words else named
        done = incprof("instrument", self.run, "--source", self.tree, *named, *words, cwd=self.place)
        assert done.returncode == status, done.stderr
        assert "Traceback" not in done.stderr
        return done

    def copy(self, place: Path) -> Recorded:
        """The same with files of its own, which are as old as the recorded ones."""
        shutil.copytree(self.tree, place / "tree")
        shutil.copytree(self.run, place / "run", ignore=shutil.ignore_patterns("sources.json"))
        return Recorded(self.example, place, place / "tree", place / "run")

    @property
    def source(self) -> Path:
        """The source file."""
        return self.tree / self.example.source


def record(example: Example, place: Path, sources: Path = EXAMPLES) -> Recorded:
    """Compile with -pg and record."""
    need(example.compiler[0], "patch")
    tree = place / "tree"
    tree.mkdir()
    shutil.copy(sources / example.source, tree)
    must_run(*example.compiler, "-pg", tree / example.source, "-o", place / "recorded", "-lm", cwd=place)
    done = incprof("record", "-i", "0.1", "-o", place / "run", "--", place / "recorded", example.scale, cwd=place)
    assert done.returncode == 0, done.stderr
    return Recorded(example, place, tree, place / "run")


@pytest.fixture(scope="module")
def phases(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record(PHASES, tmp_path_factory.mktemp("phases"))


@pytest.fixture
def fresh(phases: Recorded, tmp_path: Path) -> Recorded:
    """The recorded C example, to be spoiled."""
    return phases.copy(tmp_path)


def flags(place: Path, *names: str) -> list[str]:
    """Build flags."""
    return [word for name in names for word in incprof("env", name, cwd=place).stdout.split()]


HEATED = {"set_sources:body": 5, "jacobi_step:body": 220, "histogram:body": 16}
CLOSED = [
    pytest.param(PHASES, dict(zip(SITES, (34, 38, 23, 18), strict=True)), id="c"),
    pytest.param(MESH, {"Mesh::sweep:body": 105, "project:body": 12}, id="c++"),
    pytest.param(OMP, {"compute_forces:body": 9, "move_all:body": 6}, id="openmp"),
    pytest.param(HEAT, {"heat::" + name: count for name, count in HEATED.items()}, id="fortran"),
]


@pytest.mark.parametrize(("example", "counts"), CLOSED)
def test_closed_loop(example: Example, counts: dict[str, int], tmp_path: Path) -> None:
    """From a recording that is kept: heartbeats go where its phases are, count all there is, and change no answer."""
    need(example.compiler[0], "patch")
    name = Path(example.source).stem
    recording = kept(name, tmp_path)
    tree, run = recording.tree, recording.run
    must_run(*example.compiler, tree / example.source, "-o", tmp_path / "plain", "-lm", cwd=tmp_path)
    done = incprof("instrument", run, "--source", tree, "--patch", tmp_path / "beats.patch", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    must_run("patch", "-s", "-p1", "-i", tmp_path / "beats.patch", cwd=tree)
    words = [*example.compiler, *flags(tmp_path, example.flags), tree / example.source, "-o", tmp_path / "app", "-lm"]
    must_run(*words, *flags(tmp_path, "--libs"), cwd=tmp_path)
    output = must_run(tmp_path / "app", example.scale, cwd=tmp_path, env=environment(EKG_DIR=tmp_path / "ekg"))
    assert output == must_run(tmp_path / "plain", example.scale, cwd=tmp_path, env=environment())
    beats = json.loads(incprof("heartbeats", tmp_path / "ekg", "--json", cwd=tmp_path).stdout)["heartbeats"]
    assert {beat["name"]: beat["count"] for beat in beats} == counts


def test_write_again_and_remove(fresh: Recorded) -> None:
    """A second run changes nothing, another choice replaces the first, and all of it comes out again."""
    before = fresh.source.read_bytes()
    fresh.instrument("--write")
    first = fresh.source.read_bytes()
    assert first != before
    assert "nothing to change" in fresh.instrument("--write").stderr
    assert fresh.instrument().stdout == ""
    assert fresh.source.read_bytes() == first
    fresh.instrument("--write", "--site", "insert_key")
    other = fresh.source.read_bytes()
    assert (other.count(b"EKG_SCOPE"), first.count(b"EKG_SCOPE")) == (1, 4)
    done = incprof("instrument", "--source", fresh.tree, "--remove", cwd=fresh.place)
    assert (done.returncode, done.stdout) == (0, "")
    assert fresh.source.read_bytes() == before


def test_git_takes_the_patch_from_stdout(fresh: Recorded) -> None:
    need("git")
    before = fresh.source.read_bytes()
    (fresh.place / "p").write_text(fresh.instrument().stdout)
    must_run("git", "apply", fresh.place / "p", cwd=fresh.tree)
    patched = fresh.source.read_bytes()
    must_run("git", "apply", "-R", fresh.place / "p", cwd=fresh.tree)
    assert fresh.source.read_bytes() == before
    fresh.instrument("--write")
    assert fresh.source.read_bytes() == patched


def test_calls_instead_of_guards(fresh: Recorded) -> None:
    fresh.instrument("--write", "--style", "calls")
    text = fresh.source.read_text()
    assert "EKG_SCOPE" not in text
    assert "ekg_begin(1)" in text
    words = [
        *PHASES.compiler,
        *flags(fresh.place, "--cflags"),
        fresh.source,
        "-o",
        "app",
        *flags(fresh.place, "--libs"),
    ]
    must_run(*words, cwd=fresh.place)
    settings = environment(EKG_DIR=fresh.place / "ekg", EKG_INTERVAL="0.05")
    must_run(fresh.place / "app", PHASES.scale, cwd=fresh.place, env=settings)
    found = json.loads(incprof("heartbeats", fresh.place / "ekg", "--json", cwd=fresh.place).stdout)["heartbeats"]
    assert {(beat["name"], beat["count"]) for beat in found} == {
        ("fill_keys:body", 34), ("build_table:body", 38), ("lookup_batch:body", 23), ("validate:loop", 18),
    }  # fmt: skip


def test_a_template_in_a_header(tmp_path: Path) -> None:
    """One function in the source, two in the program: one heartbeat, and every call of both is counted."""
    need("g++")
    place, compiler = tmp_path / "tree", ("g++", "-O2", "-g", "-Wall", "-Wextra", "-Werror")
    shutil.copytree(INTEGRATION / "sites_fixtures", place)
    must_run(*compiler, "-pg", place / "templates.cpp", "-o", "recorded", cwd=tmp_path)
    must_run(sys.executable, "-m", "incprof", "record", "-i", "0.1", "-o", "run", "--", "./recorded", "20",
             cwd=tmp_path, env=environment(PYTHONPATH=ROOT))  # fmt: skip
    recorded = Recorded(Example("templates.cpp", "20", compiler), tmp_path, place, tmp_path / "run")
    recorded.instrument("--write", "--site", "numeric::Field::relax:body")
    assert (place / "include" / "kernel.hpp").read_text().count("EKG_SCOPE") == 1
    words = [*compiler, *flags(tmp_path, "--cflags"), recorded.source, "-o", "app", *flags(tmp_path, "--libs")]
    must_run(*words, cwd=tmp_path)
    must_run(tmp_path / "app", "20", cwd=tmp_path, env=environment(EKG_DIR=tmp_path / "ekg"))
    (beat,) = json.loads(incprof("heartbeats", tmp_path / "ekg", "--json", cwd=tmp_path).stdout)["heartbeats"]
    assert (beat["name"], beat["count"]) == ("numeric::Field::relax:body", 2 * 60 * 20)


def test_a_main_that_cannot_be_touched(tmp_path: Path) -> None:
    """Its head is split by #if: a function that is called before it names the heartbeats."""
    source = tmp_path / "source"
    source.mkdir()
    text = (EXAMPLES / "phases.c").read_text()
    head = "int main(int argc, char **argv)\n{"
    assert head in text
    (source / "phases.c").write_text(text.replace(head, f"#ifndef WIDE\n{head}\n#else\nint wmain(void)\n{{\n#endif"))
    recorded = record(PHASES, tmp_path, source)
    names = SITES[:3]
    done = recorded.instrument("--write", *(word for name in names for word in ("--site", name)))
    assert "nothing is put into main" in done.stderr
    words = [*PHASES.compiler, *flags(tmp_path, "--cflags"), recorded.source, "-o", "app", *flags(tmp_path, "--libs")]
    must_run(*words, cwd=tmp_path)
    must_run(tmp_path / "app", PHASES.scale, cwd=tmp_path, env=environment(EKG_DIR=tmp_path / "ekg"))
    found = json.loads(incprof("heartbeats", tmp_path / "ekg", "--json", cwd=tmp_path).stdout)["heartbeats"]
    assert {beat["name"] for beat in found} == set(names)
    incprof("instrument", "--source", recorded.tree, "--remove", cwd=tmp_path)
    assert recorded.source.read_bytes() == (source / "phases.c").read_bytes()


def spoil_mode(recorded: Recorded) -> None:
    recorded.source.chmod(0o444)


def spoil_link(recorded: Recorded) -> None:
    outside = recorded.place / "outside.c"
    recorded.source.rename(outside)
    recorded.source.symlink_to(outside)


def spoil_text(recorded: Recorded) -> None:
    recorded.source.write_text(recorded.source.read_text().replace("12; round++", "13; round++"))


def spoil_age(recorded: Recorded) -> None:
    """After lines were added for another function, every line is a few further down."""
    recorded.source.write_text("int more(void);\nint more(void)\n{\n    return 1;\n}\n" + recorded.source.read_text())


def spoil_place(recorded: Recorded) -> None:
    recorded.source.unlink()


@pytest.mark.parametrize(
    ("spoil", "status", "said"),
    [
        (spoil_mode, 1, "read-only"),
        (spoil_link, 4, "leads out of"),
        (spoil_text, 4, "changed since the recording"),
        (spoil_age, 4, "changed since the recording"),
        (spoil_place, 4, "not below"),
    ],
)
def test_refused(fresh: Recorded, spoil: Callable[[Recorded], None], status: int, said: str) -> None:
    """One line gives the reason, and no file has changed."""
    spoil(fresh)
    before = {path: path.read_bytes() for path in fresh.tree.rglob("*") if path.is_file()}
    done = fresh.instrument("--write", status=status, named=())
    assert said in done.stderr.splitlines()[-1]
    assert {path: path.read_bytes() for path in fresh.tree.rglob("*") if path.is_file()} == before


def test_changed_files_are_taken_when_allowed(fresh: Recorded) -> None:
    spoil_age(fresh)
    fresh.instrument("--write", "--allow-changed")
    assert fresh.source.read_bytes().count(b"EKG_SCOPE") == 4


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--site", "no_such_function"], 2, "no_such_function"),
        (["--site", "memcpy"], 2, "memcpy"),
        (["--site", "fill_keys:loops"], 2, "loops"),
        (["--check", "false"], 1, "exit code 1"),
        (["--check", "grep -q EKG_SCOPE phases.c && echo odd && exit 3"], 1, "odd"),
        (["--compile-commands", "nowhere.json"], 4, "nowhere.json"),
        (["--patch", "nowhere/at/all"], 2, "nowhere"),
        (["--write", "--remove"], 2, "not allowed"),
    ],
)
def test_wrong_words(fresh: Recorded, words: list[str], status: int, said: str) -> None:
    before = fresh.source.read_bytes()
    done = fresh.instrument(*words, status=status)
    assert said in done.stderr.splitlines()[-1]
    assert done.stdout == ""
    assert fresh.source.read_bytes() == before


def test_other_trees(fresh: Recorded) -> None:
    done = incprof("instrument", fresh.run, "--source", fresh.place / "nowhere", cwd=fresh.place)
    assert (done.returncode, done.stderr.count("\n")) == (4, 1)
    done = incprof("instrument", "--source", fresh.tree, cwd=fresh.place)
    assert (done.returncode, "--remove" in done.stderr) == (2, True)


def test_checks_that_succeed(fresh: Recorded) -> None:
    command = f"gcc {fresh.source} -c -o phases.o"
    entries = [{"directory": str(fresh.place), "file": str(fresh.source), "command": command}]
    (fresh.tree / "compile_commands.json").write_text(json.dumps(entries))
    fresh.instrument("--write", "--check", "grep -q EKG_SCOPE phases.c")
    assert not (fresh.place / "phases.o").exists()


def test_a_compile_error_is_found(fresh: Recorded) -> None:
    """With EKG_SCOPE taken away by the build's own flags, the result does not compile."""
    command = f"gcc -std=c99 -D'EKG_SCOPE(id)=this is no C' -DAPPEKG_H -c {fresh.source}"
    entries = [{"directory": str(fresh.place), "file": str(fresh.source), "command": command}]
    (fresh.place / "cc.json").write_text(json.dumps(entries))
    before = fresh.source.read_bytes()
    done = fresh.instrument("--write", "--compile-commands", "cc.json", status=1)
    assert "phases.c would not compile" in done.stderr.splitlines()[-1]
    assert fresh.source.read_bytes() == before


def test_a_new_checkout(fresh: Recorded) -> None:
    """Its files are younger than the recording, with the same text."""
    now = time.time() + 5
    os.utime(fresh.source, (now, now))
    fresh.instrument("--write")
    assert b"EKG_SCOPE" in fresh.source.read_bytes()
