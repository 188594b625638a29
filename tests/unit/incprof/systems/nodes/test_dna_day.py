"""A scripted day on a machine without hardware counters, at a load of 15 to 18."""

import json

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from incprof.cli.main import main
from incprof.systems.nodes.analyse.learn import decoded, learn
from incprof.systems.nodes.read import read_nodes
from tests.paths import RECORDINGS

DAY = RECORDINGS / "day-at-load"


def states_of(what):
    """Return the state and the true activity of each row within the log, and the names of the states."""
    (series,) = read_nodes([DAY / f"{what}.csv"])
    log = [line.split() for line in (DAY / "log").read_text().splitlines()]
    begun = np.array([float(at) for at, _ in log])
    middle = series.times - series.period_s / 2
    place = np.clip(np.searchsorted(begun, middle, side="right") - 1, 0, len(log) - 2)
    inside = (middle >= begun[0]) & (middle < begun[-1])
    alphabet = learn([series], ["script"])
    done = np.array([name for _, name in log])[place]
    return decoded(series, alphabet).labels[inside], done[inside], {each.id: each.name for each in alphabet.states}


def made_of(what):
    """Return the adjusted Rand index of the states, and how many rows of which activity each has."""
    found, true, names = states_of(what)
    rows = {name: dict(zip(*map(list, np.unique(true[found == at], return_counts=True)), strict=True))
            for at, name in names.items()}  # fmt: skip
    return adjusted_rand_score(true, found), rows


def test_states_of_a_script_are_its_activities_beside_other_work():
    # It was .62 when memory was no counter, and sums and streams through memory were one state.
    agreement, rows = made_of("script")
    assert agreement > 0.8
    assert any("678 MB held" in name and each == {"streams": 39} for name, each in rows.items())
    assert {"idle": 33} in rows.values()


def test_of_the_machine_only_disk_and_network_are_distinguished():
    agreement, rows = made_of("machine")
    assert agreement == pytest.approx(0.46, abs=0.05)
    assert {"loopback": 33} in rows.values()


def test_a_line_reports_that_other_work_hides_the_machines_state(capsys):
    assert main(["dna", "states", str(DAY / "machine.csv")]) == 0
    assert "sample the job by itself: incprof sample -i 1s -e all -- COMMAND" in capsys.readouterr().out
    assert main(["dna", "states", str(DAY / "machine.csv"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["nodes"][0]["crowded"] > 0.9
    assert main(["dna", "states", str(DAY / "script.csv")]) == 0
    out = capsys.readouterr().out
    assert "by itself" not in out
    assert "MB held" in out
