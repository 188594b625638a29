"""Heartbeats in Fortran: the compiler takes them, the program does the same, and they count what it counts."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest

from incprof.errors import IncprofError
from incprof.source.fortran.insert import fortran_insertions
from incprof.source.fortran.procedures import parse_fortran
from incprof.source.model import Announcement, Beat, insert
from tests.integration.fortran_programs import program
from tests.integration.instrument_fortran import FIXTURES, Toolchain, patched
from tests.integration.instrument_fortran import fortran as fortran
from tests.variants import mostly_slow

# Reasons, numbers left out, by how the line of the place starts.
REFUSED = {
    "ways_out.f90": {
        "pure integer function plain": "pure: such a procedure must not have side effects",
        "40  do 50 i": "it shares its last statement with a loop inside of it",
        "do concurrent": "DO CONCURRENT: its iterations must not have side effects",
        "do value = 1, 3": "line # may lead out of the loop",
    },
    "old_style.f": {
        "DO 50 I": "it shares its last statement with a loop inside of it",
        "SUBROUTINE FALLS": "control reaches the ENTRY of line # from above",
    },
    "conditions.F90": {
        "subroutine header": "a branch of #if holds a part of it",
        "do i = 1, n": "a branch of #if holds a part of it",
        "do i = 1, 2 * n": "a branch of #if holds a part of it",
        "subroutine split": "a line of the preprocessor is inside of its header, line #",
        "subroutine leaves": "a line of the preprocessor is inside of a statement, line #",
        "subroutine inside": "every place between its declarations and its first statement is inside #if",
    },
    "conditions.F": {},
    "directives.f90": {
        "do i = 1, 3": "the directive above line # allows nothing between loops",
        "do i = 1, n": "the directive above line # allows no calls",
    },
    "parts.f90": {},
}


def refusals(name: str, refused: dict[tuple[int, str], str]) -> dict[str, str]:
    """What was refused, as in REFUSED."""
    lines = (FIXTURES / name).read_text().splitlines()
    starts = sorted(REFUSED[name], key=len, reverse=True)
    found = {}
    for (line, _), reason in refused.items():
        text = lines[line - 1].strip()
        found[next((each for each in starts if text.startswith(each)), text)] = re.sub(r"\d+", "#", reason)
    return found


@pytest.mark.parametrize(
    ("name", "flags"),
    mostly_slow(
        4,
        [
            ("ways_out.f90", "-fdefault-integer-8"),
            ("old_style.f", "-std=legacy"),
            ("conditions.F90", "-DA"),
            ("conditions.F90", ""),
            ("ways_out.f90", ""),
            ("conditions.F", "-DA"),
            ("conditions.F", ""),
            ("directives.f90", ""),
            ("directives.f90", "-fopenmp"),
            ("parts.f90", ""),
        ],
    ),
)
def test_programs_do_the_same_and_beats_count_what_they_count(fortran: Toolchain, name: str, flags: str) -> None:
    made = fortran.same_but_for_beats(name, (FIXTURES / name).read_bytes(), flags)
    assert refusals(name, made.refused) == REFUSED[name]


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_line_endings_stay(fortran: Toolchain, name: str) -> None:
    data = (FIXTURES / name).read_bytes().replace(b"\n", b"\r\n")
    made = patched(Path(name), data)
    assert made.data.count(b"\n") == made.data.count(b"\r\n")
    assert made.data.replace(b"\r\n", b"\n") == patched(FIXTURES / name).data


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_lines_of_ours_fit(name: str) -> None:
    """Statements of fixed form end before column 73."""
    limit = 72 if name.lower().endswith(".f") else 132
    for line in patched(FIXTURES / name).data.decode().splitlines():
        if line.endswith("! incprof"):
            assert len(line.removesuffix(" ! incprof")) <= limit


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))])
@pytest.mark.parametrize("fixed", [False, True])
def test_generated_programs(fortran: Toolchain, seed: int, fixed: bool) -> None:
    text = program(random.Random(seed), fixed=fixed)
    fortran.same_but_for_beats("made.f" if fixed else "made.f90", text.encode(), "-std=legacy")


NAMES = [
    "heat::jacobi_step:body",
    "it's:loop",
    "a" * 71 + "::" + "b" * 40 + ":body",
    "operator//:body",
    "größe:body",
    "a & b ! c",
    "''" * 30,
    "",
]


@pytest.mark.parametrize("name", ["names.f90", "names.F90", "names.f", "names.F"])
def test_names_come_out_as_they_went_in(fortran: Toolchain, name: str) -> None:
    called = "".join(f"      call s{number}\n" for number in range(len(NAMES)))
    bodies = "".join(f"      subroutine s{number}\n      print *, 1\n      end\n" for number in range(len(NAMES)))
    source = f"      program names\n{called}      end\n{bodies}".encode()
    file = parse_fortran(name, source, fixed=name.lower().endswith(".f"))
    announce = [Announcement(number, each) for number, each in enumerate(NAMES, 1)]
    beats = [Beat(number, number) for number in range(1, len(NAMES) + 1)]
    text = insert(source, fortran_insertions(file, beats, announce))
    assert fortran.build(name, text, "", output="names") == []
    fortran.run("names")
    # The library keeps 119 bytes of a name, and none of an empty one.
    assert fortran.counts() == {each[:119] or str(number): 1 for number, each in enumerate(NAMES, 1)}
    for line in text.splitlines():
        assert len(line.removesuffix(b" ! incprof")) <= 72


def test_rates_are_announced(fortran: Toolchain) -> None:
    source = b"integer i\ndo i = 1, 100\nif (i > 200) exit\nend do\nend\n"
    file = parse_fortran("rates.f90", source, fixed=False)
    announce = [Announcement(7, "main:loop", 10)]
    text = insert(source, fortran_insertions(file, [Beat(7, 0, 0)], announce))
    assert fortran.build("rates.f90", text, "", output="rates") == []
    fortran.run("rates")
    assert fortran.counts() == {"main:loop": 10}


def test_a_traditional_preprocessor_leaves_names_alone(tmp_path: Path) -> None:
    source = b"      program names\n      print *, 1\n      end\n"
    file = parse_fortran("a.F", source, fixed=True)
    text = insert(source, fortran_insertions(file, [], [Announcement(1, each) for each in NAMES]))
    (tmp_path / "a.F").write_bytes(text)
    words = ["cpp", "-traditional-cpp", "-P", "a.F"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=True)
    assert [line for line in done.stdout.splitlines() if line.strip()] == text.splitlines()
    assert done.stderr == b""


def test_where_a_heartbeat_is_refused_nothing_is_made() -> None:
    file = parse_fortran("a.f90", b"pure subroutine s(x)\nreal, intent(in) :: x\nend\n", fixed=False)
    with pytest.raises(IncprofError, match=r"a\.f90:1: s: no beat can go here: pure"):
        fortran_insertions(file, [Beat(1, 0)])
    own = parse_fortran("b.f90", b"program p\nuse appekg\nend\n", fixed=False)
    with pytest.raises(IncprofError, match=r"b\.f90:1: the PROGRAM cannot name heartbeats: line 2 uses"):
        fortran_insertions(own, [], [Announcement(1, "s:body")])
    macro = parse_fortran("c.f90", b"program p\nx = 1\nCHECK(x)\nend\n", fixed=False)
    assert macro.functions[0].refusal
    assert len(fortran_insertions(macro, [], [Announcement(1, "s:body")])) == 2
    with pytest.raises(IncprofError, match="no PROGRAM"):
        fortran_insertions(file, [], [Announcement(1, "s:body")])
