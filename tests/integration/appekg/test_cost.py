"""The library's estimate of the cost of a heartbeat, which must do no harm. Benchmarks measure its accuracy."""

from __future__ import annotations

from pathlib import Path

import pytest

from appekg import Heartbeats
from tests.integration.appekg.test_sanitizers import MEMORY, THREAD, storm, supported
from tests.integration.appekg_build import EkgBuilder
from tests.integration.appekg_robust import counter, counts, press

THREADS, BEATS = 4, 1000


def said(stdout: str) -> dict[str, tuple[float, ...]]:
    """The numbers that the fixture printed, by the word before them."""
    return {word: tuple(map(float, numbers)) for word, *numbers in map(str.split, stdout.splitlines())}


def check(beats: Heartbeats, *, children: int) -> None:
    """Costs are there, and every beat was counted."""
    assert (beats.damaged, beats.warnings) == (False, ())
    assert len(beats.processes) == 1 + children
    for process in beats.processes:
        assert process.cost is not None
        assert process.cost.pair_ns > 0
        assert process.cost.skipped_ns > 0
    assert counts(beats) == {1: (2 * BEATS * (2 * THREADS + children), 0)}
    assert counter(beats, "dropped") == counter(beats, "unmatched") == 0


@pytest.mark.parametrize("clock", ["auto", "monotonic"])
@pytest.mark.parametrize("when", ["early", "late"])
def test_cost_is_in_the_metadata(ekg: EkgBuilder, tmp_path: Path, when: str, clock: str) -> None:
    program = ekg.program("cost.c", output="cost")
    pressed = press([program, when, tmp_path / "run"], tmp_path, clock=clock, interval="0.01")
    assert (pressed.outcome.status, pressed.outcome.stderr) == (0, "")
    answers = said(pressed.outcome.stdout)
    assert answers["exists"] == (0,)  # asking starts nothing
    check(pressed.read(), children=1)
    if when == "early":  # it is measured once
        first = pressed.read().processes[0].cost
        assert first is not None
        assert answers["before"] == answers["after"] == answers["child"] == (0, first.pair_ns, first.skipped_ns)


def test_the_clock_that_a_question_needs_is_not_the_runs(ekg: EkgBuilder, tmp_path: Path) -> None:
    program = ekg.program("cost.c", output="cost")
    pressed = press([program, "early"], tmp_path, clock="monotonic")
    lines = (pressed.directory / "rank-00000.ekg").read_text().splitlines()
    clocks = {line.split('"clock":"')[1].split('"')[0] for line in lines if line.startswith("#interval")}
    assert clocks == {"monotonic"}


@pytest.mark.slow
def test_a_simulated_clock_has_no_cost(ekg: EkgBuilder, tmp_path: Path) -> None:
    program = ekg.program("cost.c", flags="-DEKG_FAKE_CLOCK", output="cost")
    pressed = press([program, "early"], tmp_path)
    assert said(pressed.outcome.stdout)["before"] == (-1, 0, 0)
    process = pressed.read().processes[0]
    assert process.cost is None
    assert b"pair_ns" not in process.path.read_bytes()


@pytest.mark.parametrize("variables", [{"disable": "1"}, {"start": "off"}, {"sink": "none"}])
def test_a_question_while_nothing_is_recorded(ekg: EkgBuilder, tmp_path: Path, variables: dict[str, str]) -> None:
    pressed = press([ekg.program("cost.c", output="cost"), "late"], tmp_path, **variables)
    assert (pressed.outcome.status, pressed.outcome.stderr) == (0, "")
    for when in ("after", "child"):
        status, pair, skipped = said(pressed.outcome.stdout)[when]
        assert status == 0
        assert pair > 0
        assert skipped > 0


@pytest.mark.slow
@pytest.mark.parametrize("flags", [THREAD, MEMORY], ids=["thread", "memory"])
def test_under_sanitizers(ekg: EkgBuilder, tmp_path: Path, flags: str) -> None:
    """Runs alone: ThreadSanitizer supports no threads in children of threaded processes."""
    supported(tmp_path, flags)
    program = ekg.program("cost.c", flags=flags, output="cost")
    pressed = storm(program, tmp_path, "early", "-", "alone", options="detect_leaks=0")
    check(pressed.read(), children=0)
