"""Where guards, the include and the names go, and that all of it comes out again."""

from __future__ import annotations

import re
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.errors import IncprofError
from incprof.source.c.inserted_text import strip_c
from incprof.source.c.parse import parse_c
from incprof.source.c.scope import announcement_calls, scope_insertions
from incprof.source.model import Announcement, Beat, SourceFile, insert


def everywhere(file: SourceFile) -> list[Beat]:
    """A beat wherever one can be, numbered from 1."""
    found: list[Beat] = []
    for i, function in enumerate(file.functions):
        if function.refusal is None:
            found.append(Beat(len(found) + 1, i))
        for j, loop in enumerate(function.loops):
            if loop.refusal is None:
                found.append(Beat(len(found) + 1, i, j))
    return found


def patched(data: bytes, *, cpp: bool = False, announce: tuple[Announcement, ...] = ()) -> bytes:
    file = parse_c("x.c", data, cpp=cpp)
    made = insert(data, scope_insertions(file, everywhere(file), announce))
    assert strip_c(made) == data
    assert insert(strip_c(made), scope_insertions(file, everywhere(file), announce)) == made
    return made


def shown(text: str, **how: object) -> str:
    """The patched text; `1;` for a guard, and `i` for the include, to be read at a glance."""
    made = patched(textwrap.dedent(text).encode(), **how).decode()  # type: ignore[arg-type]
    made = made.replace("#include <appekg.h> /* incprof */", "i").replace(" /* incprof */", "")
    return re.sub(r"EKG_SCOPE\((\d+)\);", r"\1;", made)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("int f()\n{\n\treturn;\n}\n", "i\nint f()\n{\n\t1;\n\treturn;\n}\n"),
        ("int f() {\n  return;\n}\n", "i\nint f() {\n  1;\n  return;\n}\n"),
        ("int f() { return; }\n", "i\nint f() { 1; return; }\n"),
        ("int f() {return;}\n", "i\nint f() {1; return;}\n"),
        ("int f() {}\n", "i\nint f() {1; }\n"),
        ("int f() {\n}\n", "i\nint f() {\n    1;\n}\n"),
        ("int f() { // note\n  g;\n}\n", "i\nint f() { // note\n  1;\n  g;\n}\n"),
        ("int f() { // note \\\n more\n  g;\n}\n", "i\nint f() { 1; // note \\\n more\n  g;\n}\n"),
        ("int f() { /* one */\n  g;\n}\n", "i\nint f() { /* one */\n  1;\n  g;\n}\n"),
        ("int f() { /* one\n two */  g;\n}\n", "i\nint f() { 1; /* one\n two */  g;\n}\n"),
        ("int f() { \\\n  g;\n}\n", "i\nint f() { 1; \\\n  g;\n}\n"),
        ("int f() {\n#ifdef X\n  g;\n#endif\n}\n", "i\nint f() {\n    1;\n#ifdef X\n  g;\n#endif\n}\n"),
        ("int f() {\n\n  g;\n}\n", "i\nint f() {\n  1;\n\n  g;\n}\n"),
    ],
)
def test_behind_a_brace(text: str, made: str) -> None:
    assert shown(text) == made
    assert shown(text.replace("\n", "\r\n")) == made.replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("loop", "made"),
    [
        ("for (;;) g;", "for (;;) { 2; g; }"),
        ("for (;;) if (a) g; else h; i;", "for (;;) { 2; if (a) g; else h; } i;"),
        ("if (a) while (b) g; else h;", "if (a) while (b) { 2; g; } else h;"),
        ("do g; while (a);", "do { 2; g; } while (a);"),
        ("for (;;) while (a) g;", "for (;;) { 2; while (a) { 3; g; } }"),
        ("for (;;)\n    g;\n  h;", "for (;;)\n  {\n    2;\n    g;\n  }\n  h;"),
        ("for (;;)\n    g; // note\n  h;", "for (;;)\n  {\n    2;\n    g; // note\n  }\n  h;"),
        ("for (;;)\n    g; // \\\n  note\n  h;", "for (;;)\n    { 2; g; } // \\\n  note\n  h;"),
        ("for (;;) // why\n    g; h;", "for (;;) // why\n    { 2; g; } h;"),
        (
            "for (;;)\n    while (a)\n      g;\n  h;",
            "for (;;)\n  {\n    2;\n    while (a)\n    {\n      3;\n      g;\n    }\n  }\n  h;",
        ),
        ("do\n    g;\n  while (a);", "do\n  {\n    2;\n    g;\n  }\n  while (a);"),
    ],
)
def test_loops_without_braces_get_some(loop: str, made: str) -> None:
    assert shown(f"int f() {{\n  {loop}\n}}\n") == f"i\nint f() {{\n  1;\n  {made}\n}}\n"


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("#include <a.h>\n#include <b.h>\nint f() { }\n", "#include <a.h>\n#include <b.h>\ni\nint f() { 1; }\n"),
        ("#define _GNU_SOURCE\n/* f */\nint f() { }\n", "#define _GNU_SOURCE\n/* f */\ni\nint f() { 1; }\n"),
        ("#include <a.h>\nint f() { }\n#include <b.h>\n", "#include <a.h>\ni\nint f() { 1; }\n#include <b.h>\n"),
        (
            "#include <a.h>\n#ifdef X\n#include <b.h>\n#endif\nint f() { }\n",
            "#include <a.h>\ni\n#ifdef X\n#include <b.h>\n#endif\nint f() { 1; }\n",
        ),
        (
            "#ifndef G\n#define G\n#include <a.h>\nint f() { }\n#endif\n",
            "#ifndef G\n#define G\n#include <a.h>\ni\nint f() { 1; }\n#endif\n",
        ),
        (
            "#ifndef G\n#define G\nstruct s { int a; };\nint f() { }\n#endif\n",
            "#ifndef G\n#define G\nstruct s { int a; };\ni\nint f() { 1; }\n#endif\n",
        ),
        (
            "#if A\n#include <a.h>\nint f() { }\n#else\nint f() { }\n#endif\n",
            "i\n#if A\n#include <a.h>\nint f() { 1; }\n#else\nint f() { 2; }\n#endif\n",
        ),
        ("int a; int f() { }\n", "i\nint a; int f() { 1; }\n"),
        ("int a; /* two\nlines */ int f() { }\n", "i\nint a; /* two\nlines */ int f() { 1; }\n"),
        ("static\nint f()\n{ }\n", "i\nstatic\nint f()\n{ 1; }\n"),
        ("#define X a \\\n  b\nint f() { }\n", "#define X a \\\n  b\ni\nint f() { 1; }\n"),
        ('int a =\n#include "one.inc"\n;\nint f() { }\n', 'int a =\n#include "one.inc"\n;\ni\nint f() { 1; }\n'),
        ("\ufeffint f() { }\n", "\ufeffi\nint f() { 1; }\n"),
        ("int e() {\n#include <x.inc>\n}\n", "i\nint e() {\n    1;\n#include <x.inc>\n}\n"),
    ],
)
def test_where_the_include_goes(text: str, made: str) -> None:
    assert shown(text) == made


@pytest.mark.parametrize(
    ("text", "made"),
    [
        (
            'extern "C" {\n#include <a.h>\nint f() { }\n}\n',
            'i\nextern "C" {\n#include <a.h>\nint f() { 1; }\n}\n',
        ),
        (
            "#pragma once\nnamespace a {\ntemplate <class T>\nstruct B { int f() { } };\n}\n",
            "#pragma once\ni\nnamespace a {\ntemplate <class T>\nstruct B { int f() { 1; } };\n}\n",
        ),
        ("A::A() : b{1} { }\n", "i\nA::A() : b{1} { 1; }\n"),
        ("int f() try { g; } catch (...) { h; }\n", "i\nint f() try { 1; g; } catch (...) { h; }\n"),
        ("auto l = [] { g; };\n", "i\nauto l = [] { 1; g; };\n"),
        ("void f() { for (auto &x : y) g; }\n", "i\nvoid f() { 1; for (auto &x : y) { 2; g; } }\n"),
    ],
)
def test_cpp(text: str, made: str) -> None:
    assert shown(text, cpp=True) == made


NAMED = (Announcement(1, "f:body"), Announcement(2, "g:loop", 100))


def test_main_in_c_names_them_behind_its_declarations() -> None:
    text = """\
        int main(void)
        {
            int a;
        #ifdef X
            int b;
        #endif
            /* now */
            a = 1;
            return a;
        }
        """
    assert shown(text, announce=NAMED).splitlines()[1:] == [
        "int main(void)",
        "{",
        "    1;",
        "    int a;",
        "#ifdef X",
        "    int b;",
        "#endif",
        "    /* now */",
        "    ekg_init(NULL);",
        '    ekg_name(1, "f:body");',
        '    ekg_name(2, "g:loop");',
        "    ekg_rate(2, 100);",
        "    a = 1;",
        "    return a;",
        "}",
    ]


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("int main(void) { int a = 1; return a; }\n", ["SCOPE", "int a", "init", "return"]),
        ("int main(void)\n{\n  return 1;\n}\n", ["SCOPE", "init", "return"]),
        ("int main(void) { }\n", ["SCOPE", "init"]),
        ("int main(void) {\n  int a;\n#ifdef X\n  g();\n#endif\n}\n", ["SCOPE", "int a", "init", "#ifdef"]),
        ("int main(argc, argv)\n  int argc;\n  char **argv;\n{\n  g();\n}\n", ["char", "SCOPE", "init", "g()"]),
        (
            "#if A\nint main(void) {\n#else\nint wmain(void) {\n#endif\n  g();\n}\n",
            ["constructor", "ekg_name", "int main"],
        ),
    ],
)
def test_where_main_in_c_names_them(text: str, order: list[str]) -> None:
    made = patched(text.encode(), announce=NAMED).decode()
    places = [made.find(word) for word in order]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.parametrize("text", ["", "int a;\n", "int f(void) { }\n"])
def test_a_file_without_main_names_them_before_main(text: str) -> None:
    made = patched(text.encode(), announce=NAMED).decode()
    assert made.find("#include") < made.find("constructor") < made.find('ekg_name(2, "g:loop");')


def test_main_in_cpp_names_them_first() -> None:
    made = shown("int main() try {\n  int a;\n} catch (...) { }\n", cpp=True, announce=NAMED)
    assert made.splitlines()[2:5] == ["  ekg_init(NULL);", '  ekg_name(1, "f:body");', '  ekg_name(2, "g:loop");']
    assert made.splitlines()[6:8] == ["  1;", "  int a;"]


@pytest.mark.parametrize(
    ("name", "quoted"),
    [
        ("f:body", b'"f:body"'),
        ('operator"" _x', b'"operator\\"\\" _x"'),
        ("a\\b", b'"a\\\\b"'),
        ("what??/", b'"what?\\?/"'),
        ("ä\n", b'"\\303\\244\\012"'),
        ("\udcff", b'"\\377"'),
    ],
)
def test_names_are_quoted(name: str, quoted: bytes) -> None:
    assert announcement_calls([Announcement(7, name)]) == [b"ekg_init(NULL);", b"ekg_name(7, %b);" % quoted]


def test_impossible_places_are_one_line() -> None:
    split = parse_c("x.c", b"#if A\nint f(int a)\n#else\nint f()\n#endif\n{ }\n", cpp=False)
    with pytest.raises(IncprofError, match=r"x\.c:2: f: no beat can go here: #if splits"):
        scope_insertions(split, [Beat(1, 0)])
    ours = b'int f() {\n  puts("\n  EKG_SCOPE(1); /* incprof */\n  ");\n}\n'
    assert scope_insertions(parse_c("x.c", b"int f() { }", cpp=False), []) == []
    with pytest.raises(IncprofError, match="looks like"):
        scope_insertions(parse_c("x.c", ours, cpp=False), [Beat(1, 0)])


PIECES = st.sampled_from(
    [
        *[
            "{",
            "}",
            "(",
            ")",
            ";",
            '"',
            "'",
            "/*",
            "*/",
            "//",
            "\\\n",
            "\n",
            "\r\n",
            " ",
            "\t",
            "=",
            "::",
            "~",
            "\x00\xff",
        ],
        *[
            "#if X\n",
            "#else\n",
            "#endif\n",
            "#include <a.h>\n",
            "#define X {\n",
            "\n#pragma omp for\n",
            'R"(',
            "<",
            ">",
        ],
        *[
            "int f(int a) {\n",
            "int g(a) int a; {",
            "}\n",
            "for (;;) ",
            "while (a) {",
            "do ",
            " while (a);",
            "x();",
            "x: ",
        ],
        *[
            "goto x;",
            "switch (a) {",
            "case 1:",
            "if (a) ",
            "else ",
            "return;",
            "try {",
            "catch (...) {",
            "[&] {",
            "class A {",
        ],
        *[
            "namespace a {",
            "template <class T> ",
            "operator()",
            "MACRO ",
            "MACRO(a) ",
            "static ",
            "int main(void) {\n  int a;\n",
        ],
        *["/* incprof */", "EKG_SCOPE(1); /* incprof */ ", "\n  EKG_SCOPE(1); /* incprof */\n", "{ /* incprof */ "],
    ]
)


@settings(max_examples=400, deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join), st.booleans(), st.booleans())
def test_what_goes_into_any_text_comes_out_again(text: str, cpp: bool, bom: bool) -> None:
    data = (b"\xef\xbb\xbf" if bom else b"") + text.encode("latin-1")
    while (less := strip_c(data)) != data:  # what is left of nonsense may look like ours
        data = less
    file = parse_c("x", data, cpp=cpp)
    beats = everywhere(file)
    has_main = any(function.is_main for function in file.functions)
    try:
        made = insert(data, scope_insertions(file, beats, NAMED if has_main else ()))
    except IncprofError as error:
        if "looks like generated heartbeats" in str(error):
            return
        raise
    assert strip_c(made) == data
    assert made.count(b"EKG_SCOPE(") - data.count(b"EKG_SCOPE(") == len(beats)
