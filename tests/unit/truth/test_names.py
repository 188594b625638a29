"""Functions of profiles under the names that truths have for them."""

import pytest

from truth.evaluate import as_in_truth

WANTED = frozenset({"PairLJCut::compute", "run", "sweep"})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("LAMMPS_NS::PairLJCut::compute(int, int)", "PairLJCut::compute"),
        ("LAMMPS_NS::Fix::compute(int)", "LAMMPS_NS::Fix::compute"),
        ("int app::run<int>()", "run"),
        ("compute", "PairLJCut::compute"),
        ("overrun", "overrun"),
        ("sweep_", "sweep"),
        ("grid::sweep._omp_fn.3", "sweep"),
        ("(anonymous namespace)::step(int)", "step"),
        ("MAIN__", "MAIN__"),
        ("[libm.so.6]", "[libm.so.6]"),
        ("", ""),
    ],
)
def test_names_of_the_truth(name, expected):
    assert as_in_truth(name, WANTED) == expected
