"""Steps of a phase: a tree of functions that are called repeatedly, from call paths and counted calls.

A step may take milliseconds and leave no mark in the self time of intervals; its share of the phase's call paths shows
it. levels.py determines which functions are steps, times.py how they follow one another.
"""

from __future__ import annotations

import numpy as np

from incprof.analysis.phase_result import Step
from incprof.analysis.steps.called import CallCounts, PhaseCalls
from incprof.analysis.steps.levels import MAX_STEPS, loops_of
from incprof.analysis.steps.times import steps_of
from incprof.analysis.thresholds import STEPS, StepOptions
from incprof.analysis.uncounted.call_estimates import DenseWindows
from incprof.analysis.uncounted.loop_run import LoopPeriods
from incprof.analysis.uncounted.sampled_calls import uncounted_calls
from incprof.model import BoolArray, IntArray, IntervalProfile
from incprof.model.calltree import CallTree
from incprof.model.time_use import working


def find_steps(profile: IntervalProfile, labels: IntArray, options: StepOptions = STEPS) -> list[tuple[Step, ...]]:
    """Return the steps of each phase, largest first; empty without call paths.

    Args:
        profile: n intervals.
        labels: (n,) phase ids from 0, -1 for none.
        options: thresholds.
    """
    phases = int(labels.max(initial=-1)) + 1
    if not len(profile.samples.time_s) or not phases:
        return [()] * phases
    tree, _ = profile.own_tree.without_recursion()
    samples = profile.samples
    # Threads of libraries that wait for work have no function of the program.
    is_idle = ~working(profile) | (tree.of_node[samples.node] == 0)
    label = np.where(is_idle, -1, labels[profile.interval_of_samples()])
    code = uncounted_calls(profile, tree)
    windows = None if code is None else DenseWindows.of(profile, tree)
    loop_periods = None if code is None else LoopPeriods(profile, tree)
    counts = CallCounts(profile, _relevant_functions(profile, tree, label, options), code, windows, loop_periods)
    out: list[tuple[Step, ...]] = []
    for phase in range(phases):
        members, use = np.flatnonzero(labels == phase), np.flatnonzero(label == phase)
        if not len(use):
            out.append(())
            continue
        calls = PhaseCalls(profile, tree, counts, members, use, options)
        steps = [step for loop in loops_of(calls) for step in steps_of(calls, loop)]
        out.append(tuple(sorted(steps, key=lambda step: -round(step.share, 9))[:MAX_STEPS]))
    return out


def _relevant_functions(profile: IntervalProfile, tree: CallTree, label: IntArray, options: StepOptions) -> BoolArray:
    """Return which functions may be steps of a phase, (f,). label: (s,) the phase of each sample of the run."""
    node, out = tree.of_node[profile.samples.node], np.zeros(len(profile.functions), dtype=np.bool_)
    called = tree.function >= 0
    for phase in range(int(label.max(initial=-1)) + 1):
        use = label == phase
        own = np.bincount(node[use], weights=profile.samples.weight[use], minlength=len(tree.parent))
        total = tree.inclusive(own.astype(np.float64))
        of = np.bincount(tree.function[called], weights=total[called], minlength=len(out))
        out |= (of > 0) & (of >= options.least * total[0])
    return out
