"""How functions and phases are called on a page."""

from itertools import combinations
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.report.words.names import clean, phase_names, short, unique_names


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("std::vector<int, std::allocator<int> >::push_back(int&&)", "vector::push_back"),
        ("LAMMPS_NS::PairLJCut::compute(int, int)", "PairLJCut::compute"),
        ("void foo<int>(int)", "foo"),
        ("Verlet::force_clear() [clone .part.0]", "Verlet::force_clear"),
        ("ZSTD_decompress_bmi2.constprop.0.isra.1", "ZSTD_decompress_bmi2"),
        ("solve._omp_fn.0", "solve._omp_fn.0"),
        ("solve.cold", "solve.cold"),
        ("solve(int) [clone ._omp_fn.0]", "solve._omp_fn.0"),
        ("dot.avx2", "dot"),
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


def test_functions_with_one_short_name_are_told_apart():
    full = [
        "double ns::project<L1, Mesh<Quadratic> >(Mesh<Quadratic> const&)",
        "double ns::project<L2, Mesh<Quadratic> >(Mesh<Quadratic> const&)",
        "A::init(int)",
        "A::init(std::vector<int>&)",
        "solve(int)",
        "fold",
        "fold.constprop.0",
        "sum(int) const",
        "sum(int) const [clone .isra.0]",
    ]
    names = unique_names(full)
    assert [names(name) for name in full] == [
        "ns::project<L1, Mesh<Quadratic>>",
        "ns::project<L2, Mesh<Quadratic>>",
        "A::init(int)",
        "A::init(std::vector<int>&)",
        "solve",
        "fold",
        "fold.constprop.0",
        "sum",
        "sum.isra.0",
    ]
    assert names("void other<int>(int)") == "other"


@given(st.lists(st.text("ab<>():, *&~1", min_size=1, max_size=30), max_size=6))
def test_any_names_stay_apart(full):
    names = unique_names(full)
    for one, other in combinations(set(full), 2):
        assert short(one) != short(other) or names(one) != names(other)


def named_phase(site, kind, *functions, also=()):
    called = [SimpleNamespace(function=SimpleNamespace(name=name), share=0.2) for name in functions]
    sites = [SimpleNamespace(function=SimpleNamespace(name=name), kind=kind) for name in (site, *also) if name]
    return SimpleNamespace(off_cpu=False, mostly="work", sites=tuple(sites), functions=called)


def test_phases_with_one_site_are_told_apart():
    same = [named_phase("f", "body", "[no application frame]", "f", "g"), named_phase("f", "body", "f")]
    assert phase_names(same) == ["f with g", "f"]
    kinds = [named_phase("f", "body", "f", "g"), named_phase("f", "loop", "f", "g"), named_phase("h", "body", "f")]
    assert phase_names(kinds) == ["f (body)", "f (loop)", "h"]


def test_a_further_site_tells_more_than_a_function():
    melt = named_phase("run", "loop", "force", "build", "move")
    measure = named_phase("run", "loop", "force", "rdf", "build", also=["output"])
    assert phase_names([melt, measure]) == ["run", "run with output"]
    assert phase_names([melt, measure, named_phase("run", "loop", "force", "build")]) == [
        "run with move", "run with output", "run",
    ]  # fmt: skip
    # Nothing tells these.
    assert phase_names([named_phase("f", "body", "f", "g")] * 2) == ["f", "f"]


def test_names_are_printable():
    assert clean("a\nb\x1b[31m\ud800") == "a\\nb\\x1b[31m\\ud800"
    assert len(clean("x" * 10_000)) == 241
