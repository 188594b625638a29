"""Functions that left the stack by a jump are on call paths again, as if the compiler had made calls of the jumps."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from incprof.model import LIBRARY
from incprof.readers.run import open_run, read_profile
from incprof.readers.stream.function_code import read_call_sites
from tests.integration.collector import FIXTURES, Recording, judge
from tests.integration.conftest import Build, Record

RATE, RIGHT = 1000, 0.98
JUMPS, CALLS = "-foptimize-sibling-calls", "-fno-optimize-sibling-calls"
# Every one of them takes a twentieth of the time or more, but the last two.
PATHS = (
    "main>first>second>work_here",
    "main>works_first>work_shared",
    "main>works_first",
    "main>fork_in_the_way>work_shared",
    "main>pointed>work_pointed",
    "main>work_pointed",
    "main>to_library>library_work",
    "main>library_entry>library_middle>library_work",
    "main>sorted>compare",
    "main>honest>compare",
    "main>even",
    "main>even>odd",
    "main>work_here",
    "main>to_memory",
    "main>(sorted|honest)",
)
THUNK = "_ZThn8_N4Work4hereEl"
# Calls within a library from outside are not counted. Of the others, jumps do not show how often main called `even`
# and `odd` did, and whether `left` or `right` jumped to work_shared.
UNKNOWN = {"even", "odd", "left", "right", "fork_in_the_way", THUNK}


def build_with_library(build: Build, flags: str, compiler: str) -> Path:
    library = build("tails_lib.c", flags=f"{flags} -fPIC -shared", compiler=compiler, output="libtails.so")
    return build("tails.c", library, flags=flags, compiler=compiler)


def arcs(recording: Recording) -> dict[tuple[str, str], int]:
    found = {pair: count for pair, count in recording.arcs().items() if not UNKNOWN & set(pair)}
    return {pair: count for pair, count in found.items() if pair[0] and not pair[1].startswith("library")}


@pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        ("gcc", "-O2"),
        pytest.param("gcc", "-O3 -no-pie", marks=pytest.mark.slow),
        pytest.param("gcc", "-O2 -mfentry -fcf-protection", marks=pytest.mark.slow),
        pytest.param("clang", "-O2", marks=pytest.mark.slow),
    ],
)
def test_in_c(build: Build, record: Record, fast_clock: str, compiler: str, flags: str) -> None:
    program = build_with_library(build, f"{flags} {JUMPS}", compiler)
    recording = record([program], clock=fast_clock, rate=RATE)
    verdict = judge(recording, PATHS)
    assert verdict.right(RIGHT), verdict
    assert all(list(verdict.each.values())[:-2]), verdict


@pytest.mark.slow
def test_arcs_are_those_of_calls(build: Build, record: Record) -> None:
    by_jumps = record([build_with_library(build, f"-O2 {JUMPS}", "gcc")])
    by_calls = record([build_with_library(build, f"-O2 {CALLS}", "gcc")])
    through_thunk = by_calls.arcs()[THUNK, "work_here"]
    assert arcs(by_jumps) == arcs(by_calls) | {("main", "work_here"): through_thunk}
    assert by_jumps.calls() == by_calls.calls()
    assert by_jumps.arcs()["even", "odd"] == by_calls.arcs()["even", "odd"]


@pytest.mark.slow
def test_in_cpp(build: Build, record: Record, fast_clock: str) -> None:
    def recorded(flags: str) -> Counter[tuple[str, ...]]:
        paths = record([build("tails.cpp", flags=f"-O2 {flags}")], clock=fast_clock, rate=RATE).paths()
        return Counter({path: ticks for path, ticks in paths.items() if ticks >= 0.05 * paths.total()})

    by_jumps, by_calls = recorded(JUMPS), recorded(CALLS)
    assert set(by_jumps) == set(by_calls)
    assert len(by_jumps) == 4


@pytest.mark.slow
def test_time_in_a_library_is_its_callers(build: Build, record: Record, fast_clock: str) -> None:
    recording = record([build_with_library(build, f"-O2 {JUMPS}", "gcc")], clock=fast_clock, rate=RATE)
    profile = recording.profile
    index = {function.mangled: i for i, function in enumerate(profile.functions)}
    inside = profile.samples.kind == LIBRARY
    function = profile.paths.function[profile.samples.node[inside]]
    ticks = np.bincount(function, weights=profile.samples.weight[inside], minlength=len(index))
    assert ticks[index["main"]] <= 0.2 * ticks[index["to_memory"]]
    seconds = np.ravel(profile.self_s.sum(axis=0))
    assert seconds[index["to_memory"]] * RATE >= ticks[index["to_memory"]] - 0.5


@pytest.mark.slow
def test_lines_that_jump_count_as_calls(build: Build, record: Record) -> None:
    program = build_with_library(build, f"-O2 {JUMPS}", "gcc")
    recording = record([program])
    run, profile = open_run(recording.directory), recording.profile
    sites = read_call_sites(run, run.processes[0], np.zeros(profile.n_intervals, dtype=np.int64))
    (first,) = (function for function in profile.functions if function.mangled == "first")
    (row,) = sites.of_function("program", first.address).tolist()
    assert sites.calls[row].tolist() == [100]
    where = subprocess.run(
        ["addr2line", "-e", program, f"{sites.address[row]:#x}"], capture_output=True, text=True, check=True
    ).stdout
    wanted = [
        i for i, line in enumerate((FIXTURES / "tails.c").read_text().splitlines(), 1) if "return second(" in line
    ]
    assert int(where.rpartition(":")[2].split()[0]) in wanted


@pytest.mark.slow
@pytest.mark.parametrize("is_large", [False, True])
def test_a_program_that_was_built_again(build: Build, record: Record, tmp_path: Path, is_large: bool) -> None:
    more_code = tmp_path / "more_code.S"
    more_code.write_text(f".section .note.GNU-stack\n.text\n.skip {9 << 20 if is_large else 16}\n")
    built = build_with_library(build, f"-O2 {JUMPS} {more_code}", "gcc")
    program = tmp_path / "program"
    program.write_bytes(built.read_bytes())
    program.chmod(0o755)
    recording = record([program])
    program.write_bytes(b"another")
    paths = {">".join(path) for path in recording.paths()}
    assert "main>work_here" in paths
    # The recording keeps up to 8 MiB of code. Without it, only a program given by hand tells the jumps.
    assert ("main>first>second>work_here" in paths) is not is_large
    again = read_profile(open_run(recording.directory), exe=str(built))
    assert (len(again.paths.parent) > len(recording.profile.paths.parent)) is is_large
