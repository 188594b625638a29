"""Libraries that a program opens: copies of one, other ones at the same address, newer ones under the same path."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.integration.collector import Recording
from tests.integration.conftest import Build, Record
from tests.variants import mostly_slow

# Longer than the program runs: what is looked up at the end alone is looked up too late.
LONG = 60.0

Use = Callable[..., Recording]


@pytest.fixture
def use(build: Build, record: Record, tmp_path: Path) -> Use:
    """Run copies.c with libraries work.so, other.so and newer.so; newer.so has its functions elsewhere."""

    def used(*steps: str, interval: float = LONG, pg: bool = True) -> Recording:
        for name, flags in (("work", ""), ("other", ""), ("newer", "-DMOVED")):
            options = f"-O2 -shared -fPIC -DNAME={name} {flags}"
            library = build("copies_lib.c", flags=options, pg=pg, output=f"{name}.so")
            shutil.copy(library, tmp_path)
        shutil.copy(tmp_path / "work.so", tmp_path / "copy.so")
        words = [str(tmp_path / step) if step.endswith(".so") else step for step in steps]
        recording = record([build("copies.c", pg=pg), *words], interval=interval, env={"INCPROF_EXE": "program"})
        assert recording.outcome.stderr == ""
        return recording

    return used


def calls_of(recording: Recording) -> dict[str, int]:
    """Calls of the libraries' functions."""
    return {name: n for name, n in recording.calls().items() if name.endswith(("inner", "outer"))}


def seconds_of(recording: Recording) -> dict[str, float]:
    """Self time of functions that have any, by module and name."""
    profile = recording.profile
    seconds = np.ravel(profile.self_s.sum(axis=0)).tolist()
    return {
        f"{f.module}:{f.mangled}": s for f, s in zip(profile.functions, seconds, strict=True) if s > 0 and f.mangled
    }


def functions_of(name: str) -> set[str]:
    """All of a library: the two around the inner one have a few instructions of their own, where a sample may fall."""
    return {f"{name}.so:{function}" for function in ("entry", f"{name}_outer", f"{name}_inner")}


def test_two_copies_are_one_function(use: Use) -> None:
    """Equal build-ids mark them as the same code."""
    recording = use("open", "work.so", "call", "400", "open", "copy.so", "call", "300")
    assert calls_of(recording) == {"work_inner": 700, "work_outer": 700}
    assert not any("copy.so" in name for name in seconds_of(recording))
    assert recording.arcs()["work_outer", "work_inner"] == 700


def test_the_same_library_at_another_address(use: Use) -> None:
    recording = use("open", "work.so", "call", "400", "close", "hold", "open", "work.so", "call", "300")
    assert calls_of(recording) == {"work_inner": 700, "work_outer": 700}
    found = {name for name in seconds_of(recording) if "work" in name}
    assert {"work.so:work_inner"} <= found <= functions_of("work")


def test_another_library_at_the_same_address(use: Use) -> None:
    recording = use("open", "work.so", "call", "400", "close", "open", "other.so", "call", "300")
    expected = {"work_inner": 400, "work_outer": 400, "other_inner": 300, "other_outer": 300}
    assert calls_of(recording) == expected
    assert {"work.so:work_inner", "other.so:other_inner"} <= seconds_of(recording).keys()


@pytest.mark.parametrize(
    "between", mostly_slow(2, [[], ["hold"], ["open", "newer.so", "close"]]), ids=["at once", "held", "another"]
)
def test_where_a_library_was_that_samples_have_met(use: Use, between: list[str]) -> None:
    """Nothing counts calls: what is closed is left out of the map, and what comes after it is found by samples."""
    steps = ["open", "work.so", "call", "800", "close", *between, "open", "other.so", "call", "800", "close"]
    seconds = seconds_of(use(*steps, pg=False))
    found = {name for name in seconds if ".so:" in name}
    assert found >= {"work.so:work_inner", "other.so:other_inner"}
    assert found <= functions_of("work") | functions_of("other")


def test_a_newer_file_under_the_same_path(use: Use) -> None:
    steps = ["open", "work.so", "call", "400", "close", "move", "newer.so", "work.so", "open", "work.so", "call", "300"]
    recording = use(*steps)
    expected = {"work_inner": 400, "work_outer": 400, "newer_inner": 300, "newer_outer": 300}
    assert calls_of(recording) == expected
    assert {"work.so:work_inner", "work.so:newer_inner"} <= seconds_of(recording).keys()


def test_a_file_that_is_replaced_while_it_is_in_use(use: Use) -> None:
    """Its names are those of the file that was loaded, or unknown: never those of the newer one."""
    steps = ["open", "work.so", "call", "500", "move", "newer.so", "work.so", "call", "300"]
    recording = use(*steps, interval=0.1)
    found = {name for name in recording.calls() if name != "main"}
    assert found == {"entry", "work_inner", "work_outer"} or all(name.startswith("[unknown") for name in found)
    assert sum(n for name, n in recording.calls().items() if name != "main") == 1602


def test_libraries_that_come_and_go_lose_no_call(use: Use) -> None:
    """Closed before they are looked up: twice two libraries in turn, at the same place."""
    turn = ["open", "work.so", "call", "3", "close", "open", "other.so", "call", "2", "close"]
    expected = {"work_inner": 60, "work_outer": 60, "other_inner": 40, "other_outer": 40}
    assert calls_of(use(*turn * 20)) == expected


def test_libraries_by_the_dozen_take_no_descriptor_each(build: Build, record: Record, tmp_path: Path) -> None:
    """Each with a build-id of its own, so that its symbols are kept."""
    library = build("plugin.c", flags="-O2 -shared -fPIC -Wl,--build-id=0x" + "5a" * 20, output="plugin.so")
    content = library.read_bytes()
    paths = [tmp_path / f"plugin-{number}.so" for number in range(60)]
    for number, path in enumerate(paths):
        path.write_bytes(content.replace(b"Z" * 20, b"%020d" % number))
    recording = record([build("dozens.c"), *paths], interval=LONG)
    most = recording.outcome.values()
    assert recording.outcome.stderr == ""
    assert most["after"] <= most["half"]
    assert len(list((recording.directory / "symbols").glob("*.elf"))) == 1 + len(paths)


def test_unreadable_maps_are_reported_once_at_most(build: Build, record: Record) -> None:
    """On a busy machine, the thread that looks may come when there are descriptors again."""
    library = build("plugin.c", flags="-O2 -shared -fPIC", output="plugin.so")
    recording = record([build("dozens.c"), "limit", library, library], interval=LONG)
    lines = recording.outcome.stderr.splitlines()
    assert len(lines) <= 1
    assert all("ulimit -n" in line for line in lines)
    assert recording.calls()["main"] == 1


def test_maps_that_stay_unreadable_are_reported_at_the_end(build: Build, record: Record) -> None:
    """By a thread that has its stderr: the one that looks could not get it."""
    library = build("plugin.c", flags="-O2 -shared -fPIC", output="plugin.so")
    recording = record([build("dozens.c"), "end", library], interval=LONG)
    # On a busy machine there is none for the recording either, which is another line.
    assert recording.outcome.stderr.count("cannot read /proc/thread-self/maps (see ulimit -n)") == 1


def test_no_descriptor_at_the_start(build: Build, record: Record) -> None:
    """On one processor, the thread that opens the recording first runs when there are none."""
    recording = record(["taskset", "-c", "0", build("late_descriptors.c")], interval=LONG)
    assert recording.outcome.status == 0
    assert recording.calls()["main"] == 1


def test_namespaces_of_their_own(use: Use) -> None:
    """Their time is at the right function; a namespace has a libc of its own, whose hook counts nothing."""
    recording = use("new", "work.so", "call", "400", "new", "work.so", "call", "300")
    assert "work.so:work_inner" in seconds_of(recording)
    assert calls_of(recording) == {}
