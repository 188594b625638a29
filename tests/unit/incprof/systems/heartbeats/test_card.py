"""Heartbeats on the cards of phases: those of the recorded process are found beside the run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from incprof.cli.main import main
from tests.unit.ekgfiles import SECOND, EkgFile, beats
from tests.unit.profiles import two_phase_run

START_NS = 1_700_000_000 * SECOND
MS = 10**6


def heartbeats(directory: Path, *, pid: int = 7, count: int = 5) -> None:
    """Ten intervals with beats of 1, each 100 ms, then ten with twice as many of 2, each 20 ms."""
    file = EkgFile(metadata={"host": "node1", "pid": pid, "start_unix_ns": START_NS, "start_mono_ns": SECOND})
    file.beat(1, "solve:loop").beat(2, "write_out:body", rate_factor=1)
    for at in range(20):
        number, duration, many = (1, 100 * MS, count) if at < 10 else (2, 20 * MS, 2 * count)
        file.interval(beats(1, number, [duration] * many))
    directory.mkdir()
    file.end().save(directory / "rank-00000.ekg")


def recorded(directory: Path) -> Path:
    return two_phase_run(directory, start_unix_ns=START_NS, start_mono_ns=SECOND, host="node1", pid=7)


def cards(capsys: pytest.CaptureFixture[str], run: Path) -> list[dict[str, object]]:
    assert main(["phases", str(run), "--card", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return [phase["card"] for phase in json.loads(out)["phases"]]


def test_heartbeats_beside_the_run_are_on_its_cards(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = recorded(tmp_path / "run")
    heartbeats(tmp_path / "ekg-app")
    heartbeats(tmp_path / "ekg-other", pid=8, count=9)
    first, second = cards(capsys, run)
    assert first["heartbeats"] == [
        {"id": 1, "name": "solve:loop", "count": 50, "mean_s": pytest.approx(0.1), "rate_hz": pytest.approx(5)}
    ]
    assert second["heartbeats"] == [
        {"id": 2, "name": "write_out:body", "count": 100, "mean_s": pytest.approx(0.02), "rate_hz": pytest.approx(10)}
    ]
    assert main(["phases", str(run), "--card"]) == 0
    assert "solve:loop 5 a second, 100 ms each" in capsys.readouterr().out


def test_heartbeats_of_other_processes_are_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = recorded(tmp_path / "run")
    heartbeats(tmp_path / "ekg-other", pid=8)
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "rank-00000.ekg").write_bytes(b"#appekg {")
    assert all("heartbeats" not in card for card in cards(capsys, run))
