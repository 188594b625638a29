"""How functions and phases are called on a page."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from incprof.model import Function
from incprof.model.names import parse
from incprof.report.words.display_names import Names, clean, phase_names, short, shorten, shorten_beat


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("std::vector<int, std::allocator<int> >::push_back(int&&)", "vector::push_back"),
        ("LAMMPS_NS::PairLJCut::compute(int, int)", "PairLJCut::compute"),
        ("void foo<int>(int)", "foo"),
        ("Verlet::force_clear() [clone .part.0]", "Verlet::force_clear"),
        ("ZSTD_decompress_bmi2.constprop.0.isra.1", "ZSTD_decompress_bmi2"),
        ("solve._omp_fn.0", "solve"),
        ("solve.cold", "solve"),
        ("solve(int) [clone ._omp_fn.0]", "solve"),
        ("std::vector<int> sum<3>(int) const [clone .isra.0] [clone .cold]", "sum"),
        ("dot.avx2", "dot"),
        ("_ZGVbN2v_log", "log"),
        ("ns::A<int>::str() const &", "A::str"),
        ("ns::main::{lambda(int)#1}::operator()(int) const", "main::lambda"),
        ("ns::Key::operator std::vector<int>() const", "Key::operator std::vector<int>"),
        ("operator<<(std::ostream&, X)", "operator<<"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("heat::jacobi_step", "heat::jacobi_step"),
        ("a<b", "a<b"),
        ("<" * 100_000, None),
        ("f(" * 100_000, None),
    ],
)
def test_short_names(name, wanted):
    found = short(name)
    assert found == wanted if wanted is not None else len(found) <= 81


@pytest.mark.parametrize(
    ("name", "room", "wanted"),
    [
        ("mesh_mod::build_mesh:loop", 19, "build_mesh:loop"),
        ("mesh_mod::build_mesh:loop /10", 20, "build_mesh:loop /10"),
        ("ns::Grid<int>::at(int)@120:body", 16, "at@120:body"),
        ("ns::Grid<int>::at(int):body", 40, "ns::Grid<int>::at(int):body"),
        ("read (slow), then write", 40, "read (slow), then write"),
        ("read (slow), then write", 12, "read...rite"),
    ],
)
def test_names_of_heartbeats(name, room, wanted):
    assert shorten_beat(name, room) == wanted


def test_functions_with_one_short_name_are_distinguished():
    wanted = {
        "double ns::project<L1, Mesh<Quadratic> >(Mesh<Quadratic> const&)": "ns::project<L1, Mesh<Quadratic>>",
        "double ns::project<L2, Mesh<Quadratic> >(Mesh<Quadratic> const&)": "ns::project<L2, Mesh<Quadratic>>",
        "float a::Grid<a::b::Cell>::at<3>(int)": "Grid<Cell>::at",
        "float a::Grid<a::b::Node>::at<3>(int)": "Grid<Node>::at",
        "A::init(int)": "A::init(int)",
        "A::init(std::vector<int>&)": "A::init(std::vector<int>&)",
        "solve(int)": "solve",
        "fold": "fold",
        "fold.constprop.0": "fold.constprop.0",
        "sweep(int) const [clone .isra.0]": "sweep",
        "sweep(int) const [clone ._omp_fn.0]": "sweep._omp_fn.0",
        "here::run()": "here::run",
        "there::run()": "there::run",
    }
    names = Names(wanted)
    assert {name: names(name) for name in wanted} == wanted
    assert names("void other<int>(int)") == "other"


def function(name, module="app", address=0, file=None):
    return Function(module, name, name, address, file)


def test_functions_of_one_name_are_distinguished_by_where_they_are():
    files = [function("relax", address=1, file="/a/one.c"), function("relax", address=2, file="/a/two.c")]
    names = Names([*files, "relax"])
    assert [names(f) for f in files] == ["relax (one.c)", "relax (two.c)"]
    modules = [function("relax", "libone.so"), function("relax", "libtwo.so")]
    assert [*map(Names(modules), modules)] == ["relax [libone.so]", "relax [libtwo.so]"]
    alike = [function("relax", address=1), function("relax", address=2)]
    assert [*map(Names(alike), alike)] == ["relax #1", "relax #2"]
    # Where a function was located does not make it another.
    assert Names([function("relax"), function("relax", file="one.c")])(function("relax")) == "relax"


IDENTIFIERS = st.sampled_from(["f", "relax", "sweep_over_the_interior", "operator()", "~Mesh"])
TYPES = st.sampled_from(["", "<int>", "<ns::Quad, std::vector<int> >", "<(anonymous namespace)::Cell, 3>"])
MARKS = st.sampled_from(["", " [clone .isra.0]", " [clone ._omp_fn.0]", " [clone .constprop.0] [clone .cold]"])


@st.composite
def spelled(draw):
    returns = draw(st.sampled_from(["", "double ", "std::vector<double, std::allocator<double> > "]))
    scope = draw(st.sampled_from(["", "ns::", "(anonymous namespace)::", "physics::hydro::"]))
    owner = draw(st.sampled_from(["", "Mesh", "Solver_with_a_long_name"]))
    owner = owner and owner + draw(TYPES) + "::"
    given_to = draw(st.sampled_from(["()", "(int, double (*)(int))", "(ns::Mesh<int> const&) const"]))
    return returns + scope + owner + draw(IDENTIFIERS) + draw(TYPES) + given_to + draw(MARKS)


@given(spelled(), st.integers(5, 120))
def test_a_functions_own_name_is_never_cut_where_it_fits(name, room):
    said = shorten(name, room)
    assert cell_len(said) <= room
    assert parse(name).last in said or cell_len(parse(name).last) > room
    assert "[clone" not in said


@given(st.lists(spelled(), max_size=8), st.integers(30, 120))
def test_names_of_one_table_keep_what_matters(full, room):
    names = Names(full)
    said = {name: names(name, room) for name in full}
    assert len(set(said.values())) == len(said)
    for name, text in said.items():
        assert cell_len(text) <= room
        assert parse(name).last in text


@given(st.lists(st.text("ab<>():, *&~1", min_size=1, max_size=30), max_size=6), st.integers(8, 80))
def test_any_names_stay_apart(full, room):
    names = Names(full)
    assert len({names(name, room) for name in full}) == len(set(full))


def named_phase(site, kind, *functions, also=()):
    called = [SimpleNamespace(function=function(name), share=0.2) for name in functions]
    sites = [SimpleNamespace(function=function(name), kind=kind) for name in (site, *also) if name]
    return SimpleNamespace(off_cpu=False, mostly="work", sites=tuple(sites), functions=called)


def test_phases_with_one_site_are_distinguished():
    same = [named_phase("f", "body", "[no application frame]", "f", "g"), named_phase("f", "body", "f")]
    assert phase_names(same) == ["f with g", "f"]
    kinds = [named_phase("f", "body", "f", "g"), named_phase("f", "loop", "f", "g"), named_phase("h", "body", "f")]
    assert phase_names(kinds) == ["f (body)", "f (loop)", "h"]


def test_a_second_site_names_a_phase_better_than_a_function():
    melt = named_phase("run", "loop", "force", "build", "move")
    measure = named_phase("run", "loop", "force", "rdf", "build", also=["output"])
    assert phase_names([melt, measure]) == ["run", "run with output"]
    assert phase_names([melt, measure, named_phase("run", "loop", "force", "build")]) == [
        "run with move", "run with output", "run",
    ]  # fmt: skip
    # These have no distinction.
    assert phase_names([named_phase("f", "body", "f", "g")] * 2) == ["f", "f"]


def test_names_are_printable():
    assert clean("a\nb\x1b[31m\ud800") == "a\\nb\\x1b[31m\\ud800"
    assert len(clean("x" * 10_000)) == 241
