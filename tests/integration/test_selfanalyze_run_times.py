"""Others between a program and its OpenMP run-time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.selfanalyze_programs import Programs, analyse, unnoticed
from tests.integration.selfanalyze_programs import programs as programs


@pytest.mark.parametrize("way", ["_exit", "_Exit"])
@pytest.mark.parametrize("order", ["{tool} %s", "%s {tool}"])
def test_another_tool_in_the_same_place(programs: Programs, tmp_path: Path, order: str, way: str) -> None:
    tool = programs.compile("region_tool.c", "-shared", "-fPIC", "-fno-openmp", "-fno-builtin", name="region_tool.so")
    done = analyse([programs.compile("ways.c"), way, "25"], tmp_path, preload=order.format(tool=tool))
    unnoticed(done)
    assert f"{way} after 50 regions" in done.under.stdout
    assert [loop.iterations for loop in done.loops(2)] == [25]
    assert done.runs[0].ended
