"""Examples with known phases, with heartbeats put in by hand: heartbeats and recording give the same answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from incprof.cli.main import main
from tests.recordings.beating import BEATING
from tests.recordings.kept import unpack

BAR = 0.9


def validated(capsys: pytest.CaptureFixture[str], run: Path, beats: Path) -> dict[str, Any]:
    """What the verb answers."""
    assert main(["validate", str(run), str(beats), "--min-agreement", str(BAR), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["agreement"] >= BAR
    return found


@pytest.mark.parametrize("name", BEATING)
def test_heartbeats_agree_with_the_recording(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Recorded while it beat: one clock, also with intervals of another length. And of a run in production."""
    unpack(name, tmp_path)
    found = validated(capsys, tmp_path, tmp_path / "ekg")
    assert found["alignment"]["kind"] == "clock"
    assert found["overhead"]["base"] == "cpu"
    assert found["overhead"]["beats"] >= sum(beat["count"] for beat in found["heartbeats"]) > 0
    # Built without -pg, it runs for another time.
    found = validated(capsys, tmp_path, tmp_path / "ekg-production")
    assert found["alignment"]["kind"] == "warp"
    assert found["overhead"]["base"] == "wall"
