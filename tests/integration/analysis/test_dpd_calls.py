"""Predictions of the calls of compiled programs, against the simplest one: the same call again."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from incprof.systems.periods.dpd_events import detect
from tests.paths import INTEGRATION

FIXTURE = INTEGRATION / "dpd_fixtures" / "sorts.c"
RECORDER = INTEGRATION / "dpd_fixtures" / "calls_recorder.c"
MOST, POINT = 20_000, 0.01


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a -pg program and of the library that records its calls."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    place = tmp_path_factory.mktemp("calls")
    flags = ["-O2", "-mgeneral-regs-only", "-fPIC", "-shared", "-Wl,-z,now"]
    for words in (["-O1", "-pg", str(FIXTURE), "-o", "sorts"], [*flags, str(RECORDER), "-o", "recorder.so"]):
        subprocess.run(["gcc", *words], cwd=place, check=True)
    return place


@pytest.mark.parametrize("what", ["qsort", "own", "search", "steps"])
def test_predictions_get_no_worse_with_the_window(built: Path, what: str) -> None:
    file = built / f"{what}.bin"
    env = {**os.environ, "LD_PRELOAD": "./recorder.so", "CALLS_FILE": str(file), "CALLS_MOST": str(MOST)}
    subprocess.run(["./sorts", what], cwd=built, env=env, stdout=subprocess.DEVNULL, check=False)
    calls = np.fromfile(file, dtype=np.int64)
    calls = calls[: int(np.count_nonzero(calls))]
    assert len(calls) > MOST // 2
    again = float(np.mean(calls[1:] == calls[:-1]))
    for memory in (0, 16384):
        rates = [detect(calls, window, memory=memory, ahead=(1,)).hit_rate(1) for window in (128, 512, 2048, 4096)]
        assert min(rates) >= again - POINT
        assert all(larger >= smaller - POINT for smaller, larger in itertools.pairwise(rates))
