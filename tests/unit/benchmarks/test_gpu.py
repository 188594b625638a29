"""The benchmark of `record --gpu`: what it makes of the figures, without a device."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import gpu
from benchmarks.gpu import (
    HEADING,
    PAGE,
    Bench,
    Failed,
    Truth,
    all_kernels,
    attempt,
    build,
    bytes_an_hour,
    launch_cost,
    main,
    steps_back,
    table,
    truth_of,
    whole_run,
    write_page,
)
from benchmarks.measure import Result
from tests.unit.incprof.systems.gpu.test_gpu import NAMES, decoded, record, state


def launches(*ns: float) -> list[Truth]:
    return [Truth({"launch_ns": each, "wall_ns": each}, {}) for each in ns]


def test_truth_is_read_from_lines() -> None:
    found = truth_of("kernels 500\nkernel relax 20 3000\nsum 0.5\nnoise\nkernel x y z\n1 2 3\n")
    assert found.values == {"kernels": 500, "sum": 0.5}
    assert found.kernels == {"relax": (20, 3000)}


def test_one_missing_kernel_misses_the_bar() -> None:
    rows = record(3, 0, 0, 2, 8, 100, 5, 0)
    found = decoded(NAMES + rows + state(100, 100))
    assert all_kernels([Truth({"kernels": 100}, {})], [found]).met
    result = all_kernels([Truth({"kernels": 101}, {})], [found])
    assert (result.met, result.reached) == (False, "100 of 101")


def test_costs_are_medians_of_pairs() -> None:
    cheap = launch_cost(launches(2000, 2100, 1900), launches(2300, 2900, 2200))
    assert (cheap.met, cheap.reached) == (True, "300 ns (300 to 800); alone 2000 ns")
    assert launch_cost(launches(2000), launches(2500)).met is False
    assert whole_run("x", launches(100, 100, 100), launches(101, 90, 150)).met
    assert whole_run("x", launches(100), launches(102)).met is False


def test_symbols_count_once_in_an_hour(tmp_path: Path) -> None:
    (tmp_path / "rank-00000.gmon").write_bytes(b"x" * 10_000)
    (tmp_path / "symbols").mkdir()
    (tmp_path / "symbols" / "a.elf").write_bytes(b"x" * 2_000_000)
    assert bytes_an_hour("x", tmp_path, 10.0).reached == "5.6 MB"
    assert bytes_an_hour("x", tmp_path, 0.5).met is False


def test_two_lines_beside_another_profiler_are_too_many() -> None:
    line = "incprof: libincprof_cuda: GPU activity is not recorded: another profiler uses CUPTI\n"
    assert steps_back("nsys", Truth({}, {}, line + "other\n")).met
    assert steps_back("nsys", Truth({}, {}, 2 * line)).met is False


def test_what_fails_is_a_row_with_the_reason(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    with pytest.raises(Failed, match="failed: no device"):
        bench.run(sys.executable, "-c", "raise SystemExit('first\\nno device')")
    with pytest.raises(Failed, match="is not installed"):
        build(bench, "gpu_tiny.cu", "no-such-compiler")
    bench.deadline_s = 0
    (row,) = attempt("training", lambda: [bench.run("true") and Result("", "", "", None)])  # type: ignore[list-item]
    assert row == Result("training", "-", "not measured: not started: out of time", None)
    (row,) = attempt("costs", lambda: [launch_cost([Truth({}, {})], [Truth({}, {})])])
    assert "did not print 'launch_ns'" in row.reached


def test_the_table_replaces_what_is_below_the_heading(tmp_path: Path) -> None:
    page = tmp_path / "gpu.md"
    page.write_text(PAGE.read_text())
    text = table("NVIDIA X, driver 1", [Result("a", "b", "c", False)], "1 May 2026")
    write_page(text, page)
    write_page(text, page)
    before, _, after = page.read_text().partition(HEADING)
    assert before == PAGE.read_text().partition(HEADING)[0]
    assert after.splitlines()[1:] == ["On NVIDIA X, driver 1, 1 May 2026.", "", "| what | bar | reached | met |",
                                      "|---|---|---|---|", "| a | b | c | **no** |"]  # fmt: skip
    page.write_text("# nothing\n")
    with pytest.raises(SystemExit, match="no heading"):
        write_page(text, page)


def test_without_a_device_it_ends_with_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert main([]) == 1
    assert capsys.readouterr().err.splitlines() == ["benchmarks/gpu.py: no CUDA device here (nvidia-smi lists none)"]


def test_with_a_device_every_measurement_has_a_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Nothing is installed here that could run on it."""
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\necho 'NVIDIA X, 570.1'\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setattr(gpu.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["--scratch", str(tmp_path / "scratch")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("On NVIDIA X, driver 570.1, ")
    assert [line.split(" | ")[0] for line in lines[4:] if line] == [
        "| many launches", "| known phases", "| beside nsys", "| training with PyTorch", "| OpenMP's target regions",
        "| a CuPy solver",
    ]  # fmt: skip
