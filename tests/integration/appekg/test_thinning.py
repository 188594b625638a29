"""A beat that costs more than its share is thinned at run time (EKG_OVERHEAD), to the nanosecond, by the fake clock."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from incprof.cli.main import main
from tests.integration.appekg_build import EkgBuilder
from tests.integration.appekg_scripts import Recorded, only_file, run_program, run_script

PAIR_NS, SKIPPED_NS = 30.0, 1.5
COST = f"cost {PAIR_NS * 1e3:.0f} {SKIPPED_NS * 1e3:.0f}"
SECOND_NS = 10**9


@pytest.fixture(scope="module")
def script(ekg: EkgBuilder) -> Path:
    """A program that executes a script."""
    return ekg.program("script.c", flags="-DEKG_FAKE_CLOCK")


def recorded(script: Path, lines: list[str], place: Path, **env: str) -> Recorded:
    """Run a script and read its file."""
    _, directory = run_script(script, [COST, *lines], place, {"EKG_OVERHEAD": ""} | env)
    return only_file(directory)


def cost_ns(found: Recorded) -> float:
    """What the beats cost at the prices of this test."""
    count = found.total("count")
    return PAIR_NS * count + SKIPPED_NS * (found.total("executions") - count)


@pytest.mark.parametrize("percent", [0.5, 1, 5])
def test_a_beat_in_a_hot_loop_costs_its_share_and_counts_stay_right(
    script: Path, tmp_path: Path, percent: float
) -> None:
    """12 M beats of 400 ns that would cost 7.5 % of the time, in intervals of 0.4 s."""
    times, each_ns = 1_000_000, 400
    lines = [f"beat 0 1 {each_ns} {times}", "interval"] * 12
    found = recorded(script, lines, tmp_path, EKG_OVERHEAD=str(percent))
    total_ns = times * each_ns * 12
    assert cost_ns(found) <= percent / 100 * (total_ns + SECOND_NS) + 256 * PAIR_NS
    assert cost_ns(found) >= percent / 100 * total_ns / 4  # and it is not thinned more than need be
    assert found.total("executions") == pytest.approx(12 * times, rel=1e-4)
    assert found.total("executions") <= 12 * times
    assert {row.sum_ns // row.count for row in found.rows} == {each_ns}
    assert found.rows[-1].executions >= 2 * found.rows[-1].count


def test_where_skipping_alone_costs_more_than_the_share_little_is_recorded(script: Path, tmp_path: Path) -> None:
    found = recorded(script, ["beat 0 1 10 4000000", "interval"] * 3, tmp_path)
    skipped = found.total("executions") - found.total("count")
    assert found.rows[-1].count * PAIR_NS <= 0.01 * 4e7
    assert skipped + found.total("count") == pytest.approx(12_000_000, rel=1e-3)


@pytest.mark.parametrize("env", [{"EKG_OVERHEAD": "0"}, {"EKG_OVERHEAD": "100"}])
def test_it_can_be_switched_off(script: Path, tmp_path: Path, env: dict[str, str]) -> None:
    found = recorded(script, ["beat 0 1 60 3000000"], tmp_path, **env)
    assert found.total("count") == found.total("executions") == 3_000_000


def test_beats_that_cost_less_than_their_share_are_all_recorded(script: Path, tmp_path: Path) -> None:
    found = recorded(script, ["beat 0 1 3100 1000000", "beat 0 2 60 150000"], tmp_path)
    assert found.total("count") == found.total("executions") == 1_150_000


def test_a_beat_that_has_become_rare_is_recorded_whole_again(script: Path, tmp_path: Path) -> None:
    rare = ["beat 0 1 100000000 10", "interval"]
    found = recorded(script, ["beat 0 1 50 4000000", "interval", *rare * 6], tmp_path)
    assert found.rows[0].count < 1_000_000
    last = [row for row in found.rows if row.interval >= 3]
    assert [(row.count, row.executions) for row in last] == [(10, 10)] * 4
    assert found.total("executions") == pytest.approx(4_000_060, rel=1e-3)


def test_a_thinned_beat_does_not_follow_a_period_of_the_program(script: Path, tmp_path: Path) -> None:
    """Of 64 beats one takes as long as all the others together: each has to be found as often as it is there."""
    found = recorded(script, ["beat 0 1 50 63", "beat 0 1 3150 1"] * 12_000, tmp_path, EKG_OVERHEAD="0.1")
    thinned = found.total("count")
    assert thinned < 100_000
    assert found.total("sum_ns") / thinned == pytest.approx(6300 / 64, rel=0.05)


def test_ids_and_threads_have_accounts_of_their_own(script: Path, tmp_path: Path) -> None:
    found = recorded(script, ["beat 0 1 50 2000000", "beat 0 2 50 1000", "beat 1 1 50 1000"], tmp_path)
    for thread, key in ((0, 2), (1, 1)):
        (row,) = (row for row in found.rows if (row.thread, row.id) == (thread, key))
        assert row.count == row.executions == 1000
    assert found.total("count", thread=0, id=1) < 1_000_000


def test_pulses_in_a_hot_loop_are_thinned(script: Path, tmp_path: Path) -> None:
    found = recorded(script, ["pulse 0 1 1000", "advance 5000"] * 3000, tmp_path)
    assert found.total("executions") == pytest.approx(3_000_000, rel=2e-3)
    assert found.total("pulses") < 1_000_000


def test_a_factor_of_the_programs_own_is_only_raised(script: Path, tmp_path: Path) -> None:
    slow = ["beat 0 1 1000000 1000", "interval"]
    found = recorded(script, ["rate 1 10", "beat 0 1 50 8000000", "interval", *slow * 4], tmp_path)
    assert found.beats[-1]["rate_factor"] == 10
    assert found.rows[0].executions > 12 * found.rows[0].count
    assert found.rows[-1].executions == pytest.approx(10 * found.rows[-1].count, rel=0.02)


def test_a_bad_value_costs_one_line(script: Path, tmp_path: Path) -> None:
    outcome, _ = run_script(script, ["pulse 0 1"], tmp_path, {"EKG_OVERHEAD": "a lot"})
    assert outcome.stderr.count("EKG_OVERHEAD") == 1


def test_the_same_with_the_real_clock(ekg: EkgBuilder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """20 M beats of a few ns in two threads: all are counted, few are recorded, and the answer reports it.

    Not those that each thread has skipped since the last one that was recorded: some thousands, by what a beat costs.
    """
    program = ekg.program("hot_beats.c")
    outcome = run_program(program, tmp_path, {"EKG_OVERHEAD": ""})
    assert outcome.status == 0, outcome
    found = only_file(tmp_path / "run")
    assert 19_800_000 <= found.total("executions") <= 20_000_000
    assert found.total("count") < 10_000_000
    assert main(["heartbeats", str(tmp_path / "run"), "--json"]) == 0
    (said,) = json.loads(capsys.readouterr().out)["heartbeats"]
    assert (said["thinned"], said["executions"]) == (True, found.total("executions"))
    assert said["count"] * said["rate_factor"] == pytest.approx(said["executions"], rel=1e-6)


@pytest.mark.parametrize("kind", ["same", "other", "deep"])
def test_signal_handlers_beat_in_between(ekg: EkgBuilder, tmp_path: Path, kind: str) -> None:
    """Handlers of the same id interrupt turns and their accounts: nothing hangs, and next to nothing is lost."""
    outcome = run_program(
        [ekg.program("storm.c"), kind, "3000"], tmp_path, {"EKG_OVERHEAD": "", "EKG_INTERVAL": "0.01"}
    )
    assert (outcome.status, outcome.stderr) == (0, "")
    said, found = outcome.values(), only_file(tmp_path / "run")
    assert found.has_end
    assert found.total("executions", id=1) == pytest.approx(said["main"] + said["after"], rel=0.02)
