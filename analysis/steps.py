"""What a phase does in the source: the repeated children of its long-lived driver, from call paths.

A step may take milliseconds and leave no mark in the self time of intervals; its share of the phase's call paths
shows it. p path nodes, q distinct chains of functions, s samples.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.chains import Chains, merge_call_sites
from incprof.analysis.results import Step
from incprof.model import PROFILER, FloatArray, IntArray, IntervalProfile

# The driver is the deepest function on the way from the start that holds this part of the phase.
MOST = 0.8
MIN_SHARE = 0.02
MAX_STEPS = 8


def find_steps(profile: IntervalProfile, labels: IntArray) -> list[tuple[Step, ...]]:
    """Return the steps of each phase; empty where there are no call paths.

    Args:
        profile: n intervals.
        labels: (n,) phase ids from 0, -1 for none.
    """
    phases = int(labels.max(initial=-1)) + 1
    if not len(profile.samples.time_s) or not phases:
        return [()] * phases
    chains = merge_call_sites(profile)
    samples = profile.samples
    label = np.where(samples.kind == PROFILER, -1, labels[profile.interval_of_samples()])
    out = []
    for phase in range(phases):
        use = label == phase
        own = np.bincount(
            chains.of_node[samples.node[use]], weights=samples.weight[use], minlength=len(chains.parent)
        ).astype(np.float64)
        out.append(_steps_of(profile, chains, chains.inclusive(own), np.flatnonzero(labels == phase)))
    return out


def _steps_of(profile: IntervalProfile, chains: Chains, total: FloatArray, members: IntArray) -> tuple[Step, ...]:
    """Return the children of a phase's driver that take at least 2 % of it, largest first."""
    if not total[0] > 0:
        return ()
    calls = csr_array(profile.calls)[members]
    count = np.asarray(calls.sum(axis=0)).ravel()
    active = np.bincount(calls.indices[calls.data > 0], minlength=len(count))
    driver = 0
    while True:
        below = [c for c in np.flatnonzero(chains.parent == driver).tolist() if c and chains.function[c] >= 0]
        large = [c for c in below if total[c] >= MIN_SHARE * total[0]]
        nearly_all = [
            c for c in large if total[c] >= MOST * total[0] and _lives_long(active, chains.function[c], members)
        ]
        if not nearly_all:
            break
        driver = nearly_all[0]
    if not large and driver:
        large = [driver]
    large.sort(key=lambda c: (-total[c], c))
    rate = profile.metadata.rate_hz
    return tuple(
        _step(profile, int(chains.function[c]), float(total[c]), float(total[0]), count, active, members, rate)
        for c in large[:MAX_STEPS]
    )


def _lives_long(active: IntArray, function: int, members: IntArray) -> bool:
    """Tell whether a function runs on over most intervals of the phase without being called in them."""
    return 2 * int(active[function]) <= len(members)


def _step(
    profile: IntervalProfile,
    index: int,
    ticks: float,
    all_ticks: float,
    count: IntArray,
    active: IntArray,
    members: IntArray,
    rate: float,
) -> Step:
    """Describe one step."""
    function, calls = profile.functions[index], int(count[index])
    return Step(
        index=index,
        function=function,
        kind="loop" if _lives_long(active, index, members) else "body",
        share=ticks / all_ticks,
        calls=calls,
        mean_s=ticks / rate / calls if calls else ticks / rate,
        file=function.file,
        line=function.line,
    )
