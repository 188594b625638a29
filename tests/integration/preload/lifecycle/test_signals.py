"""Programs that use signals themselves: they get theirs and none of ours, and are sampled all the same."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.integration.command_line import incprof
from tests.integration.hosts import BuildHost, Trial, calls, ticks, ticks_below, try_both


@pytest.fixture(params=["cpu", pytest.param("perf", marks=pytest.mark.slow)])
def either_clock(request: pytest.FixtureRequest, fast_clock: str) -> str:
    """Ticks by timers and by perf events."""
    if request.param == "perf" and fast_clock != "perf":
        pytest.skip("perf events are not permitted here")
    return str(request.param)


def try_with_plain(host: BuildHost, name: str, words: list[str], tmp_path: Path, clock: str, lines: int = 0) -> Trial:
    """Record a program beside its build without -pg, whose signals no runtime has touched."""
    flags = "-D_GNU_SOURCE -Wno-deprecated-declarations"
    plain = host(name, flags=flags, pg=False, output=f"{Path(name).stem}-plain")
    command = [host(name, flags=flags), *words]
    return try_both(command, tmp_path, env={"INCPROF_CLOCK": clock}, reference=[plain, *words], lines=lines)


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("prof", "ten ticks"),
        ("urg", "default 1\nmine 1 seen 5\nmine 1\nignored 1"),
        ("once", "seen 1 default 1"),
        ("reset", "reset"),
        ("block", "blocked 1 1"),
        ("wait", "own 50 others 0"),
    ],
)
def test_own_use_of_signals(host: BuildHost, tmp_path: Path, mode: str, said: str, either_clock: str) -> None:
    trial = try_with_plain(host, "signals.c", [mode], tmp_path, either_clock)
    assert trial.recorded.stdout == said + "\n"
    assert calls(trial.profile())["tick"] == 77
    assert ticks(trial.profile()) >= 15


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("interrupts", "read -1 EINTR, seen 1"),
        ("jumps", "USR2 blocked TERM open URG open"),
        ("waits", "waited 1 timed 1 none -1"),
        ("reads", "before -1 after 1"),
        ("oob", "out of band !"),
        ("old", "first 1 seen 1 held 1 blocked was held 1 ignored 1 once 1 interrupts 1 blocked open"),
        ("resets", "reset"),
        ("threads", "joined"),
    ],
)
def test_a_program_that_wants_the_signal_for_itself(
    host: BuildHost, tmp_path: Path, mode: str, said: str, either_clock: str
) -> None:
    """It gets all of it, and is sampled by the other one: before and after it burns 160 ms."""
    trial = try_with_plain(host, "urgent.c", [mode], tmp_path, either_clock)
    assert trial.recorded.stdout == said + "\n"
    profile = trial.profile()
    assert calls(profile)["tick"] == 77
    assert ticks(profile) >= 25
    assert ticks_below(profile, "afterwards") >= 10


def test_a_program_that_wants_both_signals_is_counted_on(host: BuildHost, tmp_path: Path, either_clock: str) -> None:
    trial = try_with_plain(host, "urgent.c", ["both"], tmp_path, either_clock, lines=1)
    assert trial.recorded.stdout == "urg 1 winch 1\n"
    assert "uses SIGURG and SIGWINCH itself" in trial.lines()[0]
    assert 15 <= ticks(trial.profile()) <= 40
    assert calls(trial.profile())["burn"] == 3


def test_signals_that_are_blocked_at_the_start(host: BuildHost, tmp_path: Path, either_clock: str) -> None:
    """An inherited mask does not block the ticks."""
    trial = try_with_plain(host, "urgent.c", ["inherits"], tmp_path, either_clock, lines=None)
    (last,) = [int(name.split(".")[1]) for name in trial.files() if name.count(".") > 1]
    assert ticks(trial.profile(last)) >= 30


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("large", "as asked 1\nhandler done 1\nhandler done 1\n"),
        ("inside", "as asked 1\nset 0\nnone before 1\nas asked 1\non it 1, says so 1\n"),
        (
            "later",
            "as asked 1\non it 0, says so 0\non it 1, says so 1\non it 0, says so 0\n",
        ),
    ],
)
def test_handlers_run_on_the_stacks_that_they_have_without_us(
    host: BuildHost, tmp_path: Path, mode: str, said: str
) -> None:
    trial = try_both([host("stacks.c"), mode], tmp_path)
    assert trial.recorded.stdout == said
    assert ticks(trial.profile()) >= 5


def test_handlers_of_programs_that_are_not_recorded_are_left_alone(host: BuildHost, tmp_path: Path) -> None:
    """A small signal stack makes no difference where there are no ticks."""
    trial = try_both([host("stacks.c", pg=False, output="stacks-plain"), "small"], tmp_path)
    assert trial.recorded.stdout == "as asked 1\nblocked 0\n"
    assert not trial.directory.exists()


def test_signal_settings_are_those_without_us(tmp_path: Path) -> None:
    """Python ignores SIGPIPE and SIGXFSZ; `incprof record -- app | head` has to end app all the same."""
    words = ["grep", "-E", "SigBlk|SigIgn", "/proc/self/status"]
    alone = subprocess.run(words, capture_output=True, text=True, check=True)
    assert incprof("record", "-o", tmp_path / "run", "--", *words).stdout == alone.stdout
