"""A thinned beat in which the program waited is scaled to more time than there was, which is reported."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from incprof.cli.main import main
from tests.integration.appekg_build import EkgBuilder
from tests.integration.appekg_scripts import only_file
from tests.integration.appekg_use import environment

STOPPED_S = 0.3


def test_a_beat_that_stands_for_more_time_than_there_was_is_bounded_and_marked(
    ekg: EkgBuilder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "run"
    job = subprocess.Popen(
        [ekg.program("stopped_beat.c")], env=environment(EKG_DIR=directory, EKG_OVERHEAD=0, EKG_INTERVAL=1)
    )
    _, status = os.waitpid(job.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    time.sleep(STOPPED_S)
    job.send_signal(signal.SIGCONT)
    assert job.wait(600) == 0
    found = only_file(directory)
    assert (found.total("count"), found.total("executions")) == (20, 1901)  # the first of them is recorded
    assert max(row.max_ns for row in found.rows) >= STOPPED_S * 1e9  # it was one of those that are recorded
    assert main(["heartbeats", str(directory), "--json"]) == 0
    (said,) = json.loads(capsys.readouterr().out)["heartbeats"]
    assert said["mean_s"] * said["executions"] > 10 * STOPPED_S  # what they stand for
    assert said["bounded"] >= 1
    assert 0 < said["busy_pct"] <= 100
    assert main(["heartbeats", str(directory)]) == 0
    shown = capsys.readouterr().out
    assert "represents more time than its thread had; that time was used instead: id 1" in shown
    assert re.search(r"max (\d+) %", shown)[1] == "100"
