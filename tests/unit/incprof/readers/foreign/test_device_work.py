"""Device work of imports: what is written is what the reader of recordings finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.readers.foreign.device_spans import Call, Range, nodes_of
from incprof.readers.foreign.device_work import DeviceWork, call_of
from incprof.readers.foreign.timeline import Paths
from incprof.readers.stream.interval_images import IntervalImage
from incprof.systems.gpu.read import ANY_DEVICE, DEVICE_OR_WAIT, HOST, OTHER_STREAMS, GpuActivity, activity_of

MILLI = 1e-3


def read_back(work: DeviceWork, end_s: list[float], nodes: int = 10) -> GpuActivity:
    payloads = work.payloads(0.0, np.array(end_s), np.arange(nodes))
    found = activity_of(IntervalImage(at, 0, 1, payload) for at, payload in enumerate(payloads))
    assert found is not None
    assert found.damaged == 0
    return found


def test_slots_divide_the_intervals() -> None:
    work = DeviceWork()
    work.kernel("k", 0, 7, 0.24, 0.02, 3)
    found = read_back(work, [0.25, 0.5, 0.75])
    assert found.slot_s == pytest.approx(0.125)
    assert found.busy.seconds[found.busy.device == 0] == pytest.approx([0.01, 0.01])
    assert found.kernels.start_s == pytest.approx([0.125])
    assert found.kernels.node.tolist() == [3]


@pytest.mark.slow
def test_a_long_run_has_few_slots() -> None:
    work = DeviceWork()
    work.kernel("k", 0, 7, 0.0, 86000.0)
    found = read_back(work, [86000.0 * (at + 1) / 1000 for at in range(1000)])
    assert len(found.busy.seconds) <= 100_001
    assert found.busy.seconds.sum() == pytest.approx(86000.0)


def test_streams_beyond_the_limit_and_devices_share_a_lane() -> None:
    work = DeviceWork()
    for stream in range(100):
        work.kernel("k", stream, stream, stream * MILLI, MILLI)
    found = read_back(work, [1.0])
    assert len(set(found.streams.what.tolist())) == 64
    assert found.streams.seconds[found.streams.what == OTHER_STREAMS].sum() == pytest.approx(37 * MILLI)
    assert sorted(set(found.busy.device.tolist())) == list(range(16))


ACTIVITY = st.tuples(
    st.sampled_from(["kernel", "copy", "wait"]), st.integers(-2, 20), st.integers(-1, 70),
    st.floats(0, 3), st.floats(0, 0.7), st.integers(-1, 9),
)  # fmt: skip


@given(st.lists(ACTIVITY, max_size=40))
def test_sums_and_unions_are_those_of_the_activities(activities: list[tuple[str, int, int, float, float, int]]) -> None:
    work = DeviceWork()
    for kind, device, stream, start_s, length_s, node in activities:
        if kind == "kernel":
            work.kernel(f"kernel {node}", device, stream, start_s, length_s, node)
        elif kind == "copy":
            work.copy(1, device, stream, start_s, length_s, 100, node)
        else:
            work.wait(start_s, length_s)
    found = read_back(work, [0.5 * (at + 1) for at in range(6)])
    for kind, rows in (("kernel", found.kernels), ("copy", found.copies), ("wait", found.synchronisations)):
        own = [each for each in activities if each[0] == kind]
        assert rows.count.sum() == len(own)
        assert rows.seconds.sum() == pytest.approx(sum(each[4] for each in own), abs=1e-7)
    assert found.missing == 0
    work_spans = [(each[3], each[3] + each[4]) for each in activities if each[0] != "wait"]
    waits = [(each[3], each[3] + each[4]) for each in activities if each[0] == "wait"]
    lanes = {what: found.overlaps.seconds[found.overlaps.what == what].sum() for what in (ANY_DEVICE, DEVICE_OR_WAIT)}
    assert lanes[ANY_DEVICE] == pytest.approx(union_of(work_spans), abs=1e-6)
    assert lanes[DEVICE_OR_WAIT] == pytest.approx(union_of(work_spans + waits), abs=1e-6)
    assert found.busy.seconds[found.busy.device == HOST].sum() == pytest.approx(union_of(waits), abs=1e-6)


def union_of(spans: list[tuple[float, float]]) -> float:
    """Return the time in which at least one of the spans lasts."""
    total, reached = 0.0, 0.0
    for start, end in sorted(spans):
        total += max(end - max(start, reached), 0.0)
        reached = max(reached, end)
    return total


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("cudaLaunchKernel", (True, False, False)),
        ("cuLaunchKernelEx", (True, False, False)),
        ("hipModuleLaunchKernel", (True, False, False)),
        ("cudaGraphLaunch", (False, True, False)),
        ("cudaLaunchHostFunc", (False, False, False)),
        ("cudaStreamSynchronize", (False, False, True)),
        ("hipDeviceSynchronize", (False, False, True)),
        ("cudaMemcpy", (False, False, False)),
    ],
)
def test_what_calls_do(name: str, is_one: tuple[bool, bool, bool]) -> None:
    assert call_of(name) == is_one


def test_paths_are_the_ranges_around_a_call() -> None:
    ranges = [Range(0, 100, 1, "epoch"), Range(10, 40, 1, "forward"), Range(41, 90, 1, "backward"),
              Range(10, 95, 2, "other")]  # fmt: skip
    calls = [Call(5, 1, "l", 1), Call(20, 1, "l", 2), Call(60, 1, "l", 3), Call(200, 1, "l", 4), Call(50, 2, "l", 5)]
    paths = Paths()
    nodes = nodes_of(calls, ranges, paths)

    def names(node: int) -> list[str]:
        return [] if node == 0 else [*names(paths.parent[node]), paths.frames[paths.frame[node]].name]

    assert {number: names(node) for number, node in nodes.items()} == {
        1: ["[epoch]"], 2: ["[epoch]", "[forward]"], 3: ["[epoch]", "[backward]"], 5: ["[other]"],
    }  # fmt: skip
