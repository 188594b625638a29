"""record --all: every system records, the program behaves as alone, and what was given by itself stays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from incprof.readers.stream.interval_images import ALLOCATIONS, COUNTERS, IO, WAITS, interval_images
from incprof.record.settings import switched_on
from tests.integration.collector import clean_environment

PROGRAM = """
import sys, time
data = [bytearray(1 << 16) for _ in range(400)]
end = time.process_time() + .3
while time.process_time() < end:
    pass
time.sleep(.3)
open("out", "wb").write(b"x" * (1 << 20))
print(len(data))
sys.exit(7)
"""


def test_every_system_records_and_the_program_behaves_as_alone(tmp_path: Path) -> None:
    words = [
        sys.executable,
        "-m",
        "incprof",
        "record",
        "--all",
        "-i",
        "50ms",
        "-o",
        "run",
        "--",
        sys.executable,
        "-c",
        PROGRAM,
    ]
    done = subprocess.run(words, cwd=tmp_path, env=clean_environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (7, "400\n")
    assert all(line.startswith("incprof: ") for line in done.stderr.splitlines()), done.stderr
    (stream,) = (tmp_path / "run").glob("*.gmon")
    for kind in (WAITS, ALLOCATIONS, IO, COUNTERS):
        assert any(image.payload for image in interval_images(str(stream), kind)), kind


@pytest.mark.parametrize("words", [["--all", "--format", "gmon"], ["--all", "--external"]])
def test_where_it_is_refused(words: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "incprof", "record", *words, "--", "true"]
    done = subprocess.run(command, cwd=tmp_path, env=clean_environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert os.listdir(tmp_path) == []


def test_what_was_given_stays() -> None:
    assert switched_on({"memory": "1M", "io": None}) == {"counters": "1", "io": "1", "gpu": "1"}
