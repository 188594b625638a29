"""Causes of waits in several threads, drawn from seeds, against the threads' own clocks."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from incprof.systems.waiting.causes import functions_to, kinds_of
from incprof.systems.waiting.read import read_waits
from tests.integration.collector import FIXTURES
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


def test_blocked_threads_have_frames_of_python(record: Record) -> None:
    python = os.path.realpath(sys.executable)
    recording = record([python, FIXTURES / "wait_threads.py"], env={"INCPROF_EXE": python})
    waits = read_waits(str(recording.directory / "rank-00000.gmon"), str(recording.directory))
    assert waits is not None
    kinds = kinds_of(waits)
    found = {
        (function, reason)
        for reason, node in zip(kinds.reason, kinds.node.tolist(), strict=True)
        for function in [waits.paths.functions[each].name.rpartition(":")[2] for each in functions_to(waits, node)]
    }
    assert {("hold", ("sleep", "")), ("want", ("lock", "Python's lock")), ("take", ("lock", "Python's lock"))} <= found
    assert ("burn", ("lock", "GIL")) in found
    burning = [4, 5]  # after the main thread, hold, want and take
    of_lock = [wait for wait, reason in enumerate(kinds.reason) if reason == ("lock", "GIL")]
    waiting = np.isin(kinds.of_span, of_lock) & np.isin(waits.thread, burning)
    held = waiting & (waits.holder >= 0)
    assert not (waits.holder[held] == waits.thread[held]).any()
    seconds = waits.waited_s * np.isin(waits.holder, burning)
    assert seconds[waiting].sum() >= 0.5 * waits.waited_s[waiting].sum()


@pytest.mark.slow
def test_drawn_waits_have_their_causes(mixture: Path, record: Record) -> None:
    scores = [
        score(record([mixture, "10", str(seed), *drawn(seed, threads=4)], env=environment(mixture))) for seed in SEEDS
    ]
    assert pooled(scores).attributed >= 0.95
    assert pooled(scores).right_of_all >= 0.95
    assert pooled(scores).right >= 0.94
