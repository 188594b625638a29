"""What a phase does in the source: the repeated children of its long-lived driver, from call paths.

A step may take milliseconds and leave no mark in the self time of intervals; its share of the phase's call paths
shows it. step_times.py says how they follow one another.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.options.steps import STEPS, StepOptions
from incprof.analysis.phases.results import Step
from incprof.analysis.steps.times import Driven, with_times
from incprof.model import FloatArray, IntArray, IntervalProfile
from incprof.model.calltree import CallTree
from incprof.model.ticks import working

MAX_STEPS = 8


def find_steps(profile: IntervalProfile, labels: IntArray, options: StepOptions = STEPS) -> list[tuple[Step, ...]]:
    """Return the steps of each phase; empty where there are no call paths.

    Args:
        profile: n intervals.
        labels: (n,) phase ids from 0, -1 for none.
        options: thresholds.
    """
    phases = int(labels.max(initial=-1)) + 1
    if not len(profile.samples.time_s) or not phases:
        return [()] * phases
    chains = profile.own_tree
    samples = profile.samples
    # Threads of libraries that wait for work have no function of the program.
    nobody = ~working(profile) | (chains.of_node[samples.node] == 0)
    label = np.where(nobody, -1, labels[profile.interval_of_samples()])
    out = []
    for phase in range(phases):
        members = np.flatnonzero(labels == phase)
        if len(members) < options.of_run * profile.n_intervals:
            out.append(())
            continue
        use = np.flatnonzero(label == phase)
        own = np.bincount(
            chains.of_node[samples.node[use]], weights=samples.weight[use], minlength=len(chains.parent)
        ).astype(np.float64)
        out.append(_steps_of(profile, chains, chains.inclusive(own), members, use, options))
    return out


def _steps_of(
    profile: IntervalProfile,
    chains: CallTree,
    total: FloatArray,
    members: IntArray,
    use: IntArray,
    options: StepOptions,
) -> tuple[Step, ...]:
    """Return the children of a phase's driver that take enough of it, largest first."""
    if not total[0] > 0:
        return ()
    calls = csr_array(profile.calls)[members]
    count = np.asarray(calls.sum(axis=0)).ravel()
    active = np.bincount(calls.indices[calls.data > 0], minlength=len(count))
    steps: list[Step] = []
    counted = np.asarray(csr_array(profile.calls).sum(axis=0)).ravel() > 0
    for driver, large in _drivers(chains, total, active, members, options):
        # What is called once is no step, however long it takes. What is inlined may have been called often.
        again = [c for c in large if count[f := chains.function[c]] >= options.fewest or not counted[f]]
        # Tiny ones are named where there are no others.
        again = [c for c in again if not _tiny(profile, total[c], count[chains.function[c]], options)] or again
        those = sorted(again, key=lambda c: (-total[c], c))[:MAX_STEPS]
        found = [_step(profile, int(chains.function[c]), total[[c, 0]], count, active, members) for c in those]
        steps += with_times(profile, chains, Driven(driver, those, members, use), found, options) if those else []
    return tuple(sorted(steps, key=lambda step: -round(step.share, 9))[:MAX_STEPS])


def _drivers(
    chains: CallTree, total: FloatArray, active: IntArray, members: IntArray, options: StepOptions
) -> list[tuple[int, list[int]]]:
    """Return the chain of each driver with the chains of its children that are large.

    There are several where threads with functions of their own share the phase.
    """
    driver, large = _driver_below(chains, total, active, members, 0, options)
    threads = [c for c in large if driver == 0 and _lives_long(active, chains.function[c], members)]
    if len(threads) < 2 or total[threads].sum() < options.driver * total[0]:
        return [(driver, large)]
    found = [_driver_below(chains, total, active, members, c, options) for c in threads]
    others = [c for c in large if c not in threads]
    return [*found, (0, others)] if others else found


def _driver_below(
    chains: CallTree, total: FloatArray, active: IntArray, members: IntArray, driver: int, options: StepOptions
) -> tuple[int, list[int]]:
    """Return the deepest function below a chain that holds most of its time and lives on, and its large children."""
    most = options.driver * total[driver]
    while True:
        below = [c for c in np.flatnonzero(chains.parent == driver).tolist() if c and chains.function[c] >= 0]
        large = [c for c in below if total[c] >= options.least * total[0]]
        nearly_all = [c for c in large if total[c] >= most and _lives_long(active, chains.function[c], members)]
        if not nearly_all:
            return driver, large
        driver = nearly_all[0]


def _lives_long(active: IntArray, function: int, members: IntArray) -> bool:
    """Tell whether a function runs on over most intervals of the phase without being called in them."""
    return 2 * int(active[function]) <= len(members)


def _tiny(profile: IntervalProfile, ticks: float, calls: int, options: StepOptions) -> bool:
    """Tell whether a call is too short for a step. Where none was counted, it is not known."""
    return 0 < ticks / profile.metadata.rate_hz < options.shortest_s * calls


def _step(
    profile: IntervalProfile, index: int, ticks: FloatArray, count: IntArray, active: IntArray, members: IntArray
) -> Step:
    """Describe one step by all calls of its function. ticks: its own, and those of the whole phase."""
    function, calls = profile.functions[index], int(count[index])
    return Step(
        index=index,
        function=function,
        kind="loop" if _lives_long(active, index, members) else "body",
        share=float(ticks[0] / ticks[1]),
        calls=calls,
        mean_s=float(ticks[0]) / profile.metadata.rate_hz / max(calls, 1),
        file=function.file,
        line=function.line,
    )
