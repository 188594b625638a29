"""Intervals between two phases are shared between them."""

from dataclasses import replace

import numpy as np

from incprof.analysis.answer import find_phases
from incprof.analysis.diff.measure import measure
from tests.unit.profiles import noisy


def test_a_gap_is_shared_unless_it_is_a_short_part():
    profile = noisy([{"a": 1}, {"b": 1}], [9, 9])
    result = find_phases(profile)
    labels = result.labels.copy()
    labels[8:10] = -1
    result = replace(result, labels=labels, clusters=labels)
    _, (shared,) = measure([profile], [result])
    assert np.array_equal(shared.members.weight[8:10, result.k], [0.0, 0.0])
    clusters = labels.copy()
    clusters[8:10] = 2
    _, (left,) = measure([profile], [replace(result, clusters=clusters)])
    assert np.array_equal(left.members.weight[8:10, result.k], [1.0, 1.0])
