"""Programs that allocate in unusual ways behave with `record --memory` as without it, whatever allocator they use."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from incprof.systems.memory.read import Allocations, read_allocations
from tests.integration.collector import clean_environment
from tests.integration.conftest import Build
from tests.variants import mostly_slow

ALLOCATORS = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4"}
EVERY = ["edges", "small", "handler", "vfork", "fork"]
STATUS = 5


def outcome(command: Sequence[str | Path], place: Path, env: dict[str, str] | None = None) -> tuple[int, str, str]:
    done = subprocess.run(
        command, cwd=place, env={**clean_environment(), **(env or {})}, capture_output=True, text=True, check=False,
        timeout=120,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def recorded(
    command: Sequence[str | Path], place: Path, env: dict[str, str] | None = None, mean: str = "4K"
) -> tuple[int, str, str]:
    words = [sys.executable, "-m", "incprof", "record", f"--memory={mean}", "-i", "50ms", "-o", "run", "--", *command]
    return outcome(words, place, env)


def allocations(place: Path) -> Allocations:
    (stream,) = place.glob("run/rank-00000.gmon")
    found = read_allocations(str(stream))
    assert found is not None
    assert found.damaged == 0
    return found


def behaves_the_same(command: Sequence[str | Path], place: Path, env: dict[str, str] | None = None) -> Allocations:
    """Require the same output and status, and nothing on stderr but the closing line; return the allocations."""
    alone, beside = outcome(command, place, env), recorded(command, place, env)
    assert beside[:2] == alone[:2]
    assert alone[0] == STATUS
    lines = beside[2].removeprefix(alone[2]).splitlines()
    assert all(line.startswith("incprof: ") for line in lines), beside[2]
    assert len(lines) <= 1, lines
    return allocations(place)


def preload(name: str) -> str:
    for path in Path("/usr/lib").glob(f"*/{ALLOCATORS[name]}"):
        return str(path)
    pytest.skip(f"{ALLOCATORS[name]} is missing")


@pytest.fixture(scope="module")
def corners(build: Build) -> Path:
    return build("memory_corners.c", flags="-O1 -pthread -fno-builtin -Wl,-z,lazy", pg=False)


@pytest.mark.parametrize("word", EVERY)
def test_corners(corners: Path, tmp_path: Path, word: str) -> None:
    assert len(behaves_the_same([corners, "early", word], tmp_path)) > 0


@pytest.mark.parametrize("name", mostly_slow(1, ALLOCATORS))
@pytest.mark.parametrize("how", mostly_slow(1, ["preloaded", "linked"]))
def test_corners_with_another_allocator(build: Build, tmp_path: Path, name: str, how: str) -> None:
    library = preload(name)
    flags = f"-O1 -pthread -fno-builtin {f'-Wl,--no-as-needed {library}' if how == 'linked' else ''}"
    program = build("memory_corners.c", flags=flags, pg=False)
    env = {"LD_PRELOAD": library} if how == "preloaded" else {}
    words = ["early", "small", "vfork", "fork"]
    assert len(behaves_the_same([program, *words], tmp_path, env)) > 0


@pytest.mark.parametrize("name", ["", *ALLOCATORS])
def test_every_operator_of_cpp(build: Build, tmp_path: Path, name: str) -> None:
    env = {"LD_PRELOAD": preload(name)} if name else {}
    program = build("memory_operators.cpp", flags="-O1 -std=c++17 -fno-builtin", pg=False)
    assert len(behaves_the_same([program], tmp_path, env)) > 0


@pytest.mark.parametrize("flags", ["", "-DOWN_MALLOC"])
def test_a_program_with_operators_of_its_own(build: Build, tmp_path: Path, flags: str) -> None:
    program = build("own_operators.cpp", flags=f"-O1 -std=c++17 -fno-builtin -rdynamic {flags}", pg=False)
    alone = outcome([program], tmp_path)
    assert alone[:2] == (STATUS, "1000\n")
    assert recorded([program], tmp_path)[:2] == alone[:2]


def test_a_cpp_library_that_a_c_program_loads(build: Build, corners: Path, tmp_path: Path) -> None:
    library = build("memory_operators.cpp", flags="-O1 -std=c++17 -shared -fPIC", pg=False, output="plugin.so")
    found = behaves_the_same([corners, f"plugin={library}"], tmp_path)
    assert found.allocated_b > 8 * 3e6


def test_a_program_without_pie_that_uses_the_address_of_malloc(build: Build, tmp_path: Path) -> None:
    program = build("memory_corners.c", flags="-O1 -pthread -fno-builtin -fno-pie -no-pie", pg=False)
    found = behaves_the_same([program, "address"], tmp_path)
    assert not found.own_allocator
    assert found.allocated_b > 8e6


def test_a_program_with_its_own_malloc(build: Build, tmp_path: Path) -> None:
    program = build("own_malloc.c", flags="-O1 -fno-builtin", pg=False)
    found = behaves_the_same([program], tmp_path)
    assert found.own_allocator
    status, text, _ = outcome([sys.executable, "-m", "incprof", "phases", "--card", "run"], tmp_path)
    assert status == 0
    assert "note: Allocations were not recorded: the program defines malloc itself" in text


def test_a_static_program_is_refused_in_one_line(build: Build, tmp_path: Path) -> None:
    program = build("memory_corners.c", flags="-O1 -pthread -static -w", pg=False)
    status, text, errors = recorded([program, "early"], tmp_path)
    assert (status, text) == (STATUS, outcome([program, "early"], tmp_path)[1])
    assert len(errors.splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_what_was_recorded_before_a_kill_is_readable(build: Build, tmp_path: Path) -> None:
    program = build("allocations.c", flags="-O2 -pthread -fno-builtin", pg=False)
    words = [program, "burn:300", "keep:1000:50000", "burn:5000"]
    command = [sys.executable, "-m", "incprof", "record", "--memory=16K", "-i", "50ms", "-o", "run", "--", *words]
    process = subprocess.Popen(command, cwd=tmp_path, env=clean_environment(), stdout=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        time.sleep(0.1)
        streams = list(tmp_path.glob("run/rank-00000.gmon"))
        found = read_allocations(str(streams[0])) if streams and os.path.getsize(streams[0]) > 0 else None
        if found is not None and found.allocated_b > 0.98 * 50e6:
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    found = allocations(tmp_path)
    assert found.allocated_b == pytest.approx(50e6, rel=0.03)
    status, _, errors = outcome([sys.executable, "-m", "incprof", "phases", "--card", "run"], tmp_path)
    assert status in (0, 5)
    assert "killed" in errors or "cut" in errors or "end" in errors, errors
