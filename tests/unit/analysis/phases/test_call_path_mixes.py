"""Intervals as mixes of call chains, and the sites of those in which it waits."""

from dataclasses import replace

import numpy as np
import pytest

from incprof.analysis.answer import find_phases
from incprof.analysis.features import build_features, profiles_by_call_path
from incprof.model import LIBRARY
from incprof.readers.run import open_run, read_profile
from tests.unit.profiles import rows
from tests.unit.streamwriter import BASE, BROKEN, BUILD_ID, ELIDED, LIBM_ID, STEP, Sample, StreamWriter, module

FUNCTIONS = ["main", "solve", "build", "dot", "push", "save"]


def recorded(tmp_path, *intervals):
    """A profile of intervals ({path: ticks}, {(caller, callee): calls})."""
    writer = StreamWriter(FUNCTIONS)
    for ticks, calls in intervals:
        writer.interval([Sample(path, weight=weight) for path, weight in ticks.items()], arcs=calls)
    writer.end()
    return read_profile(open_run(writer.save(tmp_path / "run")))


def mix(profile):
    """{innermost function: ticks} of each interval."""
    mixes = profiles_by_call_path(profile)
    ticks, functions = mixes.own, mixes.functions
    names = ["" if f < 0 else profile.functions[f].name for f in functions]
    return [{name: round(float(v), 3) for name, v in zip(names, row, strict=True) if v > 0} for row in ticks.toarray()]


def test_the_same_function_below_two_callers_is_two_columns(tmp_path):
    profile = recorded(tmp_path, *[({"main;solve;dot": 100}, {})] * 3, *[({"main;build;dot": 100}, {})] * 3)
    mixes = profiles_by_call_path(profile)
    ticks, functions = mixes.own, mixes.functions
    dots = [i for i, f in enumerate(functions) if f >= 0 and profile.functions[f].name == "dot"]
    assert ticks.toarray()[:, dots].tolist() == [[100, 0]] * 3 + [[0, 100]] * 3
    assert find_phases(profile).k == 2


def test_recursion_is_one_column_however_deep(tmp_path):
    deep = {f"main{';solve' * depth}": 20 for depth in range(1, 6)}
    assert mix(recorded(tmp_path, (deep, {}), (deep, {}))) == [{"solve": 100.0}] * 2


def test_a_call_path_of_a_short_phase_has_a_column(tmp_path):
    rare = recorded(tmp_path, *[({"main;solve": 100}, {})] * 300, *[({"main;build": 100}, {})] * 4)
    assert mix(rare)[-1] == {"build": 100.0}


def test_a_phase_without_a_tick_has_the_function_that_it_calls(tmp_path):
    work = ({"main;solve": 100}, {("main", "solve"): 10})
    wait = ({}, {("main", "save"): 3})
    result = find_phases(recorded(tmp_path, *([work] * 8 + [wait] * 5) * 3))
    assert result.labels.tolist() == ([0] * 8 + [1] * 5) * 3
    assert [(s.function.name, s.kind) for s in result.phases[1].sites] == [("save", "body")]
    assert not result.phases[1].off_cpu


@pytest.mark.parametrize("counted", [True, False])
def test_frames_that_are_no_functions_are_not_taken_for_one(tmp_path, counted):
    """There are fewer functions than kinds of such frames."""
    app = module(0, "/nowhere/app", BUILD_ID, app=True, high=BASE + STEP) | {"counts": counted}
    writer = StreamWriter(["main"], modules=[app])
    for _ in range(20):
        writer.interval(
            [Sample(((BROKEN, 0), (0, BASE + 8)), weight=60), Sample(((ELIDED, 0), (0, BASE + 8)), weight=40)]
        )
    writer.end()
    writer.save(tmp_path)
    result = find_phases(read_profile(open_run(tmp_path)))
    assert [[share.function.name for share in phase.functions] for phase in result.phases] == [["main"]]


def test_waiting_without_a_call_is_waiting(tmp_path):
    work = ({"main;solve": 100}, {("main", "solve"): 10})
    result = find_phases(recorded(tmp_path, *([work] * 8 + [({}, {})] * 5) * 2))
    assert [phase.off_cpu for phase in result.phases] == [False, True]


def test_without_call_paths_functions_are_the_columns():
    profile = rows("a=90 b=10", "a=40 b=60")
    assert profiles_by_call_path(profile) is None
    assert np.allclose(build_features(profile, share=True).x, [[0.9, 0.1], [0.4, 0.6]])


@pytest.mark.parametrize(
    ("library", "left"),
    [("libgomp.so.1.0.0", {}), ("libiomp5.so", {}), ("libomp.so.5", {}), ("libompute.so", {"main": 60.0})],
)
def test_spinning_at_a_barrier_is_no_work(tmp_path, library, left):
    profile = spinning(tmp_path, library, *[{"main;solve": 40, "main": -60}] * 3)
    assert mix(profile) == [{"solve": 40.0, **left}] * 3


def test_a_phase_that_only_spins_has_the_function_that_waits_for_its_team(tmp_path):
    """On a busy machine, small regions are hardly ever found at work."""
    solve, check = {"main;solve;step": 5, "main;solve": -95}, {"main;check": -100}
    result = find_phases(spinning(tmp_path, "libgomp.so.1", *[solve] * 20, *[check] * 20, *[solve] * 20))
    assert result.labels.tolist() == [0] * 20 + [1] * 20 + [0] * 20
    assert [[site.function.name for site in phase.sites] for phase in result.phases] == [["step"], ["check"]]


@pytest.mark.parametrize("regions", [["step"], ["step", "norm"]])
def test_spinning_longer_is_no_other_phase(tmp_path, regions):
    """That another program has a processor from some time on is no change of this one."""
    alone, beside = (
        {f"main;solve;{region}": works for region in regions} | {"main;solve": -spins}
        for works, spins in [(45, 10), (20, 60)]
    )
    result = find_phases(spinning(tmp_path, "libgomp.so.1", *[alone] * 20, *[beside] * 20))
    assert result.labels.tolist() == [0] * 40


def spinning(tmp_path, library, *intervals):
    """Return a profile: of each interval the ticks by call path, those below 0 in the run-time library."""
    writer = StreamWriter(["main", "solve", "check", "step", "norm"])
    for ticks in intervals:
        writer.interval(
            [Sample(path, weight=n) if n > 0 else Sample(path, LIBRARY, weight=-n) for path, n in ticks.items()]
        )
    writer.end()
    profile = read_profile(open_run(writer.save(tmp_path / "run")))
    modules = tuple(replace(m, path=library) if m.id == LIBM_ID else m for m in profile.metadata.modules)
    return replace(profile, metadata=replace(profile.metadata, modules=modules))
