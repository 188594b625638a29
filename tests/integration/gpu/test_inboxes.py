"""The inboxes of the OpenCL layer, which no program could bring into every state at will."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.paths import INTEGRATION, ROOT

GPU = ROOT / "gpu"


@pytest.mark.parametrize("flags", [(), ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")])
def test_threads_and_their_handlers_lose_no_command(tmp_path: Path, flags: tuple[str, ...]) -> None:
    program = tmp_path / "inboxes"
    includes = [f"-I{path}" for path in (GPU / "opencl", GPU / "include", ROOT / "runtime" / "include")]
    sources = [INTEGRATION / "parts_fixtures" / "gpu_inboxes.c", GPU / "state.c", ROOT / "runtime" / "vdso.c"]
    subprocess.run(
        ["gcc", "-O1", "-g", "-Wall", "-pthread", *flags, *includes, *map(str, sources), "-o", str(program)], check=True
    )
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
