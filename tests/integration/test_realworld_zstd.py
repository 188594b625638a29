"""zstd, built from its Debian source package: the levels of its benchmark have known match finders, so known phases.

Takes about a minute (fetch, build, record 25 s); `pytest -k "not realworld"` leaves it out.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "realworld" / "run.sh"
NO_SOURCES = 77  # the script's exit status where the source package cannot be had

LEVELS = 9
FAST = "ZSTD_compressBlock_fast"  # levels 1, 2
DOUBLE_FAST = "ZSTD_compressBlock_doubleFast"  # levels 3, 4
ROWS = "ZSTD_RowFindBestMatch_noDict_5_4"  # levels 5 to 9
DECOMPRESS = "ZSTD_decompressSequences"  # second half of every level

pytestmark = pytest.mark.slow

Phases = dict[str, Any]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the script builds: $INCPROF_SCRATCH is used again, else a new folder."""
    given = os.environ.get("INCPROF_SCRATCH")
    return Path(given) if given else tmp_path_factory.mktemp("realworld")


@pytest.fixture(scope="module")
def phases(scratch: Path) -> Phases:
    """What `incprof phases --json` says of levels 1 to 9."""
    incprof = shutil.which("incprof", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    assert incprof, "the incprof command is not installed beside this Python"
    env = {**os.environ, "INCPROF_SCRATCH": str(scratch), "INCPROF": incprof, "ZSTD_SIZE": "small"}
    done = subprocess.run(
        ["sh", SCRIPT, "zstd"], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600
    )
    if done.returncode == NO_SOURCES:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    answer: Phases = json.loads((scratch / "runs" / "zstd-small.json").read_text())
    return answer


def seconds_in(phase: Phases, prefix: str) -> float:
    """Self time of the functions of that name, clones included, in one phase."""
    return sum(f["self_s"] for f in phase["functions"] if f["name"].startswith(prefix))


def phase_of(phases: Phases, prefix: str) -> Phases:
    """The phase that holds most of a function's time."""
    best: Phases = max(phases["phases"], key=lambda phase: seconds_in(phase, prefix))
    assert seconds_in(best, prefix) > 0, f"{prefix} is in no phase"
    return best


def intervals_of(phases: Phases, phase: Phases) -> list[int]:
    """Indices of the intervals with that phase's label."""
    return [i for i, label in enumerate(phases["labels"]) if label == phase["id"]]


def test_the_run_is_whole(phases: Phases, scratch: Path) -> None:
    output = (scratch / "runs" / "zstd-small.out").read_text()
    assert f"{LEVELS}#" in output
    assert "WARNING" not in output  # zstd's own check of the decompressed content
    assert (scratch / "runs" / "zstd-small.err").read_text() == ""
    assert not (scratch / "zstd" / "gmon.out").exists()
    assert len(phases["labels"]) == phases["run"]["intervals"] > 50


def test_at_least_three_phases(phases: Phases) -> None:
    assert phases["k"] >= 3
    assert phases["k"] == len(phases["phases"])


@pytest.mark.parametrize("function", [DECOMPRESS, ROWS])
def test_top_function(phases: Phases, function: str) -> None:
    phase = phase_of(phases, function)
    assert phase["functions"][0]["name"].startswith(function)
    assert phase["functions"][0]["share"] > 0.5


def test_the_quick_levels_are_led_by_their_match_finders(phases: Phases) -> None:
    """One phase or two: what is left of the time is entropy coding, which both share."""
    for function in (FAST, DOUBLE_FAST):
        top = [f["name"] for f in phase_of(phases, function)["functions"][:3]]
        assert any(name.startswith(function) for name in top), top


def test_match_finders_come_in_the_order_of_the_levels(phases: Phases) -> None:
    fast, double, rows = (intervals_of(phases, phase_of(phases, name)) for name in (FAST, DOUBLE_FAST, ROWS))
    assert fast[0] <= double[0] < rows[0]
    assert fast[-1] <= double[-1] < rows[-1]
    # at most two intervals on a border carry the label of the other side
    assert sum(i > rows[0] for i in {*fast, *double}) <= 2


def test_decompression_comes_back_in_every_level(phases: Phases) -> None:
    decompress = phase_of(phases, DECOMPRESS)
    assert decompress["id"] not in {phase_of(phases, name)["id"] for name in (FAST, DOUBLE_FAST, ROWS)}
    assert 25 < decompress["app_pct"] < 65
    stretches = [label for label, _ in groupby(phases["labels"]) if label == decompress["id"]]
    assert LEVELS - 1 <= len(stretches) <= LEVELS + 3


def test_sites(phases: Phases) -> None:
    sites = [site["function"] for site in phase_of(phases, ROWS)["sites"]]
    expected = (ROWS, "ZSTD_compressBlock_greedy_row", "ZSTD_compressBlock_lazy")
    assert any(name.startswith(expected) for name in sites), sites
    sites = [site["function"] for site in phase_of(phases, DECOMPRESS)["sites"]]
    expected = (DECOMPRESS, "ZSTD_decompress", "local_defaultDecompress")
    assert any(name.startswith(expected) for name in sites), sites
