"""Causes of waits in several threads, drawn from seeds, against the threads' own clocks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.conftest import Build, Record
from tests.integration.wait_mixtures import drawn, pooled, score

SEEDS = range(101, 105)


@pytest.fixture
def mixture(build: Build) -> Path:
    return build("wait_mixture.cpp", flags="-O1 -fopenmp -pthread -std=c++17", pg=False)


def environment(program: Path) -> dict[str, str]:
    return {"INCPROF_FOLLOW": "0", "INCPROF_EXE": str(program), "OMP_WAIT_POLICY": "passive"}


def test_sleep_by_select_is_no_wait_for_a_descriptor(mixture: Path, record: Record) -> None:
    recording = record([mixture, "1", "1", "selected:200", "select:200"], env=environment(mixture))
    found = score(recording).found
    assert found[1, "sleep"] >= 0.7
    assert found[3, "network"] >= 0.7


@pytest.mark.slow
def test_drawn_waits_have_their_causes(mixture: Path, record: Record) -> None:
    scores = [
        score(record([mixture, "10", str(seed), *drawn(seed, threads=4)], env=environment(mixture))) for seed in SEEDS
    ]
    assert pooled(scores).attributed >= 0.95
    assert pooled(scores).right_of_all >= 0.95
