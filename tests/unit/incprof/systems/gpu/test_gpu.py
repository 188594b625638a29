"""GPU activity by phase: decoding of kind 13, division among phases and paths, and findings."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.model import Function, PathTree
from incprof.readers.stream.interval_images import IntervalImage, RecordedPaths
from incprof.report.words.display_names import short
from incprof.study.study import Study
from incprof.systems.gpu.analyse import PhaseGpu, busy_over_time, gpu_by_phase, moved
from incprof.systems.gpu.launches import kernel_name, launched_by_program
from incprof.systems.gpu.read import HOST, OTHER_SUBSCRIBER, UNSAMPLED, GpuActivity, activity_of
from incprof.systems.gpu.sections import notes

SECOND = 10**9
SLOT_NS = 200_000_000


def varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def record(kind: int, *numbers: int, text: bytes = b"") -> bytes:
    content = b"".join(map(varint, numbers)) + text
    return varint(kind) + varint(len(content)) + content


def state(launches: int = 0, kernels: int = 0, *, graphs: int = 0, code: int = 0, per_path: int = 1) -> bytes:
    return record(1, code, 28, SLOT_NS, per_path, launches, graphs, kernels, 0, 0, 0, 0, 0)


def images(*payloads: bytes) -> list[IntervalImage]:
    return [IntervalImage(at, at * SECOND, (at + 1) * SECOND, payload) for at, payload in enumerate(payloads)]


def decoded(*payloads: bytes) -> GpuActivity:
    found = activity_of(images(*payloads))
    assert found is not None
    return found


def zigzag(number: int) -> int:
    return number << 1 if number >= 0 else (-number << 1) - 1


def traced(*payloads: bytes) -> GpuActivity:
    found = activity_of(images(*payloads), traced=True)
    assert found is not None
    return found


TRACED_STATE = record(1, 0, 28, SLOT_NS, 1, 5, 0, 5, 0, 0, 0, 0, 0, 77, 4)
# Keys: a kernel on stream 7 of device 1, launched by node 8; a wait.
KEYS = record(10, zigzag(-50), 3, 1, 7, 2, 9, 6, HOST, 2**32 - 1, 3, 0)


def test_a_trace_has_single_kernels_and_waits() -> None:
    rows = record(11, 0, 0, 10, 0, 1, zigzag(300), 2000, 0, 0, zigzag(-100), 30, 0)
    found = traced(KEYS + rows + TRACED_STATE, KEYS + record(11, 1, 0, 5, 0) + TRACED_STATE)
    trace = found.trace
    assert trace is not None
    assert trace.left_out == 4
    assert trace.kind.tolist() == [3, 6, 3, 6]
    assert trace.device.tolist() == [1, HOST, 1, HOST]
    assert trace.node.tolist() == [8, UNSAMPLED, 8, UNSAMPLED]
    assert np.rint(trace.start_s * 1e9).tolist() == [-50, 250, 150, -50]
    assert np.rint(trace.seconds * 1e9).tolist() == [10, 2000, 30, 5]
    # It costs time, and is read only where it is needed.
    assert decoded(KEYS + rows + TRACED_STATE).trace is None
    assert traced(KEYS + rows + state()).trace is None


@pytest.mark.parametrize(
    "trace",
    [
        KEYS + record(11, 2, 0, 10, 0),
        KEYS + record(11, 0, 0, 10),
        record(10, 0, 3, 1, 7, 2) + record(11, 0, 0, 10, 0),
        record(10, 0, 3, 17, 7, 2, 0) + record(11, 0, 0, 10, 0),
        KEYS + record(11, *(0, 2**53, 10, 0) * 9),
        record(10) + record(11, 0, 0, 10, 0),
    ],
)
def test_a_damaged_trace_costs_its_image_only(trace: bytes) -> None:
    whole = record(11, 0, 0, 10, 0)
    found = traced(TRACED_STATE + trace, KEYS + whole + TRACED_STATE)
    assert found.damaged == 1
    assert found.trace is not None
    assert len(found.trace.kind) == 1


def test_traces_of_two_interfaces_have_their_own_kernels_and_devices() -> None:
    opencl = record(16, 1) + record(2, 2, text=varint(4) + b"axpy")
    whole = KEYS + record(11, 0, 0, 10, 0) + TRACED_STATE
    found = traced(NAMES + whole, opencl + whole)
    assert found.trace is not None
    assert [found.names[what] for what in found.trace.what.tolist()] == ["_Z5relaxPdi", "axpy"]
    assert found.trace.device.tolist() == [1, 33]


NAMES = record(2, 2, text=b"".join(varint(len(name)) + name for name in (b"_Z5relaxPdi", b"tiny")))


def phases_of(activity: GpuActivity) -> list[PhaseGpu]:
    """Two phases of 2 s each, in intervals of 1 s."""
    profile = SimpleNamespace(start_s=np.arange(4.0), end_s=np.arange(1.0, 5.0), n_intervals=4)
    present = [SimpleNamespace(id=at, seconds=2.0, spent={"work": 1.5, "device": 0.3}) for at in range(2)]
    result = SimpleNamespace(labels=np.array([0, 0, 1, 1]), k=2, present=present)
    return gpu_by_phase(activity, profile, result)  # type: ignore[arg-type]


def test_rows_of_a_phase_add_up_and_those_on_a_border_are_divided() -> None:
    rows = record(3, 0, 0, 2, 8, 100, SECOND // 10, 0, 12, 0, 3, 9, 50, SECOND // 20, 0)
    busy = record(5, 1, 0, 0, 0, 3, SECOND // 10, 0, 11, HOST, 0, 0, 1, SECOND // 5, 0)
    found = decoded(NAMES + rows, busy + state(150, 150))
    first, second = phases_of(found)
    assert (first.launches, second.launches) == (100, 50)
    assert (first.busy_s, second.busy_s) == pytest.approx((0.1, 0.0))
    assert (first.waiting_s, second.waiting_s) == pytest.approx((0.0, 0.2))
    assert [(each.name, each.node) for each in first.kernels] == [("_Z5relaxPdi", 7)]
    assert [(each.name, each.node) for each in second.kernels] == [("tiny", 8)]
    # Slot 9 of 0.2 s ends with the first phase; a profile that is cut within it divides it.
    assert found.missing == 0


def test_launches_without_a_path_are_divided_among_the_paths_of_their_kernel() -> None:
    rows = record(3, 0, 0, 2, 8, 30, 3000, 0, 0, 0, 2, 9, 10, 1000, 0, 0, 0, 2, 0, 40, 4000, 0, 0, 0, 3, 0, 5, 50, 0)
    kernels = phases_of(decoded(NAMES + rows + state(85, 85)))[0].kernels
    assert [(each.name, each.node, each.count) for each in kernels] == [
        ("_Z5relaxPdi", 7, 60.0),
        ("_Z5relaxPdi", 8, 20.0),
        ("tiny", UNSAMPLED, 5.0),
    ]
    assert kernels[0].seconds == pytest.approx(6000e-9)


def test_copies_have_directions_and_those_on_the_device_are_not_moved() -> None:
    rows = record(4, 0, 0, 1, 0, 2, SECOND // 100, 10**8, 0, 0, 8, 0, 1, 5, 10**6, 0, 0, 0, 0, 1, 5, 4096)
    copies = phases_of(decoded(rows + state()))[0].copies
    assert {each.name: each.bytes for each in copies} == {
        "host to device": 1e8,
        "within the device": 1e6,
        "memset": 4096.0,
    }
    assert moved(copies) == (1e8, 0.01)


def test_findings() -> None:
    busy = PhaseGpu(0, 10.0, 9.5, 1, 9.0, 100, 9.5, (), ())
    assert not busy.is_idle
    assert not busy.is_launch_bound
    assert replace(busy, busy_s=3.9, waiting_s=0.5).is_idle
    # The host waits for a copy, or for a kernel elsewhere: nothing is idle without a reason.
    assert not replace(busy, busy_s=3.9, waiting_s=9.0).is_idle
    assert replace(busy, launches=200_000.0, kernel_s=200_000 * 1.9e-6).is_launch_bound
    assert not replace(busy, launches=200_000.0, kernel_s=200_000 * 45e-6).is_launch_bound


def test_streams_overlaps_and_devices() -> None:
    streams = record(7, 0, 0, 7, 0, 1, SECOND // 10, 0, 0, 0, 13, 0, 1, SECOND // 5, 0, 11, 1, 7, 0, 1, SECOND // 20, 0)
    busy = record(5, 0, 0, 0, 0, 1, SECOND // 5, 0, 11, 1, 0, 0, 1, SECOND // 20, 0, 1, HOST, 0, 0, 1, SECOND // 10, 0)
    overlaps = record(8, 0, HOST, 0, 0, 1, SECOND // 5, 0, 0, HOST, 1, 0, 1, SECOND // 5, 0, 1, HOST, 1, 0, 1,
                      SECOND // 20, 0)  # fmt: skip
    names = record(9, 0, 4, text=b"H200")
    found = decoded(streams + busy + overlaps + names + state())
    assert found.devices == {0: "H200"}
    assert notes(found) == ["Devices: GPU 0 H200"]
    first, second = phases_of(found)
    assert [each.device for each in first.by_device] == [0, 1]
    assert first.by_device[0].streams == ((7, pytest.approx(0.1)), (13, pytest.approx(0.2)))
    assert second.by_device[1].streams == ((7, pytest.approx(0.05)),)
    # 0.2 s of a device and 0.1 s of waits take 0.25 s together: the host waits for an idle device for half of its wait.
    assert first.together is not None
    assert first.together.both_s == pytest.approx(0.15)
    assert first.together.host_s == pytest.approx(1.75)
    # The program works for 1.5 s of it.
    assert first.together.idle_s == pytest.approx(0.25)
    assert first.host_alone == pytest.approx(0.875)


def test_recordings_of_earlier_versions_have_no_overlaps() -> None:
    found = decoded(record(5, 0, 0, 0, 0, 1, SECOND // 5, 0) + record(1, *[0, 28, SLOT_NS, 1], *[0] * 8))
    assert phases_of(found)[0].together is None
    assert found.offset_s == 0


def test_slots_are_shifted_to_the_start_of_the_run() -> None:
    found = decoded(record(5, 5, 0, 0, 0, 1, SLOT_NS, 0) + record(1, *[0, 28, SLOT_NS, 1], *[0] * 8, SLOT_NS // 2))
    assert found.busy.start_s == pytest.approx([0.9])
    edges = np.array([0.0, 0.9, 1.0, 1.1, 2.0])
    assert busy_over_time(found, 0, edges[:-1], edges[1:]) == pytest.approx([0.0, 1.0, 1.0, 0.0])
    assert decoded(record(1, *[0, 28, SLOT_NS, 1], *[0] * 8, SLOT_NS), state()).damaged == 1


def test_copies_have_the_paths_with_most_bytes() -> None:
    rows = record(4, 0, 0, 1, 9, 1, 50, 700, 0, 0, 1, 8, 1, 50, 900, 0, 0, 1, 0, 1, 50, 5000)
    copy = phases_of(decoded(rows + state()))[0].copies[0]
    assert copy.paths == ((7, 900.0), (8, 700.0))
    assert copy.bytes == 6600


def test_what_is_missing_is_reported() -> None:
    assert notes(decoded(state(100, 100))) == []
    assert notes(decoded(state(100, 88))) == ["12 kernels of 100 launched are missing from the record"]
    assert decoded(state(100, 88, graphs=3)).missing is None
    late = record(1, 0, 28, SLOT_NS, 1, 5, 0, 5, 0, 0, 0, 0, 2 * SECOND)
    assert notes(decoded(late)) == ["2 s of device time were recorded too late to count as busy"]
    assert notes(decoded(state(code=OTHER_SUBSCRIBER))) == [
        "GPU activity was not recorded: another profiler used CUPTI"
    ]
    assert "one of 64 launches" in notes(decoded(state(per_path=64), state(per_path=1)))[0]


def test_busy_over_time_is_the_share_of_the_bins() -> None:
    busy = record(5, 0, 0, 0, 0, 1, SLOT_NS, 0, 1, 0, 0, 0, 1, SLOT_NS // 2, 0, 5, 0, 0, 0, 1, SLOT_NS, 0)
    edges = np.array([0.0, 0.2, 0.4, 1.0, 1.4])
    shares = busy_over_time(decoded(busy + state()), 0, edges[:-1], edges[1:])
    assert shares == pytest.approx([1.0, 0.5, 0.0, 0.5])


def test_a_damaged_image_is_counted_and_costs_no_other() -> None:
    rows = record(3, 0, 0, 2, 8, 100, 5, 0)
    found = decoded(NAMES + rows, rows[:-1], b"\x80", record(3, 0, 0, 2), state(100, 100))
    assert found.damaged == 3
    assert found.kernels.count.tolist() == [100]


def test_types_of_later_versions_are_skipped() -> None:
    assert decoded(record(77, 1, 2, 3) + state(5, 5)).damaged == 0


@given(st.lists(st.binary(max_size=60), max_size=4), st.integers(0, 400))
def test_hostile_images_end_in_an_answer(payloads: list[bytes], cut: int) -> None:
    whole = NAMES + record(3, 0, 0, 2, 8, 100, 5, 0) + record(5, 3, 1, 0, 0, 1, 77, 0) + state(100, 100)
    whole += record(7, 3, 1, 9, 0, 1, 77, 0) + record(8, 3, HOST, 1, 0, 1, 77, 0) + record(9, 1, 2, text=b"ab")
    found = decoded(whole, whole[:cut], *payloads)
    assert found.slot_s > 0
    phases_of(found)
    notes(found)


def test_a_stream_without_images_has_no_activity() -> None:
    assert activity_of([]) is None


def test_interfaces_of_one_process_add_up_and_keep_their_names_and_devices_apart() -> None:
    names = record(2, 2, text=varint(4) + b"axpy")
    device = record(9, 0, text=varint(4) + b"pocl")
    cuda = NAMES + record(3, 0, 0, 2, 8, 3, 300, 0) + state(3, 3)
    opencl = record(16, 1) + names + device + record(3, 0, 0, 2, 9, 5, 500, 0) + state(6, 5)
    waits = record(16, 1) + record(5, 0, HOST, 0, 0, 1, 700, 0) + state(6, 5)
    found = decoded(cuda, opencl, waits)
    assert (found.totals.launches, found.totals.kernels, found.missing) == (9, 8, 1)
    used = {found.names[int(what)]: count for what, count in zip(found.kernels.what, found.kernels.count, strict=True)}
    assert used == {"_Z5relaxPdi": 3.0, "axpy": 5.0}
    assert len(set(found.kernels.device.tolist())) == 2
    assert set(found.devices.values()) == {"pocl"}
    assert set(found.devices) <= set(found.kernels.device.tolist())
    assert found.busy.device.tolist() == [HOST]
    alone = decoded(opencl)
    assert alone.kernels.device.tolist() == [0]
    assert alone.devices == {0: "pocl"}
    assert activity_of(images(record(16, 99) + opencl)) is None


def test_packages_do_not_launch_kernels() -> None:
    """The program's own function above them does; a path without one stays as it is."""
    own, package, library = (
        Function("program", name, name, 0, system=name == "package", imported=name == "library")
        for name in ("solve", "package", "library")
    )
    # Of nodes 1 to 5, 2 and 3 are a package below solve, 5 is a library below another package.
    tree = PathTree(
        np.array([0, 0, 1, 2, 0, 4]), np.array([-1, 0, 1, 1, 1, 2]), np.zeros(6, dtype=np.uint64)
    )  # fmt: skip
    zeros = np.zeros(6, dtype=np.int64)
    paths = RecordedPaths(tree, zeros, (own, package, library), {}, np.zeros(0, dtype=np.int32))
    activity, study = decoded(state(6, 6) + NAMES), cast(Study, None)
    nodes = np.array([3, 2, 1, 5, 0, UNSAMPLED])
    rows = replace(activity.kernels, **{name: np.zeros(6) for name in ("start_s", "count", "seconds")}, node=nodes)
    found = launched_by_program(study, replace(activity, kernels=rows, copies=rows), paths)
    assert found.kernels.node.tolist() == [1, 1, 1, 5, 0, UNSAMPLED]
    assert found.copies.node.tolist() == [1, 1, 1, 5, 0, UNSAMPLED]
    assert launched_by_program(study, activity, None) is activity


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        # Of clang, as it compiled them for C and for a member of a class template.
        ("__omp_offloading_fe00_20c1a0_jac_l6", "jac:6 (target region)"),
        ("__omp_offloading_fe00_20c1a0__ZN2ns1SIdE4stepEPdi_l2", "S::step:2 (target region)"),
        ("__omp_offloading_fe00_20c1a0_jac_l6_1", "jac:6 (target region)"),
        ("nvkernel_main_F1L12_2", "main:12 (target region)"),
        ("_Z5relaxPdi", "relax(double*, int)"),
        ("", "[unknown kernel]"),
    ],
)
def test_kernels_of_target_regions_have_the_function_and_line(name: str, shown: str) -> None:
    assert kernel_name(name) == shown
    assert short(kernel_name(name)) == shown.removesuffix("(double*, int)")
