"""What the README shows first works where it stands: in a clone, typed as it is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.hosts import need
from tests.paths import ROOT

README = (ROOT / "README.md").read_text()
INSTALL = "pip install ."


def commands(heading: str) -> list[str]:
    """What is typed in the first block that holds `heading`."""
    block = next(part for part in README.split("```")[1::2] if heading in part)
    return [line[2:] for line in block.splitlines() if line.startswith("$ ")]


def place(tmp_path: Path) -> Path:
    """A clone, as far as the examples go: installing has its own tests."""
    clone = tmp_path / "clone"
    shutil.copytree(ROOT / "examples", clone / "examples", ignore=shutil.ignore_patterns("build"))
    return clone


def typed(lines: list[str], clone: Path) -> str:
    """What a shell answers."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    script = "\n".join(["set -e", *lines])
    done = subprocess.run(["sh", "-c", script], cwd=clone, env={**os.environ, "PATH": path}, capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_the_first_example(tmp_path: Path) -> None:
    lines = commands("incprof record")
    assert [INSTALL in line for line in lines] == [True] + [False] * (len(lines) - 1), "installed before it is used"
    answer = typed(lines[1:], place(tmp_path))
    assert "next: incprof phases gmon-phases" in answer
    assert re.search(r"^phases, rank 0, \d+ intervals of [\d.]+ s", answer, re.MULTILINE)
    named = re.findall(r"^ +\d+  (\w+) .*phases\.c:\d+$", answer, re.MULTILINE)
    shown = re.findall(r"^ +\d+  (\w+) .*phases\.c:\d+$", README, re.MULTILINE)
    assert named == shown == ["fill_keys", "build_table", "lookup_batch", "validate"]


@pytest.mark.slow
def test_the_heartbeats(tmp_path: Path) -> None:
    need("gfortran")
    answer = typed(commands("incprof heartbeats"), place(tmp_path))
    assert "\nheartbeats-f90, 1 rank, 1 thread, " in answer


def test_the_demonstration_needs_no_developer_tools(tmp_path: Path) -> None:
    """By what make would do in a fresh clone."""
    for target, tools in (("demo", False), ("all", True), ("check", True)):
        words = ["make", "-n", f"VENV={tmp_path / 'venv'}", "PYTHON=python3", target]
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
        assert ("optional-dependencies" in done.stdout) == tools, target
        assert 'p["project"]["dependencies"]' in done.stdout
