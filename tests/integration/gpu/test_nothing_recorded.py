"""The line of `record --gpu` where nothing of a GPU was recorded: which library was loaded, and what to do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.collector import run
from tests.integration.conftest import Build
from tests.integration.hosts import collector_lines

BEGINNING = "incprof: no GPU activity is recorded: "
# What the libraries are called that a program loads, and what the line is about.
LACKS = {
    ("libcudart.so.12",): "CUDA's run-time was loaded, but not its driver, libcuda.so.1",
    ("libze_loader.so.1",): "Level Zero is recorded only as the time in its waiting functions",
    ("libomptarget.so.19.1",): "OpenMP's run-time took no tool",
    ("libomptarget.so.19.1", "libincprof_openmp.so"): "LD_LIBRARY_PATH lacks the directory of libomp.so",
    ("libOpenCL-5519dec5.so.1.0.0",): "OpenCL was loaded, but not called, or its loader has no layers",
    ("libze_loader.so.1", "libamdhip64.so.6"): "HIP was loaded, but not called, or without rocprofiler-sdk",
    ("libOpenCL.so.1", "libcudart.so.12", "libcuda.so.1"): "CUDA was loaded, but not initialised",
}


@pytest.fixture
def program(build: Build) -> Path:
    return build("load_libraries.c", flags="-O1", pg=False, output="load_libraries")


@pytest.fixture
def library(build: Build) -> Callable[[str], str]:
    """Return the path of a library with this name, and no other contents."""

    def named(name: str) -> str:
        return str(build("empty_library.c", flags=f"-shared -fPIC -Wl,-soname,{name}", pg=False, output=name))

    return named


def lines(place: Path, *words: str | Path) -> list[str]:
    """Return incprof's lines at the end of a recording in `place`/run."""
    outcome = run([sys.executable, "-m", "incprof", "record", "-o", "run", *words], place, {})
    assert outcome.status == 0, outcome
    return collector_lines(outcome)


def note(place: Path) -> str:
    words = [sys.executable, "-m", "incprof", "phases", "--card", str(place / "run")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    # It is the last one, on one line or more.
    return " ".join(done.stdout.split()).rpartition("note: No GPU activity was recorded: ")[2]


def test_a_program_without_a_gpu(program: Path, tmp_path: Path) -> None:
    (line,) = lines(tmp_path, "--gpu", "--", program)
    assert line.endswith("; next: incprof phases run; no recorded process used a GPU")
    assert note(tmp_path) == "no library of CUDA, HIP, OpenCL or OpenMP offload was loaded"


def test_a_recording_that_was_not_asked_for_gpus(program: Path, library: Callable[[str], str], tmp_path: Path) -> None:
    (line,) = lines(tmp_path, "--", program, library("libcuda.so.1"))
    assert line.endswith("; next: incprof phases run")


@pytest.mark.parametrize("names", [*LACKS], ids=lambda names: "+".join(names))
def test_a_library_that_recorded_nothing(
    program: Path, library: Callable[[str], str], tmp_path: Path, names: tuple[str, ...]
) -> None:
    _, line = lines(tmp_path, "--gpu", "--", program, *map(library, names))
    assert line.startswith(BEGINNING)
    assert LACKS[names] in line
    assert note(tmp_path) == line.removeprefix(BEGINNING)


def test_one_line_for_a_job(program: Path, library: Callable[[str], str], tmp_path: Path) -> None:
    script = f"{program}; {program} {library('libamdhip64.so.6')}; {program}; exec {program}"
    _, line = lines(tmp_path, "--gpu", "--", "sh", "-c", script)
    assert line.startswith(f"{BEGINNING}HIP was loaded")


def test_a_library_that_lists_devices_does_not_count(
    program: Path, library: Callable[[str], str], tmp_path: Path
) -> None:
    """MPICH's hwloc loads OpenCL, and ours with it."""
    idle = [library("libOpenCL.so.1"), library("libincprof_opencl.so")]
    (line,) = lines(tmp_path, "--gpu", "--", program, *idle)
    assert line.endswith("; no recorded process used a GPU")
    assert note(tmp_path) == "a GPU interface was initialised, but no kernel, copy or wait ran"
    script = f"{program} {library('libamdhip64.so.6')}; exec {program} {' '.join(idle)}"
    _, line = lines(tmp_path, "--gpu", "--", "sh", "-c", script)
    assert line.startswith(f"{BEGINNING}HIP was loaded")


def test_launchers_do_not_count(program: Path, library: Callable[[str], str], tmp_path: Path) -> None:
    """Open MPI's loads OpenCL to list the devices of a node."""
    launcher = tmp_path / "mpirun"
    launcher.write_bytes(program.read_bytes())
    launcher.chmod(0o755)
    (line,) = lines(tmp_path, "--gpu", "--", "sh", "-c", f"{launcher} {library('libOpenCL.so.1')}; exec {program}")
    assert line.endswith("; no recorded process used a GPU")


def test_without_an_end_of_each_process_nothing_is_certain(program: Path, tmp_path: Path) -> None:
    (line,) = lines(tmp_path, "--gpu", "-i", "0.01", "--", "sh", "-c", f"{program}; {program} kill; exec {program}")
    assert line.endswith("; next: incprof phases run")
