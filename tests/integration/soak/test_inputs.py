"""A short form of `make soak`: the same damaged inputs every time, in which nothing must be found."""

import json
import os
import subprocess
import sys

import pytest

from tests.paths import ROOT

# A case of every kind takes about so many.
CASES = 1500


def soak(scratch, *words):
    command = [sys.executable, "-m", "soak", "--scratch", str(scratch), *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=os.environ | {"CI": "1"}, check=False)


@pytest.mark.slow
def test_damaged_inputs(tmp_path):
    done = soak(tmp_path, "--only", "inputs", "--seed", "13", "--cases", str(CASES))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"inputs: {CASES} cases" in done.stdout
    assert "0 findings" in done.stdout


@pytest.mark.slow
def test_a_finding_is_reported_and_drawn_again(tmp_path):
    """An older reader that takes memory for all the rows that there may be stands for whatever will be found."""
    fault = "import numpy as np, incprof.systems.periods.read as s; s.PIECE = 1 << 40; "
    words = ["--only", "inputs/series-text", "--seed", "1", "--cases", "20", "--scratch", str(tmp_path)]
    program = f"import sys; {fault}from soak.__main__ import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", program, *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    (kept, *_) = sorted(tmp_path.rglob("finding.json"))
    facts = json.loads(kept.read_text())
    assert "python -m soak --seed 1 --cases 1 --only inputs/series-text/" in facts["again"]
    assert list((kept.parent / "files").iterdir())
    again = facts["again"].split()[3:]
    assert soak(tmp_path, *again).returncode == 0  # with the reader as it is
