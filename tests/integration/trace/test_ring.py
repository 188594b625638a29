"""The ring between a thread and what writes its trace, by itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.integration.mpi_traces import FIXTURES
from tests.paths import ROOT


@pytest.mark.parametrize("flags", ["-O2", pytest.param("-O1 -fsanitize=thread", marks=pytest.mark.slow)])
def test_what_is_longer_than_the_ring_goes_through_it(tmp_path: Path, flags: str) -> None:
    """As the description of a communicator does that has very many irregular members."""
    sources = [FIXTURES / "ring.c", ROOT / "trace" / "ring.c", ROOT / "runtime" / "buffer.c"]
    include = [f"-I{ROOT / room / 'include'}" for room in ("trace", "runtime")]
    words = ["gcc", "-std=gnu11", "-g", *flags.split(), *include, *sources, "-pthread", "-o", tmp_path / "ring"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if "cannot find" in done.stderr and "san" in done.stderr:
        pytest.skip("no sanitizers here")
    assert done.returncode == 0, done.stderr
    done = subprocess.run([tmp_path / "ring"], capture_output=True, text=True, check=False, timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (0, "300\n", "")
