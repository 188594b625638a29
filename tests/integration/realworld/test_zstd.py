"""zstd, built from its Debian source package and recorded: the script runs as written, and phases come out of it.

Takes about a minute (fetch, build, record 25 s); `pytest -k "not realworld"` leaves it out. How many of the
levels' match finders are told apart depends on the samples that a busy machine leaves: both directions are on any.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT

SCRIPT = ROOT / "benchmarks" / "realworld" / "run.sh"
NO_SOURCES = 77  # the script's exit status where the source package cannot be had

LEVELS = 9

pytestmark = pytest.mark.slow

Phases = dict[str, Any]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the script builds: $INCPROF_SCRATCH is used again, else a new folder."""
    given = os.environ.get("INCPROF_SCRATCH")
    return Path(given) if given else tmp_path_factory.mktemp("realworld")


@pytest.fixture(scope="module")
def phases(scratch: Path) -> Phases:
    """Return the answers of `incprof phases --json` for levels 1 to 9."""
    incprof = shutil.which("incprof", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    assert incprof, "the incprof command is not installed beside this Python"
    env = {
        **os.environ,
        "INCPROF_SCRATCH": str(scratch),
        "INCPROF": incprof,
        "ZSTD_SIZE": "small",
        "INCPROF_NO_LOOP": "1",
    }
    done = subprocess.run(
        ["sh", SCRIPT, "zstd"], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1800
    )
    if done.returncode == NO_SOURCES:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    answer: Phases = json.loads((scratch / "runs" / "zstd-small.json").read_text())
    return answer


def test_the_run_is_whole(phases: Phases, scratch: Path) -> None:
    output = (scratch / "runs" / "zstd-small.out").read_text()
    assert f"{LEVELS}#" in output
    assert "WARNING" not in output  # zstd's own check of the decompressed content
    (line,) = (scratch / "runs" / "zstd-small.err").read_text().splitlines()
    assert "; next: incprof phases " in line
    assert not (scratch / "zstd" / "gmon.out").exists()
    assert len(phases["labels"]) == phases["run"]["intervals"] > 50


def decompressing(functions: list[dict[str, Any]]) -> float:
    """The share of decompression in the time of functions whose names say a direction: a match finder's need not."""
    named = [function for function in functions if "ompress" in function["name"]]
    both = sum(function["share"] for function in named)
    assert both > 0
    return float(sum(function["share"] for function in named if "decompress" in function["name"].lower()) / both)


def test_compression_and_decompression_are_distinguished(phases: Phases) -> None:
    """They alternate at each level: two phases or more, or two steps of one where a busy machine left few samples."""
    if len(phases["phases"]) == 1:
        sites = {"decompress" in site["function"].lower() for site in phases["phases"][0]["sites"]}
        assert sites == {False, True}
        return
    shares = [decompressing(phase["functions"]) for phase in phases["phases"]]
    assert all(share < 0.05 or share > 0.95 for share in shares), shares
    assert {share > 0.5 for share in shares} == {False, True}
