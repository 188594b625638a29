import dataclasses
import io

import pytest

from incprof.analysis.answer.describe import summarise
from incprof.analysis.answer.find import find_phases
from incprof.report.json.phases import as_dict
from incprof.report.text.phases import write_text
from tests.unit.loops import Loop, run

STEPS = (("exchange", 0.0015), ("gather", 0.004), ("accelerate", 0.009), ("drift", 0.0025), ("output", 0.02))


def answered(loop):
    profile = run(loop)
    return summarise(profile, 1), find_phases(profile, k=1)


def lines_of(loop, width=100):
    out = io.StringIO()
    write_text(*answered(loop), out, width=width)
    lines = out.getvalue().splitlines()
    (first,) = [i for i, line in enumerate(lines) if "repeats every" in line]
    return lines[first : lines.index("", first)]


def test_steps_stand_below_their_phase_in_order():
    first, *steps = lines_of(Loop(STEPS, 240, every=6, rate_hz=1000))
    assert first.strip().startswith("evolve repeats every 20.")
    assert [line.split()[0] for line in steps] == ["1", "2", "3", "4", "5"]
    assert [line.split(",")[0].split()[-1] for line in steps] == [name for name, _ in STEPS]
    assert steps[-1].endswith("output, in one of 6")


def test_an_order_that_is_not_known_is_said():
    calls = [step for i in range(200) for step in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (2, 1, 0))[i * i * 7 % 4]]
    first, *steps = lines_of(Loop((("a", 0.004), ("b", 0.006), ("c", 0.005)), 1, first=calls))
    assert first.endswith("order unknown") or "known where" in first
    assert any(line.split()[0] == "-" for line in steps)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_names_are_cut_to_the_width(width):
    named = [(f"solver::Domain<double, {'long_' * 30}>::step{i}", s) for i, (_, s) in enumerate(STEPS[:4])]
    for line in lines_of(Loop(named, 200), width=width):
        assert len(line) <= width


def test_json_has_what_is_known_and_null_for_the_rest():
    (phase,) = as_dict(*answered(Loop(STEPS[:4], 200, inlined=[1], rate_hz=1000)))["phases"]
    steps = {step["function"]: step for step in phase["steps"]}
    assert [steps[name]["order"] for name, _ in STEPS[:4]] == [1, 2, 3, 4]
    assert {name: steps[name]["every"] for name, _ in STEPS[:4]} == {
        "exchange": 1, "gather": None, "accelerate": 1, "drift": 1,
    }  # fmt: skip
    assert steps["drift"]["driver"] == "evolve"
    assert steps["drift"]["period_s"] == pytest.approx(0.017, rel=0.02)


def test_the_rate_that_was_reached_is_said_where_it_is_another():
    profile = run(Loop(STEPS[:4], 200))
    out = io.StringIO()
    counters = dataclasses.replace(profile.counters, cpu_s=profile.counters.cpu_s * 2)
    slow = dataclasses.replace(profile, counters=counters)
    write_text(summarise(slow, 1), find_phases(slow, k=1), out)
    assert "(50 a CPU second of 100 asked for)" in out.getvalue().splitlines()[0]
    assert summarise(profile, 1).reached_hz == pytest.approx(100, rel=0.01)
