"""Several runs of a program side by side: columns are those of single signatures, variation is by its definition."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import pytest

from incprof.cli.main import main
from incprof.systems.mpi.analyse.extrapolation import variation
from tests.unit.tracefile import steady, trace, write_run


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """Of one program on 8, 2 and 4 processes, and of another one."""
    found = [write_run(tmp_path / f"run-{ranks}", ranks) for ranks in (8, 2, 4)]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "rank-00000.mpi").write_bytes(trace(steady(100), app="zeta", ranks=1))
    return [*found, tmp_path / "other"]


def said(capsys: pytest.CaptureFixture[str], *words: str | Path, status: int = 0) -> str:
    assert main(["signature", *map(str, words), "--jobs", "1"]) == status
    return capsys.readouterr().out


def parsed(capsys: pytest.CaptureFixture[str], *words: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said(capsys, *words, "--json"))
    return found


def test_each_row_is_that_of_a_single_run(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    found = parsed(capsys, *runs, "--method", "paper", "--against", "global")
    assert found["schema"] == "incprof.scales/1"
    first, other = found["programs"]
    assert [(one["app"], one["methods"]) for one in (first, other)] == [
        ("app", ["paper", "global"]),
        ("zeta", ["paper", "global"]),
    ]
    assert [run["ranks"] for run in first["runs"]] == [2, 4, 8]
    for run in [*first["runs"], *other["runs"]]:
        assert run["trace_bytes"] == sum(path.stat().st_size for path in Path(run["directory"]).iterdir())
        for method in ("paper", "global"):
            alone = parsed(capsys, run["directory"], "--method", method)
            one = run["analyses"][method]
            assert run["events"] == sum(rank["events"] for rank in alone["per_rank"])
            assert (run["aet_s"], one["pet_s"], one["coverage"]) == (
                alone["aet_s"],
                alone["pet_s"],
                alone["coverage"],
            )
            assert one["pete"] == pytest.approx(abs(alone["pet_s"] - alone["aet_s"]) / alone["aet_s"])
            assert one["set_s"] == pytest.approx(sum(phase["mean_s"] for phase in alone["phases"]))
            assert one["tfat_s"] > 0
    events = [run["events"] for run in first["runs"]]
    assert first["variation"]["events"] == pytest.approx(statistics.stdev(events) / statistics.mean(events))
    times = [run["analyses"]["global"]["tfat_s"] for run in first["runs"]]
    assert first["variation"]["tfat_s"]["global"] == pytest.approx(statistics.stdev(times) / statistics.mean(times))
    assert other["variation"]["events"] is None


def test_tables(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, *runs[:2], "--method", "paper", "--against", "global").splitlines()
    assert (
        lines[0] == "app, 2 runs, method paper (EPAS, each process by itself) against global (PAS2P, one logical order)"
    )
    head, two, eight, varies = (line.split() for line in lines[2:6])
    assert head == "Ranks AET Events Trace size TFAT TFAT global Speed-up Run".split()
    assert (two[:4], eight[:4]) == (["2", "1", "s", "80"], ["8", "1", "s", "320"])
    assert (varies[:5], lines[7].split()[:5]) == (
        ["CoV", "0.0", "%", "84.9", "%"],
        ["Ranks", "AET", "PET", "PETE", "SET"],
    )
    assert lines[-1].split()[0] == "Mean"


@pytest.mark.parametrize("words", [["-o", "x"], ["--phase-table", "x"], ["--plot", "x.svg"]])
def test_what_is_of_a_single_run(
    runs: list[Path], words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(runs[0])
    assert main(["signature", str(runs[0]), str(runs[1]), *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "give one directory" in line
    assert main(["signature", str(runs[0]), "--against", "global"]) == 2
    assert "more than one directory" in capsys.readouterr().err


def test_a_run_that_is_not_whole_is_named(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    path = runs[1] / "rank-00001.mpi"
    path.write_bytes(path.read_bytes()[:-30])
    assert main(["signature", str(runs[0]), str(runs[1]), "--jobs", "1"]) == 5
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(f"{runs[1]}: the trace of rank 1 is incomplete")
    assert main(["signature", str(runs[0]), str(runs[1].parent)]) == 4


def test_variation() -> None:
    assert variation([3.0]) is None
    assert variation([0.0, 0.0]) is None
    assert variation([2.0, 2.0]) == 0
    assert variation([1.0, 2.0, 3.0]) == pytest.approx(0.5)
