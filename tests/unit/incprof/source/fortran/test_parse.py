"""What Fortran's statements are, which blocks and procedures they make, and why some take no heartbeat."""

from __future__ import annotations

import pytest

from incprof.source.fortran.insert import fortran_insertions
from incprof.source.fortran.procedures import parse_fortran
from incprof.source.fortran.statements import statements_of, word_of
from incprof.source.languages import language_of
from incprof.source.model import Beat, SourceFile, insert


def free(text: str) -> SourceFile:
    return parse_fortran("any.f90", text.encode(), fixed=False)


def fixed(text: str) -> SourceFile:
    return parse_fortran("any.f", text.encode(), fixed=True)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("do i=1,5", "do"),
        ("do i=1", "unknown"),
        ("do=1", "assignment"),
        ("dog(1)%tail=>null()", "assignment"),
        ("outer:do i=1,5", "do"),
        ("do while(x)", "do"),
        ("do concurrent(i=1:3)", "concurrent"),
        ("if=3", "assignment"),
        ("if(i)=3", "assignment"),
        ("if(i==3)then", "then"),
        ("if(i)return", "if"),
        ("if(a)10,20,30", "arithmetic"),
        ("if(a)macro(x)", "unknown"),
        ("end", "end"),
        ("end=5", "assignment"),
        ("enddo", "end do"),
        ("endfile 10", "io"),
        ("return_value=3", "assignment"),
        ("return", "return"),
        ("return 2", "return"),
        ("real(8)function f(x)result(y)", "function"),
        ("real::function", "spec"),
        ("integer functions(3)", "spec"),
        ("module procedure two", "procedure"),
        ("module subroutine three()", "subroutine"),
        ("type(t)pure function g()", "function"),
        ("type(t)::g", "spec"),
        ("type t", "types"),
        ("type is(integer)", "else"),
        ("where(m)", "block"),
        ("where(m(1))a(2)=b(2)", "exec"),
        ("data=1", "assignment"),
        ("data a/1/", "neutral"),
        ("goto(10,20),i", "computed"),
        ("goto i", "assigned"),
        ("CHECK(x)".lower(), "unknown"),
        ("error stop", "exec"),
        ("stop 1", "stop"),
    ],
)
def test_statements_of_free_form(text: str, kind: str) -> None:
    assert word_of(text, fixed=False).kind == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("do10i=1,5", "do"),
        ("do 10 i=1.5", "assignment"),
        ("goto10", "goto"),
        ("callfoo(x)", "call"),
        ("if(x)goto10", "if"),
        ("return1", "return"),
        ("endsubroutinefoo", "end unit"),
    ],
)
def test_blanks_do_not_count_in_fixed_form(text: str, kind: str) -> None:
    assert word_of(text, fixed=True).kind == kind


def test_where_statements_stand() -> None:
    text = "10 a = 'it''s; ! &\n  & more'; if (b(')')) & ! c\n! c\n  return ! d\n"
    first, second = statements_of(text, fixed=False)
    assert (first.text, first.label, text[first.start : first.end]) == ("a=''''", "10", "a = 'it''s; ! &\n  & more'")
    assert (second.text, text[second.action : second.end], second.line) == ("if(b(''))return", "return", 2)
    assert second.row.last_line == 4


def test_fixed_form_has_columns() -> None:
    text = f"C comment\n{'   10 IF (A)':72}RETURN\n     1   GO\n\t1 TO 10\n"
    (found,) = statements_of(text, fixed=True)
    assert (found.text, found.label, text[found.action : found.action + 2]) == ("if(a)go to 10", "10", "GO")


NAMES = """
module heat
contains
  subroutine step
  contains
    integer function inner()
    end function
  end subroutine
end module
submodule (heat:base) more
contains
  module procedure smooth
  end procedure
  subroutine own
  end
end submodule
program p
contains
  subroutine local
  end
end
"""


def test_names_include_the_enclosing_scope() -> None:
    names = [function.name for function in free(NAMES).functions]
    assert names == [
        "heat::step",
        "heat::step::inner",
        "heat::smooth",
        "heat::more::own",
        "p",
        "p::local",
    ]
    assert [function.name for function in free("print *, 1\nend\n").functions] == ["main"]


def test_loops_know_their_lines_and_parents() -> None:
    text = "subroutine s\ndo i=1,3\nif (a) then\ndo 10 j=1,3\ndo 10 k=1,3\nx=1\n10 continue\nend if\nend do\nend\n"
    (function,) = free(text).functions
    assert [(loop.line, loop.last_line, loop.parent) for loop in function.loops] == [(2, 9, None), (4, 7, 0), (5, 7, 1)]
    assert [loop.busy for loop in function.loops] == [True, True, False]
    assert [loop.node.start_point[0] + 1 for loop in function.loops] == [2, 4, 5]
    assert [loop.node.type for loop in function.loops[:2]] == ["do_loop"] * 2
    assert (function.line, function.last_line, function.node.type) == (1, 10, "subroutine")


@pytest.mark.parametrize(
    ("body", "busy"),
    [
        ("a(i) = b(i)", False),
        ("a(i) = f(i)", True),
        ("a(i) = g(i)", True),
        ("a(:,i) = 0", True),
        ("a(i) = sum(b)", True),
        ("call s", True),
        ("if (i > 1) call s", True),
        ("if (i > 1) a(i) = 3", False),
        ("write(*,*) i", True),
    ],
)
def test_busy_loops(body: str, busy: bool) -> None:
    text = f"subroutine s\nexternal f\ndo i=1,3\n{body}\nend do\nend\nfunction g(x)\nend\n"
    assert free(text).functions[0].loops[0].busy is busy


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("pure subroutine s\nend\n", "pure"),
        ("elemental integer function s(x)\nend\n", "elemental"),
        ("impure elemental subroutine s(x)\nend\n", None),
        ("subroutine s\nCHECK(x)\nend\n", "an unknown statement, line 2"),
        ("subroutine s\nx = (1\nend\n", "a parenthesis is not closed, line 2"),
        ("subroutine s\nx = 'a\nend\n", "a string does not end, line 2"),
        ("subroutine s\nif (a) then\nend\n", "the block of line 2 has no end"),
        ("subroutine s\nend if\nend\n", "line 2 ends a block that is not open"),
        ("subroutine s\ninteger ekg_begin\nend\n", "line 2 uses the name"),
        ("subroutine s\nuse appekg\nend\n", "line 2 uses the name"),
        ("subroutine s\nprint *, 'ekg_begin'\nend\n", None),
        ("subroutine s\nx = 1\nif (a) goto 10\n10 entry e\nend\n", "control reaches the ENTRY of line 4 from above"),
        ("subroutine s\nx = 1\nreturn\nentry e\nend\n", None),
        ("# 1 \"s.F90\"\nsubroutine s\nend\n", "the file was written by a preprocessor"),
        ("subroutine s\n!$ return\nend\n", "a statement for OpenMP compilers alone, line 2"),
        ("subroutine s\n!$ if (a) return\nend\n", "a statement for OpenMP compilers alone, line 2"),
        ("subroutine s\n!$ do i=1,3\nx = 1\n!$ end do\nend\n", "a statement for OpenMP compilers alone, line 2"),
        ("subroutine s\n!$ if (a) then\nx = 1\n!$ else\nx = 2\n!$ end if\nend\n", None),
        ("subroutine s\n!$ if (a) then\nx = 1\nend\n", "a statement for OpenMP compilers alone, line 2"),
        ("subroutine s\n!$ else\nx = 1\nend\n", "a statement for OpenMP compilers alone, line 2"),
        ("subroutine s\n!$ n: if (a) then\n!$ end if n\nend\n", "a statement for OpenMP compilers alone, line 2"),
        ("subroutine s\n!$ end subroutine\nend\n", "line 2 is for OpenMP compilers alone"),
        ("subroutine s\n!$acc routine seq\nend\n", "it runs on a device"),
        ("attributes(global) subroutine s\nend\n", "it runs on a device"),
        ("subroutine s\nx = 1\ninteger i\nend\n", "a declaration after the first executable statement, line 3"),
    ],
)  # fmt: skip
def test_bodies_that_take_no_heartbeat(text: str, reason: str | None) -> None:
    refusal = free(text).functions[0].refusal
    assert refusal is None if reason is None else (refusal or "").startswith(reason)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("do concurrent (i=1:3)\nend do", "DO CONCURRENT"),
        ("do i=1,3\ngoto k\nend do", "the GO TO of line 3 has its label in a variable"),
        ("do i=1,3\ngoto 77\nend do", "line 3 leads to a label that is not there"),
        ("do i=1,3\ngoto (10,20), k\n10 continue\nend do\n20 continue", "line 3 may lead out of the loop"),
        ("do i=1,3\ngoto (10,20), k\n10 continue\n20 continue\nend do", None),
        ("do i=1,3\nread(5,*,end=10) x\nend do\n10 continue", "line 3 may lead out of the loop"),
        ("do i=1,3\nif (x) 10,10,20\n10 continue\n20 continue\nend do", None),
        ("do i=1,3\nif (x) 10,10,10\nend do\n10 continue", None),
        ("do 10 i=1,3\nx=1\n10 if (x > 1) goto 20\n20 continue", None),
        ("do 10 i=1,3\nx=1\n10 if (x > 1) exit", None),
        ("!$omp simd\ndo i=1,3\nend do", "the directive above line 3 allows no calls"),
        ("!$omp target\n!$omp parallel do\ndo i=1,3\nend do\n!$omp end target", "it runs on a device"),
        ("!$omp parallel do\ndo i=1,3\nend do", None),
    ],
)
def test_loops_that_take_no_heartbeat(text: str, reason: str | None) -> None:
    loop = free(f"subroutine s\n{text}\nend\n").functions[0].loops[0]
    assert loop.refusal is None if reason is None else (loop.refusal or "").startswith(reason)


def test_a_return_on_the_last_line_of_a_labelled_loop() -> None:
    """The body needs a block for it, which cannot be the last statement of the loop; the loop has ended already."""
    (function,) = free("subroutine s\ndo 10 i=1,3\nx=1\n10 if (x > 1) return\nend\n").functions
    assert function.refusal == "the loop's last statement, line 4, is an IF that leads out of it"
    assert function.loops[0].refusal is None


def test_free_form_in_a_file_for_fixed_form() -> None:
    (function,) = fixed("      subroutine s\n  do i = 1, 3\n      x = 1\n  end do\n      end\n").functions
    assert function.refusal == "it is not in fixed form, as the file's name says"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("program w\n  implicit none\n  call step(1, &\n    2)\nend program\n", "fortran"),
        ("! a comment\nmodule m\ncontains\nsubroutine s()\nend subroutine\nend module\n", "fortran"),
        ("      program w\n      call step(1,\n     &2)\n   10 continue\n      end\n", "fixed"),
        ("C     A comment\nc     another\n*\n      subroutine s\n\tx = 1\nd     y = 2\n      end\n", "fixed"),
        ("#ifdef A\nc call here\n      call x\n#else\n  200 format(1x)\n#endif\n      end\n", "fixed"),
        ("      program w\n      end\n", "fixed"), ("", "fixed"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["a.F", "a.f", "a.for", "a.FTN"])
def test_the_form_of_a_file_is_that_of_its_text(name: str, text: str, language: str) -> None:
    assert language_of(name, text.encode()) == language


def test_no_room_before_column_72() -> None:
    (function,) = fixed("      SUBROUTINE S\n   10" + " " * 50 + "RETURN\n      END\n").functions
    assert function.refusal == "no room before column 72, line 2"


@pytest.mark.parametrize(
    "text",
    [
        "subroutine s\n" + "do\n" * 5000 + "end do\n" * 5000 + "end\n",
        "subroutine s\n" + "if (a) return; " * 5000 + "\nend\n",
        "subroutine s\ncontains\n" * 5000 + "end\n" * 5000,
        "subroutine s\nx = " + "(" * 12500 + ")" * 12500 + "\nend\n",
        "subroutine s\nx = " + "1 + &\n" * 5000 + "1\nend\n",
        "subroutine s\n" + "#if A\n" * 5000 + "#endif\n" * 5000 + "end\n",
        "'" * 25000,
        "&\n" * 12500,
    ],
)
def test_large_and_strange_files(text: str) -> None:
    """No limit of Python's is met, and nothing takes so long that it would show here."""
    free(text)
    fixed(text)


@pytest.mark.parametrize(
    ("head", "first", "before"),
    [
        ("", "f(x) = x", "y"),  # a statement function, for all that can be known
        ("real a(3)", "a(i) = x", "a"),
        ("real, dimension(3) :: b, a", "a(i) = x", "a"),
        ("real f", "a(1) = x", "a"),
        ("real f", "a(x) = x", "y"),
        ("implicit none\nreal f, x", "f(x) = x", "y"),
        ("implicit none\nreal(8) real, x", "real(x) = x", "y"),
        ("implicit none\nreal(8), save :: real, x", "real(x) = x", "y"),
        ("implicit none\ncharacter*(*) real(3)", "real(x) = x", "r"),
        ("implicit none\nreal x", "a(x) = x", "a"),  # of a module
        ("implicit none\ninclude 'any'\nreal x", "a(x) = x", "y"),
        ('implicit none\n#include "any"\nreal x', "a(x) = x", "y"),
    ],
)
def test_statement_functions_stand_above_the_heartbeat(head: str, first: str, before: str) -> None:
    data = f"subroutine s\n{head}\n{first}\ny = 1\nend\n".encode()
    file = parse_fortran("any.f90", data, fixed=False)
    lines = insert(data, fortran_insertions(file, [Beat(1, 0)])).decode().splitlines()
    assert lines[lines.index("call ekg_begin(1_4) ! incprof") + 1].startswith(before)


def test_a_line_for_openmp_keeps_heartbeats_out_of_what_holds_it_only() -> None:
    (function,) = free(
        "subroutine s\n!$ if (n < 0) return\ndo i=1,3\nx = i\nend do\ndo i=1,3\n!$ cycle\nend do\n"
        "do i=1,3\n!$ if (i > 2) then\nx = 1\n!$ end if\nend do\nend\n"
    ).functions
    said = "a statement for OpenMP compilers alone, line "
    assert (function.refusal or "").startswith(f"{said}2")
    assert [loop.refusal for loop in function.loops] == [None, f"{said}7", None]
