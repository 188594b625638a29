"""Runs hard-pressed programs with heartbeats, and compares what they say of themselves with what was recorded."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import appekg
from appekg import Heartbeats
from tests.integration.collector import Outcome, run

HANDLED = {0, 1, 2, 60}  # ids that robust_tally.c beats in a signal handler as well


@dataclass(frozen=True)
class Pressed:
    """A run of a program, and its heartbeats."""

    outcome: Outcome
    directory: Path

    def read(self) -> Heartbeats:
        """What was recorded."""
        return appekg.read(self.directory)

    def lines(self) -> list[str]:
        """Return the library's lines on stderr."""
        return [line for line in self.outcome.stderr.splitlines() if line.startswith("appekg: ")]


def press(
    command: Sequence[str | Path],
    place: Path,
    *,
    timeout_s: float = 600,
    env: Mapping[str, str] | None = None,
    **ekg: str,
) -> Pressed:
    """Run a command in `place`; its run directory is place/run. `ekg`: variables, such as interval="0.001"."""
    settings = {f"EKG_{name.upper()}": value for name, value in ekg.items()}
    variables = {"EKG_DIR": str(place / "run"), **settings, **(env or {})}
    outcome = run(command, place, variables, timeout_s)
    return Pressed(outcome, Path(variables["EKG_DIR"]))


def counter(beats: Heartbeats, name: str) -> int:
    """A counter of all intervals of all processes, such as "dropped"."""
    return sum(int(process.intervals[name].sum()) for process in beats.processes)


def counts(beats: Heartbeats) -> dict[int, tuple[int, int]]:
    """Beats and pulses by id."""
    rows, found = beats.rows, {}
    for number in np.unique(rows["id"]).tolist():
        mine = rows[rows["id"] == number]
        found[number] = (int(mine["count"].sum()), int(mine["pulses"].sum()))
    return found


def tally(outcome: Outcome) -> dict[int, tuple[int, int]]:
    """The lines `id beats pulses` that a fixture printed."""
    lines = re.findall(r"^(\d+) (\d+) (\d+)$", outcome.stdout, re.MULTILINE)
    return {int(number): (int(ended), int(pulses)) for number, ended, pulses in lines}


def plausible(beats: Heartbeats) -> None:
    """Assert what holds of every file: intervals in order, and statistics that can be those of durations."""
    for process in beats.processes:
        intervals = process.intervals
        assert (intervals["end_ns"] >= intervals["start_ns"]).all()
        follows = intervals["lost_intervals"][1:] == 0
        assert (intervals["start_ns"][1:] == intervals["end_ns"][:-1])[follows].all()
    rows = beats.rows[beats.rows["count"] > 0]
    mean = rows["sum_ns"] / rows["count"]
    assert (rows["min_ns"] <= mean + 1).all()
    assert (mean <= rows["max_ns"] + 1).all()
    assert (rows["nested_ns"] <= rows["sum_ns"]).all()
    assert (rows["sumsq_ns2"] <= rows["max_ns"].astype(float) * rows["sum_ns"] * 1.001 + 1e4 * rows["count"]).all()


def exact(pressed: Pressed) -> None:
    """Assert that the counts are those of robust_tally.c.

    A handler's beat that interrupts a change of the same id is lost, and counted as dropped.
    """
    assert (pressed.outcome.status, pressed.outcome.stderr) == (0, "")
    beats, expected = pressed.read(), tally(pressed.outcome)
    assert (beats.damaged, beats.warnings) == (False, ())
    found = counts(beats)
    assert found.keys() == expected.keys()
    wrong = {number for number in expected if found[number] != expected[number]}
    assert wrong <= HANDLED
    short = sum(sum(expected[number]) - sum(found[number]) for number in wrong)
    assert short == counter(beats, "dropped")
    assert counter(beats, "unmatched") == counter(beats, "abandoned") == 0
    assert sum(beats for beats, _ in expected.values()) > 10_000
    plausible(beats)
