"""A scripted day on a machine without hardware counters, at a load of 15 to 18 (`python -m benchmarks.dna short`)."""

import json
from pathlib import Path

import pytest

from benchmarks.dna_real import compare
from incprof.cli import main

DAY = Path(__file__).parents[1] / "recordings" / "day-at-load"


def test_states_of_a_script_are_its_activities_beside_other_work(capsys):
    # It was .62 when memory was no counter, and sums and streams through memory were one state.
    assert compare(DAY, "script") > 0.8
    rows = capsys.readouterr().out
    assert "678 MB held: {'streams': 39}" in rows
    assert "  idle: {'idle': 33}" in rows


def test_of_the_machine_only_disk_and_network_are_told_apart(capsys):
    assert compare(DAY, "machine") == pytest.approx(0.46, abs=0.05)
    assert "{'loopback': 33}" in capsys.readouterr().out


def test_a_line_says_that_other_work_hides_what_a_machine_does(capsys):
    assert main(["dna", "states", str(DAY / "machine.csv")]) == 0
    assert "sample the job by itself: incprof sample -i 1s -e all -- COMMAND" in capsys.readouterr().out
    assert main(["dna", "states", str(DAY / "machine.csv"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["nodes"][0]["crowded"] > 0.9
    assert main(["dna", "states", str(DAY / "script.csv")]) == 0
    out = capsys.readouterr().out
    assert "by itself" not in out
    assert "MB held" in out
