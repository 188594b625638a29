"""Both methods on runs with known truth, of the half that is there for tuning: what must not get worse."""

import pytest

from truth.cases import make_case
from truth.evaluate import evaluate
from truth.families import NUMBERS
from truth.split import TUNE, half_of

# Where the method is right today; the others are in docs/truth.md.
FAMILIES = [
    "count-01",
    "count-02",
    "count-05",
    "count-08",
    "shares-1",
    "shares-tiny",
    "few-intervals",
    "recurring",
    "over-dispersed",
    "interleaved",
    "waiting",
    "missing",
    "noise",
]


@pytest.mark.parametrize("family", FAMILIES)
def test_robust_finds_the_phases_and_is_at_least_as_good_as_the_paper(family):
    number = next(number for number in range(NUMBERS[family]) if half_of(family, number) == TUNE)
    case = make_case(family, number)
    robust, paper = (
        evaluate(case.name, family, TUNE, case.profile, case.labels, case.truth, method)
        for method in ("robust", "paper")
    )
    assert robust.k_right
    assert abs(robust.k - len(case.truth.phases)) <= abs(paper.k - len(case.truth.phases))
    if not case.truth.distinct:
        return
    if case.truth.k != (1,):
        assert robust.labels.ari > 0.9
        assert robust.labels.boundary_f1 > 0.9
    assert robust.labels.coverage > 0.9


def test_the_paper_never_finds_one_phase():
    case = make_case("count-01", 0)
    paper = evaluate(case.name, "count-01", TUNE, case.profile, case.labels, case.truth, "paper")
    assert paper.k > 1
    assert not paper.k_right
