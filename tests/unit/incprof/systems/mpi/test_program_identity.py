"""What a signature remembers of the program, and what of another run differs from that."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from incprof.systems.mpi.process_events import differences, files_of, program_of
from incprof.systems.mpi.trace_types import Program, Site, TraceMetadata

WORDS = st.lists(st.text(max_size=8), max_size=4)
START_NS = 10**18


def metadata(cwd: Path, *arguments: object, start_unix_ns: int = START_NS) -> TraceMetadata:
    raw = {"argv": ["app", *arguments], "cwd": str(cwd)}
    return TraceMetadata("app", 0, 2, 7, "node", "MPI", start_unix_ns, raw=raw)


def written(path: Path, text: str, at_ns: int) -> str:
    path.write_text(text)
    os.utime(path, ns=(at_ns, at_ns))
    return path.name


def lines(known: Program, here: Program) -> list[str]:
    return [what for what, _ in differences(known, here)]


@given(WORDS, WORDS)
def test_arguments_are_the_same_or_they_differ(some: list[str], others: list[str]) -> None:
    found = lines(Program(tuple(some), {}, {}), Program(tuple(others), {}, {}))
    assert found == ([] if some == others else ["arguments"])


def test_a_file_is_identified_by_its_content_and_not_by_its_path(tmp_path: Path) -> None:
    for folder, text in (("a", "same"), ("b", "same"), ("c", "other")):
        (tmp_path / folder).mkdir()
        written(tmp_path / folder / "in", text, START_NS - 1)
    a, b, c = (program_of(metadata(tmp_path, "-i", f"{folder}/in", f"--file={folder}/in"), []) for folder in "abc")
    assert sorted(a.files) == [1, 2]
    assert lines(a, b) == []
    assert lines(a, c) == ["arguments"]


def test_a_file_that_has_changed_is_another_input(tmp_path: Path) -> None:
    written(tmp_path / "in", "before", START_NS - 1)
    known = program_of(metadata(tmp_path, "in"), [])
    written(tmp_path / "in", "behind", START_NS - 1)
    assert lines(known, program_of(metadata(tmp_path, "in"), [])) == ["input"]
    (tmp_path / "in").unlink()
    assert lines(known, program_of(metadata(tmp_path, "in"), [])) == ["input"]


def test_what_the_program_writes_is_no_input(tmp_path: Path) -> None:
    written(tmp_path / "out", "result", START_NS + 1)
    known = program_of(metadata(tmp_path, "out"), [])
    assert known.files == {}
    written(tmp_path / "out", "another result", START_NS + 1)
    assert lines(known, program_of(metadata(tmp_path, "out"), [])) == []


def test_directories_pipes_and_names_that_no_file_has_are_no_input(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert files_of(["pipe", ".", "", "=", "a\0b", "\udcff", "none"], str(tmp_path), START_NS) == {}


def test_builds_are_compared_where_both_are_known() -> None:
    sites = [Site("/bin/app", "aa" * 20, 1), Site("/lib/libapp.so", "bb" * 20, 1), Site("/lib/other.so", None, 1), None]
    known = program_of(metadata(Path("/")), sites)
    assert known.modules == {"app": "aa" * 20, "libapp.so": "bb" * 20}
    assert lines(known, Program((), {}, {"app": "aa" * 20})) == []
    assert lines(known, Program((), {}, {"app": "cc" * 20, "other.so": "dd" * 20})) == ["binary"]


def test_metadata_of_a_strange_shape_is_no_program(tmp_path: Path) -> None:
    for raw in ({}, {"argv": 3}, {"argv": [], "cwd": 1}, {"argv": [None, {}, 2], "cwd": str(tmp_path)}):
        strange = TraceMetadata("app", 0, 2, 7, "node", "MPI", START_NS, raw=raw)
        assert all(isinstance(word, str) for word in program_of(strange, []).arguments)
