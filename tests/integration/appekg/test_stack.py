"""Heartbeats on small stacks: those of coroutines may have 8 KiB."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.appekg_build import EkgBuilder
from tests.integration.appekg_robust import counts, press


@pytest.mark.parametrize("sink", ["file", "file,prometheus"])
def test_first_beat_on_a_small_stack(ekg: EkgBuilder, tmp_path: Path, sink: str) -> None:
    """The start of heartbeats needs a few KiB of the caller's stack, whatever it has to look up, print and create."""
    program = ekg.program("coroutine.c")
    for name in ("run", "run.1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "launch").write_text("another launch\n")
    pressed = press([program, "8192"], tmp_path, sink=sink, interval="none", prometheus_dir=".")
    assert (pressed.outcome.status, pressed.outcome.stdout) == (0, "back\n")
    assert len(pressed.lines()) == 1
    pressed = press([program, "8192"], tmp_path / "run", sink=sink, prometheus_dir=".")
    assert counts(pressed.read()) == {1: (1, 0)}
