"""The examples with heartbeats: built by their Makefile, with the counts that their first lines promise."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.integration.appekg_use import ROOT, environment, installation, run, totals

EXAMPLES = ROOT / "examples"


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """A copy of the examples, without what was built."""
    copy = tmp_path / "examples"
    shutil.copytree(EXAMPLES, copy, ignore=shutil.ignore_patterns("build"))
    return copy


def make(examples: Path, target: str, *settings: str) -> None:
    """Build an example; `incprof` is the one of this checkout."""
    cache = examples.parent / "cache"
    run("make", target, *settings, cwd=examples, env=environment(XDG_CACHE_HOME=cache, PYTHONPATH=ROOT))


INCPROF = f"INCPROF={sys.executable} -m incprof"


@pytest.mark.slow
@pytest.mark.parametrize("settings", ["incprof env", "variables"])
def test_threads_in_cpp(examples: Path, settings: str) -> None:
    found = installation()
    given = [f"EKG_CFLAGS=-I{found.include}", f"EKG_LIBS={found.archive}"]
    make(examples, "build/heartbeats-cpp", *(given if settings == "variables" else [INCPROF]))
    said = run("build/heartbeats-cpp", "0.025", cwd=examples, env=environment(EKG_DIR="ekg"))
    assert said.startswith("30 steps, ")
    assert totals(examples / "ekg") == {
        (1, "step"): (120, 0),
        (2, "smooth"): (120, 0),
        (3, "norm"): (12, 0),
        (4, "update"): (0, 120),
    }


def test_fortran(examples: Path) -> None:
    if shutil.which("gfortran") is None:
        pytest.skip("gfortran is not installed")
    make(examples, "build/heartbeats-f90", INCPROF)
    said = run("build/heartbeats-f90", "0.01", cwd=examples, env=environment(EKG_DIR="ekg"))
    assert said == "25 sweeps, residual is a number: T\n"
    assert totals(examples / "ekg") == {(1, "sweep"): (25, 0), (2, "residual"): (2, 0), (3, "output"): (0, 2)}


def test_python(examples: Path) -> None:
    found = environment(EKG_DIR="ekg", PYTHONPATH=ROOT)
    said = run(sys.executable, "heartbeats.py", "0.05", cwd=examples, env=found)
    assert said == "200 systems each, equal results: True\n"
    assert totals(examples / "ekg") == {
        (1, "assemble"): (400, 0),
        (2, "solve"): (400, 0),
        (3, "batches"): (4, 0),
        (4, "done"): (0, 2),
    }


@pytest.mark.slow
def test_commands_of_their_first_lines_work(examples: Path) -> None:
    """The commands in each file, with only an argument added and the programs' places given."""
    for name, words in (("incprof", "-m incprof"), ("python", "")):
        (examples / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (examples / name).chmod(0o755)
    found = environment(XDG_CACHE_HOME=examples.parent / "cache", PYTHONPATH=ROOT)
    found["PATH"] = f"{examples}:{found['PATH']}"
    for name in ("heartbeats.cpp", "heartbeats.f90", "heartbeats.py"):
        if name.endswith("f90") and shutil.which("gfortran") is None:
            continue
        commands = re.findall(r"(?:g\+\+|gfortran|EKG_DIR=).*", (examples / name).read_text())
        script = "\n".join(["set -e", "rm -rf ekg", *commands]).replace(" && incprof", " 0.01 && incprof")
        assert " Count " in run("sh", "-c", script, cwd=examples, env=found)
