"""Which map of code that was made at run time is read: its name comes out of a recording."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from incprof.symbols import modules
from incprof.symbols.modules import map_table

LINE = "1000 20 made\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that stands for /tmp, beside the run directory `run`."""
    (tmp_path / "run" / "symbols").mkdir(parents=True)
    (tmp_path / "place").mkdir()
    monkeypatch.setattr(modules, "PLACE", tmp_path / "place")
    return tmp_path / "place"


def names(place: Path, name: str = "perf-12.map") -> int:
    return len(map_table(str(place.parent / "run"), name))


def test_a_map_that_was_kept_comes_before_the_programs_own(place: Path) -> None:
    (place / "perf-12.map").write_text(LINE)
    assert names(place) == 1
    (place.parent / "run" / "symbols" / "perf-12.map").write_text(LINE + "2000 20 other\n")
    assert names(place) == 2


@pytest.mark.parametrize(
    "name", ["{}/secret", "../secret", "secret", "perf-.map", "perf-12.map/../secret", "perf-1.map\n"]
)
def test_a_name_that_no_run_time_gives(place: Path, name: str) -> None:
    for folder in (place, place.parent, place.parent / "run" / "symbols"):
        (folder / "secret").write_text(LINE)
    (place / "perf-12.map").mkdir()
    assert names(place, name.format(place)) == 0


def test_a_link_is_none(place: Path) -> None:
    (place / "secret").write_text(LINE)
    (place / "perf-12.map").symlink_to("secret")
    assert names(place) == 0
    (place.parent / "run" / "symbols" / "perf-12.map").symlink_to(place / "secret")
    assert names(place) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to other users")
@pytest.mark.parametrize(("run", "file", "found"), [(0, 0, 1), (0, 7, 0), (7, 7, 1), (7, 8, 0), (7, 0, 1)])
def test_another_users_map_is_none(place: Path, run: int, file: int, found: int) -> None:
    (place / "perf-12.map").write_text(LINE)
    os.chown(place.parent / "run", run, -1)
    os.chown(place / "perf-12.map", file, -1)
    assert names(place) == found
