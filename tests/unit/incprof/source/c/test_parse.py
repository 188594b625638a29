"""Functions and loops of C and C++, in spite of macros, conditionals and errors around them."""

from __future__ import annotations

import pytest

from incprof.source.c.parse import parse_c
from incprof.source.model import SourceFile


def c(text: str, *blank: str) -> SourceFile:
    return parse_c("x.c", text.encode(), cpp=False, blank=blank)


def cpp(text: str) -> SourceFile:
    return parse_c("x.cpp", text.encode(), cpp=True)


def refusals(file: SourceFile) -> dict[str, str | None]:
    return {function.name: function.refusal for function in file.functions}


def loop_refusals(file: SourceFile) -> list[str | None]:
    return [loop.refusal for function in file.functions for loop in function.loops]


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("static NOINLINE uint64_t f(int a)", "f"),
        ("SQLITE_PRIVATE int f(void)", "f"),
        ("MEM_STATIC size_t f(const BYTE *p)", "f"),
        ("FORCE_INLINE_TEMPLATE\nsize_t\nf(U32 a)", "f"),
        ("STATIC ATTR(noinline) unsigned long long f(void)", "f"),
        ('DEPRECATED("use g") int f(int a)', "f"),
        ("API const BYTE *CALL f(UNUSED int a, const char *RESTRICT b, FN (*c)(int))", "f"),
        ("JNIEXPORT jint JNICALL Java_f(JNIEnv *env)", "Java_f"),
        ("int f(int a) PURE", "f"),
        ("int f(int a) PURE(a) COLD", "f"),
        ("__attribute__((noinline)) static int f(int a)", "f"),
        ("API void (*f(int a))(void)", "f"),
        ("static struct pair f(struct pair *p)", "f"),
        ("int f(a, b) int a; char *b;", "f"),
        ("API int f(a) TYPE a;", "f"),
        ("DECLARE_THING(a, b)\nstatic int f(void)", "f"),
    ],
)
def test_headers_of_functions(head: str, name: str) -> None:
    file = c(f"int before;\n{head}\n{{\n    while (1) {{ }}\n}}\nint g(void) {{ return 0; }}\n")
    assert refusals(file) == {name: None, "g": None}
    assert [len(function.loops) for function in file.functions] == [1, 0]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("namespace a { namespace b::c { void f() {} } }", ["a::b::c::f"]),
        ("namespace { void f() {} }", ["(anonymous namespace)::f"]),
        ("struct A { int f() const noexcept { return 1; } A() : x{1}, y(2) {} ~A() {} };", ["A::f", "A::A", "A::~A"]),
        ("class EXPORT A final : public B<int> { void f() override { } };", ["A::f"]),
        ("template <class T> template <int N = (1 > 0)> void A<T>::B<N>::f() {}", ["A::B::f"]),
        ("A &A::operator=(const A &a) {} A::operator bool() const {}", ["A::operator=", "A::operator bool"]),
        ("CONSTANT bool operator==(A a, B b) NOEXCEPT {} ", ["operator=="]),
        ("void *operator new(size_t n) {} int A::operator()(int a) {}", ["operator new", "A::operator()"]),
        ('extern "C" { int f(void) { return 1; } } extern "C" int g() { return 2; }', ["f", "g"]),
        (
            "auto x = [](int a) { return a; }; void f() { g([&] { return [] { }; }); }",
            ["lambda", "f", "f::lambda", "f::lambda::lambda"],
        ),
        ("void f() { struct L { void g() {} }; }", ["f", "f::L::g"]),
        ("int f(A a = {}, B b = B{1}) { return 1; } void g() {}", ["f", "g"]),
        ("struct A { A() = default; A(int) = delete; virtual void f() = 0; void g() {}; };", ["A::g"]),
        ("auto f() -> std::vector<int> { return {}; }", ["f"]),
        ("A::A() try : x(1) { f(); } catch (...) { }", ["A::A"]),
        ("BEGIN_NAMESPACE namespace a { void f() {} } END_NAMESPACE", ["a::f"]),
    ],
)
def test_names_in_cpp(text: str, names: list[str]) -> None:
    file = cpp(text)
    assert [function.name for function in file.functions] == names
    assert all(function.refusal is None for function in file.functions)


@pytest.mark.parametrize(
    "text",
    [
        "int f(void) { FOREACH(x, y) { g(); } return 1; }",
        "int f(void) { if (a { } }",
        "int f(void) { REGISTER int a; return (a; }",
        "int f(void) { ITERATE_BEGIN(a) x(); ITERATE_END return 1 }",
        "int f(void) { int a = \n#ifdef X\n 1 +\n#else\n 2 *\n#endif\n 3; return a; }",
        "int f(void) { if (a) {\n#ifdef X\n } else {\n#endif\n } return 1; }",
        "int f(void) { char q = '{'; /* { */ puts(\"{\"); // {\n return 1; }",
    ],
)
def test_an_error_in_one_function_leaves_the_others_alone(text: str) -> None:
    file = c(f"int e(void) {{ for (;;) {{ }} }}\n{text}\nint g(void) {{ for (;;) {{ }} }}\n")
    assert refusals(file) == {"e": None, "f": None, "g": None}
    assert [len(function.loops) for function in file.functions][::2] == [1, 1]


def test_every_branch_of_a_conditional_that_holds_whole_functions() -> None:
    file = c("#if A\nint f(void) { return 1; }\n#elif B\nint f(void) { return 2; }\n#else\nint g(void) { }\n#endif\n")
    assert [(function.name, function.line) for function in file.functions] == [("f", 2), ("f", 4), ("g", 6)]
    assert c("#if 0\nwhat's this {{{ (\n#endif\nint f(void) { }\n").functions[0].refusal is None
    assert [f.name for f in c('#ifdef __cplusplus\nextern "C" {\n#endif\nint f(void) { }\n').functions] == ["f"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("#if A\nint f(int a)\n#else\nint f(void)\n#endif\n{ }", "#if splits"),
        ("#if A\nint f(int a) {\n#else\nint f(void) {\n#endif\n}", "#if splits"),
        ("int f(void) {\n#if A\n}\n#else\n return 1; }\n#endif\n", "#if splits"),
        ('#line 3 "x.y"\nint f(void) { }', "generated"),
        ('# 3 "x.y" 2\nint f(void) { }', "generated"),
        ("__attribute__((naked)) int f(void) { }", "naked"),
        ("static __declspec(naked) int f(void) { }", "naked"),
        ("__global__ void f(void) { }", "device"),
        ('int (*f(void))(void) { } int g(void) __attribute__((ifunc("f")));', "loader"),
        ("int f(void) { __attribute__((musttail)) return g(); }", "tail call"),
    ],
)
def test_functions_in_which_no_beat_can_be(text: str, reason: str) -> None:
    (refusal,) = (function.refusal for function in c(text).functions if function.name == "f")
    assert refusal is not None
    assert reason in refusal


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("constexpr int f(int a) { return a; }", "constexpr"),
        ("MY_CONSTEXPR int f(int a) { return a; }", "constexpr"),
        ("consteval int f(int a) { return a; }", "constexpr"),
        ("task f() { co_await g(); }", "coroutine"),
        ("generator f() { for (;;) co_yield 1; }", "coroutine"),
    ],
)
def test_functions_in_cpp_in_which_no_beat_can_be(text: str, reason: str) -> None:
    (function,) = cpp(text).functions
    assert function.refusal is not None
    assert reason in function.refusal
    assert all(loop.refusal for loop in function.loops)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("switch (n) { case 0: do { n--; case 1: n--; } while (n); }", "case"),
        ("switch (n) { case 0: while (n) { default: n--; } }", "case"),
        ("goto in; while (n) { in: n--; }", "goto"),
        ("while (n) { in: n--; } if (n) goto in;", "goto"),
        ("void *p = &&in; goto *p; while (n) { in: n--; }", "computed"),
        ("while (n) { goto *p; } out: ;", "computed"),
        ('while (n) { asm goto ("" : : : : out); } out: ;', "computed"),
        ("\n#pragma omp for collapse(2)\nfor (;;) { for (;;) { } }", "OpenMP"),
        ("\n#pragma omp target teams distribute\nfor (;;) { }", "device"),
        ("\n#pragma acc parallel loop\nfor (;;) { }", "device"),
        ("for (;;)\n#pragma omp parallel\n{ }", "directive"),
        ("for (;;)\n#ifdef X\n g();\n#else\n h();\n#endif\n", "directive"),
        ("\n#ifdef X\nfor (;;)\n#else\nwhile (1)\n#endif\n{ g(); }", None),
        ("for (;;) MACRO(n);", "macro"),
        ("for (;;) swap(n);", "macro"),
        ("for (;;) { cleanup: n--; }", "macro"),
        ("while (n) MACRO { n--; }", None),
    ],
)
def test_loops_in_which_no_beat_can_be(body: str, reason: str | None) -> None:
    file = c(f"#define swap(a) t = a; a = t\nvoid f(int n)\n{{ {body} }}\n")
    found = [loop.refusal for function in file.functions for loop in function.loops]
    if reason is None:
        assert all(found)
    else:
        assert found[0] is not None
        assert reason in found[0]


@pytest.mark.parametrize(
    "body",
    [
        "while (n) { switch (n) { case 1: break; default: continue; } }",
        "while (n) { goto in; in: n--; }",
        "while (n) { if (n) goto out; } out: ;",
        "while (n) switch (n) { case 1: continue; }",
        "for (;;) if (n) g(); else if (n > 1) h(); else break;",
        "for (;;) for (;;) while (n) n--;",
        "do g(); while (n--);",
        "for (;;) g(n);",
        "for (;;) plain(n);",
        "for (;;) ;",
        "\n#pragma omp parallel for\nfor (;;) { g(); }",
        "while (n) /* why */ {\n#ifdef X\n g();\n#endif\n }",
    ],
)
def test_loops_in_which_a_beat_can_be(body: str) -> None:
    file = c(f"#define plain(a) do {{ a; a; }} while (0)\nvoid f(int n)\n{{ {body} }}\n")
    assert loop_refusals(file)
    assert set(loop_refusals(file)) == {None}


def test_pragmas_that_take_loops_as_one_leave_the_innermost() -> None:
    loops = (
        c("void f(void) {\n#pragma omp for collapse(2)\nfor (;;) { for (;;) { for (;;) { } } } }").functions[0].loops
    )
    assert [loop.refusal is None for loop in loops] == [False, True, True]


def test_characters_and_numbers_with_apostrophes() -> None:
    values = "1'000 + 0xa'b + '\\'' + L'}' + u8'{'"
    text = f"int f(int a) {{ switch (a) {{ case'{{': return {values}; }} return '\"'; }}\nint g() {{ return 1; }}\n"
    assert refusals(cpp(text)) == {"f": None, "g": None}


def test_attributes_of_loops() -> None:
    loop = "    for (int i = 0; i < n; i++) {\n        while (n)\n            n--;\n    }\n"
    text = f"int f(int n)\n{{\n{loop}    do g(); while (n);\n}}\n"
    loops = c(text).functions[0].loops
    assert [(loop.line, loop.last_line, loop.parent, loop.busy) for loop in loops] == [
        (3, 6, None, True),
        (4, 5, 0, False),
        (7, 7, None, True),
    ]


def test_loops_of_a_lambda_are_its_own() -> None:
    outer, inner = cpp("void f() { for (;;) { g([] { while (1) { } }); } }").functions
    assert (len(outer.loops), len(inner.loops)) == (1, 1)
    assert inner.loops[0].parent is None


def test_named_macros_are_not_seen() -> None:
    text = "int f(void) { while (1) OMP(critical) { g(); } }"
    assert loop_refusals(c(text)) != [None]
    assert loop_refusals(c(text, "OMP")) == [None]


def test_offsets_are_those_of_the_file() -> None:
    text = "\ufeff/* ü */ static NOINLINE int f(void)\r\n{\r\n\tfor (;;) { }\r\n}\r\n"
    file = c(text)
    (function,) = file.functions
    assert file.data == text.encode()
    body = function.node.child_by_field_name("body")
    assert body is not None
    assert file.data[body.start_byte : body.end_byte].decode() == text[text.index("{") : -2]
    assert file.data[function.loops[0].node.start_byte :].startswith(b"for (;;)")


def test_main() -> None:
    assert [f.is_main for f in c("int main(int argc, char **argv) { }\nint mainly(void) { }").functions] == [
        True,
        False,
    ]
    assert [f.is_main for f in cpp("namespace a { int main() { } } int main() try { } catch (...) { }").functions] == [
        False,
        True,
    ]


@pytest.mark.parametrize(
    "text", ["{", "(", "f(){", "for(;;)", "A(x) ", "int f(a) int a;", "#if A\n", "template<", '"', "a::", "X {"]
)
@pytest.mark.parametrize("is_cpp", [False, True])
def test_hostile_text_is_read_in_time(text: str, is_cpp: bool) -> None:
    for wrapped in (text * 3000, f"int f(void) {{ {text * 3000}", f"{text * 3000}\nint f(void) {{ }}\n"):
        parse_c("x", wrapped.encode(), cpp=is_cpp)
