"""Begin and end calls put into C: the texts of it, and what is refused. That they balance, compilers and runs say."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.errors import IncprofError
from incprof.source.c.exits import leaving_macros, macros_of
from incprof.source.c.inserted_text import strip_c
from incprof.source.c.paired_calls import call_insertions, calls_refusal
from incprof.source.c.parse import parse_c
from incprof.source.model import Announcement, Beat, insert

MARK = re.compile(r"/\* incprof: \*/|/\* :incprof \*/")


def with_calls(source: str, *beats: Beat, announce: tuple[Announcement, ...] = ()) -> str:
    """The source with heartbeats, without marks and the include."""
    data = source.encode()
    file = parse_c("x.c", data, cpp=False)
    for beat in beats:
        assert calls_refusal(file, beat) is None
    made = insert(data, call_insertions(file, beats, announce))
    assert strip_c(made) == data
    lines = [line for line in MARK.sub("", made.decode()).splitlines() if "#include <appekg.h>" not in line]
    return "\n".join(lines)


def refused(source: str, loop: int | None = None, macros: Mapping[bytes, bytes] | None = None) -> str | None:
    file = parse_c("x.c", textwrap.dedent(source).encode(), cpp=False)
    position = next(at for at, function in enumerate(file.functions) if function.name == "f")
    return calls_refusal(file, Beat(1, position, loop), macros or {})


@pytest.mark.parametrize(
    ("source", "made"),
    [
        ("void f(void) { g(); }", "void f(void) { ekg_begin(1); { g(); } ekg_end(1); }"),
        ("void f(void) {}", "void f(void) { ekg_begin(1); {} ekg_end(1); }"),
        (
            "int f(int a) { if (a) return a + 1; return(0); }",
            "int f(int a) { int ekg_result_; ekg_begin(1); { if (a) "
            "return (ekg_result_ = (a + 1), ekg_end(1), ekg_result_); "
            "return(ekg_result_ = ((0)), ekg_end(1), ekg_result_); } }",
        ),
        (
            "void f(int a) { if (a) return; else g(); }",
            "void f(int a) { ekg_begin(1); { if (a) { ekg_end(1); return; } else g(); } ekg_end(1); }",
        ),
        ("void f(void) { return g(); }", "void f(void) { ekg_begin(1); { return ((g()), ekg_end(1)); } }"),
    ],
)
def test_a_body(source: str, made: str) -> None:
    assert re.sub(r"\s+", " ", with_calls(source, Beat(1, 0))) == made


@pytest.mark.parametrize(
    ("body", "made"),
    [
        ("while (a) g();", "while (a) { ekg_begin(1); { g(); } ekg_end(1); }"),
        ("do { g(); } while (a);", "do { ekg_begin(1); { g(); } ekg_end(1); } while (a);"),
        ("while (a) break;", "while (a) { ekg_begin(1); { { ekg_end(1); break; } } }"),
        ("for (;;) if (a) continue; else break;", None),
        ("while (a) switch (a) { case 1: break; default: continue; }", None),
        ("while (a) { goto in; in: g(); }", "while (a) { ekg_begin(1); { goto in; in: g(); } ekg_end(1); }"),
        ("while (a) { goto out; } out: ;", "while (a) { ekg_begin(1); { { ekg_end(1); goto out; } } } out: ;"),
    ],
)
def test_a_loop(body: str, made: str | None) -> None:
    found = re.sub(r"\s+", " ", with_calls(f"void f(int a) {{ {body} }}", Beat(1, 0, 0)))
    expected = {
        "for": "for (;;) { ekg_begin(1); { if (a) { ekg_end(1); continue; } else { ekg_end(1); break; } } "
        "ekg_end(1); }",
        "while": "while (a) { ekg_begin(1); { switch (a) { case 1: break; default: { ekg_end(1); continue; } } } "
        "ekg_end(1); }",
    }
    assert found == f"void f(int a) {{ {made or expected[body.split()[0]]} }}"


def test_only_what_is_left_ends() -> None:
    source = "int f(int a) { while (a) for (;;) { if (a) break; if (!a) return 1; } return 0; }"
    found = with_calls(source, Beat(1, 0), Beat(2, 0, 0), Beat(3, 0, 1))
    assert "{ ekg_end(3); break; }" in found
    assert "(1), ekg_end(3), ekg_end(2), ekg_end(1), ekg_result_)" in found
    assert "(0), ekg_end(1), ekg_result_)" in found


@pytest.mark.parametrize(
    ("head", "variable"),
    [
        ("static inline unsigned long int f(void)", "unsigned long int ekg_result_;"),
        ("const char *const *f(void)", "const char *const *ekg_result_;"),
        ("const char *const f(void)", "const char *ekg_result_;"),
        ("const struct s f(void)", "struct s ekg_result_;"),
        ("struct s { int x; } *f(void)", "struct s *ekg_result_;"),
        ("int (*f(int a))(char *)", "int (*ekg_result_) (char *);"),
        ("__attribute__((noinline)) enum e /* why */ (f)(void)", "enum e ekg_result_;"),
        ("int f(a, b) int a; char b;", "int ekg_result_;"),
    ],
)
def test_the_variable_for_what_is_returned(head: str, variable: str) -> None:
    assert variable in with_calls(head + "\n{ return 0; }", Beat(1, 0))


def test_main_announces_first_and_lines_keep_their_numbers() -> None:
    source = "int x;\nint main(void)\n{\n    return x;\n}\n"
    made = with_calls(source, Beat(7, 0), announce=(Announcement(7, "main:body", 3),))
    calls = re.findall(r"ekg_\w+\([^()]*\)", made)
    assert calls[:4] == ["ekg_init(NULL)", 'ekg_name(7, "main:body")', "ekg_rate(7, 3)", "ekg_begin(7)"]
    assert len(made.splitlines()) == len(source.splitlines())


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("#define OUT(x) if (x) return 1\nint f(int a) { OUT(a); return 0; }", "the macro OUT in line 2 may leave it"),
        (
            "#define A return\n#define B(x) A x\nint f(int a) { if (a) B(1); return 0; }",
            "the macro B in line 3 may leave it",
        ),
        ("int f(int a) { CHECK_IT(a); return 0; }", "CHECK_IT in line 1 may be a macro of another file"),
        ('int f(int a) {\n#include "rest.inc"\n return 0; }', "line 2 includes a file"),
        ("struct { int a; } f(void) { return x; }", "a type without a name"),
        ("#define SEMI\nint f(int a) { if (a) { return a SEMI; } return 0 }", "cannot be read"),
    ],
)
def test_a_body_that_is_refused(source: str, reason: str) -> None:
    assert reason in str(refused(source))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("if (a) goto in; while (a) { in: g(); }", "the goto in line 2 jumps into it"),
        ("switch (a) { case 0: while (a) { case 1: g(); } }", "the case in line 2 jumps into it"),
        ("void *p = &&l; while (a) { goto *p; } l: ;", "computed"),
        ("jmp_buf b; setjmp(b); while (a) { g(); }", "setjmp"),
        ("while (a) { while (({ if (a) break; 1; })) g(); }", "unclear"),
        ("while (a) { goto nowhere; }", "not visible"),
        ("while (a) { for (;;)\n#ifdef A\nif (a) g();\n#else\nif (a) break;\n#endif\n}", "splits the loop in line 2"),
    ],
)
def test_a_loop_that_is_refused(body: str, reason: str) -> None:
    source = f"\nvoid f(int a) {{ {body} }}\n"
    assert reason in str(refused(source, 0))


@pytest.mark.parametrize(
    "source",
    [
        "#define LOG(x) printf(x)\nvoid f(int a) { LOG(a); }",
        'void f(int a) { /* return */ g("return"); /* goto x; */ }',
        "void f(int a) { int return_code = 1, no_break = 'b'; g(return_code); }",
        "#include <setjmp.h>\nvoid f(int a) { if (setjmp(b)) return; g(); }",
        "void f(void) { void g(int x) { return; } g(1); }",
    ],
)
def test_what_only_looks_like_an_exit(source: str) -> None:
    assert refused(source) is None


def test_macros_of_other_files() -> None:
    source = "int f(int a) { CHECK_IT(a); return 0; }"
    harmless, leaving = b"#define CHECK_IT(x) \\\n   log(x)\n", b"# define CHECK_IT(x) \\\r\n if (x) return 1\n"
    assert refused(source, macros=macros_of(harmless)) is None
    assert "may leave it" in str(refused(source, macros=macros_of(leaving)))


def test_macros_that_leave() -> None:
    text = b"#define A B\n#define B C(1)\n#define C(x) do { goto x; } while (0)\n#define D E\n#define E D\n"
    assert leaving_macros(macros_of(text)) == {b"A", b"B", b"C"}


words = st.sampled_from(
    "if (a) { } return return; return a; break; continue; goto l; l: while (a) for (;;) do ; else switch case 1: "
    "default: #if #else #endif \n \n /* */ // \" ' M(a) int x; ( ) , f(int a) void".split(" ")
)


@settings(max_examples=300, deadline=None)
@given(tokens=st.lists(words, max_size=40))
def test_whatever_is_not_refused_can_be_taken_out_again(tokens: list[str]) -> None:
    data = ("int f(int a) { " + " ".join(tokens) + " }\nint g(void) { return 1; }\n").encode()
    file = parse_c("x.c", data, cpp=False)
    beats = []
    for position, function in enumerate(file.functions):
        for loop in [None, *range(len(function.loops))]:
            own = function.refusal if loop is None else function.loops[loop].refusal
            beat = Beat(len(beats), position, loop)
            if own is None and calls_refusal(file, beat) is None:
                beats.append(beat)
    try:
        made = call_insertions(file, beats)
    except IncprofError:  # the last guard: only quotes that do not end get so far
        assert {"'", '"'} & set(tokens)
        return
    assert strip_c(insert(data, made)) == data


def test_nesting_and_length_have_no_limit() -> None:
    deep = "int f(int a) { " + "if (a) { while (a) { " * 1000 + "return a; " + "} } " * 1000 + "return 1; }"
    wide = "int f(int a) { " + "while (a) { if (a) break; } " * 1000 + "return 1; }"
    for source in (deep, wide):
        made = with_calls(source, Beat(1, 0))
        assert made.count("ekg_end(1)") == (2 if source is deep else 1)
