"""Full or lost disks, processes at their limits: the program is unaffected, and the file records the loss."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from appekg import Heartbeats
from tests.integration.appekg_build import EkgBuilder
from tests.integration.appekg_robust import Pressed, counter, counts, plausible, press, tally
from tests.integration.hosts import small_disk

INTERVAL = "0.002"
TRYING = "cannot write heartbeats, trying again every interval"


@pytest.fixture(scope="session")
def program(ekg: EkgBuilder) -> Path:
    return ekg.program("robust_limits.c", output="limits")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    with small_disk(tmp_path / "small", "256k") as place:
        yield place


def limited(program: Path, place: Path, *actions: str, lines: int = 1, run: Path | None = None) -> Pressed:
    """Run the program: it always ends well, and the library prints at most one line."""
    env = {"EKG_DIR": str(run)} if run else {}
    pressed = press([program, *actions], place, env=env, interval=INTERVAL)
    if pressed.outcome.status == 77:
        pytest.skip("no seccomp filters here")
    assert (pressed.outcome.status, len(tally(pressed.outcome))) == (0, 5), pressed.outcome
    assert len(pressed.lines()) == len(pressed.outcome.stderr.splitlines()) == lines, pressed.outcome.stderr
    return pressed


def first_interval(run: Path) -> tuple[str, str]:
    """Actions that start the threads and wait for the first interval."""
    return "start", f"interval={run / 'rank-00000.ekg'}"


def lost(beats: Heartbeats) -> int:
    """How many intervals are missing in the file, which must say so itself."""
    process = beats.processes[0]
    numbers = process.intervals["interval"]
    missing = np.diff(numbers, prepend=-1) - 1
    assert missing.tolist() == process.intervals["lost_intervals"].tolist()
    assert ((process.intervals["lost_rows"] > 0) <= (missing > 0)).all()
    return int(missing.sum())


def partial(pressed: Pressed) -> Heartbeats:
    """A file without torn parts, whose counts are some of the program's."""
    beats = pressed.read()
    assert not beats.damaged
    found, expected = counts(beats), tally(pressed.outcome)
    assert all(found[number] <= expected[number] for number in found)
    return beats


def test_a_disk_that_is_full_for_a_while(program: Path, disk: Path, tmp_path: Path) -> None:
    filler, run = disk / "filler", disk / "run"
    lost_rows = "line", "beats=1", f"tried={run / 'rank-00000.ekg'}"
    actions = (*first_interval(run), f"fill={filler}", *lost_rows, f"free={filler}", "beats=1")
    pressed = limited(program, tmp_path, *actions, run=run)
    assert TRYING in pressed.lines()[0]
    assert "No space left on device" in pressed.lines()[0]
    beats = partial(pressed)
    assert lost(beats) > 0
    assert counter(beats, "lost_rows") > 0
    assert beats.processes[0].clean
    assert set(beats.rows["thread"].tolist()) == set(beats.processes[0].tids) > set()


def test_a_disk_that_stays_full(program: Path, disk: Path, tmp_path: Path) -> None:
    """The file ends with the last interval that had room, whole: a shorter one may come after what was lost."""
    run = disk / "run"
    actions = (*first_interval(run), f"fill={disk / 'filler'}", "line", "beats=1", f"tried={run / 'rank-00000.ekg'}")
    pressed = limited(program, tmp_path, *actions, run=run)
    assert "No space left on device" in pressed.lines()[0]
    beats = partial(pressed)
    lost(beats)
    plausible(beats)


def test_a_disk_that_is_full_from_the_start(program: Path, disk: Path, tmp_path: Path) -> None:
    pressed = limited(program, tmp_path, f"fill={disk / 'filler'}", "start", run=disk / "run")
    assert "cannot write to the run directory" in pressed.lines()[0]


def test_no_room_for_the_head(program: Path, tmp_path: Path) -> None:
    """The head comes when there is room, and before the first interval."""
    pressed = limited(program, tmp_path, "fsize=100", "start", "line", "beats=1", "fsize=max", "beats=1")
    assert TRYING in pressed.lines()[0]
    beats = partial(pressed)
    assert lost(beats) > 0
    assert beats.processes[0].intervals["interval"][0] > 0
    assert set(beats.rows["thread"].tolist()) == set(beats.processes[0].tids) > set()


@pytest.mark.parametrize("size", [3000, 3001, 4500])
def test_a_limit_of_the_files_size(program: Path, tmp_path: Path, size: int) -> None:
    """SIGXFSZ would end the program, and is meant for its own writes."""
    pressed = limited(program, tmp_path, f"fsize={size}", "start", "line", "sleep=10")
    assert (tmp_path / "run" / "rank-00000.ekg").stat().st_size <= size
    beats = partial(pressed)
    lost(beats)


def test_a_quota(program: Path, tmp_path: Path) -> None:
    pressed = limited(program, tmp_path, *first_interval(tmp_path / "run"), "quota", "line")
    assert "Disk quota exceeded" in pressed.lines()[0]
    partial(pressed)


@pytest.mark.parametrize("directory", ["/dev/null/run", "/proc/none/run", "/sys/run"])
def test_no_such_directory_can_be_made(program: Path, tmp_path: Path, directory: str) -> None:
    pressed = limited(program, tmp_path, "start", run=Path(directory))
    assert "cannot write to the run directory" in pressed.lines()[0]


def test_a_read_only_file_system(program: Path, disk: Path, tmp_path: Path) -> None:
    remounted = ["mount", "-o", "remount,ro", disk]
    subprocess.run(remounted, check=True)
    pressed = limited(program, tmp_path, "start", run=disk / "run")
    assert "Read-only file system" in pressed.lines()[0]


def test_a_directory_that_is_removed(program: Path, tmp_path: Path) -> None:
    """The open file still works, and no other is created in its place."""
    run = tmp_path / "run"
    limited(program, tmp_path, *first_interval(run), f"empty={run}", "sleep=50", lines=0)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("number", [0, 3])
def test_no_descriptor_is_left_for_the_start(program: Path, tmp_path: Path, number: int) -> None:
    pressed = limited(program, tmp_path, f"nofile={number}", "start")
    assert "Too many open files" in pressed.lines()[0]


def test_no_descriptor_is_left_later(program: Path, tmp_path: Path) -> None:
    """The file is already open, so the control file is no longer read."""
    pressed = limited(program, tmp_path, *first_interval(tmp_path / "run"), "nofile=0", "sleep=50", lines=0)
    assert counts(pressed.read()) == tally(pressed.outcome)


@pytest.mark.parametrize("room_kib", [1024, 2048])
def test_no_memory_for_records(program: Path, tmp_path: Path, room_kib: int) -> None:
    """Beats without a record are dropped, and counted."""
    pressed = limited(program, tmp_path, f"as={room_kib}", "start", "sleep=50", lines=0)
    beats = pressed.read()
    assert len(beats.rows) == 0
    assert counter(beats, "dropped") == sum(ended for ended, _ in tally(pressed.outcome).values()) > 0
    assert counter(beats, "unmatched") == 0


def test_no_memory_at_all(program: Path, tmp_path: Path) -> None:
    pressed = limited(program, tmp_path, "as=0", "start")
    assert "no heartbeats" in pressed.lines()[0]


def test_no_memory_later(program: Path, tmp_path: Path) -> None:
    pressed = limited(program, tmp_path, *first_interval(tmp_path / "run"), "as=0", "sleep=50", lines=0)
    assert counts(pressed.read()) == tally(pressed.outcome)


def test_no_thread_can_be_made(program: Path, tmp_path: Path) -> None:
    pressed = limited(program, tmp_path, "nothreads", "start")
    assert "cannot start the interval thread, no heartbeats" in pressed.lines()[0]


@pytest.mark.parametrize("name", ["control", "rank-00000.ekg"])
def test_pipes_where_files_should_be(program: Path, tmp_path: Path, name: str) -> None:
    """They are neither read nor written."""
    (tmp_path / "run").mkdir()
    os.mkfifo(tmp_path / "run" / name)
    pressed = limited(program, tmp_path, "start", "sleep=20", lines=0)
    files = [path for path in (tmp_path / "run").glob("*.ekg") if path.is_file()]
    assert len(files) == 1
    pressed = Pressed(pressed.outcome, files[0])
    assert counts(pressed.read()) == tally(pressed.outcome)


def test_a_pipe_where_the_launch_should_be(program: Path, tmp_path: Path) -> None:
    """It looks like a directory of a launch that is not ours."""
    (tmp_path / "run").mkdir()
    os.mkfifo(tmp_path / "run" / "launch")
    pressed = limited(program, tmp_path, "start", lines=0)
    assert counts(Pressed(pressed.outcome, tmp_path / "run.1").read()) == tally(pressed.outcome)
