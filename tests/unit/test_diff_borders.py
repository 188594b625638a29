"""Intervals between two phases are shared between them, by the thresholds that the phases were found with."""

from dataclasses import replace

import numpy as np

from incprof.analysis.answer.find import find_phases
from incprof.analysis.diff.measure import measure
from incprof.analysis.thresholds import OPTIONS
from tests.unit.profiles import noisy


def test_a_gap_is_shared_where_it_is_a_short_visit_at_most():
    profile = noisy([{"a": 1}, {"b": 1}], [9, 9])
    result = find_phases(profile)
    labels = result.labels.copy()
    labels[8:10] = -1
    result = replace(result, labels=labels)
    _, (shared,) = measure([profile], [result])
    assert np.array_equal(shared.members.weight[8:10, result.k], [0.0, 0.0])
    _, (left,) = measure([profile], [replace(result, options=OPTIONS.with_settings(["phases.short_visit=1"]))])
    assert np.array_equal(left.members.weight[8:10, result.k], [1.0, 1.0])
