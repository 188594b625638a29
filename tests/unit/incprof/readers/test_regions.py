"""Workers of parallel regions, put under the function that started them."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.readers.run import open_run, read_profile
from tests.unit.streamwriter import Sample, StreamWriter


def paths(profile):
    """Ticks by (thread, path)."""
    found = Counter()
    for node, thread, weight in zip(
        profile.samples.node.tolist(), profile.samples.thread.tolist(), profile.samples.weight.tolist(), strict=True
    ):
        names = []
        while node:
            names.append(profile.functions[profile.paths.function[node]].name)
            node = int(profile.paths.parent[node])
        found[thread, ";".join(reversed(names))] += weight
    return found


def recorded(tmp_path, functions, *intervals):
    writer = StreamWriter(functions)
    for samples in intervals:
        writer.interval([Sample(path, thread=thread, weight=weight) for thread, path, weight in samples])
    writer.end()
    return read_profile(open_run(writer.save(tmp_path / "run")))


GNU, LLVM = "solve._omp_fn.0", ".omp_outlined..3"


@pytest.mark.parametrize("region", [GNU, LLVM, "solve.omp_outlined", ".omp_outlined._debug__"])
def test_a_worker_is_below_the_call_of_its_region(tmp_path, region):
    functions = ["main", "solve", region, "kernel"]
    profile = recorded(
        tmp_path, functions, [(0, f"main;solve;{region};kernel", 5), (1, f"{region};kernel", 7), (1, region, 1)]
    )
    assert paths(profile) == {
        (0, f"main;solve;{region};kernel"): 5,
        (1, f"main;solve;{region};kernel"): 7,
        (1, f"main;solve;{region}"): 1,
    }
    assert profile.self_s.sum() == pytest.approx(0.13)


def test_the_nearest_master_in_time_gives_the_path_to_the_region(tmp_path):
    functions = ["main", "build", "query", "solve", GNU]
    first = [(0, f"main;build;solve;{GNU}", 10), (1, GNU, 10)]
    second = [(1, GNU, 20), (0, f"main;query;solve;{GNU}", 20)]
    profile = recorded(tmp_path, functions, first, first, second, second)
    assert {path for (thread, path), _ in paths(profile).items() if thread == 1} == {
        f"main;build;solve;{GNU}", f"main;query;solve;{GNU}",
    }  # fmt: skip
    assert paths(profile)[1, f"main;build;solve;{GNU}"] == 20


def test_nested_regions_reach_up_to_main(tmp_path):
    inner = "relax._omp_fn.1"
    functions = ["main", "solve", GNU, "relax", inner]
    samples = [(0, f"main;solve;{GNU}", 4), (1, f"{GNU};relax;{inner}", 4), (2, inner, 4)]
    profile = recorded(tmp_path, functions, samples)
    assert paths(profile)[2, f"main;solve;{GNU};relax;{inner}"] == 4


def test_a_master_that_waits_in_the_starter_is_enough(tmp_path):
    functions = ["main", "solve", GNU]
    profile = recorded(tmp_path, functions, [(0, "main;solve", 4), (1, GNU, 6)])
    assert paths(profile)[1, f"main;solve;{GNU}"] == 6


def test_threads_without_an_observed_start_stay(tmp_path):
    functions = ["main", "start", LLVM, GNU]
    profile = recorded(tmp_path, functions, [(0, "main", 4), (1, "start;main", 6), (2, LLVM, 3), (3, GNU, 2)])
    assert paths(profile) == {(0, "main"): 4, (1, "start;main"): 6, (2, LLVM): 3, (3, GNU): 2}


NAMES = ["main", "solve", "relax", GNU, "relax._omp_fn.0", LLVM]
ANY_PATH = st.lists(st.sampled_from(NAMES), min_size=1, max_size=5).map(";".join)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 3), ANY_PATH, st.just(1)), min_size=1, max_size=12))
def test_whatever_the_paths_only_their_beginning_changes(tmp_path_factory, samples):
    profile = recorded(tmp_path_factory.mktemp("run"), NAMES, samples)
    assert np.all(profile.paths.parent[1:] < np.arange(1, len(profile.paths.parent)))
    found = list(paths_in_order(profile))
    for (_, before, _), after in zip(samples, found, strict=True):
        assert after == before or (after.endswith(f";{before}") and before.split(";")[0] in NAMES[3:])


def paths_in_order(profile):
    for node in profile.samples.node.tolist():
        names = []
        while node:
            names.append(profile.functions[profile.paths.function[node]].name)
            node = int(profile.paths.parent[node])
        yield ";".join(reversed(names))
