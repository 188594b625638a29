"""Profiles on other functions, and one behind the other: nothing is lost, nothing is added."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.model import Function
from incprof.model.joining import joined, key_of, keys_of, on_functions, some_intervals, union
from incprof.readers.run import open_run, read_profile
from tests.unit.streamwriter import Sample, StreamWriter

NAMES = ("main", "a", "b", "c")


@pytest.fixture(scope="module")
def profiles(tmp_path_factory):
    """Ranks that run different functions, in different order."""
    run = tmp_path_factory.mktemp("run")
    for rank, order in enumerate((("a", "b"), ("c", "b", "a"), ("b",))):
        writer = StreamWriter(NAMES, rank=rank)
        for place, name in enumerate(order * 2):
            samples = [Sample(f"main;{name}", weight=10 + place), Sample(f"main;{name};c", weight=3, thread=place % 2)]
            writer.interval(samples, arcs={("main", name): place + 1, (name, "c"): 2})
        writer.end()
        writer.save(run)
    opened = open_run(run)
    return [read_profile(opened, rank=rank) for rank in opened.ranks]


def self_by_name(profile):
    sums = np.asarray(profile.self_s.sum(axis=0)).ravel()
    return {f.name: round(s, 9) for f, s in zip(profile.functions, sums, strict=True) if s}


def arcs_by_name(profile):
    names = [f.name for f in profile.functions] + [None]
    arcs, out = profile.arcs, Counter()
    for caller, callee, count in zip(arcs.caller.tolist(), arcs.callee.tolist(), arcs.count.tolist(), strict=True):
        out[names[caller], names[callee]] += count
    return dict(out)


def stacks_by_name(profile):
    """Ticks by whole call path."""
    names, paths = [f.name for f in profile.functions], profile.paths
    out = Counter()
    for node, weight in zip(profile.samples.node.tolist(), profile.samples.weight.tolist(), strict=True):
        path = []
        while node:
            path.append((names[paths.function[node]], int(paths.address[node])))
            node = int(paths.parent[node])
        out[tuple(path)] += weight
    return dict(out)


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(6)), st.integers(0, 2))
def test_other_places_and_more_functions_change_no_sum(profiles, order, rank):
    profile = profiles[rank]
    more = [Function("app", "x", "x", 0), Function("lib", "a", "a", 0)]
    functions = [*union(p.functions for p in profiles), *more]
    functions = [functions[i] for i in order if i < len(functions)] + functions[6:]
    moved = on_functions(profile, functions)
    assert [key_of(f) for f in moved.functions] == [key_of(f) for f in functions]
    assert self_by_name(moved) == self_by_name(profile)
    assert arcs_by_name(moved) == arcs_by_name(profile)
    assert stacks_by_name(moved) == stacks_by_name(profile)
    assert moved.calls.sum() == profile.calls.sum()
    keys = list(zip(moved.arcs.interval, moved.arcs.caller, moved.arcs.callee, strict=True))
    assert keys == sorted(keys)


def test_the_same_functions_are_the_same_profile(profiles):
    assert on_functions(profiles[0], profiles[0].functions) is profiles[0]
    with pytest.raises(ValueError, match="lack"):
        on_functions(profiles[0], profiles[0].functions[1:])


def test_joined_runs_have_what_their_parts_have(profiles):
    whole = joined(profiles)
    for of in (self_by_name, arcs_by_name, stacks_by_name):
        sums = sum((Counter(of(profile)) for profile in profiles), Counter())
        assert of(whole) == pytest.approx(dict(sums))
    assert whole.n_intervals == sum(profile.n_intervals for profile in profiles)
    assert (np.diff(whole.end_s) > 0).all()
    # Each sample is in its interval still, and threads of different runs are different threads.
    rows = np.asarray(whole.self_s.sum(axis=1)).ravel()
    ticks = np.bincount(whole.interval_of_samples(), weights=whole.samples.weight, minlength=whole.n_intervals)
    assert ticks / 100 == pytest.approx(rows)
    assert len(np.unique(whole.samples.thread)) == sum(len(np.unique(p.samples.thread)) for p in profiles)
    assert joined(profiles[:1]) is profiles[0]


def test_the_same_run_twice_has_its_paths_once(profiles):
    twice = joined([profiles[0], profiles[0]])
    assert len(twice.paths.parent) == len(profiles[0].paths.parent)
    assert twice.functions == profiles[0].functions


def test_modules_of_one_number_are_distinguished(profiles):
    other = replace(
        profiles[0],
        metadata=replace(
            profiles[0].metadata,
            modules=tuple(replace(m, path=f"/other/{m.id}") for m in profiles[0].metadata.modules),
        ),
        samples=replace(profiles[0].samples, library=np.full(len(profiles[0].samples.time_s), 7)),
    )
    both = joined([profiles[0], other])
    by_id = {module.id: module.path for module in both.metadata.modules}
    assert len(by_id) == 2 * len(other.metadata.modules)
    assert {by_id[i] for i in both.samples.library.tolist() if i >= 0} == {"/other/7"}


def test_some_intervals(profiles):
    profile = profiles[1]
    use = np.arange(profile.n_intervals) % 2 == 0
    some, rest = some_intervals(profile, use), some_intervals(profile, ~use)
    assert some.end_s.tolist() == profile.end_s[use].tolist()
    for of in (self_by_name, arcs_by_name, stacks_by_name):
        assert dict(Counter(of(some)) + Counter(of(rest))) == pytest.approx(of(profile))
    assert some.counters.cpu_s.tolist() == profile.counters.cpu_s[use].tolist()


def test_static_functions_of_one_name_stay_two():
    """One that a process never ran is still another one."""
    one, other = Function("app", "kernel", "kernel", 64), Function("app", "kernel", "kernel", 128)
    both = [Function("app", "main", "main", 0), one, other]
    assert union([both, both[::-1]]) == tuple(both)
    assert union([[one], both]) == (one, both[0], other)
    assert union([[one], [replace(one, address=65)]]) == (one,)
    assert keys_of(both) == [("app", "main"), ("app", "kernel@40"), ("app", "kernel@80")]
    assert keys_of([one]) == [key_of(one)]
