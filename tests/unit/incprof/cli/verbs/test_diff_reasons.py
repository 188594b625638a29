"""Why a phase changed: amounts on the cards of both sides, with known truth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from incprof.cli.main import main
from tests.unit.incprof.systems.counters.test_recorded import COUNTERS, row
from tests.unit.streamwriter import Sample, StreamWriter


def recorded(directory: Path, *, faults: int, intervals: int = 10, counted: bool = True) -> Path:
    """A run of two phases of equal length; the second one has so many page faults an interval."""
    writer = StreamWriter(["main", "solve", "write_out"])
    for at in range(2 * intervals):
        second = at >= intervals
        samples = [Sample("main;write_out" if second else "main;solve", weight=98 + at % 5)]
        counters = row(n1=faults if second else 10, n3=1, n4=0, n5=10**9, n6=5 * 10**8 if second else 0)
        writer.interval(samples, images={COUNTERS: counters} if counted else {})
    writer.end()
    writer.save(directory)
    return directory


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Three runs of A, three of B, whose second phase is longer, and has more page faults."""
    tmp_path = tmp_path_factory.mktemp("reasons")
    a = [recorded(tmp_path / f"a{one}", faults=1000 + one) for one in range(3)]
    b = [recorded(tmp_path / f"b{one}", faults=4000 + one, intervals=14) for one in range(3)]
    return [*map(str, a), "--against", *map(str, b)]


def test_amounts_of_both_sides_are_compared(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *runs, "--json"]) == 0
    second = json.loads(capsys.readouterr().out)["phases"][1]
    found = {one["metric"]: one for one in second["reasons"]}
    assert found["faults"]["a"] == pytest.approx(10 * 1001)
    assert found["faults"]["b"] == pytest.approx(14 * 4001)
    assert (found["faults"]["unit"], found["faults"]["verdict"]) == ("count", "more")
    assert (found["kernel"]["a"], found["kernel"]["b"]) == (pytest.approx(5.0), pytest.approx(7.0))
    low, high = found["kernel"]["interval_pct"]
    assert low <= 40 <= high
    assert main(["diff", *runs]) == 0
    out = capsys.readouterr().out
    assert "page faults" in out
    assert "Why" in out
    for form in (["--markdown"], ["--html", "-"]):
        assert main(["diff", *runs, *form]) == 0
        assert "page faults" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("condition", "status", "said"),
    [
        ("phase.faults>50%", 3, "phase write_out: page faults 1.001e+04 in A, 5.601e+04 in B"),
        ("write_out:phase.faults>40000", 3, "phase write_out"),
        ("solve:phase.faults>50", 0, ""),
        ("phase.faults>1000000", 0, ""),
        # In percent of the phase's duration, which was 10 s.
        ("write_out:phase.kernel>19%", 3, "CPU time in the kernel 5 s in A, 7 s in B"),
        ("write_out:phase.kernel>21%", 0, ""),
        ("phase.nothing>1%", 2, "there are phase.cpu, phase.faults, phase.kernel, phase.switches"),
        ("nobody:phase.faults>1%", 2, "neither run has a phase 'nobody'"),
    ],
)
def test_a_gate_names_an_amount(
    condition: str, status: int, said: str, runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", *runs, "--fail-on", condition]) == status
    assert said in capsys.readouterr().err


def test_what_one_side_lacks_is_no_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = recorded(tmp_path / "a", faults=10)
    b = recorded(tmp_path / "b", faults=10, intervals=14, counted=False)
    assert main(["diff", str(a), str(b)]) == 0
    assert "not recorded in all runs, so no reason for a change" in capsys.readouterr().out
