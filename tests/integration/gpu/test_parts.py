"""Parts by themselves, which no program could bring into every state at will."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.paths import INTEGRATION, ROOT

GPU = ROOT / "gpu"


SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def run_part(folder: Path, name: str, flags: tuple[str, ...], *sources: Path) -> None:
    """Build the program that tests a part, and run it."""
    program = folder / "part"
    includes = [f"-I{path}" for path in (GPU, GPU / "opencl", GPU / "include", ROOT / "runtime" / "include")]
    words = ["gcc", "-O1", "-g", "-Wall", "-pthread", *flags, *includes, str(INTEGRATION / "parts_fixtures" / name)]
    subprocess.run([*words, *map(str, sources), "-o", str(program)], check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("flags", [(), SANITIZED])
def test_threads_and_their_handlers_lose_no_command(tmp_path: Path, flags: tuple[str, ...]) -> None:
    run_part(tmp_path, "gpu_inboxes.c", flags, GPU / "state.c", ROOT / "runtime" / "vdso.c")


@pytest.mark.parametrize("flags", [(), SANITIZED])
def test_spans_in_any_order_count_once(tmp_path: Path, flags: tuple[str, ...]) -> None:
    run_part(tmp_path, "gpu_spans.c", flags)
