"""The budget of the recording: what it may cost is divided among its parts, and what it has cost is reported."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from incprof.model import PROFILER
from incprof.readers.run import open_run, read_profile
from incprof.record.launch import find_library
from tests.integration.collector import clean_environment
from tests.integration.conftest import Build, Record
from tests.integration.simulated import simulated
from tests.paths import ROOT


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulated("budget", tmp_path_factory.mktemp("account"))


def spend(
    account: Path,
    updates: int,
    worker: int,
    ticks: int,
    events: int,
    others: int,
    begin: int = 0,
    end: int = 10**6,
    waits: int = 0,
    signals: int = 0,
    start: int = 0,
) -> list[int]:
    """Return the millionths of CPU time taken, and the thinning of ticks, of events, of other events and of waits."""
    words = [str(word) for word in (updates, worker, ticks, events, others, begin, end, waits, signals, start)]
    out = subprocess.run([account, *words], check=True, capture_output=True, text=True).stdout
    return [int(word) for word in out.split()]


@pytest.mark.parametrize("events", [200, 2000, 10000])
@pytest.mark.parametrize(("updates", "most"), [(100, 0.027), (400, 0.0205), (3000, 0.0202)])
def test_the_whole_costs_two_percent(account: Path, events: int, updates: int, most: float) -> None:
    share, ticks, thinned, others, _ = spend(account, updates, 60, 30, events, 10)
    assert share * 1e-6 <= most
    assert thinned > 16
    assert (ticks, others) == (16, 16), "cheap parts lose nothing"


def test_nothing_is_thinned_below_the_budget(account: Path) -> None:
    assert spend(account, 400, 60, 60, 20, 20) == [16000, 16, 16, 16, 16]


def test_the_budget_saved_so_far_serves_a_burst_at_the_end(account: Path) -> None:
    share, ticks, thinned, *_ = spend(account, 400, 20, 30, 5000, 0, begin=300)
    assert 0.018 <= share * 1e-6 <= 0.0205
    assert ticks == 16 < thinned


def test_ticks_go_on_where_nothing_is_left(account: Path) -> None:
    share, ticks, thinned, *_ = spend(account, 400, 300, 100, 5000, 0)
    assert share * 1e-6 <= 0.038
    assert 16 < ticks <= 128
    assert thinned > 16


def test_samples_of_waits_share_the_budget(account: Path) -> None:
    assert spend(account, 400, 40, 60, 20, 20, waits=30) == [17000, 16, 16, 16, 16]
    share, ticks, thinned, _, waits = spend(account, 3000, 40, 60, 5000, 0, waits=30)
    assert share * 1e-6 <= 0.0202
    assert (ticks, waits) == (16, 16), "cheap parts lose nothing"
    assert thinned > 16
    share, ticks, _, _, waits = spend(account, 3000, 150, 100, 0, 0, waits=100)
    assert 16 < waits <= 32, "at most half of the samples are left out"
    assert share * 1e-6 <= 0.031


def test_signals_and_the_start_are_part_of_the_budget(account: Path) -> None:
    """Fewer events pay for them; the start's 40 ms within 10 s, so that the first phases keep their samples."""
    alone = spend(account, 1000, 40, 30, 5000, 0)
    share, ticks, thinned, *_ = spend(account, 1000, 40, 30, 5000, 0, signals=50)
    assert abs(share - alone[0]) < 200
    assert ticks == 16
    assert thinned > 1.2 * alone[2]
    start_us = 40_000
    share, ticks, *_ = spend(account, 100, 40, 30, 5000, 0, start=start_us)
    assert ticks == 16
    assert abs(share - spend(account, 100, 40, 30, 5000, 0)[0]) < 4500, "a tenth after a second"
    share, *_ = spend(account, 1000, 40, 30, 5000, 0, start=start_us)
    assert 0.0195 <= share * 1e-6 + start_us / 10e6 <= 0.0205


def test_events_are_counted_once(build: Build, record: Record) -> None:
    """Ticks that fall due during an event are the profiler's, as is its measured time."""
    host = build("extension_host.c", flags="-O2 -pthread -fno-inline", pg=False)
    flags = f"-O2 -shared -fPIC -I{ROOT / 'runtime' / 'include'}"
    extension = build("extension_events.c", flags=flags, pg=False, output="extension.so")
    env = {"INCPROF_EXE": str(host), "LD_PRELOAD": f"{find_library(os.environ)}:{extension}"}
    recording = record([host, "5", "fast"], env=env, interval=0.1)
    profile = read_profile(open_run(recording.directory))
    counters, samples = profile.counters, profile.samples
    inside_s = samples.weight[samples.kind == PROFILER].sum() / profile.metadata.rate_hz
    assert inside_s > 0.2 * counters.cpu_s.sum(), "a million events"
    assert counters.handler_s.sum() > 0.1 * inside_s
    assert counters.own_s.sum() - counters.collector_s.sum() < 1.15 * inside_s


ALLOCATES = """
import time
end = time.process_time() + 1.2
while time.process_time() < end:
    kept = [bytearray(100_000) for _ in range(200)]
"""


def test_the_closing_line_has_what_it_cost(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "incprof", "record", "--memory", "-o", "run", "--", sys.executable, "-c", ALLOCATES]
    done = subprocess.run(words, cwd=tmp_path, env=clean_environment(), capture_output=True, text=True, check=True)
    found = re.search(r"intervals? at (\d+\.\d) % overhead in run; next", done.stderr)
    assert found, done.stderr
    profile = read_profile(open_run(tmp_path / "run"))
    assert profile.overhead_pct is not None
    assert abs(profile.overhead_pct - float(found[1])) <= 0.06


def test_the_closing_line_of_a_short_program_has_no_percentages_above_100(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "incprof", "record", "--all", "-o", "run", "--", "/bin/sleep", "0.1"]
    done = subprocess.run(words, cwd=tmp_path, env=clean_environment(), capture_output=True, text=True, check=True)
    found = re.search(r"intervals? at (\d+\.\d) (%|ms) overhead in run; next", done.stderr)
    assert found, done.stderr
    assert found[2] == "ms" or float(found[1]) < 100
