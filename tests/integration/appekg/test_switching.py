"""Heartbeats switched on and off, by the program, its environment and an operator; their settings, names and clocks."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.integration.appekg_build import EkgBuilder
from tests.integration.appekg_model import Model
from tests.integration.appekg_scripts import files, only_file, read_file, run_program, run_script

TURN = ["begin 0 1", "advance 10", "end 0 1"]


@pytest.fixture(scope="session")
def script(ekg: EkgBuilder) -> Path:
    return ekg.program("script.c", flags="-DEKG_FAKE_CLOCK", output="script")


@pytest.fixture(scope="session")
def host(ekg: EkgBuilder) -> Path:
    return ekg.program("host.c", output="host")


def test_open_beats_are_forgotten_and_their_ends_are_unmatched(script: Path, tmp_path: Path) -> None:
    lines = ["begin 0 1", "advance 5", "disable", "advance 5", "enable", "end 0 1", *TURN, "interval"]
    outcome, directory = run_script(script, lines, tmp_path)
    found = only_file(directory)
    assert [(row.count, row.sum_ns, row.open) for row in found.rows] == [(1, 10, 0)]
    assert found.total("unmatched") == 1
    assert outcome.stdout.split() == "enabled 0 enabled 1".split()


def test_what_was_counted_before_a_switch_is_written(script: Path, tmp_path: Path) -> None:
    lines = [*TURN, "begin 1 2", "advance 1", "disable", *TURN, "end 1 2", "interval", *TURN, "interval", "enable"]
    _, directory = run_script(script, [*lines, *TURN], tmp_path)
    found = only_file(directory)
    assert [(row.interval, row.id, row.count) for row in found.rows] == [(0, 1, 1), (2, 1, 1)]
    assert [interval["enabled"] for interval in found.intervals] == [False, False, True]
    assert found.counters() == Model().run([*lines, *TURN]).intervals


def test_switched_off_before_the_first_beat(script: Path, tmp_path: Path) -> None:
    """Nothing at all is left behind, not even a directory; but it can be switched on."""
    _, directory = run_script(script, ["disable", *TURN], tmp_path / "off")
    assert not directory.exists()
    _, directory = run_script(script, ["disable", *TURN, "enable", *TURN], tmp_path / "on")
    assert only_file(directory).total("count") == 1
    outcome, directory = run_script(script, ["disable", "init", *TURN, "interval", "enable", *TURN], tmp_path / "init")
    assert outcome.stdout.split() == "enabled 0 init 0 enabled 1".split()
    assert [row.interval for row in only_file(directory).rows] == [1]


def test_started_off(script: Path, tmp_path: Path) -> None:
    lines = [*TURN, "interval", "enable", *TURN]
    _, directory = run_script(script, lines, tmp_path, {"EKG_START": "off"})
    found = only_file(directory)
    assert [row.interval for row in found.rows] == [1]
    assert [interval["enabled"] for interval in found.intervals] == [False, True]


def test_disabled_by_the_environment(script: Path, tmp_path: Path) -> None:
    lines = ["init", *TURN, "enable", *TURN, "name 1 61", "rate 1 2", "disable", "finalize"]
    outcome, directory = run_script(script, lines, tmp_path, {"EKG_DISABLE": "1"})
    assert not directory.exists()
    assert outcome.stderr == ""
    assert outcome.stdout.splitlines() == ["init -1", "enabled 0", "enabled 0", "enabled 0"]


def test_the_operators_file(script: Path, tmp_path: Path) -> None:
    """It is obeyed when it changes: between two changes the program may do as it likes."""
    off, on = ["control off", "interval"], ["control on", "interval"]
    lines = [*TURN, *off, *TURN, *off, *on, *TURN, *on, "disable", *on, *TURN, "control nonsense", "interval", *TURN]
    outcome, directory = run_script(script, [*lines, *off, "enable", *TURN, *off, *TURN], tmp_path)
    found = only_file(directory)
    # off in 1 and 2, on in 3, disabled by the program from 4 on, off by the operator in 6, on by the program in 7
    assert {row.interval: row.count for row in found.rows} == {0: 1, 3: 1, 7: 1, 8: 1}
    assert outcome.stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True], ids=["static", "shared"])
def test_an_operator_switches_a_running_program(ekg: EkgBuilder, tmp_path: Path, shared: bool) -> None:
    host = ekg.program("host.c", output="host", shared=shared)
    directory = tmp_path / "run"
    env = {**os.environ, "EKG_DIR": str(directory), "EKG_INTERVAL": "0.05"}
    with subprocess.Popen([host, "beat-until-eof"], stdin=subprocess.PIPE, env=env) as program:
        wait_for(directory / "rank-00000.ekg", enabled=True, rows=True)
        (directory / "control").write_text("off\n")
        wait_for(directory / "rank-00000.ekg", enabled=False, rows=False)
        (directory / "control").write_text("on\n")
        wait_for(directory / "rank-00000.ekg", enabled=True, rows=True)
        program.communicate()
    assert program.returncode == 0
    states = [bool(interval["enabled"]) for interval in only_file(directory).intervals]
    assert [state for at, state in enumerate(states) if at == 0 or states[at - 1] != state] == [True, False, True]


def wait_for(path: Path, *, enabled: bool, rows: bool) -> None:
    """Until the last complete interval is so."""
    wanted = f'"enabled":{"true" if enabled else "false"}'
    for _ in range(12_000):
        lines = (
            [line for line in path.read_text().splitlines() if line.startswith("#interval")] if path.exists() else []
        )
        if lines and wanted in lines[-1] and ('"rows":0,' in lines[-1]) is not rows:
            return
        time.sleep(0.05)
    raise AssertionError(f"never: {wanted}, rows {rows}")


def test_finalize(script: Path, tmp_path: Path) -> None:
    outcome, directory = run_script(script, ["finalize", *TURN], tmp_path / "before")
    assert outcome.stdout == "enabled 1\n"
    assert only_file(directory).total("count") == 1
    lines = [*TURN, "finalize", *TURN, "finalize", "enable", *TURN, "init"]
    outcome, directory = run_script(script, lines, tmp_path / "twice")
    assert outcome.stdout.splitlines() == ["enabled 0", "enabled 0", "enabled 0", "init -1"]
    found = only_file(directory)
    assert found.total("count") == 1
    assert found.has_end


def test_init(script: Path, tmp_path: Path) -> None:
    outcome, _ = run_script(script, ["init", "init", *TURN, "init"], tmp_path / "first")
    assert outcome.stdout.split() == ["init", "0", "init", "1", "init", "1"]
    outcome, _ = run_script(script, [*TURN, "init"], tmp_path / "later")
    assert outcome.stdout == "init 1\n"


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    name=st.binary(min_size=1, max_size=200).filter(lambda name: 0 not in name) | st.text(min_size=1).map(str.encode)
)
def test_any_name_is_text_in_the_file(script: Path, tmp_path_factory: pytest.TempPathFactory, name: bytes) -> None:
    name = name.replace(b"\0", b"")
    if not name:
        return
    _, directory = run_script(script, [f"name 1 {name.hex()}", *TURN], tmp_path_factory.mktemp("name"))
    (beat,) = only_file(directory).beats
    assert beat["name"] == expected_name(name)


def expected_name(name: bytes) -> str:
    """Whole characters of at most 119 bytes; a question mark for each byte that belongs to none."""
    found, at = "", 0
    while at < len(name):
        text = next((t for n in (1, 2, 3, 4) if (t := one_character(name[at : at + n])) is not None), None)
        if len((found + (text or "?")).encode()) > 119:
            break
        found += text or "?"
        at += len(text.encode()) if text else 1
    return found


def one_character(raw: bytes) -> str | None:
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return None
    return text if len(text) == 1 else None


def test_a_changed_name_is_sent_again(script: Path, tmp_path: Path) -> None:
    def named(text: str) -> str:
        return f"name 1 {text.encode().hex()}"

    turns = [*TURN, "interval"]
    lines = [*turns, named("a"), *turns, *turns, named("b"), *turns, "name 1", *turns, "rate 1 3", *turns]
    _, directory = run_script(script, lines, tmp_path)
    told = [(beat["name"], beat["rate_factor"]) for beat in only_file(directory).beats]
    assert told == [(None, 1), ("a", 1), ("b", 1), (None, 1), (None, 3)]


SETTINGS = [
    ("EKG_INTERVAL", "zero", "EKG_INTERVAL=zero is not valid, using the default"),
    ("EKG_INTERVAL", "0", "EKG_INTERVAL=0 is not valid, using the default"),
    ("EKG_INTERVAL", "86401", "EKG_INTERVAL=86401 is not valid, using the default"),
    ("EKG_INTERVAL", "2d", "EKG_INTERVAL=2d is not valid, using the default"),
    ("EKG_RATE", "-1", "EKG_RATE=-1 is not valid, using the default"),
    ("EKG_RATE", "1.5", "EKG_RATE=1.5 is not valid, using the default"),
    ("EKG_RATE", "99999999999999999999", "EKG_RATE=99999999999999999999 is not valid, using the default"),
    ("EKG_START", "maybe", "EKG_START=maybe is not valid, using on"),
    ("EKG_CLOCK", "sun", "EKG_CLOCK=sun is not valid, using auto"),
    ("EKG_DISABLE", "x", "EKG_DISABLE=x is not valid, using 0"),
    ("EKG_DISABLE", "\x1b[31m\u202e\u00e9", "EKG_DISABLE=?[31m?\u00e9 is not valid, using 0"),
    ("EKG_RANK", "-3", "EKG_RANK=-3 is not valid, using the launcher's rank"),
    ("EKG_SINK", "paper", "EKG_SINK: expected file, prometheus, ldms or none, using file: paper"),
    ("EKG_SINK", "file,paper", "EKG_SINK: expected file, prometheus, ldms or none, using those: file,paper"),
]


@pytest.mark.parametrize(("name", "value", "message"), SETTINGS, ids=lambda text: str(text)[:24])
def test_a_bad_value_costs_one_line(host: Path, tmp_path: Path, name: str, value: str, message: str) -> None:
    outcome = run_program([host, "one"], tmp_path, {name: value})
    assert outcome.stderr.splitlines() == [f"appekg: {message}"]
    found = only_file(tmp_path / "run")
    assert found.total("count") == 1
    assert found.header["interval_s"] == 1
    quiet = run_program([host, "one"], tmp_path / "quiet", {name: value, "EKG_LOG": "quiet"})
    assert quiet.stderr == ""


def test_options_of_the_program(host: Path, tmp_path: Path) -> None:
    outcome = run_program([host, "options", "given", "0.25", "10", "0"], tmp_path, {"EKG_DIR": ""})
    assert outcome.values()["init"] == 0
    found = only_file(tmp_path / "given")
    assert found.header["interval_s"] == 0.25
    assert found.beats[-1]["rate_factor"] == 10
    assert found.total("count") == 10


def test_the_environment_comes_before_the_programs_options(host: Path, tmp_path: Path) -> None:
    env = {"EKG_INTERVAL": "500ms", "EKG_RATE": "2", "EKG_START": "on"}
    run_program([host, "options", "given", "0.25", "10", "1"], tmp_path, env)
    assert not (tmp_path / "given").exists()
    found = only_file(tmp_path / "run")
    assert found.header["interval_s"] == 0.5
    assert found.total("count") == 50


def test_options_start_off(host: Path, tmp_path: Path) -> None:
    run_program([host, "options", "given", "0", "0", "1"], tmp_path)
    assert only_file(tmp_path / "run").total("count") == 0


@pytest.mark.parametrize("interval", ["-1", "nan", "1e9", "1e-9"])
def test_a_bad_interval_of_the_program_costs_one_line(host: Path, tmp_path: Path, interval: str) -> None:
    outcome = run_program([host, "options", "given", interval, "0", "0"], tmp_path)
    assert outcome.stderr == "appekg: interval_s is not between 0.001 and 86400, using 1\n"
    assert only_file(tmp_path / "run").header["interval_s"] == 1


def test_without_a_sink_nothing_is_written(host: Path, tmp_path: Path) -> None:
    outcome = run_program([host, "one"], tmp_path, {"EKG_SINK": "none"})
    assert (outcome.status, outcome.stderr) == (0, "")
    assert not (tmp_path / "run").exists()


def test_the_default_directory_and_a_taken_one(host: Path, tmp_path: Path) -> None:
    """No launch writes into another one's directory."""
    for _ in range(3):
        run_program([host, "one"], tmp_path, {"EKG_DIR": ""})
    assert sorted(path.name for path in tmp_path.glob("ekg-*")) == ["ekg-host", "ekg-host.1", "ekg-host.2"]
    run_program([host, "one"], tmp_path)
    run_program([host, "one"], tmp_path)
    assert [len(files(tmp_path / name)) for name in ("run", "run.1", "ekg-host")] == [1, 1, 1]


RANKS = [
    {"OMPI_COMM_WORLD_RANK": "{}", "OMPI_COMM_WORLD_SIZE": "3", "PMIX_NAMESPACE": "one"},
    {"PMI_RANK": "{}", "PMI_SIZE": "3"},
    {"SLURM_PROCID": "{}", "SLURM_STEP_ID": "0", "SLURM_JOB_ID": "7", "SLURM_NTASKS": "3"},
    {"EKG_RANK": "{}", "SLURM_JOB_ID": "8"},
]


@pytest.mark.parametrize("launcher", RANKS, ids=lambda launcher: next(iter(launcher)))
def test_the_ranks_of_a_launch_share_a_directory(host: Path, tmp_path: Path, launcher: dict[str, str]) -> None:
    for rank in (2, 0, 1):
        run_program([host, "one"], tmp_path, {name: value.format(rank) for name, value in launcher.items()})
    found = files(tmp_path / "run")
    assert [path.name for path in found] == [f"rank-0000{rank}.ekg" for rank in range(3)]
    assert [read_file(path).header["rank"] for path in found] == [0, 1, 2]


def test_both_clocks_give_the_same_answers(host: Path, tmp_path: Path) -> None:
    """Durations of beats that the program measures itself."""
    for clock in ("auto", "monotonic"):
        outcome = run_program([host, "sleeps"], tmp_path / clock, {"EKG_CLOCK": clock})
        found = only_file(tmp_path / clock / "run")
        assert found.total("count") == 5
        measured = outcome.values()["ns"]
        # What the program measures lies around its beats, and nothing else does but a few instructions and the calls.
        assert 5 * 2_000_000 <= found.total("sum_ns") <= measured
        assert {interval["clock"] for interval in found.intervals} <= (
            {"monotonic"} if clock == "monotonic" else {"tsc"}
        )


def test_a_counter_that_runs_backwards_is_left(script: Path, tmp_path: Path) -> None:
    """What was counted before stays, open beats are forgotten, and beats go on by the other clock."""
    lines = [*TURN, "begin 1 2", "begin 0 1", "back 5", "end 0 1", "interval", "end 1 2", "begin 0 1", "end 0 1"]
    outcome, directory = run_script(script, lines, tmp_path)
    assert outcome.stderr == "appekg: the time-stamp counter is not steady, using CLOCK_MONOTONIC from here on\n"
    found = only_file(directory)
    assert [interval["clock"] for interval in found.intervals] == ["tsc", "monotonic"]
    assert [(row.interval, row.id, row.count, row.open) for row in found.rows] == [(0, 1, 2, 0), (1, 1, 1, 0)]
    assert (found.rows[0].sum_ns, found.rows[0].min_ns) == (10, 0)
    assert found.total("unmatched") == 1
    assert found.intervals[-1]["enabled"]
