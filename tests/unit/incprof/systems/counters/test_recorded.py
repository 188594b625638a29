"""Counters in a recording: any bytes can be read, and memory is that of the interval."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.cli.main import main
from incprof.readers.stream.interval_images import IntervalImage
from incprof.systems.counters.figures import NUMBERS, PEAK, RESIDENT
from incprof.systems.counters.read import _rows, recorded_counters
from tests.unit.streamwriter import Sample, StreamWriter, varint

COUNTERS = 12


def row(us: int = 0, **values: int) -> bytes:
    """A row of counters, given as n1=..., in the order of their numbers."""
    numbers = {int(name[1:]): value for name, value in values.items()}
    mask = sum(1 << number for number in numbers)
    return varint(us) + varint(mask) + b"".join(varint(numbers[number]) for number in sorted(numbers))


def run_with(directory: Path, *rows: bytes) -> Path:
    writer = StreamWriter(["main", "solve", "write_out"])
    for at, row in enumerate(rows):
        writer.interval(
            [Sample("main;" + ("solve" if 2 * at < len(rows) else "write_out"), weight=100)], images={COUNTERS: row}
        )
    writer.end()
    writer.save(directory)
    return directory


@given(st.binary(max_size=80))
def test_any_bytes_are_read(data: bytes) -> None:
    for one in _rows(IntervalImage(0, 10, 10**9, data)):
        assert 10 <= one.start_ns < one.end_ns <= 10**9


@given(
    st.lists(st.dictionaries(st.integers(1, 40), st.integers(0, 2**64 - 1)), min_size=1, max_size=9),
    st.integers(0, 200),
)
def test_what_was_written_is_read_as_far_as_it_is_there(rows: list[dict[int, int]], cut: int) -> None:
    parts = [row(1000, **{f"n{number}": value for number, value in values.items()}) for values in rows]
    found = list(_rows(IntervalImage(0, 0, 10**9, b"".join(parts)[: len(b"".join(parts)) - cut])))
    if cut == 0:
        assert len(found) == len(rows)
        assert [one.end_ns for one in found] == [*range(1_000_000, 1_000_000 * len(rows), 1_000_000), 10**9]
    for one, values in zip(found, rows[: len(found) - 1] if cut else rows, strict=False):
        known = {
            number: float(one.values[number]) for number in range(NUMBERS) if one.values[number] == one.values[number]
        }
        assert known == {number: float(value) for number, value in values.items() if number < NUMBERS}


def test_a_peak_counts_in_the_row_in_which_it_grew(tmp_path: Path) -> None:
    rows = [{RESIDENT: 10, PEAK: 900}, {RESIDENT: 20, PEAK: 900}, {RESIDENT: 15, PEAK: 950}, {RESIDENT: 15, PEAK: 950}]
    run = run_with(tmp_path / "run", *(row(**{f"n{k}": v for k, v in values.items()}) for values in rows))
    found = recorded_counters(str(run / "rank-00000.gmon"))
    assert found is not None
    assert found.resident_b.tolist() == [10, 20, 15, 15]
    assert found.peak_b.tolist() == [900, 20, 950, 15]


def test_the_card_has_figures_of_each_phase(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    half = [row(n1=1000, n3=5, n5=10**9, n6=0, n7=1 << 20, n8=1 << 20, n11=10**9, n12=2 * 10**9)] * 10
    rest = [row(n1=0, n3=5, n5=5 * 10**8, n6=5 * 10**8, n7=2 << 20, n8=2 << 20, n11=10**9, n12=5 * 10**8)] * 10
    run = run_with(tmp_path / "run", *half, *rest)
    assert main(["phases", str(run), "--card", "--json"]) == 0
    first, second = (phase["card"]["metrics"] for phase in json.loads(capsys.readouterr().out)["phases"])
    assert (first["ipc"], second["ipc"]) == (2.0, 0.5)
    assert (first["page_faults_s"], second["page_faults_s"]) == (1000.0, 0.0)
    assert (first["system_share"], second["system_share"]) == (0.0, 0.5)
    assert (first["bound_by"], second["bound_by"]) == ("the number of instructions", "the kernel")
    assert (first["resident_peak_b"], second["resident_end_b"]) == (1 << 20, 2 << 20)
    assert main(["phases", str(run), "--card"]) == 0
    out = capsys.readouterr().out
    assert "IPC  Resident  Bound by" in out


def test_a_recording_without_counters_has_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_with(tmp_path / "run", *[b""] * 4)
    assert recorded_counters(str(run / "rank-00000.gmon")) is None
    assert main(["phases", str(run), "--card", "--json"]) == 0
    assert "metrics" not in json.loads(capsys.readouterr().out)["phases"][0]["card"]


def test_energy_that_the_run_recorded_is_on_the_card(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # 50 W in the first phase, 20 W in the second; the first row has none.
    rows = [row(n5=10**9), *[row(n5=10**9, n45=50_000_000)] * 9, *[row(n5=10**9, n45=20_000_000)] * 10]
    run = run_with(tmp_path / "run", *rows)
    assert main(["phases", str(run), "--card", "--json"]) == 0
    first, second = (phase["card"] for phase in json.loads(capsys.readouterr().out)["phases"])
    assert (first["energy_j"], second["energy_j"]) == (pytest.approx(500), pytest.approx(200))
    assert (first["metrics"]["power_w"], second["metrics"]["power_w"]) == (pytest.approx(50), pytest.approx(20))
    assert main(["phases", str(run), "--card"]) == 0
    assert "(RAPL), with all that runs there" in " ".join(capsys.readouterr().out.split())
    assert main(["diff", str(run), str(run), "--json"]) == 0
    reasons = json.loads(capsys.readouterr().out)["phases"][0]["reasons"]
    energy = next(one for one in reasons if one["metric"] == "energy")
    assert (energy["a"], energy["unit"], energy["verdict"]) == (pytest.approx(500), "J", "same")
