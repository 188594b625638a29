"""A program that is stopped for a while: that time is reported, and is no interval's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from incprof.readers.run import open_run, read_profile
from tests.integration.command_line import incprof
from tests.integration.conftest import Build


@pytest.mark.parametrize("flags", [(), ("--external",)], ids=["inside", "outside"])
def test_stopped_by_a_signal(build: Build, tmp_path: Path, flags: tuple[str, ...]) -> None:
    program = build("stopped.c", pg=False, output="stopped")
    done = incprof("record", "-i", "0.2", *flags, "-o", "run", "--", program, cwd=tmp_path)
    assert done.returncode == 0, done
    (least_s, most_s), profile = map(float, done.stdout.split()), read_profile(open_run(tmp_path / "run"))
    suspended_s = float(profile.counters.suspended_s.sum())
    # An interval may have begun before it was stopped.
    assert least_s - 0.25 < suspended_s < most_s + 0.25
    covered_s = float((profile.end_s - profile.start_s).sum())
    assert covered_s + suspended_s == pytest.approx(float(profile.end_s[-1] - profile.start_s[0]), abs=0.01)
    (line,) = [line for line in profile.warnings if "stopped" in line]
    assert line.endswith(f"the program was stopped, or the machine asleep, for {suspended_s:.1f} s: in no phase")
    assert not profile.damaged
    answer = incprof("phases", tmp_path / "run").stdout
    assert "blank: the program was stopped" in answer
    ribbons = [re.fullmatch(r"[\d.]+( {5,})[\d.]+", line) for line in answer.splitlines()]
    (ribbon,) = [found for found in ribbons if found]
    share = suspended_s / float(profile.end_s[-1] - profile.start_s[0])
    assert len(ribbon[1]) / len(ribbon[0]) == pytest.approx(share, abs=0.1), answer
