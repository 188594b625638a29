"""Code generated at run time has its names, however and whenever the program publishes them."""

from __future__ import annotations

import platform
import shutil
from collections import Counter
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
    assert any("without a name" in warning for warning in recording.profile.warnings)


SCRIPT = """
function sweep(a) { let s = 0; for (let i = 0; i < a.length; i++) s += a[i] * 1.0001; return s }
const a = new Float64Array(100000).fill(1.5)
let x = 0
for (const until = process.cpuUsage().user + 600000; process.cpuUsage().user < until;) x += sweep(a)
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
@pytest.mark.parametrize("option", ["--perf-prof", "--perf-basic-prof"])
def test_functions_of_a_script(record: Record, tmp_path: Path, option: str) -> None:
    script = tmp_path / "app.js"
    script.write_text(SCRIPT)
    node = Path(str(shutil.which("node")))
    # The compiler would copy the function into the script's own code, sooner or later.
    recording = record([node, option, "--no-turbo-inlining", script], rate=250, env={"INCPROF_EXE": "node*"})
    names = Counter(name for path, n in recording.paths().items() for name in path[-1:] for _ in range(n))
    assert names.most_common(1)[0][0] == f"JS:sweep {script}:2:15"
