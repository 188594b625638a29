"""Names of functions in truths and in profiles."""

import pytest

from truth.names import as_in_truth, plain


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("solve", "solve"),
        ("solve.constprop.0", "solve"),
        ("solve.part.0.isra.0", "solve"),
        ("sweep._omp_fn.0", "sweep"),
        ("sweep_", "sweep"),
        ("__grid_MOD_sweep", "sweep"),
        ("__grid_MOD_sweep_._omp_fn.3", "sweep_"),
        ("Gate::settle(int, std::vector<double> const&)", "Gate::settle"),
        ("Gate::settle() const", "Gate::settle"),
        ("void apply<Blur, (Mode)1>(Image&)", "apply"),
        ("double Filter<Blur<int> >::run<3>(Image&) const [clone .isra.0]", "Filter::run"),
        ("(anonymous namespace)::step(int)", "step"),
        ("LAMMPS_NS::PairLJCut::compute(int, int)", "LAMMPS_NS::PairLJCut::compute"),
        ("Table::operator()(int) const", "Table::operator"),
        ("Key::operator<(Key const&) const", "Key::operator<"),
        ("[libm.so.6]", "[libm.so.6]"),
        ("", ""),
        ("(((((", ""),
        ("a)))b", "a)))b"),
        ("MAIN__", "MAIN__"),
    ],
)
def test_plain(name, short):
    assert plain(name) == short


def test_outer_namespaces_may_be_left_out():
    wanted = frozenset({"PairLJCut::compute", "run"})
    assert as_in_truth("LAMMPS_NS::PairLJCut::compute(int, int)", wanted) == "PairLJCut::compute"
    assert as_in_truth("LAMMPS_NS::Fix::compute(int)", wanted) == "LAMMPS_NS::Fix::compute"
    assert as_in_truth("app::run<int>()", wanted) == "run"
    assert as_in_truth("overrun", wanted) == "overrun"
