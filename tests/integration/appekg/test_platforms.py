"""libappekg with another C library (musl), and on another processor (aarch64, by qemu-user): shared and static."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

import appekg
from tests.integration.appekg_build import EKG_FIXTURES, INCLUDE
from tests.integration.collector import clean_environment
from tests.integration.cross import LIBRARIES, ROOT, TRIPLET, Cross, find_cmake
from tests.integration.cross import cross as cross

PROGRAM = EKG_FIXTURES / "anywhere.c"


def compiled(compiler: str, libraries: Path, place: Path, *, static: bool) -> Path:
    """The program, with the library from a folder of a build."""
    linked = (
        [libraries / "libappekg.a", "-static"] if static else [libraries / "libappekg.so", f"-Wl,-rpath,{libraries}"]
    )
    words = [compiler, "-O2", "-pthread", "-I", INCLUDE, PROGRAM, *linked, "-o", place / "anywhere"]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return place / "anywhere"


def beats_of(command: Sequence[str | Path], place: Path) -> tuple[list[tuple[int, int, int, int]], set[str]]:
    """Runs the program; (process, id, beats, pulses) of each thread, and the clocks that were used."""
    directory = place / "ekg"
    done = subprocess.run(
        list(map(str, command)),
        cwd=place,
        env={**clean_environment(), "EKG_DIR": str(directory), "EKG_INTERVAL": "60"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    found = appekg.read(directory)
    assert not found.damaged
    assert {beat.name for beat in found.beats.values()} == {"step", "tick"}
    rows = [tuple(int(row[key]) for key in ("process", "id", "count", "pulses")) for row in found.rows]
    texts = [path.read_text() for path in directory.glob("*.ekg")]
    return rows, {clock for text in texts for clock in re.findall(r'"clock":"(\w+)"', text)}  # type: ignore[return-value]


# Four threads of the program, and the child of fork.
EXPECTED = sorted([(0, 1, 200, 0), (0, 2, 0, 200)] * 4 + [(1, 1, 200, 0), (1, 2, 0, 200)])


@pytest.fixture(scope="module")
def musl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The libraries, built by musl-gcc."""
    cmake = find_cmake()
    if shutil.which("musl-gcc") is None or cmake is None:
        pytest.skip("not installed: musl-gcc" if cmake else "not installed: cmake")
    place = tmp_path_factory.mktemp("musl")
    for words in (["-S", str(ROOT), "-B", str(place), "-DCMAKE_C_COMPILER=musl-gcc"], ["--build", str(place), "-j2"]):
        done = subprocess.run([cmake, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return place / "appekg"


@pytest.mark.slow
@pytest.mark.parametrize("static", [False, True], ids=["shared", "static"])
def test_musl(musl: Path, tmp_path: Path, static: bool) -> None:
    program = compiled("musl-gcc", musl, tmp_path, static=static)
    rows, _ = beats_of([program], tmp_path)
    assert sorted(rows) == EXPECTED
    needed = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
    assert "libc.so.6" not in needed


@pytest.mark.slow
@pytest.mark.parametrize("static", [False, True], ids=["shared", "static"])
def test_aarch64(cross: Cross, tmp_path: Path, static: bool) -> None:
    program = compiled(f"{TRIPLET}-gcc", cross.heartbeats, tmp_path, static=static)
    # A thread of qemu's own remains after the program's last one: the end cannot be detected.
    rows, clocks = beats_of(["qemu-aarch64", "-L", LIBRARIES, program, "return"], tmp_path)
    assert sorted(rows) == EXPECTED
    assert clocks == {"counter"}
