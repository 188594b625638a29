"""Steps with steps, set-up, drivers one after another: recordings, against the programs' own counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.integration.analysis.test_steps import Answer, answer_of

STEPS = list[dict[str, Any]]


def steps_of(answer: Answer) -> STEPS:
    """Return the steps of all phases; the number of phases is not under test."""
    return [step for phase in answer.found["phases"] for step in phase["steps"]]


def named(steps: STEPS) -> dict[str, dict[str, Any]]:
    out: dict[str, dict[str, Any]] = {}
    for step in steps:
        out |= {step["function"]: step} | named(step["steps"])
    return out


@pytest.mark.slow
def test_a_step_of_all_the_time(tmp_path: Path) -> None:
    answer = answer_of("nested-wrapped", tmp_path)
    (step,) = steps_of(answer)
    assert (step["function"], step["driver"], step["calls"]) == ("time_step", "evolve_wrapped", 250)
    assert step["period_s"] == pytest.approx(answer.program["loop_us"] / 250e6, rel=0.1)
    assert {s["function"]: (s["calls"], s["per_call"]) for s in step["steps"]} == {
        "gather": (250, 1.0),
        "accelerate": (250, 1.0),
    }
    (head,) = [line for line in answer.text.splitlines() if "repeats every" in line]
    assert head.startswith("      evolve_wrapped repeats every ")
    lines = answer.text.split("repeats every ")[1].splitlines()
    assert [line.split()[-1] for line in lines[1:4]] in (
        ["time_step", "gather", "accelerate"],
        ["time_step", "accelerate", "gather"],
    )


@pytest.mark.slow
def test_set_up_is_no_step(tmp_path: Path) -> None:
    answer = answer_of("nested-setup", tmp_path)
    (phase,) = [p for p in answer.found["phases"] if any(s["function"] == "accelerate" for s in p["steps"])]
    steps = named(phase["steps"])
    assert set(steps) == {"gather", "accelerate"}
    assert {step["driver"] for step in steps.values()} == {"evolve"}
    assert "save" not in named(steps_of(answer))


@pytest.mark.slow
def test_sweeps_of_a_time_step(tmp_path: Path) -> None:
    answer = answer_of("nested-sweeps", tmp_path)
    steps = named(steps_of(answer))
    assert (steps["assemble"]["calls"], steps["sweep"]["calls"]) == (60, 61 * 60)
    assert (steps["sweep"]["times"], steps["correct"]["times"]) == (61, 1)
    assert steps["assemble"]["period_s"] == pytest.approx(answer.program["loop_us"] / 60e6, rel=0.1)
    assert any(line.endswith("sweep, 61 times") for line in answer.text.splitlines())


def test_two_drivers_one_after_another(tmp_path: Path) -> None:
    answer = answer_of("nested-drivers", tmp_path)
    steps = steps_of(answer)
    calls: dict[tuple[str, str], int] = {}
    for step in steps:
        key = step["driver"], step["function"]
        calls[key] = calls.get(key, 0) + step["calls"]
    # Intervals at the border of two phases are of neither.
    made = {("relax", "inner"): 150, ("relax", "gather"): 150, ("polish", "inner"): 300, ("polish", "accelerate"): 150}
    assert calls.keys() == made.keys()
    assert all(0.6 * made[key] <= calls[key] <= made[key] for key in made)
    times = {(step["driver"], step["function"]): step["times"] for step in steps if step["period_s"]}
    assert times.get(("polish", "inner"), 2) == 2
    assert times.get(("relax", "inner"), 1) == 1


@pytest.mark.slow
def test_a_body_through_two_callers(tmp_path: Path) -> None:
    answer = answer_of("nested-callers", tmp_path)
    steps = {step["function"]: step for step in steps_of(answer)}
    assert {name: steps[name]["calls"] for name in ("plus", "minus")} == {"plus": 200, "minus": 100}
    period = answer.program["loop_us"] / 200e6
    for name, every in (("plus", 1), ("minus", 2)):
        step = steps[name]
        assert step["period_s"] * step["every"] / step["times"] == pytest.approx(period * every, rel=0.1)
    assert all(s["period_s"] is None for name, s in named(steps_of(answer)).items() if name == "inner")


@pytest.mark.slow
def test_a_solver_in_fortran(tmp_path: Path) -> None:
    answer = answer_of("nested-fortran", tmp_path)
    steps = named(steps_of(answer))
    names = {name.rpartition("::")[2]: step for name, step in steps.items()}
    assert {name: names[name]["calls"] for name in ("flux", "solve", "correct", "sweep")} == {
        "flux": 100, "solve": 100, "correct": 100, "sweep": 1200,
    }  # fmt: skip
    assert names["sweep"]["per_call"] == 12.0
    assert names["solve"]["period_s"] == pytest.approx(answer.program["loop_us"] / 100e6, rel=0.1)
