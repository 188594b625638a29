"""Ranks with heartbeats meet in one directory; heartbeats and the profiler go together in one process."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.integration.appekg_build import EkgBuilder
from tests.integration.appekg_robust import counter, press
from tests.integration.collector import Recording, variables
from tests.integration.incprof.record.test_mpi import QUIET, Implementation
from tests.integration.incprof.record.test_mpi import mpi as mpi  # both implementations

RANKS = 4


@pytest.fixture
def ranks(ekg: EkgBuilder, mpi: Implementation) -> Path:
    return ekg.program("robust_ranks.c", compiler=f"mpicc.{mpi.name}", output=f"ranks-{mpi.name}")


def test_one_directory_one_file_each(ranks: Path, mpi: Implementation, tmp_path: Path) -> None:
    pressed = press(mpi.launch(ranks, RANKS), tmp_path, env=QUIET, interval="0.05")
    assert (pressed.outcome.status, pressed.outcome.stdout, pressed.lines()) == (0, f"size {RANKS}\n", [])
    assert sorted(path.name for path in pressed.directory.glob("*.ekg")) == [f"rank-0000{r}.ekg" for r in range(RANKS)]
    beats = pressed.read()
    assert (beats.damaged, beats.warnings) == (False, ())
    assert [process.rank for process in beats.processes] == list(range(RANKS))
    for position, process in enumerate(beats.processes):
        assert process.clean
        assert (process.metadata["rank"], process.metadata["ranks"]) == (position, RANKS)
        assert process.app == ranks.name
        rows = beats.rows[beats.rows["process"] == position]
        assert rows["count"].sum() == 2 * (100 + position)
        assert set(rows["thread"].tolist()) == {0, 1}
    assert len({process.metadata["launch"] for process in beats.processes}) == 1
    assert len({process.metadata["pid"] for process in beats.processes}) == RANKS
    assert beats.beats[1].name == "exchange"
    assert not (tmp_path / "run.1").exists()


def test_launches_do_not_mix(ranks: Path, mpi: Implementation, tmp_path: Path) -> None:
    for _ in range(2):
        assert press(mpi.launch(ranks, 2), tmp_path, env=QUIET).outcome.status == 0
    names = ["rank-00000.ekg", "rank-00001.ekg"]
    for directory in ("run", "run.1"):
        assert sorted(path.name for path in (tmp_path / directory).glob("*.ekg")) == names


@pytest.mark.parametrize("shared", [False, True], ids=["static", "shared"])
def test_with_the_profiler(ekg: EkgBuilder, tmp_path: Path, shared: bool) -> None:
    """Each library has its thread, its directory and its output, and neither uses a symbol of the other."""
    program = ekg.program("robust_both.c", own_flags="-pg", shared=shared, output="both")
    profile = tmp_path / "profile"
    pressed = press([program], tmp_path, env=variables(profile, interval=0.05), interval="0.05")
    assert (pressed.outcome.status, pressed.outcome.stderr) == (0, "")
    assert sorted(pressed.outcome.stdout.split("\n")) == ["", "appekg", "incprof", "result 2000"]
    beats = pressed.read()
    assert (beats.damaged, beats.warnings, counter(beats, "dropped")) == (False, (), 0)
    assert beats.rows["count"].sum() == 2000
    recording = Recording(pressed.outcome, profile)
    calls = recording.calls()
    assert calls["tick"] == 2000
    assert not [name for name in calls if re.match("ekg_", name)]
    assert recording.paths()["main", "tick"] > 0
