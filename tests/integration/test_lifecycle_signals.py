"""Programs that use signals themselves: they get theirs and none of ours, and are sampled all the same."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.integration.hosts import BuildHost, calls, incprof, ticks, try_both


@pytest.mark.parametrize("clock", ["cpu", "perf"])
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
def test_own_use_of_signals(host: BuildHost, fast_clock: str, tmp_path: Path, mode: str, said: str, clock: str) -> None:
    if clock == "perf" and fast_clock != "perf":
        pytest.skip("perf events are not permitted here")
    program = host("signals.c", flags="-D_GNU_SOURCE")
    plain = host("signals.c", flags="-D_GNU_SOURCE", pg=False, output="signals-plain")
    trial = try_both([program, mode], tmp_path, env={"INCPROF_CLOCK": clock}, reference=[plain, mode])
    assert trial.recorded.stdout == said + "\n"
    assert calls(trial.profile())["tick"] == 77
    assert ticks(trial.profile()) >= 15


def test_signal_settings_are_those_without_us(tmp_path: Path) -> None:
    """Python ignores SIGPIPE and SIGXFSZ; `incprof record -- app | head` has to end app all the same."""
    words = ["grep", "-E", "SigBlk|SigIgn", "/proc/self/status"]
    alone = subprocess.run(words, capture_output=True, text=True, check=True)
    assert incprof("record", "-o", tmp_path / "run", "--", *words).stdout == alone.stdout
