"""Which function of a source file the name in a binary means."""

import pytest

from incprof.errors import NoDataError
from incprof.source.c.parse import parse_c
from incprof.source.model import SourceFile, agree, find_function, functions_named


@pytest.mark.parametrize(
    ("recorded", "written", "language"),
    [
        ("Mesh<Quadratic>::sweep()", "Mesh::sweep", "c++"),
        ("Mesh<int>::Mesh(int)", "Mesh::Mesh", "c++"),
        ("Foo::operator()(int)", "Foo::operator ()", "c++"),
        ("main::{lambda(int)#2}::operator()(int) const", "main::lambda", "c++"),
        ("operator()", "f::lambda", "c++"),
        ("Foo::operator std::string() const", "Foo::operator string", "c++"),
        ("insert_key.constprop.0", "insert_key", "c"),
        (".omp_outlined._debug__", "anything", "c"),
        ("heat::jacobi_step", "Heat::JACOBI_STEP", "fortran"),
        ("heat::jacobi_step", "heat::jacobi_step", "fortran"),
        ("inner.0", "outer::inner", "fixed"),
    ],
)
def test_names_that_agree(recorded, written, language):
    assert agree(recorded, written, language)


@pytest.mark.parametrize(
    ("recorded", "written", "language"),
    [("foo", "Foo", "c"), ("foo", "food", "c"), ("A::f(int)", "A::g", "c++"), ("MAIN__", "heat", "fortran")],
)
def test_names_that_do_not(recorded, written, language):
    assert not agree(recorded, written, language)


@pytest.mark.parametrize("recorded", ["MAIN__", "main", "_QQmain", "MAIN__._omp_fn.0"])
def test_a_program_goes_by_several_names(recorded):
    assert agree(recorded, "heat", "fortran", is_main=True)


@pytest.mark.parametrize(
    "recorded",
    ["app::smooth(int)::{lambda(int)#1}::operator()(int) const", "app::(anonymous namespace)::tidy() [clone .isra.0]"],
)
def test_what_encloses_a_function_is_compared_as_far_as_it_has_a_name(recorded):
    text = b"""
    namespace app { void smooth(int n) { auto one = [](int i) { use(i); }; one(n); } namespace { void tidy() {} } }
    namespace other { void smooth(int n) { auto one = [](int i) { use(i); }; one(n); } void tidy() {} }
    """
    file = parse_c("a.cpp", text, cpp=True)
    assert [file.functions[i].line for i in functions_named(file, recorded)] == [2]


def test_a_main_program_that_was_inlined_has_its_own_name():
    assert agree("halo", "Halo", "fortran", is_main=True)
    assert not agree("relax", "halo", "fortran", is_main=True)


@pytest.mark.parametrize("kind", ["<listcomp>", "<genexpr>"])
@pytest.mark.parametrize("moved", [False, True])
def test_a_comprehension_is_refused_as_what_it_is(kind: str, moved: bool) -> None:
    """It is a function to older versions of Python, and none in the file."""
    file = SourceFile("app.py", "python", b"", ())
    with pytest.raises(NoDataError, match="a comprehension has no statements"):
        find_function(file, 3, f"app.py:load.{kind}", moved=moved)
