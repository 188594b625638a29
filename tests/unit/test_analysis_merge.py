"""Clusters that become one, and the rule that each was joined by."""

import numpy as np
import pytest
from incprof.analysis.phases.in_time import join_interruptions
from incprof.analysis.phases.merge import merge_clusters
from scipy.sparse import csr_array

from incprof.analysis.options.phases import PHASES

N = 40


def groups(a: list[float], b: list[float], spread: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Shares of two clusters with N intervals each, and their labels."""
    x = np.repeat(np.array([a, b]), N, axis=0)
    x[:, 0] += np.tile(np.linspace(-spread, spread, N), 2)
    return x, np.repeat([0, 1], N)


@pytest.mark.parametrize(
    ("a", "b", "spread", "sites", "same_calls", "rule"),
    [
        ([0.5, 0.5], [0.6, 0.5], 0.05, "ab", False, "no gap"),
        ([0.9, 0.1], [0.7, 0.3], 0.0, "aa", False, "same sites"),
        ([0.9, 0.1], [0.4, 0.6], 0.0, "ab", True, "same calls"),
        ([0.9, 0.1], [0.4, 0.6], 0.0, "ab", False, None),
        ([0.9, 0.1], [0.2, 0.8], 0.0, "aa", False, None),
        ([0.9, 0.1], [0.1, 0.9], 0.0, "ab", True, None),
    ],
)
def test_each_rule_joins_what_it_is_for_and_says_so(a, b, spread, sites, same_calls, rule):
    x, labels = groups(a, b, spread)
    calls = np.zeros((2 * N, 2))
    calls[:N, 0] = calls[N:, 0 if same_calls else 1] = 5
    found, joins = merge_clusters(x, labels, lambda members: frozenset(sites[labels[members[0]]]), csr_array(calls))
    if rule is None:
        assert (joins, found.tolist()) == ([], labels.tolist())
        return
    (join,) = joins
    assert (join.rule, set(found.tolist())) == (rule, {0})
    assert (np.flatnonzero(join.one).tolist(), np.flatnonzero(join.other).tolist()) == ([*range(N)], [*range(N, 2 * N)])
    assert (join.gap < PHASES.no_gap) == (rule == "no gap")


def test_what_only_interrupts_is_told_first_and_then_its_host():
    labels = np.array([0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0])
    x = np.where(labels[:, None] == 1, [0.5, 0.5], [1.0, 0.0])
    found, (join,) = join_interruptions(x, labels)
    assert (join.rule, found.tolist()) == ("interrupts", [0] * len(labels))
    assert (join.one.tolist(), join.other.tolist()) == ((labels == 1).tolist(), (labels == 0).tolist())
    assert join.overlap == 0.5
