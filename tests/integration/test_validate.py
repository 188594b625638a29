"""Examples with known phases, with heartbeats put in by hand: the heartbeats tell what the recording tells."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.integration.appekg_use import ROOT, environment, run

INCPROF = (sys.executable, "-m", "incprof")
BAR = 0.9


@dataclass(frozen=True)
class Example:
    """An example: its source, how long it runs, compiler and flags; text by what comes instead; names of heartbeats."""

    source: str
    scale: str
    compiler: tuple[str, ...]
    flags: str
    edits: dict[str, str]
    names: tuple[str, ...]
    start: str
    name: str = 'ekg_name({id}, "{name}");'


PHASES = Example(
    "phases.c", "0.3", ("gcc", "-O2", "-g"), "--cflags",
    {
        "#include <stdint.h>": "#include <appekg.h>\n#include <stdint.h>",
        "fill_keys(uint64_t seed)\n{": "fill_keys(uint64_t seed)\n{\n    EKG_SCOPE(1);",
        "build_table(void)\n{": "build_table(void)\n{\n    EKG_SCOPE(2);",
        "lookup_batch(uint32_t stride)\n{": "lookup_batch(uint32_t stride)\n{\n    EKG_SCOPE(3);",
        "b++)\n            sum += check_bucket(b);": "b++) {\n EKG_SCOPE(4);\n sum += check_bucket(b);\n }",
    },
    ("fill_keys:body", "build_table:body", "lookup_batch:body", "validate:loop"), "    double scale",
)  # fmt: skip
MESH = Example(
    "mesh.cpp", "1.2", ("g++", "-O2", "-g", "-std=c++17"), "--cflags",
    {
        "#include <algorithm>": "#include <appekg.h>\n#include <algorithm>",
        "refine(std::size_t most)\n    {": "refine(std::size_t most)\n    {\n EKG_SCOPE(1);",
        "double sweep()\n    {": "double sweep()\n    {\n EKG_SCOPE(2);",
        "project(const M &mesh)\n{": "project(const M &mesh)\n{\n EKG_SCOPE(3);",
    },
    ("Mesh::refine:body", "Mesh::sweep:body", "project:body"), "    double scale",
)  # fmt: skip
HEAT = Example(
    "heat.f90", "0.5", ("gfortran", "-O2", "-g"), "--fflags",
    {
        "program main\n  use heat\n": "program main\n  use heat\n  use appekg\n",
        "    call set_sources(k)": "    call ekg_begin(1)\n    call set_sources(k)\n    call ekg_end(1)",
        "    call jacobi_step()": "    call ekg_begin(2)\n    call jacobi_step()\n    call ekg_end(2)",
        "    call histogram(bins)": "    call ekg_begin(3)\n    call histogram(bins)\n    call ekg_end(3)",
    },
    ("heat::set_sources:body", "heat::jacobi_step:body", "heat::histogram:body"), "  scale = 1\n",
    "  call ekg_name({id}, '{name}')\n",
)  # fmt: skip


def built(example: Example, place: Path, *flags: str, heartbeats: bool) -> Path:
    """The example as a program."""
    text = (ROOT / "examples" / example.source).read_text()
    if heartbeats:
        for old, new in example.edits.items():
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        said = [example.name.format(id=number, name=name) for number, name in enumerate(example.names, 1)]
        text = text.replace(example.start, "".join(said) + example.start, 1)
    folder = place / f"{heartbeats}{len(flags)}"
    folder.mkdir()
    (folder / example.source).write_text(text)
    extra = [shlex.split(incprof(place, "env", flag)) for flag in (example.flags, "--libs")] if heartbeats else [[], []]
    run(*example.compiler, *flags, *extra[0], example.source, "-o", "app", *extra[1], "-lm", cwd=folder)
    return folder / "app"


def incprof(place: Path, *words: object) -> str:
    """What a verb prints; it must succeed. What it says on stderr is not asked for."""
    env = environment(PYTHONPATH=ROOT, XDG_CACHE_HOME=place / "cache")
    return run("sh", "-c", 'exec "$@" 2>/dev/null', "sh", *INCPROF, *words, cwd=place, env=env)


def validated(place: Path, *words: object) -> dict[str, Any]:
    """What the verb answers."""
    found: dict[str, Any] = json.loads(incprof(place, "validate", *words, "--json"))
    return found


def record(place: Path, program: Path, scale: str, **settings: object) -> None:
    """Record a program. One that hardly gets a processor waits in all phases: that is another story."""
    env = environment(PYTHONPATH=ROOT, XDG_CACHE_HOME=place / "cache", **settings)
    run(*INCPROF, "record", "-i", "0.1", "-o", "gmon", "--", program, scale, cwd=place, env=env)
    recorded = json.loads(incprof(place, "phases", "gmon", "--json"))["run"]
    if recorded["off_cpu_s"] > 0.7 * recorded["duration_s"]:
        pytest.skip("the program hardly gets a processor here")


def need(example: Example) -> None:
    if shutil.which(example.compiler[0]) is None:
        pytest.skip(f"{example.compiler[0]} is not installed")


@pytest.mark.slow
@pytest.mark.parametrize("example", [PHASES, MESH, HEAT], ids=["c", "c++", "fortran"])
def test_one_process_with_both(example: Example, tmp_path: Path) -> None:
    """Recorded while it beats: one clock, also with intervals of another length."""
    need(example)
    program = built(example, tmp_path, "-pg", heartbeats=True)
    record(tmp_path, program, example.scale, EKG_DIR=tmp_path / "ekg", EKG_INTERVAL="0.07")
    found = validated(tmp_path, "gmon", "ekg", "--min-agreement", BAR)
    assert found["alignment"]["kind"] == "clock"
    assert found["agreement"] >= BAR
    assert found["overhead"]["base"] == "cpu"
    assert found["overhead"]["beats"] >= sum(beat["count"] for beat in found["heartbeats"]) > 0


@pytest.mark.slow
@pytest.mark.parametrize("example", [PHASES, MESH, HEAT], ids=["c", "c++", "fortran"])
def test_a_recording_and_a_production_run(example: Example, tmp_path: Path) -> None:
    """The one is built with -pg, without heartbeats; the other without -pg, and runs for another time."""
    need(example)
    plain = built(example, tmp_path, "-pg", heartbeats=False)
    program = built(example, tmp_path, heartbeats=True)
    record(tmp_path, plain, example.scale)
    run(program, example.scale, cwd=tmp_path, env=environment(EKG_DIR="ekg", EKG_INTERVAL="0.05"))
    found = validated(tmp_path, "gmon", "ekg", "--min-agreement", BAR)
    assert found["alignment"]["kind"] == "warp"
    assert found["agreement"] >= BAR
    assert found["overhead"]["base"] == "wall"


@pytest.mark.slow
def test_heartbeats_in_the_wrong_places(tmp_path: Path) -> None:
    """Each heartbeat has the name of the next phase's."""
    turned = (*PHASES.names[1:], PHASES.names[0])
    example = Example(**{**vars(PHASES), "names": turned})
    program = built(example, tmp_path, "-pg", heartbeats=True)
    record(tmp_path, program, "0.2", EKG_DIR=tmp_path / "ekg", EKG_INTERVAL="0.07")
    found = validated(tmp_path, "gmon", "ekg")
    assert found["agreement"] < 0.3
    assert found["kappa"] < 0.1
