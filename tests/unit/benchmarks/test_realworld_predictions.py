"""The harness of predictions of MPI programs: the amount of work, what is kept, and the table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.realworld.mpi_programs import PROGRAMS
from benchmarks.realworld.prediction_table import HEADING, PAGE, bars_missed, table, write_page
from benchmarks.realworld.predictions import Failed, amount_for, kept, last_json


def test_names_are_given_once() -> None:
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS)


@given(
    program=st.sampled_from(PROGRAMS),
    trial_s=st.floats(0.05, 2),
    starting_s=st.floats(0.2, 1),
    seconds=st.sampled_from([10, 30, 300]),
)
def test_the_amount_of_work_takes_as_long_as_was_asked(
    program: Any, trial_s: float, starting_s: float, seconds: float
) -> None:
    def wall_s(amount: int) -> float:
        return float(starting_s + trial_s * (amount / program.start) ** program.power)

    took = [wall_s(amount_for(seconds, program, wall_s) + more) for more in (-1, 0, 1)]
    # Amounts are whole numbers: of few steps, the next one takes much longer.
    assert took[0] / 1.4 <= seconds <= took[2] * 1.4


def measured(place: Path, name: str, seconds: float, pairs: list[tuple[tuple[float, ...], float, float]]) -> None:
    """Write results. pairs: pet, low, high, set and wall time; time of the whole run, and its own prediction."""
    case = place / f"{name}-{seconds}"
    case.mkdir()
    settings = {"name": name, "about": f"{name} of {seconds} s", "mpi": "openmpi", "ranks": 4, "seconds": seconds,
                "revision": "abc", "processors": 2}  # fmt: skip
    (case / "case.json").write_text(json.dumps(settings))
    for number, ((pet, low, high, run, wall), aet, own) in enumerate(pairs, 1):
        short = {"pet_s": pet, "pet_low_s": low, "pet_high_s": high, "set_s": run}
        full = {"pet_s": own, "pet_low_s": own, "pet_high_s": own, "set_s": run, "aet_s": aet}
        for kind, answer, wall_s in (("short", short, wall), ("full", full, aet + 1)):
            text = json.dumps({"load": 0.25 * number, "wall_s": wall_s, "predict": answer})
            (case / f"{kind}-{number}.json").write_text(text)


def test_a_row_has_medians_and_worst_errors(tmp_path: Path) -> None:
    measured(
        tmp_path, "lu", 30, [((31, 30, 33, 3, 4), 31, 31), ((33, 32, 34, 2, 4), 30, 30.3), ((30, 28, 32, 1, 4), 30, 30)]
    )
    (tmp_path / "lu-30" / "short-4.json").write_text("{}")  # its whole run is not there yet
    assert table(tmp_path).splitlines()[2:] == [
        "| lu of 30 s | 4 | 3 | 30.0 s (30.0 to 31.0) | 6.7 % | 12.9 % | 0.0 % (10.0 %) | 0.0 % (1.0 %) | 2 |"
    ]
    assert bars_missed(tmp_path) == ["lu, 4 ranks, 30 s: off by 0.0 % (10.0 %), over 3 % (6 %)"]


@pytest.mark.parametrize(("seconds", "part", "missed"), [(10, 0.5, 0), (30, 0.11, 1), (30, 0.09, 0), (300, 0.03, 1)])
def test_long_runs_may_execute_less(tmp_path: Path, seconds: float, part: float, missed: int) -> None:
    measured(tmp_path, "bt", seconds, [((seconds, seconds, seconds, part * seconds, 1), seconds, seconds)])
    assert len(bars_missed(tmp_path)) == missed


def test_the_page_is_written_after_its_last_heading(tmp_path: Path) -> None:
    results, page = tmp_path / "results", tmp_path / "page.md"
    results.mkdir()
    before = PAGE.read_text()
    page.write_text(before)
    write_page(results, page)
    assert page.read_text() == before
    measured(results, "bt", 30, [((30, 29, 31, 1, 2), 30, 30)])
    write_page(results, page)
    text = page.read_text()
    assert text[: before.index(HEADING)] == before[: before.index(HEADING)]
    assert "2 processors; incprof abc; the load before a run was 0.2 at most" in text
    assert table(results) in text
    write_page(results, page)
    assert page.read_text() == text


def test_what_was_measured_is_not_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "base.json"
    assert kept(path, lambda: {"wall_s": 2.5})["wall_s"] == 2.5
    assert kept(path, lambda: pytest.fail("measured again"))["wall_s"] == 2.5


def test_a_measurement_that_fails_is_not_kept(tmp_path: Path) -> None:
    def fails() -> dict[str, Any]:
        raise Failed("no")

    with pytest.raises(Failed):
        kept(tmp_path / "base.json", fails)
    assert not (tmp_path / "base.json").exists()


def test_the_answer_comes_after_the_output_of_the_program(tmp_path: Path) -> None:
    path = tmp_path / "full.out"
    path.write_text('lu: verified\n{"schema": "incprof.predict/1", "pet_s": 2}\n\n')
    assert last_json(path)["pet_s"] == 2
    path.write_text("lu: verified\n")
    with pytest.raises(Failed, match="no answer"):
        last_json(path)
