"""A program that a recorded one starts, or becomes, inherits the signals as that one has set them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.hosts import BuildHost, calls, ticks, try_both

STATUS = ["/bin/grep", "-E", "SigPnd|ShdPnd|SigBlk|SigIgn", "/proc/self/status"]
WAYS = ["exec", "vfork", "fork", "spawn", "spawnp", "system", "popen"]


@pytest.mark.parametrize(
    "state", ["both", *(pytest.param(one, marks=pytest.mark.slow) for one in ("blocked", "ignored", "handled"))]
)
def test_a_program_inherits_the_signal_that_ticks_come_by(host: BuildHost, tmp_path: Path, state: str) -> None:
    """Whichever way it is started; and what has started it is sampled on, also after an exec that failed."""
    # glibc's own timer survives an exec.
    plain = host("inherits.c", pg=False, output="inherits-plain")
    for way in WAYS:
        place = tmp_path / way
        place.mkdir()
        words = [state, way, *STATUS]
        trial = try_both([host("inherits.c"), *words], place, reference=[plain, *words])
        assert trial.recorded.stdout.count("SigIgn:") == 1, way
        profile = trial.profile()
        assert calls(profile)["tick"] == 1000
        # A busy machine gives it less than 160 ms of CPU time, of which a quarter is before the exec that failed.
        assert ticks(profile) >= 0.5 * profile.metadata.rate_hz * float(profile.counters.cpu_s.sum())


def test_a_child_that_is_not_recorded_passes_them_on(host: BuildHost, tmp_path: Path) -> None:
    trial = try_both([host("inherits.c"), "both", "fork", *STATUS], tmp_path, env={"INCPROF_FOLLOW": "0"})
    assert trial.recorded.stdout.count("SigIgn:") == 1
