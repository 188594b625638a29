"""Memory by phase: decoding of kind 10, estimates from sampled allocations, and leaks in drawn programs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.analysis.phase_result import Phase, Step
from incprof.model import FloatArray, Function
from incprof.model.time_use import CallEstimate
from incprof.readers.stream.interval_images import IntervalImage
from incprof.study import Study
from incprof.study.recorded_paths import PathNames, Place
from incprof.systems.memory.analyse import (
    Curve,
    Growth,
    NodeBytes,
    PhaseMemory,
    _growth_in,
    carried_over,
    curve_of,
    growth_of,
    iterations_of,
    may_be_leak,
    memory_by_phase,
    outlived,
    tidied_from,
    with_verdicts,
)
from incprof.systems.memory.read import Allocations, allocations_of, calibrated, read_allocations, weights
from incprof.systems.memory.sections import card, notes, sentence, with_called
from tests.unit.streamwriter import Sample, StreamWriter

SECOND = 10**9


def varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def zigzag(number: int) -> int:
    return number << 1 if number >= 0 else (-number << 1) - 1


def payload(
    made: list[tuple[int, int, int, int, int, int]], freed: list[tuple[int, int]], *, own: int = 0, outstanding: int = 0
) -> bytes:
    """An image: allocations as (microseconds, node, id, bytes, mean * 8 + flags, consumed), frees as (time, id)."""
    numbers = [own, 65536, 0, len(made), outstanding, len(made), len(freed)]
    last = (0, 0, 0)
    for time_us, node, name, size, word, consumed in made:
        numbers += [zigzag(time_us - last[0]), 0, node, zigzag(name - last[1]), size, zigzag(word - last[2]), consumed]
        last = (time_us, name, word)
    before = (0, 0)
    for time_us, name in freed:
        numbers += [zigzag(time_us - before[0]), zigzag(name - before[1])]
        before = (time_us, name)
    return b"".join(map(varint, numbers))


def decoded(*payloads: bytes) -> Allocations:
    found = allocations_of(IntervalImage(at, at * SECOND, (at + 1) * SECOND, each) for at, each in enumerate(payloads))
    assert found is not None
    return found


def test_releases_find_their_allocations_in_other_intervals() -> None:
    found = decoded(
        payload([(100, 7, 5, 1000, 65536 * 8, 70000), (50, 8, 4, 10**7, 65536 * 8 | 2, 10**7)], [(200, 9)]),
        payload([(-10, 9, 9, 2000, 65536 * 8, 500)], [(500000, 5)], outstanding=123),
    )
    assert found.node.tolist() == [8, 7, 9]
    assert found.time_s == pytest.approx([50e-6, 100e-6, 1 - 10e-6])
    # A release of an earlier time than its allocation is as old as that.
    assert found.freed_s == pytest.approx([np.inf, 1.5, 1 - 10e-6])
    assert found.weight[0] == 10**7
    assert found.weight[1] == pytest.approx(65536 * (1 + 1000 / 65536 / 2), rel=0.01)
    assert found.allocated_b == 10**7 + 70000 + 500 + 123


def test_what_is_left_of_a_mapping_has_its_path_and_part() -> None:
    found = decoded(payload([(1, 7, 1, 4000000, 65536 * 8 | 3, 4000000), (9, 0, 2, 1000000, 5, 1)], [(9, 1)]))
    assert found.node.tolist() == [7, 7]
    assert found.is_remainder.tolist() == [False, True]
    assert found.weight.tolist() == [4e6, 1e6]
    assert found.allocated_b == 4e6
    curve = curve_of(found)
    assert curve.at(np.array([0.0, 5e-6, 20e-6])).tolist() == [0.0, 4e6, 1e6]


def test_a_program_with_its_own_malloc_is_reported() -> None:
    found = decoded(payload([], [], own=1))
    assert notes(found) == ["Allocations were not recorded: the program defines malloc itself"]


def test_damaged_images_are_counted_and_left_out() -> None:
    good = payload([(1, 1, 1, 100, 65536 * 8, 100)], [])
    found = decoded(good, good[:-1], b"", good + b"\0", b"\xff" * 30, payload([(1, 1, 1, 1 << 50, 8, 1)], []))
    assert found.damaged == 5
    assert len(found) == 1


@given(st.lists(st.binary(max_size=80), max_size=5))
def test_no_bytes_make_it_fail(payloads: list[bytes]) -> None:
    found = allocations_of(IntervalImage(at, at * SECOND, (at + 1) * SECOND, each) for at, each in enumerate(payloads))
    if found is not None:
        assert (found.weight >= 0).all()
        assert (found.freed_s >= found.time_s).all()
        assert found.damaged + len(found.end_s) == len(payloads)


@pytest.mark.parametrize("size", [100.0, 30000.0, 200000.0])
def test_weights_are_right_on_average(size: float) -> None:
    draw, mean = np.random.default_rng(1), 65536.0
    sampled = draw.random(200000) < -np.expm1(-size / mean)
    estimate = float(weights(np.array([size]), np.array([mean]))[0]) * sampled.sum()
    assert estimate == pytest.approx(200000 * size, rel=0.05)


def test_calibrated_weights_add_up_to_what_a_thread_has_allocated() -> None:
    draw, mean = np.random.default_rng(2), 65536.0
    consumed, weight = draw.exponential(mean, 200), np.full(200, mean)
    threads, means = np.arange(200) % 2, np.full(200, mean)
    scaled, group = calibrated(weight, consumed, means, threads)
    for each in np.unique(group):
        assert scaled[group == each].sum() == pytest.approx(consumed[group == each].sum())
    assert (group >= 0).all()
    assert len(np.unique(group)) == 6


def test_allocations_recorded_for_their_size_and_bytes_of_other_threads_do_not_change_weights() -> None:
    mean = 65536.0
    weight, means, consumed = np.full(40, mean), np.full(40, mean), np.full(40, mean)
    weight[7], means[7], consumed[7] = 1e7, 0.0, 1e7
    scaled, group = calibrated(weight, consumed, means, np.zeros(40, dtype=int))
    assert scaled == pytest.approx(weight)
    assert group[7] == -1
    consumed[20] = 1e9
    scaled, group = calibrated(weight, consumed, means, np.zeros(40, dtype=int))
    assert scaled.tolist() == weight.tolist()
    assert (group == -1).all()
    assert calibrated(weight[:5], consumed[:5], means[:5], np.zeros(5, dtype=int))[1].tolist() == [-1] * 5


def drawn_program(draw: np.random.Generator, leak: float) -> FloatArray:
    """Bytes alive, as sampled, at the ends of the intervals of a drawn program; `leak`: bytes per interval."""
    count, base = int(draw.integers(30, 200)), float(10 ** draw.uniform(6, 9))
    at = np.arange(count)
    kind = draw.integers(5)
    alive = np.full(count, base)
    if kind == 1:  # a warm-up
        alive += base * draw.uniform(0.1, 5) * -np.expm1(-at / draw.uniform(0.5, count / 8))
    elif kind == 2:  # a garbage collector's teeth
        alive += base * draw.uniform(0.1, 1) * (at / draw.uniform(3, 20) % 1)
    elif kind == 3:  # a cache that comes and goes
        alive += base * 0.3 * np.abs(np.cumsum(draw.normal(size=count))) / np.sqrt(count)
    elif kind == 4:  # steps up and down
        alive += base * 0.5 * np.repeat(draw.random(count // 5 + 1), 5)[:count]
    noise = np.sqrt(base * 524288) * draw.normal(size=count)
    return np.maximum(alive + noise + leak * at, 0.0)


def verdict(alive: FloatArray) -> bool:
    growth = growth_of(np.arange(float(len(alive))), alive, per_occurrence=True)
    one = PhaseMemory(0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, growth, (), ())
    found = with_verdicts([one])[0].growth
    return found is not None and found.is_leak


def test_no_leak_is_found_in_drawn_programs_without_one() -> None:
    draw = np.random.default_rng(3)
    assert sum(verdict(drawn_program(draw, 0.0)) for _ in range(200)) == 0


def test_leaks_of_drawn_programs_are_found() -> None:
    draw, found = np.random.default_rng(4), 0
    for _ in range(200):
        count, base = int(draw.integers(30, 200)), float(10 ** draw.uniform(6, 8))
        grown = base * draw.uniform(0.5, 4) + 20e6  # over the run
        alive = base + grown / count * np.arange(count)
        alive += np.sqrt(alive * 524288) * 0.3 * draw.normal(size=count)
        found += verdict(alive)
    assert found >= 190


def step(
    *, share: float, calls: int = 0, period_s: float | None = None, every: int | None = None, times: int | None = None,
    estimated: CallEstimate | None = None,
) -> Step:  # fmt: skip
    function, driver = (Function("app", name, name, 0) for name in ("advance", "main"))
    return Step(0, function, "body", share, calls, 0.01, driver=driver, period_s=period_s, every=every,
                times=times, estimated=estimated)  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((step(share=0.9, calls=400, every=1, times=2),), 200.0),
        ((step(share=0.9, calls=50, every=4, times=1),), 200.0),
        ((step(share=0.9, calls=33, period_s=0.1, estimated=CallEstimate(20, 50, 33)),), 100.0),
        ((step(share=0.1, calls=400),), None),
        ((step(share=0.9, calls=5, every=1, times=1),), None),
        ((), None),
    ],
)
def test_iterations_of_a_phase(steps: tuple[Step, ...], expected: float | None) -> None:
    phase = Phase(id=0, intervals=10, app_pct=100.0, seconds=10.0, functions=(), sites=(), steps=steps)
    found = iterations_of(phase)
    assert (None if found is None else found[0]) == (None if expected is None else pytest.approx(expected))


def test_growth_per_iteration() -> None:
    growth = Growth(100.0, 200.0, 300.0, per_occurrence=False, p_value=0.0, iterations=40, seconds=10.0, step="advance")
    assert growth.per_iteration() == (25.0, 50.0, 75.0)
    assert replace(growth, per_occurrence=True).per_iteration() == (100.0, 200.0, 300.0)
    assert replace(growth, iterations=None).per_iteration() is None


def kept(made: list[tuple[int, int]], freed: list[tuple[int, int]]) -> Allocations:
    """Allocations at some seconds by a call path each, and releases at seconds by the allocation's number."""
    events = [(at * 10**6, node, number, 1000, 65536 * 8, 1000) for number, (at, node) in enumerate(made)]
    return decoded(payload(events, [(at * 10**6, number) for at, number in freed]))


def test_blocks_are_outlived_that_are_older_than_freed_ones_of_their_path_became() -> None:
    alive = kept([(at, 7) for at in range(40)], [])
    use = np.ones(40, dtype=bool)
    assert outlived(alive, use, 39.5) == 1.0
    # Everything older than 30 s was freed at once, at an age of up to 30 s.
    dropped = kept([(at, 7) for at in range(40)], [(30, number) for number in range(30)])
    assert outlived(dropped, dropped.freed_s > 39, 39.5) == 0.0
    assert outlived(dropped, dropped.freed_s > 39, 29.5) == 1.0  # nothing was freed by then
    # Blocks of another path tell nothing, and short lives do not excuse long ones.
    others = kept([(at, 7 + at % 2) for at in range(40)], [(39, number) for number in range(1, 39, 2)])
    assert outlived(others, others.node == 7, 39.5) == 1.0
    brief = kept([(at, 7) for at in range(40)], [(at + 1, at) for at in range(1, 39, 2)])
    assert outlived(brief, use, 39.5) == pytest.approx(0.95, abs=0.05)
    assert outlived(brief, ~use, 39.5) == 1.0


def test_what_is_built_up_in_the_first_half_of_a_run_is_no_leak() -> None:
    alive, use = kept([(at, 7) for at in range(40)], []), np.ones(40, dtype=bool)
    assert not may_be_leak(alive, use, 39.5, 100.0)
    assert may_be_leak(alive, use, 39.5, 60.0)


def test_bytes_around_a_change_of_phase_are_divided_by_half() -> None:
    made = kept([(at, 7) for at in range(6)], [])
    made = replace(
        made,
        thread=np.array([0, 1, 0, 1, 0, 0]),
        size=np.full(6, 100.0),
        consumed=np.array([900.0, 900.0, 900.0, 900.0, 900.0, 50.0]),
    )
    carried, phase = carried_over(made, np.array([0, 0, 0, 1, 2, 2]))
    assert carried.tolist() == [0, 0, 0, 400, 400, 0]
    assert phase[[3, 4]].tolist() == [0, 0]


def test_a_leak_may_slow_down_in_all_memory_but_not_in_the_phase() -> None:
    place = np.arange(60.0)
    alive = 1e6 * (np.minimum(place, 40) + 0.3 * np.maximum(place - 40, 0))
    slower, of_all = (growth_of(place, alive, per_occurrence=True, may_slow_down=each) for each in (False, True))
    assert slower is not None
    assert of_all is not None
    assert slower.p_value == 1.0
    assert of_all.p_value < 0.005


@pytest.mark.parametrize(
    ("intervals", "frees", "is_undecided"), [(6, False, True), (6, True, False), (15, False, False)]
)
def test_a_phase_that_keeps_memory_may_be_too_short_to_tell(
    tmp_path: Path, intervals: int, frees: bool, is_undecided: bool
) -> None:
    # 6 blocks of 1 MiB in each interval.
    writer = StreamWriter(["main", "step"], interval_s=0.2)
    for at in range(intervals):
        names = [6 * at + one for one in range(6)]
        made = [(1000 * (one + 1), 1, name, 1 << 20, 65536 * 8, 1 << 20) for one, name in enumerate(names)]
        freed = [(50000, name) for name in names] if frees else []
        writer.interval([Sample("main;step", weight=20)], images={10: payload(made, freed)})
    writer.end()
    writer.save(tmp_path / "run")
    study = Study(tmp_path / "run")
    allocations = read_allocations(study.process.path)
    assert allocations is not None
    (phase,) = memory_by_phase(allocations, study.profile, study.phases())
    assert (phase.undecided_b > 0) == is_undecided
    assert ("keeps 37.7 MB of it: under 2 s, too short" in (sentence(phase, {}) or "")) == is_undecided
    assert (phase.growth is not None and phase.growth.is_leak) == (intervals == 15)


def test_names_in_sentences_are_short() -> None:
    names = {1: PathNames(["std::vector<int, std::allocator<int> >::push_back(int&&)"])}
    memory = PhaseMemory(0, 1.0, 1e6, 0.0, 0.0, 1e6, 1e6, 0.0, None, (NodeBytes(1, 1e6, 1.0),), ())
    assert sentence(memory, names) == "allocates 1 MB (1 MB/s), 100 % in vector::push_back; has 1 MB at its peak"


def test_the_programs_own_function_is_named_however_far_out() -> None:
    memory = PhaseMemory(0, 1.0, 1e6, 0.0, 0.0, 1e6, 1e6, 0.0, None, (NodeBytes(1, 1e6, 1.0),), ())
    path = ["default_malloc", "new_array", "array_empty", "pkg.py:read", "a.py:load", "a.py:<module>"]
    for own, shown in (
        (4, "default_malloc < ... < pkg.py:read < a.py:load"),
        (2, "default_malloc < new_array < array_empty"),
        (None, "default_malloc < new_array < array_empty"),
    ):
        assert f"100 % in {shown};" in (sentence(memory, {1: PathNames(path, own)}) or "")


def test_a_function_of_a_header_is_named_that_the_innermost_function_calls() -> None:
    names = PathNames(["grow", "step", "main"], 0)
    place = Place("a.cpp", 7, ("grow",), "std::vector<int, std::allocator<int> >::push_back(int&&)")
    memory = PhaseMemory(0, 1.0, 1e6, 0.0, 0.0, 1e6, 1e6, 0.0, None, (NodeBytes(1, 1e6, 1.0),), ())
    assert "100 % in vector::push_back < grow < step;" in (sentence(memory, {1: with_called(names, place)}) or "")
    assert with_called(names, None) == with_called(names, Place("a.cpp", 7)) == names


def test_allocations_at_each_depth_of_a_recursion_count_for_one_path(tmp_path: Path) -> None:
    """Each depth had a path of its own, and none was large enough to be named."""
    writer = StreamWriter(["main", "build"])
    paths = ["main" + ";build" * depth for depth in range(1, 21)]
    made = [(1000, writer.node(path), number + 1, 10**6, 2, 10**6) for number, path in enumerate(paths)]
    writer.interval([Sample(path) for path in paths], images={10: payload(made, [])})
    writer.end()
    writer.save(tmp_path / "run")
    part = card(Study(tmp_path / "run"), None)
    assert part is not None
    assert part.values[0]["allocating"] == [{"functions": ["build", "main"], "bytes": 20 * 10**6, "share": 1.0}]


def test_a_peak_of_few_samples_is_only_a_bound() -> None:
    memory = PhaseMemory(0, 1.0, 0.0, 0.0, 0.0, 0.0, 10e6, 4e6, None, (), ())
    assert sentence(memory, {}) == "has 10 MB +- 4 MB at its peak"
    assert sentence(replace(memory, peak_error_b=6e6), {}) == "has no more than 22 MB at its peak"
    assert sentence(replace(memory, allocated_b=1e6, peak_b=0.0, peak_error_b=0.0), {}) == "allocates 1 MB (1 MB/s)"


def growth_in(seconds: int, *, freed_s: float, until_s: float) -> Growth | None:
    """The growth of a phase that keeps 1 MB each 20 ms from 1 s on, in intervals of a second; all is freed at once."""
    times = np.append(np.arange(1.0, freed_s, 0.02), freed_s)
    curve = Curve(times, np.append(1e6 * np.arange(1.0, len(times)), 0.0))
    phase = Phase(id=0, intervals=seconds, app_pct=100.0, seconds=float(seconds), functions=(), sites=())
    start_s = np.arange(1.0, 1.0 + seconds)
    return _growth_in(phase, curve, curve, start_s + 1.0, start_s, start_s + 1.0, until_s)


def test_growth_needs_seconds_rather_than_intervals() -> None:
    growth = growth_in(4, freed_s=9.0, until_s=np.inf)
    assert growth is not None
    assert growth.value == pytest.approx(50e6, rel=0.05)
    assert growth.p_value < 1e-6
    assert growth_in(1, freed_s=9.0, until_s=np.inf) is None


def test_what_the_run_frees_at_its_end_has_grown_until_then() -> None:
    growth = growth_in(4, freed_s=4.7, until_s=4.69)
    assert growth is not None
    assert growth.is_freed
    assert growth.p_value < 1e-6
    (marked,) = with_verdicts([PhaseMemory(0, 4.0, 1e6, 0.0, 0.0, 1e6, 1e6, 0.0, growth, (), ())])
    assert (sentence(marked, {}) or "").endswith("more per second, freed only as the run ends: a leak, or growing data")
    unaware = growth_in(4, freed_s=4.7, until_s=np.inf)
    assert unaware is not None
    assert unaware.p_value == 1.0


def test_a_run_ends_with_its_last_allocation_if_the_rest_is_freed_after_it() -> None:
    made = [(at, 7) for at in range(40)]
    for freed, expected in ((range(40), 39.0), (range(25), 39.0), (range(15), np.inf), ((), np.inf)):
        allocations = kept(made, [(41, number) for number in freed])
        assert tidied_from(allocations, curve_of(allocations)) == expected
    # What is freed before the last allocation makes room for it.
    allocations = kept(made, [(38, number) for number in range(38)])
    assert tidied_from(allocations, curve_of(allocations)) == np.inf
