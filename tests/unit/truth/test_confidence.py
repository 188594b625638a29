from truth.cases import make_case
from truth.confidence import Judged, calibration, judged


def test_the_table_counts_phases_and_intervals_by_confidence():
    lines = calibration([Judged("a", 0, 0.97, 30, 30), Judged("a", 1, 0.92, 10, 5), Judged("b", 0, 0.2, 4, 0)])
    assert "| 0.95 to 1.00 | 1 | 100 % | 30 | 100 % |" in lines
    assert "| 0.90 and more | 2 | 50 % | 40 | 88 % |" in lines
    assert "| all | 3 | 33 % | 44 | 80 % |" in lines


def test_phases_of_a_known_run_are_judged():
    case = make_case("count-03", 1)
    found = judged(case.name, case.profile, case.labels, "robust")
    assert len(found) == 3
    assert all(phase.right <= phase.intervals for phase in found)
    assert sum(phase.intervals for phase in found) <= len(case.labels)
