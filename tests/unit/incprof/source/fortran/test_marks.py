"""What goes into a Fortran file comes out again, byte for byte, and nothing else does."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.source.fortran.insert import fortran_insertions
from incprof.source.fortran.marks import strip_fortran
from incprof.source.fortran.procedures import parse_fortran
from incprof.source.model import Announcement, Beat, insert
from tests.integration.fortran_programs import program

# Statements and parts of them, joined at random: most of it is no program.
PARTS = [
    "subroutine s(a, n)", "end subroutine", "end", "program p", "contains", "function f(x)", "module m", "entry e",
    "integer :: i", "use other", "real a(3)", "f(x) = x", "do i = 1, 3", "do 10 i = 1, 3", "end do", "10 continue",
    "do", "if (a > 1) return", "if (a) cycle", "if (a) then", "else", "end if", "return", "20 return", "exit", "cycle",
    "goto 10", "if (b) goto 20", "x = 'it''s ! &'", "stop", "call s(a)", "#ifdef A", "#else", "#endif", "!$omp do",
    "!$ use omp_lib", "! a comment", "block", "end block", "select case (n)", "case (1)", "end select", "10 end do",
    "interface", "end interface", "99 end", 'print *, "a ; b"', "pure subroutine q", "name: do", "exit name",
]  # fmt: skip
JOINS = [
    "\n",
    "\n",
    "\n",
    "\n  ",
    "\n\t",
    "; ",
    " ;",
    " & \n ",
    "&\n&",
    "\r\n",
    "\n\n! c\n",
    " ! c\n",
    "\n     & ",
    "\n      ",
]


def instrumented(data: bytes, *, fixed: bool) -> bytes:
    """With a heartbeat wherever one can go."""
    file = parse_fortran("any", data, fixed=fixed)
    beats: list[Beat] = []
    for at, function in enumerate(file.functions):
        places = [(None, function.refusal), *((loop, each.refusal) for loop, each in enumerate(function.loops))]
        beats += [Beat(len(beats) + 1, at, loop) for loop, refusal in places if refusal is None]
    mains = [function for function in file.functions if function.is_main]
    announce = [Announcement(1, "it's", 2)] if mains and mains[0].refusal is None else []
    return insert(data, fortran_insertions(file, beats, announce))


@st.composite
def sources(draw: st.DrawFn) -> bytes:
    parts = draw(st.lists(st.tuples(st.sampled_from(PARTS), st.sampled_from(JOINS)), max_size=40))
    text = "".join(part + join for part, join in parts)
    if draw(st.booleans()):
        text = "subroutine s\n" + text + draw(st.sampled_from(["end", "end\n", "\nend subroutine\n"]))
    return text.encode()


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(sources(), st.booleans())
def test_what_goes_in_comes_out(data: bytes, fixed: bool) -> None:
    clean = strip_fortran(data, fixed=fixed)
    assert clean == data
    text = instrumented(clean, fixed=fixed)
    assert strip_fortran(text, fixed=fixed) == clean
    assert instrumented(strip_fortran(text, fixed=fixed), fixed=fixed) == text


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.integers(-4, 6))
def test_also_after_lines_were_indented(seed: int, fixed: bool, shift: int) -> None:
    data = program(random.Random(seed), fixed=fixed).encode()
    text = instrumented(data, fixed=fixed)
    assert text != data
    lines = []
    for line in text.splitlines(keepends=True):
        own = line.lstrip()
        ours = re.fullmatch(rb"(?:then|end if|use appekg|call ekg_)[^;]*! incprof\s*", own)
        indent = len(line) - len(own)
        # Fixed form starts in column 7, and continued lines have their mark in column 6.
        least = 6 if fixed else 0
        lines.append(b" " * max(indent + shift, least) + own if ours and indent >= least else line)
    assert strip_fortran(b"".join(lines), fixed=fixed) == data


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300), st.booleans())
def test_any_bytes(data: bytes, fixed: bool) -> None:
    if b"incprof" not in data:
        assert strip_fortran(data, fixed=fixed) == data
    assert strip_fortran(instrumented(data, fixed=fixed), fixed=fixed) == strip_fortran(data, fixed=fixed)


@pytest.mark.parametrize(
    "line",
    [
        b"! call ekg_begin(1_4) ! incprof",
        b"  x = 1 ! call ekg_begin(1_4) ! incprof",
        b"call ekg_begin(1) ! incprof",
        b"call ekg_begin(1_4) ! mine",
        b"call work() ! incprof",
        b"print *, 'then ! incprof'",
        b"if (x) then ! see incprof",
    ],
)
def test_what_only_looks_like_ours_stays(line: bytes) -> None:
    data = b"program p\n" + line + b"\nend\n"
    assert strip_fortran(data, fixed=False) == data


def test_comments_of_fixed_form_stay() -> None:
    data = b"C     call ekg_begin(1_4) ! incprof\n      end\n"
    assert strip_fortran(data, fixed=True) == data


def test_every_line_of_ours_has_the_mark() -> None:
    data = program(random.Random(1), fixed=False).encode()
    added = len(instrumented(data, fixed=False).splitlines()) - len(data.splitlines())
    assert len(re.findall(rb"! incprof$", instrumented(data, fixed=False), re.M)) == added
