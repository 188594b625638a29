import numpy as np

from truth.cases import make_case
from truth.confidence import Judged, calibration, confusion, judged, one_to_one


def test_a_true_phase_stands_for_one_found_phase_only():
    truth = np.array([0] * 6 + [1] * 4 + [-1])
    found = np.array([0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 2])
    counts = confusion(found, truth, 3)
    assert counts.tolist() == [[4, 0], [2, 0], [0, 4]]
    # The second half of a phase that was split in two is wrong, however pure.
    assert one_to_one(counts).tolist() == [4, 0, 4]


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
