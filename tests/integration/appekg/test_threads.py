"""Heartbeats of real threads, handlers and ends; and what a program must not notice of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.appekg_build import EkgBuilder
from tests.integration.appekg_scripts import Recorded, only_file, run_program
from tests.integration.collector import Outcome


@pytest.fixture(scope="session")
def threads(ekg: EkgBuilder) -> Path:
    return ekg.program("threads.c", output="threads")


@pytest.fixture(scope="session")
def storm(ekg: EkgBuilder) -> Path:
    return ekg.program("storm.c", output="storm")


@pytest.fixture(scope="session", params=[False, True], ids=["static", "shared"])
def ends(ekg: EkgBuilder, request: pytest.FixtureRequest) -> Path:
    return ekg.program("ends.cpp", output="ends", shared=request.param)


def record(command: list[str | Path], place: Path, status: int = 0, **env: str) -> tuple[Recorded, Outcome]:
    outcome = run_program(command, place, env)
    assert (outcome.status, outcome.stderr) == (status, "")
    return only_file(place / "run"), outcome


@pytest.mark.parametrize("interval", ["0.03", "1"])
@pytest.mark.parametrize("kind", ["short", "alive"])
def test_1000_threads_none_lost(threads: Path, tmp_path: Path, kind: str, interval: str) -> None:
    found, _ = record([threads, kind, "1000"], tmp_path, EKG_INTERVAL=interval)
    assert found.total("count", id=1) == 1000 * (15 if kind == "alive" else 10)
    assert {row.id for row in found.rows} == {1, *range(100, 1100)}
    assert found.total("count") == found.total("count", id=1) + 1000
    assert sorted(thread["thread"] for thread in found.threads) == list(range(1000))
    assert found.total("dropped") == found.total("unmatched") == found.total("abandoned") == 0


@pytest.mark.parametrize("threads_at_most", ["1", "8"])
def test_an_openmp_program(ekg: EkgBuilder, tmp_path: Path, threads_at_most: str) -> None:
    program = ekg.program("openmp.c", own_flags="-fopenmp", output="openmp")
    found, _ = record([program], tmp_path, OMP_THREAD_LIMIT=threads_at_most)
    assert [found.total("count", id=key) for key in (1, 2, 3)] == [4000, 4000, 40]


@pytest.mark.parametrize("count", [200, 8_000])
def test_begins_and_ends_that_race_in_two_threads(threads: Path, tmp_path: Path, count: int) -> None:
    """Whichever comes first: a begin has one end at most, an end one begin, and what is left over is counted."""
    found, _ = record([threads, "race", str(count)], tmp_path)
    still_open = sum(row.open for row in found.rows if row.interval == len(found.intervals) - 1)
    assert found.total("count") + found.total("unmatched") == count
    assert found.total("count") + still_open == count
    assert found.total("dropped") == 0


def test_ends_in_other_threads_among_own_ones(threads: Path, tmp_path: Path) -> None:
    found, _ = record([threads, "cross", "500"], tmp_path, EKG_INTERVAL="0.01")
    left = found.total("abandoned") + sum(row.open for row in found.rows if row.interval == len(found.intervals) - 1)
    assert found.total("count") + left == 4 * 500
    assert found.total("count") + found.total("unmatched") == 4 * 500


@pytest.mark.parametrize("factor", [1, 10])
def test_what_one_thread_begins_and_another_ends(threads: Path, tmp_path: Path, factor: int) -> None:
    """An end comes after its begin here, and so finds one."""
    found, _ = record([threads, "queue", "3000"], tmp_path, EKG_RATE=str(factor))
    assert found.total("unmatched") == found.total("dropped") == 0
    if factor == 1:
        assert found.total("count", thread=1) + found.total("count", thread=0) == 3000
    else:  # Beats in flight at the same time are nested, and recorded with the first or skipped with it.
        assert 1 <= found.total("count") <= 3000


def test_a_thread_that_ends_with_open_beats(threads: Path, tmp_path: Path) -> None:
    found, _ = record([threads, "leave"], tmp_path)
    assert found.total("count") == 4
    assert found.total("abandoned") == 2


def test_the_main_thread_may_end_first(threads: Path, tmp_path: Path) -> None:
    found, _ = record([threads, "main"], tmp_path)
    assert found.total("count") == 12
    assert found.has_end


def test_beats_where_programs_and_threads_end(ends: Path, tmp_path: Path) -> None:
    found, _ = record([ends], tmp_path, status=42)
    counts = {key: found.total("count", id=key) for key in (10, 1, 2, 3, 4, 5, 6)}
    assert counts == {10: 2, 1: 1, 2: 1, 3: 1, 4: 1, 5: 2, 6: 1}
    assert found.total("abandoned") == 0


@pytest.mark.parametrize(
    "env", [{}, {"EKG_DISABLE": "1"}, {"EKG_RANK": "9" * 30}, {"PMI_RANK": "9" * 30}, {"EKG_DIR": "/proc/x"}]
)
def test_the_program_notices_nothing(ekg: EkgBuilder, tmp_path: Path, env: dict[str, str]) -> None:
    program = ekg.program("manners.c", output="manners")
    outcome = run_program([program], tmp_path, env)
    assert (outcome.stdout, outcome.status) == ("done\n", 7)


@pytest.mark.parametrize("interval", ["0.002", "1"])
@pytest.mark.parametrize("kind", ["same", "other", "deep"])
def test_beats_in_a_storm_of_signals(storm: Path, tmp_path: Path, kind: str, interval: str) -> None:
    """Each beat is recorded or counted as dropped."""
    found, outcome = record([storm, kind, "3000"], tmp_path, EKG_INTERVAL=interval)
    said = outcome.values()
    in_handler = said["handler"] * (12 if kind == "deep" else 1)
    at_first = 0 if kind == "same" else 1  # one of the other id
    begun = said["main"] + in_handler + 2 * said["after"] + at_first + (1 if kind == "same" else 0)
    assert found.total("count") + found.total("dropped") + found.total("unmatched") == begun
    assert found.total("count", id=7) == said["after"]
    assert found.rows[-1].open == 0


@pytest.mark.parametrize("kind", ["switch", "jump", "first"])
def test_handlers_that_do_worse(storm: Path, tmp_path: Path, kind: str) -> None:
    """Nothing hangs or breaks, and when it is over beats are recorded as ever."""
    found, outcome = record([storm, kind, "3000"], tmp_path, EKG_INTERVAL="0.01")
    said = outcome.values()
    assert found.total("count", id=7) == said["after"]
    assert found.total("count", id=1) >= said["after"] - 1000
    assert found.has_end
