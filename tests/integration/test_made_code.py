"""Code that a program makes as it runs has its names, however and whenever the program tells them."""

from __future__ import annotations

import platform
from itertools import groupby
from pathlib import Path

import pytest

from tests.integration.collector import Recording
from tests.integration.conftest import Build, Record

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="machine code of x86-64")


def run_made(build: Build, record: Record, way: str) -> Recording:
    return record([build("made.c", pg=False, output="made"), way], rate=250, env={"INCPROF_EXE": "made"})


def in_turn(recording: Recording) -> list[str]:
    """The functions in which samples that `call` has made lie, one after the other."""
    samples = recording.profile.samples
    paths = [recording._path(node) for node in samples.node.tolist()]
    return [name for name, _ in groupby(path[-1] for path in paths if "call" in path[:-1])]


@pytest.mark.parametrize(
    ("way", "names"),
    [
        ("dump", ["first", "second", "third"]),
        ("map", ["first", "second"]),
        ("late", ["late"]),
        ("objects", ["first", "second"]),
    ],
)
def test_each_function_has_the_name_that_it_had_then(build: Build, record: Record, way: str, names: list[str]) -> None:
    recording = run_made(build, record, way)
    assert in_turn(recording) == names
    for path in Path("/tmp").glob(f"perf-{recording.profile.metadata.raw['pid']}.map"):
        path.unlink()
    assert recording.profile.warnings == ()


def test_code_without_a_name_counts_as_its_caller(build: Build, record: Record) -> None:
    recording = run_made(build, record, "unnamed")
    assert in_turn(recording) == []
    assert recording.paths().most_common(1)[0][0][-2:] == ("burn", "call")
    assert any("nobody has named" in warning for warning in recording.profile.warnings)
