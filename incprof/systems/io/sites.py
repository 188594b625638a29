"""The functions that make sampled calls, by the nodes of their call paths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from incprof.model import Function
from incprof.readers.stream.interval_images import RecordedPaths
from incprof.systems.io.analyse import PhaseCalls
from incprof.systems.io.read import OPERATIONS, Calls

MOST_SITES, MOST_CALLERS = 5, 3


@dataclass(frozen=True)
class Site:
    """A function that makes calls in a phase.

    Attributes:
        function: the innermost of the program's own; None: none was on the path.
        callers: the functions that called it, innermost first, at most MOST_CALLERS.
        operation: what it does most of the time in these calls.
        share: of the time in calls of the phase, by the sampled ones.
    """

    function: Function | None
    callers: tuple[Function, ...]
    operation: str
    share: float


def _functions(paths: RecordedPaths, node: int) -> Iterator[Function]:
    """Yield the functions on the path to a node, innermost first."""
    for each in reversed(paths.path_to(node)):
        function = int(paths.tree.function[each])
        if function >= 0:
            yield paths.functions[function]


def sites_of(paths: RecordedPaths, calls: Calls, phase: PhaseCalls) -> list[Site]:
    """Return the functions with most of the time of a phase's sampled calls, at most MOST_SITES."""
    weight = calls.weight[phase.sampled] * calls.event_duration_s[phase.sampled]
    total = float(weight.sum())
    if total <= 0:
        return []
    node, operation = calls.node[phase.sampled], calls.event_operation[phase.sampled]
    pairs, which = np.unique(np.stack([node, operation], axis=1), axis=0, return_inverse=True)
    seconds = np.bincount(which.ravel(), weights=weight, minlength=len(pairs))
    sums = dict[tuple[Function, ...], dict[int, float]]()
    for (at, kind), own in zip(pairs.tolist(), seconds.tolist(), strict=True):
        each = sums.setdefault(tuple(islice(_functions(paths, at), MOST_CALLERS + 1)), {})
        each[kind] = each.get(kind, 0.0) + own
    ordered = sorted(sums.items(), key=lambda one: -sum(one[1].values()))
    return [
        Site(
            chain[0] if chain else None,
            chain[1:],
            OPERATIONS[max(each, key=lambda kind: each[kind])],
            sum(each.values()) / total,
        )
        for chain, each in ordered[:MOST_SITES]
    ]
