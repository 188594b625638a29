"""Both methods on runs with known truth, of the half that is there for tuning: what must not get worse."""

import numpy as np
import pytest

from incprof.analysis.answer import find_phases
from incprof.analysis.thresholds import OPTIONS
from tests.variants import mostly_slow
from truth.cases import make_case
from truth.evaluate import evaluate
from truth.families import NUMBERS
from truth.split import TUNE, half_of

# Where the method is right today; the others are in docs/lab/truth.md.
FAMILIES = [
    "count-01",
    "count-05",
    "few-intervals",
    "recurring",
    "count-02",
    "count-08",
    "over-dispersed",
    "interleaved",
    "waiting",
    "missing",
    "noise",
]


@pytest.mark.parametrize("family", mostly_slow(4, FAMILIES))
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


@pytest.mark.parametrize(("family", "short"), [("shares-1", 1), ("shares-tiny", 1)])
def test_what_is_too_short_for_a_phase_is_named(family, short):
    number = next(number for number in range(NUMBERS[family]) if half_of(family, number) == TUNE)
    case = make_case(family, number)
    found = find_phases(case.profile, options=OPTIONS.with_settings(["phases.episode=1"]))
    assert (found.k, len(found.short)) == (case.truth.k[0] - short, short)
    for part in found.short:
        inside = np.concatenate([np.arange(first, end) for first, end in part.spans])
        true = int(np.bincount(case.labels[inside] + 1).argmax()) - 1
        assert abs(int((case.labels == true).sum()) - part.intervals) <= 2
        assert part.intervals < OPTIONS.phases.least * len(case.labels)
        assert (found.labels[inside] == -1).all()
        assert part.function is not None
    # What is one hundredth of the run at once is a phase.
    every = find_phases(case.profile)
    assert (every.k, every.short) == (case.truth.k[0], ())


def test_the_paper_never_finds_one_phase():
    case = make_case("count-01", 0)
    paper = evaluate(case.name, "count-01", TUNE, case.profile, case.labels, case.truth, "paper")
    assert paper.k > 1
    assert not paper.k_right
