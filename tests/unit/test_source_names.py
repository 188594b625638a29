import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.source.names import agree, last_name, without_arguments

RECORDED = {
    "double project<L2, Mesh<Quadratic> >(Mesh<Quadratic> const&)": ("project", "project"),
    "Mesh<Quadratic>::sweep()": ("sweep", "Mesh::sweep"),
    "main::{lambda(int)#1}::operator()(int) const": ("lambda", "main::lambda::operator()"),
    "main::'lambda'(int)::operator()(int) const": ("lambda", "main::lambda::operator()"),
    "std::ostream& operator<< <char>(std::ostream&, X)": ("operator<<", "operator<<"),
    "Foo::operator()(int)": ("operator()", "Foo::operator()"),
    "Foo::operator->()": ("operator->", "Foo::operator->"),
    "bool operator><int>(A<int>, A<int>)": ("operator>", "operator>"),
    "Foo::operator double() const": ("operator type", "Foo::operator type"),
    "foo(int) [clone .isra.0]": ("foo", "foo"),
    "foo(int) [clone .isra.0] [clone .cold]": ("foo", "foo"),
    "(anonymous namespace)::f(int)": ("f", "(anonymous namespace)::f"),
    "f[abi:cxx11](int)": ("f", "f"),
    "std::function<void (int)>::call(int) const": ("call", "std::function::call"),
    "decltype (x.y()) f<int>(int)": ("f", "f"),
    "foo(int)::Local::method()": ("method", "foo::Local::method"),
    "X::~X()": ("~X", "X::~X"),
    "Foo<(Bar)1>::baz(int)": ("baz", "Foo::baz"),
    "foo.part.0": ("foo", "foo"),
    "main._omp_fn.0": ("main", "main"),
    "heat::jacobi_step": ("jacobi_step", "heat::jacobi_step"),
    "plain": ("plain", "plain"),
}


@pytest.mark.parametrize("name", RECORDED)
def test_parts_of_names(name):
    assert (last_name(name), without_arguments(name)) == RECORDED[name]


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
        ("_QMheatPjacobi_step", "heat::jacobi_step", "fortran"),
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


@given(st.text(alphabet="aZ_:<>(){}[]' .,&*~-+=0operatlmbd", max_size=60))
def test_any_text_has_a_name(text):
    assert isinstance(last_name(text), str)
    assert isinstance(without_arguments(text), str)


@pytest.mark.parametrize("char", ["<", "(", ">", "::", "operator", "{", " "])
def test_hostile_names_take_no_time(char):
    assert isinstance(last_name(char * 1_000_000), str)
