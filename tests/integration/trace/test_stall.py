"""A file system that stands still while MPI calls are traced: the program goes on, and a line reports what is lost."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.integration.appekg_build import EKG_FIXTURES
from tests.integration.mpi_traces import INCPROF, Mpi, mpis, run


@pytest.fixture(params=[0, 1], ids=["openmpi", "mpich"])
def mpi(request: pytest.FixtureRequest, tmp_path: Path) -> Mpi:
    found: Mpi = mpis(tmp_path)[request.param]
    return found


@pytest.mark.slow
def test_a_stall_until_the_end(mpi: Mpi, tmp_path: Path) -> None:
    """Calls do not wait for the writing thread one by one: a million times two seconds would be for ever."""
    hold = tmp_path / "hold"
    subprocess.run(["gcc", "-O2", EKG_FIXTURES / "robust_hold.c", "-o", hold], check=True)
    words = [hold, "0", *INCPROF, "trace", "-o", tmp_path / "run", "--", mpi.build("flood.c")]
    environ = {"HOLD": "incprof-trace", "HOLD_FILES": str(tmp_path / "files"), "INCPROF_DIR": str(tmp_path / "run")}
    outcome = run(words, tmp_path, **environ)
    if outcome.returncode == 77:
        pytest.skip("no ptrace here")
    assert (outcome.returncode, outcome.stdout) == (0, "done\n"), outcome
    (line,) = [line for line in outcome.stderr.splitlines() if "incprof trace" in line]
    assert "calls are not in the trace: the file system did not respond or was too slow: " in line
    assert int(line.split(": ")[1].split()[0]) > 1_000_000
