"""Programs of another C library below a recorded command: the preloaded libraries leave them alone."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from incprof.record.launch import find_library
from tests.integration.collector import FIXTURES, clean_environment

OUTPUT = "1 1 1 1 1 0\n1\n1998000\n1 0 0\n6\nagain\n4\n"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Uses what the libraries put themselves in front of."""
    if shutil.which("musl-gcc") is None:
        pytest.skip("not installed: musl-gcc")
    out = tmp_path_factory.mktemp("musl") / "elsewhere"
    subprocess.run(["musl-gcc", "-O1", FIXTURES / "elsewhere.c", "-o", out], check=True)
    return out


@pytest.mark.parametrize("library", ["libincprof.so", "libincprof_omp.so", "libincprof_mpi.so", "libincprof_io.so"])
def test_with_the_library_preloaded(program: Path, library: str, tmp_path: Path) -> None:
    collector = find_library({})
    beside = [collector] if library == "libincprof_io.so" else []
    paths = ":".join(map(str, [*beside, collector.with_name(library)]))
    variables = {"LD_PRELOAD": paths, "INCPROF_EXE": "*", "INCPROF_DIR": str(tmp_path / "run")}
    done = subprocess.run(
        [program], env={**clean_environment(), **variables}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, OUTPUT, "")
    assert not list(tmp_path.iterdir())


def test_below_a_recorded_script(program: Path, tmp_path: Path) -> None:
    record = [sys.executable, "-m", "incprof", "record", "--log", "quiet", "-o", tmp_path / "run"]
    done = subprocess.run([*record, "--", "sh", "-c", f"{program}; exit $?"], env=clean_environment(),
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (7, OUTPUT, "")
    assert [path.name for path in tmp_path.rglob("*")] == ["run", "launch"]
