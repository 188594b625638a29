"""Both MPIs, with programs that are built once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.integration.mpi_traces import Mpi, mpis


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of the programs that are built."""
    return tmp_path_factory.mktemp("mpi")


@pytest.fixture(
    scope="session", params=[pytest.param(0, id="openmpi"), pytest.param(1, id="mpich", marks=pytest.mark.slow)]
)
def mpi(request: pytest.FixtureRequest, built: Path) -> Mpi:
    """Return one MPI, or skip the test where it is not installed."""
    found: Mpi = mpis(built)[request.param]
    if shutil.which(f"mpicc.{found.name}") is None:
        pytest.skip(f"{found.name} is not installed")
    return found
