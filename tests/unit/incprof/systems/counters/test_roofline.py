"""The roof of a node: measured, kept, and above the phases of its runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from incprof.analysis._native import native
from incprof.analysis._native_ffi import ffi
from incprof.cli.main import main
from incprof.systems.counters import roofline
from incprof.systems.counters.roofline import Ceiling, Roof, Roofs, keep, kept, place
from tests.unit.incprof.systems.counters.test_counters import run_with_counters

ROOFS = Roofs(
    "node1", "a processor", 1.7e9, 0.0,
    (
        Roof(1, Ceiling(50e9, 0.01), {"L1": Ceiling(200e9, 0.1), "memory": Ceiling(10e9, 0.1)}),
        Roof(8, Ceiling(400e9, 0.01), {"L1": Ceiling(1600e9, 0.1), "memory": Ceiling(40e9, 0.1)}),
    ),
)  # fmt: skip


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "incprof" / "roofline"


def test_the_kernels_count_operations_and_bytes() -> None:
    out = ffi.new("double *")
    for is_triad, size in ((False, 0), (True, 4096), (True, 4 << 20)):
        assert native().incprof_roof(is_triad, size, 2, 0.001, out) == 0
        assert out[0] > 1e6
    for arguments in ((True, 8, 1, 0.001), (False, 0, 0, 0.001), (False, 0, 1, 0.0), (False, 0, 100_000, 0.001)):
        assert native().incprof_roof(*arguments, out) != 0
        assert out[0] == 0


def test_what_was_measured_is_kept_for_the_node(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(roofline, "SECONDS", 0.001)
    monkeypatch.setattr(roofline, "LEAST_BYTES", 1 << 20)
    monkeypatch.setattr(roofline, "LARGEST_CACHE", 0)
    assert main(["doctor", "--roofline", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    found = kept(answer["roofline"]["host"])
    assert found is not None
    assert roofline.as_json(found) == answer["roofline"]
    assert [roof.threads for roof in found.of] == sorted({roof.threads for roof in found.of})
    assert all(0 <= one.spread < 1 for roof in found.of for one in (roof.flops, *roof.bytes_s.values()))
    assert main(["doctor", "--roofline"]) == 0
    out = capsys.readouterr().out
    assert "roof, 1 thread" in out
    assert "Gflop/s" in out
    assert "memory" in out


def test_damaged_and_missing_stores_have_no_roof(cache: Path) -> None:
    assert kept("node1") is None
    assert keep(ROOFS) is None
    assert kept("node1") == ROOFS
    assert kept("node2") is None
    content = json.loads((cache / "node1.json").read_text())
    for damage in ({"roofs": []}, {"roofs": [{"threads": 1}]}, {"version": 2}, {"others": "x"}):
        (cache / "node1.json").write_text(json.dumps(content | damage))
        assert kept("node1") is None


def test_where_nothing_can_be_kept_a_line_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert "set XDG_CACHE_HOME" in (keep(ROOFS) or "")


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        # 0.5 flop/B times 10 GB/s.
        ({"gflops_s": 2.0, "intensity": 0.5, "cpu": 1.0}, (5.0, 0.4, "memory", 1)),
        ({"gflops_s": 2.0, "intensity": 0.5, "cpu": 7.5}, (20.0, 0.1, "memory", 8)),
        ({"gflops_s": 25.0, "intensity": 20.0, "cpu": 1.0}, (50.0, 0.5, "compute", 1)),
        ({"gflops_s": 25.0, "cpu": 1.0}, None),
        ({"intensity": 1.0}, None),
    ],
)
def test_a_phase_is_below_the_lower_of_two_ceilings(
    figures: dict[str, object], expected: tuple[object, ...] | None
) -> None:
    found = place(ROOFS, figures)
    assert (found and (found.gflops_s, found.share, found.limit, found.threads)) == expected


def test_the_card_places_phases_under_the_roof_of_their_node(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["# begun: 1700000000.000000 s since 1970 on node1",
            "time_s,cpu,fp_arith_inst_retired.scalar_double,cache-misses"]  # fmt: skip
    rows += [f"{at + 1},1,{2 * 10**9 if at < 10 else 10**9},{10**9 // 16 if at < 10 else 10**5}" for at in range(20)]
    run, path = run_with_counters(tmp_path, rows=rows)
    assert keep(ROOFS) is None
    arguments = ["phases", str(run), "--counters", str(path), "--card"]
    assert main([*arguments, "--json"]) == 0
    first, second = (phase["card"]["metrics"] for phase in json.loads(capsys.readouterr().out)["phases"])
    assert (first["roof_limit"], second["roof_limit"]) == ("memory", "compute")
    # 0.5 flop/B.
    assert (first["roof_gflops_s"], first["roof_share"]) == (pytest.approx(5, rel=0.01), pytest.approx(0.4, rel=0.01))
    assert (second["roof_gflops_s"], second["roof_share"]) == (50.0, pytest.approx(0.02))
    assert main(arguments) == 0
    assert "40 % of the roof of one thread, the memory's bandwidth" in " ".join(capsys.readouterr().out.split())
