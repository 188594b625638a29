"""Phases of a real program, from a recording that was made once: zstd's benchmark of its levels 1 to 9.

The levels have known match finders, so known phases. benchmarks/realworld/zstd.sh has the source, and pack.py
made the archive. On a live run the program itself decides by the clock how often it does what.
"""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

import pytest

from incprof.cli.main import main
from tests.recordings.kept import unpack

LEVELS = 9
FAST = "ZSTD_compressBlock_fast"  # levels 1, 2
DOUBLE_FAST = "ZSTD_compressBlock_doubleFast"  # levels 3, 4
ROWS = "ZSTD_RowFindBestMatch_noDict_5_4"  # levels 5 to 9
DECOMPRESS = "ZSTD_decompressSequences"  # second half of every level

Phases = dict[str, Any]


@pytest.fixture(scope="module")
def phases(tmp_path_factory: pytest.TempPathFactory) -> Phases:
    """Return the answer of `incprof phases --json`."""
    run = tmp_path_factory.mktemp("zstd")
    unpack("zstd", run)
    answer = run / "answer.json"
    with pytest.MonkeyPatch.context() as patch, answer.open("w") as file:
        patch.setattr("sys.stdout", file)
        assert main(["phases", str(run), "--json"]) == 0
    found: Phases = json.loads(answer.read_text())
    return found


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


def test_at_least_three_phases(phases: Phases) -> None:
    assert len(phases["labels"]) == phases["run"]["intervals"] >= 123
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
