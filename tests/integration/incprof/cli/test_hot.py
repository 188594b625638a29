"""What `check --hot` writes, on programs built again with it: these calls are not counted, all others are."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from incprof.cli.main import main
from tests.integration.collector import FIXTURES, Recording
from tests.integration.conftest import Build, Record
from tests.integration.hosts import need


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of the fixtures, to be patched."""
    root = tmp_path / "source"
    root.mkdir()
    for path in FIXTURES.glob("hot*"):
        shutil.copy(path, root)
    return root


def hot(recording: Recording, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[dict, str]:
    if recording.profile.metadata.call_s is None:
        pytest.skip("the machine was so busy that no two trials compared")
    assert main(["check", "--hot", str(recording.directory), "--json", *words]) == 0
    said = capsys.readouterr()
    return json.loads(said.out), said.err


def apply(patch: Path, root: Path) -> None:
    need("patch")
    subprocess.run(["patch", "-p1", "-s", "-i", str(patch)], cwd=root, check=True)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_patch_leaves_calls_of_c_out(
    build: Build, record: Record, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], compiler: str
) -> None:
    program, patch = source / "hot.c", tmp_path / "hot.patch"
    before = record(build(program, compiler=compiler))
    assert before.arcs()["sweep", "mixed"] == 40_000_000
    found, _ = hot(before, capsys, "--source", str(source), "--patch", str(patch))
    assert [(one["name"], one["calls"]) for one in found["functions"]] == [("mixed", 40_000_000)]
    assert found["functions"][0]["file"].endswith("hot.c")
    assert found["functions"][0]["line"] in (7, 8)
    assert found["files"][0]["other_calls"] == 81 - (before.calls().get("main", 0) == 0)
    assert 0 <= found["left_pct"] < 1 < found["pct"]
    apply(patch, source)
    after = record(build(program, compiler=compiler, flags="-O2 -DPATCHED"))
    assert "mixed" not in after.calls()
    assert after.calls() == {name: calls for name, calls in before.calls().items() if name != "mixed"}
    assert after.outcome.stdout == before.outcome.stdout


def test_a_patch_of_cpp_lists_functions_that_take_no_attribute(
    build: Build, record: Record, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program, patch, rest = source / "hot.cpp", tmp_path / "hot.patch", tmp_path / "rest.cmake"
    before = record(build(program, flags="-O2 -fno-inline"))
    words = ["--source", str(source), "--patch", str(patch), "--cmake", str(rest)]
    found, said = hot(before, capsys, *words)
    assert {one["calls"] for one in found["functions"]} == {30_000_000}
    assert len(found["functions"]) == 3
    assert "Cell::Cell" in said
    assert "in the class alone" in said
    assert "hot.cpp" in rest.read_text()
    apply(patch, source)
    after = record(build(program, flags="-O2 -fno-inline -DPATCHED")).calls()
    assert [name for name, calls in after.items() if calls > 1000] == ["_ZN4CellC1Ej"]
    assert sum(calls == 30 for calls in after.values()) == 2


def test_a_file_of_fortran_is_left_out(
    build: Build, record: Record, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts, listed = [source / "hot_main.f90", source / "hot.f90"], tmp_path / "hot.cmake"
    before = record(build(*parts, flags="-O2 -fno-inline"))
    assert before.calls()["mixed_"] == 30_000_000
    _, said = hot(before, capsys, "--cmake", str(listed))
    assert "1 file," in said
    text = listed.read_text()
    assert f'  "{source / "hot.f90"}"\n  PROPERTIES COMPILE_OPTIONS -fno-profile)' in text
    assert main(["check", "--hot", str(before.directory), "--cmake", str(listed)]) == 2  # it is there
    alone = tmp_path / "hot.o"
    words = ["gfortran", "-g", "-O2", "-pg", "-fno-profile", "-c", str(parts[1]), "-o", str(alone)]
    subprocess.run(words, check=True)
    after = record(build(parts[0], alone, flags="-O2 -fno-inline")).calls()
    assert after == {name: calls for name, calls in before.calls().items() if name != "mixed_"}
    assert 30 in after.values()
