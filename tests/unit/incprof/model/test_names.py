"""Names of functions: what is written in the source, and what compilers and demanglers made of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.model.names import (
    begins_inside,
    is_entry,
    is_python_entry,
    is_python_import,
    parse,
    region_of,
    without_marks,
)

# What a name is in the source: with what encloses it, and alone where that is no more than its last part.
WRITTEN = {
    "plain": "plain",
    "MAIN__": "MAIN__",
    "[libm.so.6]": "[libm.so.6]",
    "heat::jacobi_step": "heat::jacobi_step",
    "double project<L2, Mesh<Quadratic> >(Mesh<Quadratic> const&)": "project",
    "Mesh<Quadratic>::sweep()": "Mesh::sweep",
    "ns::Mesh<std::vector<int>, 3>::solve(int, double (*)(int)) const": "ns::Mesh::solve",
    "std::string& std::take<char>(std::string&)": "std::take",
    "Text::str[abi:cxx11]() &&": "Text::str",
    "main::{lambda(int)#1}::operator()(int) const": "main::lambda",
    "main::'lambda'(int)::operator()(int) const": "main::lambda",
    "Mesh<double>::smooth(int)::{lambda(auto:1&)#1}::operator()<int>(int&) const": "Mesh::smooth::lambda",
    "std::ostream& operator<< <char>(std::ostream&, X)": "operator<<",
    "Foo::operator()(int)": "Foo::operator()",
    "Foo::operator ()": "Foo::operator()",
    "Foo::operator->()": "Foo::operator->",
    "A::operator==(A const&)": "A::operator==",
    "bool operator><int>(A<int>, A<int>)": "operator>",
    "operator new [](unsigned long)": "operator new[]",
    "Foo::operator std::map<int, void (*)()>() const": "Foo::operator type",
    "void (anonymous namespace)::f(int)": "(anonymous namespace)::f",
    "std::function<void (int)>::call(int) const": "std::function::call",
    "decltype (x.y()) f<int>(int)": "f",
    "foo(int)::Local::method()": "foo::Local::method",
    "X::~X()": "X::~X",
    "Foo<(Bar)1>::baz(int)": "Foo::baz",
    "f(int, ...)": "f",
}
# Marks of clones: with a linker, with demanglers, and what is no mark.
MARKED = {
    "foo(int) [clone .isra.0]": ("foo(int)", ".isra.0"),
    "foo(int) const [clone .isra.0] [clone .cold]": ("foo(int) const", ".isra.0.cold"),
    "foo.part.0.constprop.1": ("foo", ".part.0.constprop.1"),
    "heat::step.cold": ("heat::step", ".cold"),
    "main._omp_fn.0": ("main", "._omp_fn.0"),
    "solve.omp_outlined": ("solve", ".omp_outlined"),
    "dot.avx2": ("dot", ".avx2"),
    "inner.4011": ("inner", ".4011"),
    "main.work": ("main.work", ""),
    "main.main.func1": ("main.main.func1", ""),
    "sort.(*IntSlice).Less": ("sort.(*IntSlice).Less", ""),
    "example.org/a.b/c%2ed.Map[...].func1": ("example.org/a.b/c%2ed.Map[...].func1", ""),
    "_ZGVbN2v_log": ("log", ".ZGVbN2v"),
    "_ZGVcM8vl8ua16_foo_bar": ("foo_bar", ".ZGVcM8vl8ua16"),
    "_ZGVbN2v__Z3food": ("_ZGVbN2v__Z3food", ""),
    "_ZGVZN3foo3barEvE1x": ("_ZGVZN3foo3barEvE1x", ""),
    ".omp_outlined..3": (".omp_outlined..3", ""),
    "[libm.so.6]": ("[libm.so.6]", ""),
    "f(int, ...)": ("f(int, ...)", ""),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written(name):
    found = parse(name)
    assert found.written == WRITTEN[name]
    assert found.last == (found.parts or (name,))[-1]


@pytest.mark.parametrize("name", MARKED)
def test_marks_of_clones(name):
    found = parse(name)
    assert (found.text, found.marks) == MARKED[name]
    assert without_marks(name) == found.text


def test_names_of_go_end_the_path_of_their_package():
    assert parse("example.org/a.b/c.(*T).f").parts == ("c.(*T).f",)
    assert parse("slices.Sort[go.shape.[]example.org/a.T]").parts == ("slices.Sort[go.shape.[]example.org/a.T]",)
    assert is_entry("main.main")
    assert not is_entry("main.work")


def test_a_script_of_python_begins_with_its_statements_and_its_main():
    assert all(map(is_python_entry, ("run.py:<module>", "<string>:<module>", "pkg/cli.py:main")))
    assert not any(map(is_python_entry, ("main", "run.py:Solver.main", "run.py:work", "[a]:main")))
    assert is_python_import("importlib:_find_and_load")
    assert not is_python_import("importlib/metadata/__init__.py:version")


def test_words_that_a_person_chose_stay_together():
    assert [parse(name).last for name in ("backward pass", "Minor GC", "D main")] == [
        "backward pass",
        "Minor GC",
        "main",
    ]
    assert [parse(name).last for name in ("void f<int>(int)", "void f<int>", "unsigned int f(int)")] == ["f"] * 3


def test_an_anonymous_namespace_has_no_name():
    assert parse("ns::(anonymous namespace)::run(int)").components == ("ns", "run")


@pytest.mark.parametrize(
    ("name", "bare", "own"),
    [
        ("double ns::A<int>::f<3>(int, g (*)(int)) const", "double ns::A<int>::f<3>", "A<int>::f<3>"),
        ("A::operator()(int)", "A::operator()", "A::operator()"),
        ("(anonymous namespace)::f(x)", "(anonymous namespace)::f", "(anonymous namespace)::f"),
        ("Text::str() const &", "Text::str", "Text::str"),
        ("f(int) [clone .isra.0]", "f", "f"),
        ("odd)", "odd)", "odd)"),
        ("a<b", "a<b", "a<b"),
    ],
)
def test_without_parameters(name, bare, own):
    assert (parse(name).bare, parse(name).own) == (bare, own)


@pytest.mark.parametrize(
    ("name", "function", "inside"),
    [
        ("solve._omp_fn.0", "solve", True),
        ("solve.constprop.0._omp_fn.1", "solve.constprop.0", True),
        ("f(int) [clone ._omp_fn.0]", "f(int)", True),
        ("solve.omp_outlined_debug__", "solve", True),
        (".omp_outlined..3", "", True),
        ("solve.part.0", None, True),
        ("f(int) [clone .cold]", None, True),
        ("solve.isra.0", None, False),
        ("partition", None, False),
    ],
)
def test_regions_and_parts_of_functions(name, function, inside):
    assert (region_of(name), begins_inside(name)) == (function, inside)


@given(st.text(alphabet="aZ_:<>(){}[]' .,&*~-+=0operatlmbd", max_size=60))
def test_any_text_is_taken_for_a_name(text):
    found = parse(text)
    assert all(found.parts)
    assert len(found.parts) == len(found.starts)
    assert found.text.startswith(found.bare)
    assert found.bare.endswith(found.own)


@pytest.mark.parametrize("char", ["<", "(", ">", "::", "operator", "{", " ", ".", "a."])
def test_hostile_names_take_no_time(char):
    assert isinstance(parse(char * 1_000_000).last, str)
