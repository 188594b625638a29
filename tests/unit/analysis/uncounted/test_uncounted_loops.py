"""Calls within loops that samples see, of made-up programs whose functions' names say in which loop they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
import pytest

from incprof.analysis.sites.times import chain_times
from incprof.analysis.steps import find_steps
from incprof.analysis.uncounted import SampledCalls
from incprof.analysis.uncounted.sampled_calls import CallsInLoops, calls_are_bounded, calls_in_loops
from incprof.model import OUTSIDE_LOOPS, OWN, PROFILER, CodeLoops, Function, IntervalProfile, Module, Samples
from incprof.model.calltree import innermost, nested
from incprof.symbols.control_flow import ANYWHERE, Blocks, Control, always_run, loop_nest, with_code
from truth.record import Path, Recorder

# Loop 2 lies in loop 1, and 3 beside it.
AROUND = np.array([0, 0, 1, 0])


def played(story: Sequence[tuple[Path, int]]) -> IntervalProfile:
    """Samples of paths, so many of each in turn. `name@2` is the function `name` at an address in loop 2."""
    recorder, tick = Recorder(np.arange(0.0, 0.01 * sum(times for _, times in story) + 1.0)), 0
    for path, times in story:
        recorder.ticks(path, 0.01 * np.arange(tick, tick + times) + 0.005)
        tick += times
    nothing = np.zeros(0, dtype=np.int64)
    made = recorder.profile(1.0, 100.0, nothing, nothing, np.random.default_rng(0))
    written = [made.functions[f].name.partition("@") if f >= 0 else ("", "", "") for f in made.paths.function.tolist()]
    names = sorted({name for name, _, _ in written[1:]})
    function = np.array([names.index(name) if name else -1 for name, _, _ in written])
    address = np.array([4096 * (names.index(name) + 1) + int(at or 0) if name else 0 for name, _, at in written])
    paths = replace(made.paths, function=function, address=address)
    empty = made.calls[:, : len(names)]
    return replace(
        made,
        metadata=replace(made.metadata, modules=(Module(0, "app", None, 0, 0, True, False),)),
        functions=tuple(Function("app", name, name, 4096 * i) for i, name in enumerate(names, start=1)),
        paths=paths,
        self_s=empty,
        calls=empty,
        code_loops=CodeLoops(
            np.array([int(at or 0) for _, _, at in written]), AROUND, np.ones(len(written), dtype=np.bool_)
        ),
    )


def seen(profile: IntervalProfile) -> tuple[CallsInLoops, dict[str, int]]:
    """What is seen, and the chain of each function."""
    chains, _ = profile.own_tree.without_recursion()
    at = {profile.functions[f].name: chain for chain, f in enumerate(chains.function.tolist()) if f >= 0}
    return calls_in_loops(profile, chains), at


def test_a_restarted_loop_gives_no_count_of_its_calls() -> None:
    # Three times over, a loop that calls `a`, then one that calls `b`.
    profile = played([(("main@2", "a@3"), 20), (("main@3", "b@3"), 20)] * 3)
    found, at = seen(profile)
    assert found.repeats[at["a"]] == found.repeats[at["b"]] == 0
    times = chain_times(profile)
    assert times is not None
    assert times.in_uncounted_loop[[at["a"], at["b"]]].all()
    assert not calls_are_bounded(profile, times.chains)[at["a"]]


def test_calls_are_found_while_a_loop_goes_on() -> None:
    profile = played([(("main@1", "a"), 20), (("main@2", "b"), 20), (("main@1",), 1)] * 5)
    found, at = seen(profile)
    assert found.repeats[at["a"]] == 5 - 1  # the first one may have been before the loop
    # What an inner loop calls is not called in each turn of the outer one.
    assert found.repeats[at["b"]] == 0
    chains, _ = profile.own_tree.without_recursion()
    assert calls_are_bounded(profile, chains)[[at["main"], at["a"], at["b"]]].tolist() == [True, True, False]


def test_calls_from_unreadable_code_have_no_upper_bound() -> None:
    profile = played([(("main", "a"), 20), (("main",), 20)] * 2)
    begun = [f.name for f in profile.functions].index("a")
    everything = np.arange(profile.n_intervals)
    assert SampledCalls(replace(profile, code_loops=None)).of(everything)(begun).high is None
    outside = CodeLoops(np.full(len(profile.paths.function), OUTSIDE_LOOPS), AROUND, profile.code_loops.always)
    assert SampledCalls(replace(profile, code_loops=outside)).of(everything)(begun).high is not None


def test_what_a_loop_calls_lasts_as_far_as_anybody_sees_if_a_loop_in_it_goes_on() -> None:
    inside = [(("main@1", "driver@2", "a"), 20), (("main@1", "driver@2", "b"), 20)] * 5
    # Its code before the loop comes at most once in each call.
    before = [(("main@1", "driver"), 1)]
    for story, calls in ((before + inside, 1), ((before + inside) * 4, 4), (before + inside[:1] * 5, None)):
        times = chain_times(played(story))
        assert times is not None
        names = sorted({name.partition("@")[0] for path, _ in story for name in path})
        driver = times.chains.function.tolist().index(names.index("driver"))
        assert times.in_uncounted_loop[driver] == (calls is None)
        assert calls is None or times.calls[driver] == calls


def test_each_thread_is_a_call_of_what_it_begins_with() -> None:
    profile = played([(("start", "work@1"), 1), (("start",), 1)] * 50)
    samples = profile.samples
    times = chain_times(replace(profile, samples=replace(samples, thread=np.arange(len(samples.thread)))))
    assert times is not None
    at = {profile.functions[f].name: chain for chain, f in enumerate(times.chains.function.tolist()) if f >= 0}
    assert times.calls[at["start"]] == 100
    assert [bool(times.unsure[at[name]]) for name in ("start", "work")] == [False, True]


def test_dense_windows_give_a_lower_bound() -> None:
    # Steps of 4 ms, called in a loop, of two that are called there; in every second there are 24 looks.
    profile = with_looks(0.004)
    times = chain_times(profile)
    assert times is not None
    step = times.chains.function.tolist().index([f.name for f in profile.functions].index("a"))
    assert 0.6 * 7500 < times.calls[step] < 7500


def test_calls_that_come_and_go_with_each_sample_are_not_known() -> None:
    found, at = seen(played([(("main@1", "a"), 1), (("main@1",), 1)] * 50))
    assert found.repeats[at["a"]] == 0


def test_a_function_is_called_as_often_as_its_parts_come() -> None:
    # `run` is called from a loop that does nothing else: a loop in it, then what it calls once.
    profile = played([(("main@1", "run@2", "a@3"), 20), (("main@1", "run", "last"), 20)] * 5)
    found, at = seen(profile)
    assert (found.repeats[at["run"]], found.passes[at["run"]]) == (0, 5)
    times = chain_times(profile)
    assert times is not None
    assert not times.in_uncounted_loop[at["run"]]
    assert times.in_uncounted_loop[at["a"]]
    assert times.calls[at["run"]] == 5


def with_looks(step_s: float) -> IntervalProfile:
    """For 60 s `a` and `b` take so long each, in turn; in every second there are 24 looks."""
    story = [(("main@1", "a@3"), 1), (("main@1", "b@3"), 1), (("main@1",), 1)]
    profile = played([*story, (("main@1", "a@3"), 3000), (("main@1", "b@3"), 2997)])
    leaf = {profile.functions[f].name: n for n, f in enumerate(profile.paths.function.tolist()) if f >= 0}
    ticks = profile.samples.time_s
    looks = np.concatenate([second + 0.377 * (second % 2) + 0.001 * np.arange(24) for second in range(60)])
    time = np.concatenate([ticks, looks])
    node = np.where(np.floor(time / step_s) % 2 == 0, leaf["a"], leaf["b"])
    is_dense = np.arange(len(time)) >= len(ticks)
    order, zero = np.argsort(time, kind="stable"), np.zeros(len(time), dtype=np.int64)
    kind, weight = np.where(is_dense, PROFILER, OWN), np.where(is_dense, 0, 1)
    return replace(profile, samples=Samples(time[order], zero, node[order], kind[order], weight[order], zero - 1))


def test_dense_windows_show_steps_shorter_than_a_tick() -> None:
    profile = with_looks(0.004)
    samples = profile.samples
    members = np.arange(profile.n_intervals)
    index = [f.name for f in profile.functions].index("a")
    found = SampledCalls(profile).of(members)(index)
    assert found.likely is not None
    assert found.high is not None
    assert found.low <= 7500 <= found.high
    assert found.calls == pytest.approx(7500, rel=0.5)
    # Without looks, it may be any number.
    ticked = Samples(*(getattr(samples, f.name)[samples.weight > 0] for f in fields(Samples)))
    assert SampledCalls(replace(profile, samples=ticked)).of(members)(index).high is None


def control(address: int, target: int | None = None, *, goes_on: bool = False) -> Control:
    return Control(address, target, goes_on)


def test_the_code_of_a_loop_is_what_leads_to_it_again() -> None:
    # 0: begin; 10-19: the loop, which leaves for 30 or goes to 50; 30-39: return; 50-59: seldom, and back to 15.
    flow = [
        control(12, 50, goes_on=True),
        control(16, 30, goes_on=True),
        control(19, 10),
        control(39),
        control(59, 15),
    ]
    function = (0, 60)
    assert with_code(flow, Blocks.of(flow, function), [(19, 10)]) == [((19, 10), [(10, 19), (50, 59)])]
    # Through a table, all may be.
    anywhere = [control(12, ANYWHERE), control(19, 10)]
    assert with_code(anywhere, Blocks.of(anywhere, function), [(19, 10)]) == [((19, 10), [(10, 19)])]


def test_loops_that_are_entered_where_their_condition_stands() -> None:
    # for (...) { while (...) a(); while (...) b(); }: 10 to 49, the loops in it at 20 and 35, entered at 24 and 39.
    flow = [
        control(18, 24),
        control(29, 20, goes_on=True),
        control(33, 39),
        control(44, 35, goes_on=True),
        control(49, 10, goes_on=True),
        control(59),
    ]
    blocks = Blocks.of(flow, (0, 60))
    jumps = [(29, 20), (44, 35), (49, 10)]
    bodies = [[(20, 29)], [(35, 44)], [(10, 18), (20, 33), (35, 49)]]
    assert with_code(flow, blocks, jumps) == list(zip(jumps, bodies, strict=True))
    # All of it comes in each turn; what is left of a jump's bytes is no code.
    assert always_run(flow, blocks, list(zip(jumps, bodies, strict=True))) == [(0, 18), (20, 33), (35, 59)]


def test_loops_with_two_ways_in_and_of_one_block() -> None:
    # 0: to 10 or to 20, which lead to each other: no one place begins it; 30: itself.
    flow = [control(5, 20, goes_on=True), control(19, 20), control(25, 10, goes_on=True), control(35, 30, goes_on=True)]
    blocks = Blocks.of(flow, (0, 40))
    nest = [blocks.joined(sorted(loop)) for loop in loop_nest(blocks)]
    assert nest == [[(10, 25)], [(30, 35)]]
    assert loop_nest(Blocks.of([], (0, 40))) == []


def test_code_that_is_run_each_time_lies_on_all_ways() -> None:
    # 0: call; 10-39: the loop: 10 always, 20-24 only if, 25 always, of which 30-34 is a loop; 40: return; 50: seldom.
    flow = [
        control(5, 50, goes_on=True),
        control(19, 25, goes_on=True),
        control(34, 30, goes_on=True),
        control(39, 10, goes_on=True),
        control(49),
        control(59, 6),
    ]
    blocks = Blocks.of(flow, (0, 60))
    loops = with_code(flow, blocks, ((39, 10), (34, 30)))
    assert always_run(flow, blocks, loops) == [(0, 19), (25, 49)]
    # A call through a table is unknown.
    assert always_run([control(12, ANYWHERE), control(19, 10)], blocks, []) == []


def test_loops_lie_in_one_another() -> None:
    loops = nested([(10, [(10, 40), (80, 90)]), (20, [(20, 25)]), (20, [(20, 30)]), (50, [(50, 60)])])
    assert [around for _, around in loops] == [-1, 0, -1]
    twice = nested([(10, [(10, 40)]), (20, [(10, 40)])])
    assert twice == [([(10, 40)], -1)]
    at = innermost(loops, np.array([5, 12, 22, 28, 55, 85]))
    bodies = [loops[i][0] if i >= 0 else [] for i in at.tolist()]
    outer, inner = [(10, 40), (80, 90)], [(20, 25), (20, 30)]
    assert bodies == [[], outer, inner, inner, [(50, 60)], outer]


def test_a_loop_lies_in_itself_and_what_is_around() -> None:
    loops = CodeLoops(np.array([0, 1, 2, 3, -1]), AROUND, np.ones(5, dtype=np.bool_))
    assert loops.outermost().tolist() == [0, 1, 1, 3, -1]
    inner, outer = np.array([2, 1, 2, 3, 0, -1]), np.array([1, 2, 2, 1, 0, 1])
    assert loops.lies_in(inner, outer).tolist() == [True, False, True, False, False, False]


def test_the_driver_of_steps_is_named_without_an_observed_call() -> None:
    profile = played([(("main", "run", "a"), 12), (("main", "run", "b"), 9), (("main", "run", "c"), 15)] * 20)
    (steps,) = find_steps(profile, np.zeros(profile.n_intervals, dtype=np.int64))
    assert [(step.function.name, step.driver and step.driver.name) for step in steps] == [
        ("c", "run"), ("a", "run"), ("b", "run"),
    ]  # fmt: skip
    apart = played([(("main", "a"), 12), (("worker", "b"), 9)] * 20)
    (steps,) = find_steps(apart, np.zeros(apart.n_intervals, dtype=np.int64))
    assert {step.driver for step in steps} == {None}
