"""Programs in C and C++ with scope guards compile as before, do the same, and have each beat as often as they count."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import appekg
from appekg._flags import compile_flags, link_flags
from incprof.source.c.inserted_text import strip_c
from incprof.source.c.parse import parse_c
from incprof.source.c.scope import scope_insertions
from incprof.source.model import Announcement, Beat, SourceFile, insert
from tests.integration.appekg_use import environment, installation, run
from tests.paths import INTEGRATION

FIXTURES = INTEGRATION / "instrument_fixtures"
WARNINGS = "-Wall -Wextra -Wshadow -Wdeclaration-after-statement".split()
OF_MAIN = 99
HIT = re.compile(rb"\bhit\((\d+)\)")

Change = Callable[[bytes], bytes]
CHANGES: dict[str, Change] = {
    "as it is": lambda data: data,
    "crlf": lambda data: data.replace(b"\n", b"\r\n"),
    "tabs": lambda data: re.sub(rb"(?m)^ +", lambda blanks: b"\t" * (len(blanks[0]) // 4), data),
    "bom": lambda data: b"\xef\xbb\xbf" + data.rstrip(b"\n").replace(b"no statement", "kein Schlüssel".encode()),
}
C = {"gnu89": ("gcc", "-std=gnu89"), "gnu17": ("gcc", "-std=gnu17", "-O2"), "clang": ("clang", "-std=gnu11")}
CPP = {"c++17": ("g++", "-std=c++17"), "c++20": ("g++", "-std=c++20", "-O2"), "clang": ("clang++", "-std=c++17")}


def counted_places(file: SourceFile) -> list[Beat]:
    """The functions and loops that say hit(n) in what they do first, under that number; and main."""
    loops = [
        (loop.node.start_byte, loop.node.end_byte, i, j)
        for i, function in enumerate(file.functions)
        for j, loop in enumerate(function.loops)
    ]
    bodies = [(f.node.start_byte, f.node.end_byte, i, None) for i, f in enumerate(file.functions)]
    found = [Beat(OF_MAIN, i) for i, function in enumerate(file.functions) if function.is_main]
    for match in HIT.finditer(file.data):
        around = [place for place in [*loops, *bodies] if place[0] <= match.start() < place[1]]
        _, _, i, j = max(around, default=(0, 0, -1, None))
        body = file.functions[i].loops[j].body if j is not None else None
        if i >= 0 and (body is None or body.start_byte <= match.start() < body.end_byte):
            found.append(Beat(int(match[1]), i, j))
    return found


def refusal(file: SourceFile, beat: Beat) -> str | None:
    function = file.functions[beat.function]
    return function.refusal if beat.loop is None else function.loops[beat.loop].refusal


def compiled(source: Path, words: tuple[str, ...]) -> tuple[Path, Counter[str]]:
    """The program, and how often the compiler warned of what."""
    program, found = source.with_suffix(""), installation()
    warnings = [word for word in WARNINGS if "++" not in words[0] or "declaration" not in word]
    said = run(*words, *warnings, source, "-o", program, *compile_flags(found), *link_flags(found))
    return program, Counter(re.findall(r"\[-W[^\]]*\]", said))


def outcome(program: Path, place: Path, **variables: object) -> tuple[int, str]:
    said = run("sh", "-c", f"{program}; echo status $?", cwd=place, env=environment(**variables))
    return int(said.rsplit("status ", 1)[1]), said


def with_beats(data: bytes, *, cpp: bool) -> tuple[bytes, list[Beat]]:
    file = parse_c("program", data, cpp=cpp)
    beats = [beat for beat in counted_places(file) if refusal(file, beat) is None]
    made = insert(data, scope_insertions(file, beats, [Announcement(beat.id, f"n {beat.id}") for beat in beats]))
    assert strip_c(made) == data
    return made, beats


def check(name: str, words: tuple[str, ...], change: Change, place: Path) -> None:
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    data = change((FIXTURES / name).read_bytes())
    made, beats = with_beats(data, cpp=name.endswith("cpp"))
    before, after = place / f"before{Path(name).suffix}", place / f"after{Path(name).suffix}"
    before.write_bytes(data)
    after.write_bytes(made)
    old, warned = compiled(before, words)
    new, warned_then = compiled(after, words)
    assert not warned_then - warned
    status, said = outcome(old, place)
    assert outcome(new, place, EKG_DIR=place / "ekg") == (status, said)

    printed = {int(number): int(count) for number, count in re.findall(r"(?m)^(\d+) (\d+)$", said)}
    wanted = {beat.id: printed.get(beat.id, 0) for beat in beats} | {OF_MAIN: 1}
    assert sum(wanted.values()) > 1000
    found = appekg.read(place / "ekg")
    (process,) = found.processes
    assert process.clean
    assert process.intervals["unmatched"].sum() == process.intervals["dropped"].sum() == 0
    assert found.rows[found.rows["interval"] == found.rows["interval"].max()]["open"].sum() == 0
    counts = {number: int(found.rows[found.rows["id"] == number]["count"].sum()) for number in found.beats}
    assert {number: counts.get(number, 0) for number in wanted} == wanted
    assert {number: beat.name for number, beat in found.beats.items()} == {n: f"n {n}" for n in wanted}


@pytest.mark.parametrize(
    ("how", "change"),
    [
        # Each compiler once, and ends of lines that have two characters; the rest for `make test-slow`.
        pytest.param(
            how, change, marks=[pytest.mark.slow] * (change != "as it is" and (how, change) != ("gnu17", "crlf"))
        )
        for how in C
        for change in CHANGES
    ],
)
def test_c(how: str, change: str, tmp_path: Path) -> None:
    check("ways_out.c", C[how], CHANGES[change], tmp_path)


@pytest.mark.parametrize(
    ("how", "change"),
    [
        ("c++17", "as it is"),
        pytest.param("c++17", "crlf", marks=pytest.mark.slow),
        pytest.param("c++20", "tabs", marks=pytest.mark.slow),
        pytest.param("clang", "bom", marks=pytest.mark.slow),
    ],
)
def test_cpp(how: str, change: str, tmp_path: Path) -> None:
    check("ways_out.cpp", CPP[how], CHANGES[change], tmp_path)


def test_what_is_refused_in_c() -> None:
    file = parse_c("ways_out.c", (FIXTURES / "ways_out.c").read_bytes(), cpp=False)
    refused = {f.name: f.refusal for f in file.functions if f.refusal}
    assert refused == {"split": "#if splits its header or braces"}
    loops = {(f.name, f.loops.index(loop)): loop.refusal for f in file.functions for loop in f.loops if loop.refusal}
    assert loops == {
        ("without_braces", 9): "its body, which has no braces, may be a macro of several statements",
        ("duff", 0): "a case label in it belongs to a switch around it",
        ("into_the_middle", 0): "a goto from outside jumps into it",
        ("computed", 0): "a computed goto may jump into it",
    }


def test_what_is_refused_in_cpp() -> None:
    file = parse_c("ways_out.cpp", (FIXTURES / "ways_out.cpp").read_bytes(), cpp=True)
    assert {f.name for f in file.functions if f.refusal} == {"known"}
    assert not [loop.refusal for f in file.functions for loop in f.loops if loop.refusal]
    names = {f.name for f in file.functions}
    assert names >= {
        "outer::inner::Mesh::Mesh",
        "outer::inner::Mesh::~Mesh",
        "outer::inner::Mesh::operator()",
        "outer::inner::Mesh::operator bool",
        "outer::inner::Mesh::smooth",
        "outer::Mesh::operator++",
        "outer::(anonymous namespace)::Hidden::run",
        "lambdas::lambda",
        "of_c",
        "main",
    }


def test_beats_that_are_open_when_the_program_ends(tmp_path: Path) -> None:
    data = (FIXTURES / "ends_early.c").read_bytes()
    file = parse_c("ends_early.c", data, cpp=False)
    by_name = {function.name: i for i, function in enumerate(file.functions)}
    beats = [Beat(1, by_name["give_up"]), Beat(2, by_name["work"]), Beat(3, by_name["main"], 0)]
    source = tmp_path / "ends.c"
    source.write_bytes(insert(data, scope_insertions(file, beats, [Announcement(1, "x")])))
    program, warned = compiled(source, C["gnu17"])
    assert not warned
    assert outcome(program, tmp_path, EKG_DIR=tmp_path / "ekg")[0] == 9
    found = appekg.read(tmp_path / "ekg")
    last = found.rows[found.rows["interval"] == found.rows["interval"].max()]
    assert {int(row["id"]): (int(row["count"]), int(row["open"])) for row in last} == {1: (0, 1), 2: (6, 1), 3: (6, 1)}
    assert found.processes[0].intervals["unmatched"].sum() == 0
