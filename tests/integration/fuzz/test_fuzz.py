"""The harnesses of fuzz/ in short: every input that once found a fault, real libraries, and some thousand drawn ones.

The same inputs every time on one machine; `make fuzz TIME=SECONDS` draws others.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fuzz.harnesses import HARNESSES, KEPT, CannotFuzz, Harness, build, command
from fuzz.running import replay, run

RUNS = 3000


@pytest.mark.parametrize("harness", HARNESSES, ids=lambda harness: harness.name)
def test_a_harness_agrees_with_the_code_that_it_includes(harness: Harness) -> None:
    try:
        words = command(harness)
    except CannotFuzz as reason:
        pytest.skip(str(reason))
    done = subprocess.run([*words, "-fsyntax-only"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("harness", HARNESSES, ids=lambda harness: harness.name)
def test_nothing_that_is_drawn_breaks_it(harness: Harness, tmp_path: Path) -> None:
    try:
        program = build(harness, tmp_path)
    except CannotFuzz as reason:
        pytest.skip(str(reason))
    assert replay(harness, program, tmp_path) == ""
    ran = run(harness, program, tmp_path, runs=RUNS, seed=1)
    assert (ran.fault, ran.input) == ("", None)
    assert ran.executions >= RUNS


def test_every_kept_input_is_of_a_harness() -> None:
    assert {place.name for place in KEPT.iterdir()} <= {harness.name for harness in HARNESSES}
