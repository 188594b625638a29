"""Estimates from machine code of calls that were not counted, for a made-up program."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from incprof.analysis.sites.times import chain_times
from incprof.analysis.uncounted.sampled_calls import at_least_as_often, properties_of_code
from incprof.model import OUTSIDE_LOOPS, UNKNOWN_CODE, CodeLoops, IntervalProfile, Module
from truth.record import Recorder

MAIN, DRIVER = ("main",), ("main", "driver")
STEP = (*DRIVER, "step")
TINY = (*STEP, "tiny")
ONCE = (*DRIVER, "once")


@pytest.fixture
def profile() -> IntervalProfile:
    """`main` calls `driver`, which calls `once` and `step` in a loop; `step` calls `tiny` in a loop."""
    recorder = Recorder(np.arange(11.0))
    recorder.ticks(ONCE, np.arange(0.0, 1.0, 0.01))
    recorder.ticks(STEP, np.arange(1.0, 10.0, 0.02))
    recorder.ticks(TINY, np.arange(1.01, 10.0, 0.02))
    nothing = np.zeros(0, dtype=np.int64)
    made = recorder.profile(1.0, 100.0, nothing, nothing, np.random.default_rng(0))
    modules = (Module(0, "app", None, 0, 0, True, False),)
    made = replace(made, metadata=replace(made.metadata, modules=modules))
    loops = {"main": OUTSIDE_LOOPS, "driver": 1, "step": 2, "tiny": OUTSIDE_LOOPS, "once": 3}
    names = [made.functions[f].name if f >= 0 else "" for f in made.paths.function.tolist()]
    at = np.array([loops.get(name, UNKNOWN_CODE) for name in names])
    return replace(made, code_loops=CodeLoops(at, np.zeros(4, dtype=np.int64), np.zeros(len(at), dtype=np.bool_)))


def named(profile: IntervalProfile, values: np.ndarray) -> dict[str, object]:
    """What each chain's function has."""
    function = profile.own_tree.without_recursion()[0].function.tolist()
    return {profile.functions[f].name: v for f, v in zip(function, values.tolist(), strict=True) if f >= 0}


def test_loops_distinguish_repeated_calls_from_brief_functions(profile: IntervalProfile) -> None:
    told = properties_of_code(profile, profile.own_tree.without_recursion()[0])
    assert {name for name, is_so in named(profile, told.in_loop).items() if is_so} == {"step", "tiny", "once"}
    assert {name for name, is_so in named(profile, told.once).items() if is_so} == {"driver"}
    assert {name for name, is_so in named(profile, told.brief).items() if is_so} == {"tiny"}


def test_sites_see_a_call_in_a_loop_as_one_of_many(profile: IntervalProfile) -> None:
    assert not profile.counted
    times = chain_times(profile)
    assert times is not None
    assert named(profile, times.in_uncounted_loop)["step"]
    assert not named(profile, times.in_uncounted_loop)["driver"]
    assert named(profile, times.unsure)["tiny"]
    assert not named(profile, times.unsure)["step"]


def test_nothing_is_reported_without_code(profile: IntervalProfile) -> None:
    nothing = np.full(len(profile.paths.parent), UNKNOWN_CODE)
    for code in (None, CodeLoops(nothing, np.zeros(1, dtype=np.int64), nothing > 0)):
        told = properties_of_code(replace(profile, code_loops=code), profile.own_tree.without_recursion()[0])
        assert not np.any([told.in_loop, told.once, told.brief])


def test_the_caller_of_one_call_is_called_as_often(profile: IntervalProfile) -> None:
    chains = profile.own_tree.without_recursion()[0]
    told = properties_of_code(profile, chains)
    function = [profile.functions[f].name if f >= 0 else "" for f in chains.function.tolist()]
    calls = np.array([7.0 if name == "driver" else 1.0 for name in function])
    found = named(profile, at_least_as_often(chains, told, calls, np.zeros(len(calls), dtype=np.bool_)))
    assert (found["main"], found["driver"], found["step"]) == (7.0, 7.0, 1.0)
